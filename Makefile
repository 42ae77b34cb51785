# Every target works on a fresh machine: `install` makes .venv with the package, all its extras and the tools.
PYTHON ?= python3
BIN := .venv/bin
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

PARTS := shell privacy proximal hostile intervals coverage ledger restarts fuzz oracles service mutations

.PHONY: install demo serve-demo test lint docs audit bench clean $(addprefix audit-,$(PARTS))

install: .venv/installed

PACKAGE := pyproject.toml setup.py src/gibbsafe/losses/_kernels.c

.venv/installed: $(PACKAGE)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $@

demo: install
	$(BIN)/python -m gibbsafe demo --force

# A desk to try: made-up data, three users and a finished release, gone when it is stopped.
serve-demo: install
	$(BIN)/python -m gibbsafe serve --demo

test: install
	$(BIN)/python -m pytest -n 2

lint: install
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

.venv/docs: .venv/installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

# The site: every example runs, every warning is an error, every link inside is followed. It opens from docs/_build/html/index.html.
docs: .venv/docs
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html -c docs/_site docs docs/_build/html
	$(BIN)/python docs/_site/check.py docs/_build/html

# The long versions, whose reports are committed: named parts, each at most 60 minutes on two cores. A part keeps what it has done in
# .audit and continues from there; a done part is skipped, unless sources or arguments changed, or FRESH=1. QUICK=1 takes minutes.
#   make audit · make audit PART=oracles · make audit-oracles · make audit PART="privacy fuzz" FRESH=1
audit: $(addprefix audit-,$(or $(PART),$(PARTS)))

HOW = $(if $(QUICK),--quick)

audit-shell: install
	$(BIN)/python audits/shell_acceptance.py $(HOW) --report docs/audit-shell.md

audit-privacy: install
	$(BIN)/python audits/privacy.py $(HOW) --report docs/audit.md

audit-intervals: install
	$(BIN)/python audits/interval_coverage.py $(HOW) --report docs/audit-intervals.md

audit-coverage: install
	$(BIN)/python audits/coverage.py $(HOW) --report docs/audit-coverage.md

audit-proximal: install
	$(BIN)/python audits/proximal.py $(HOW) --report docs/audit-proximal.md

audit-hostile: install
	$(BIN)/python audits/hostile.py $(HOW) --report docs/audit-hostile.md

audit-ledger: install
	.ci/postgres $(BIN)/python audits/ledger_kill.py $(HOW) --report docs/audit-ledger.md

audit-restarts: install
	$(BIN)/python audits/ledger_restarts.py $(HOW) --report docs/audit-restarts.md

audit-fuzz: install
	$(BIN)/python audits/fuzz_inputs.py $(HOW) --report docs/audit-fuzz.md

audit-oracles: install
	$(BIN)/python audits/oracles.py $(HOW) --report docs/audit-oracles.md

audit-service: install
	$(BIN)/python audits/service.py $(HOW) --report docs/audit-service.md

audit-mutations: install
	$(BIN)/python audits/mutations.py $(HOW) --report docs/audit-mutations.md

.venv-bench/installed: $(PACKAGE) benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-bench/bin/python -m pip install --quiet --editable ".[all]" --requirement benchmarks/requirements.txt
	touch $@

.venv-peers/installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers/requirements.txt
	echo '*' > .venv-peers/.gitignore
	touch $@

# One file per question; the page is written from whatever results exist.
BENCHMARKS := main_line tightness families tables gains means utility estimates heavy_tails schedules speed draws scale workers costs own_models contamination network_statistics
bench: .venv-bench/installed .venv-peers/installed
	for name in $(BENCHMARKS); do .venv-bench/bin/python -m benchmarks.questions.$$name $(if $(QUICK),--quick) || exit 1; done
	$(if $(QUICK),,.venv-bench/bin/python -m benchmarks.questions.out_of_core --gigabytes 2 --memory 200MB)
	.venv-bench/bin/python -m benchmarks.report.page $(if $(QUICK),--quick)

clean:
	rm -rf .venv .venv-bench .venv-peers docs/_build build dist src/*.egg-info src/gibbsafe/losses/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis .audit
