# Every target works on a fresh machine: `install` makes .venv with the package, all its extras and the tools.
PYTHON ?= python3
BIN := .venv/bin
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: install demo test lint audit bench clean

install: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $@

demo: install
	$(BIN)/python -m gibbsafe demo

test: install
	$(BIN)/python -m pytest -n 2

lint: install
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
