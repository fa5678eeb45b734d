# All checks of the project, one target per stage. `make check` runs every stage that CI runs.
#
#   make install         create .venv with everything that the stages need
#   make check           run all stages and print the time of each
#   make lint types      run some stages
#   make check-long      run what is too slow for every change: coverage and statistical tests
#   make mutation        change the code of MODULE, and count the changes that the tests detect

PYTHON ?= .venv/bin/python
STAGES := lint types test docs wheel oldest works-with bench-quick
LONG_STAGES := coverage test-long
# Stages that `make check` leaves out. CI sets SKIP=test, because it has run the tests with the
# command of the README before it calls `make check`.
SKIP ?=
MODULE ?= sk_deltauq._training.rows

.PHONY: help install format check check-long mutation $(STAGES) $(LONG_STAGES)

help:
	@sed -n '/^$$/q;s/^# \{0,1\}//p' Makefile

install:
	test -x $(PYTHON) || python3.11 -m venv .venv
	$(PYTHON) -m pip install -c constraints.txt -e ".[dev]"

check:
	@MAKE="$(MAKE)" $(PYTHON) tools/run_stages.py $(filter-out $(SKIP),$(STAGES))

check-long:
	@MAKE="$(MAKE)" $(PYTHON) tools/run_stages.py $(filter-out $(SKIP),$(LONG_STAGES))

format:
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

lint:
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check

types:
	$(PYTHON) -m pyright --pythonpath $(PYTHON)

test:
	$(PYTHON) -m pytest -n logical

docs:
	$(PYTHON) -m sphinx -W --keep-going -q -b html docs docs/_build/html

wheel:
	$(PYTHON) tools/check_wheel.py

# scikit-learn's estimator checks on the lower bounds of pyproject.toml, for all estimators: the
# default tests leave most of them out
oldest:
	mkdir -p build
	$(PYTHON) tools/oldest_constraints.py >build/oldest.txt
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet -c build/oldest.txt \
	    -e . pandas pytest pytest-xdist
	build/oldest/bin/python -m pip list 2>/dev/null | \
	    grep -iE '^(numpy|pandas|scikit-learn|scipy|skorch|torch|tqdm) '
	build/oldest/bin/python -m pytest -q -n logical -m '' tests/test_common.py

# Tests on the packages of docs/works_with.rst; a test that is skipped fails the stage.
works-with:
	mkdir -p build
	$(PYTHON) tools/works_with_constraints.py >build/works-with.txt
	$(PYTHON) -m venv --clear build/works-with
	build/works-with/bin/python -m pip install --quiet -c build/works-with.txt -e ".[works-with]"
	WORKS_WITH=required build/works-with/bin/python -m pytest -q -n logical tests/works_with

# The main command of the README with one split, and the report of its results; then the studies of
# classifiers, with a few epochs on a small set
bench-quick:
	rm -rf build/bench-quick
	$(PYTHON) -m benchmarks_uci --splits 1 --offline --results build/bench-quick/results
	$(PYTHON) -m benchmarks_uci report build/bench-quick/results --out build/bench-quick/report
	$(PYTHON) -m benchmarks_uci classification shift run --preset quick --data wine --splits 1 \
	    --results build/bench-quick/shift
	$(PYTHON) -m benchmarks_uci classification outliers run --preset quick --data wine --splits 1 \
	    --results build/bench-quick/outliers

coverage:
	$(PYTHON) -m pytest -n logical --cov --cov-report=term --cov-report=html

test-long:
	$(PYTHON) -m pytest -n logical tests/long
	$(PYTHON) -m pytest -n logical -m long tests

# Results are kept in mutants/. `mutmut results` lists the changes that no test detects.
mutation:
	OMP_NUM_THREADS=1 $(PYTHON) -m mutmut run --max-children 1 "$(MODULE).*"
