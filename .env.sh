export PYTHONPATH=$PWD/src OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PY=/work/main/.venv/bin/python
