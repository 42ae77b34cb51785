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

# The long versions, whose reports are committed. QUICK=1 takes minutes instead of hours.
audit: install
	$(BIN)/python audits/shell_acceptance.py $(if $(QUICK),--proposals 200000,--proposals 10000000) --report docs/audit-shell.md

.venv-bench/installed: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-bench/bin/python -m pip install --quiet --editable ".[all]" --requirement benchmarks/requirements.txt
	touch $@

bench: .venv-bench/installed
	.venv-bench/bin/python benchmarks/main_line.py $(if $(QUICK),--quick)
	.venv-bench/bin/python benchmarks/estimates.py $(if $(QUICK),--quick)
	.venv-bench/bin/python benchmarks/report.py $(if $(QUICK),--quick)

clean:
	rm -rf .venv .venv-bench build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
