# Every target works on a fresh machine: `install` makes .venv with the package, all its extras and the tools.
PYTHON ?= python3
BIN := .venv/bin
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: install demo test lint audit bench clean

install: .venv/installed

PACKAGE := pyproject.toml setup.py src/gibbsafe/_kernels.c

.venv/installed: $(PACKAGE)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $@

demo: install
	$(BIN)/python -m gibbsafe demo --force

test: install
	$(BIN)/python -m pytest -n 2

lint: install
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

# The long versions, whose reports are committed. QUICK=1 takes minutes instead of hours.
audit: install
	$(BIN)/python audits/shell_acceptance.py $(if $(QUICK),--proposals 200000,--proposals 10000000) --report docs/audit-shell.md
	$(BIN)/python audits/privacy.py $(if $(QUICK),--quick --effort 60 --draws 2000,--effort 100 --draws 10000) --report docs/audit.md
	$(BIN)/python audits/interval_coverage.py --scale $(if $(QUICK),0.05,1) --report docs/audit-intervals.md
	$(BIN)/python audits/ledger_kill.py --kills $(if $(QUICK),20,1000) --report docs/audit-ledger.md
	$(BIN)/python audits/ledger_restarts.py --restarts $(if $(QUICK),2,20) --report docs/audit-restarts.md
	$(BIN)/python audits/fuzz_inputs.py --cases $(if $(QUICK),500,100000) --processes $(if $(QUICK),10,2000) --report docs/audit-fuzz.md

.venv-bench/installed: $(PACKAGE) benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-bench/bin/python -m pip install --quiet --editable ".[all]" --requirement benchmarks/requirements.txt
	touch $@

.venv-peers/installed: benchmarks/requirements-peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/requirements-peers.txt
	echo '*' > .venv-peers/.gitignore
	touch $@

# One file per question; the page is written from whatever results exist.
BENCHMARKS := main_line tightness families means utility estimates heavy_tails schedules speed scale contamination network_statistics
bench: .venv-bench/installed .venv-peers/installed
	for name in $(BENCHMARKS); do .venv-bench/bin/python benchmarks/$$name.py $(if $(QUICK),--quick) || exit 1; done
	$(if $(QUICK),,.venv-bench/bin/python benchmarks/out_of_core.py --gigabytes 2 --memory 200MB)
	.venv-bench/bin/python benchmarks/report.py $(if $(QUICK),--quick)

clean:
	rm -rf .venv .venv-bench .venv-peers build dist src/*.egg-info src/gibbsafe/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
