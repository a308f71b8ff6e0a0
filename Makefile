# Two commands for everybody: `make demo` and `make test`. Both set up .venv by themselves, and a second call
# finds it ready. The rest is for developers: lint, format, types, doctest, docs, clean.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
SWEEP  ?= part
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet install
STAMP  := $(VENV)/stamp

# Published experiments read the folder IOKR_DATA; a data folder beside the repository is found by itself.
ifndef IOKR_DATA
ifneq ($(wildcard ../shared/data/.),)
export IOKR_DATA := $(abspath ../shared/data)
endif
endif

# The tests run JOBS processes side by side, so each of them keeps to one BLAS thread.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m pytest

.PHONY: help demo test attack slow kills layers house numeric doctest lint format types docs wheels sdist clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo      reconstruct a network from a tenth of its nodes; writes iokr-demo/report.html'
	@echo 'make test      the test suite with a part of the sweeps over inputs; SWEEP=all for all of them'
	@echo 'make attack    unusual inputs for every public callable, 3000 cases: tests/attack; PART=2/6 for another part'
	@echo 'make slow      the tests marked slow'
	@echo 'make kills     kill commands 200 times, at any moment: results stay whole (tools/kills.py)'
	@echo 'make layers    imports go downwards only, and the package is quick to import'
	@echo 'make house     layers, import cycles, private names used in other packages; prints files that are hard to read'
	@echo 'make numeric   the numeric suites under other BLAS kernels, threads and Pythons; CORES=Haswell for one kernel'
	@echo 'make doctest   the examples in the docstrings'
	@echo 'make lint      ruff: rules and format'
	@echo 'make format    ruff: rewrite what `make lint` would reject'
	@echo 'make types     mypy, strict'
	@echo 'make docs      the documentation, to docs/_build/html'
	@echo 'make wheels    the wheels of both distributions, with their declared dependencies and nothing else'
	@echo 'make sdist     the source distribution, built, unpacked and tested'
	@echo 'make clean     remove .venv, caches and what the commands wrote'

demo: $(STAMP)/report
	$(BIN)/iokr demo --force

test: $(STAMP)/test
	$(PYTEST) -n $(JOBS) -m 'not slow and not gpu' --sweep $(SWEEP)

attack: $(STAMP)/test
	$(BIN)/python tools/attack.py --jobs $(JOBS) $(if $(PART),--part $(PART))

slow: $(STAMP)/test
	$(PYTEST) -n $(JOBS) -m 'slow and not gpu'

kills: $(STAMP)/test
	$(BIN)/python tools/kills.py

layers: $(STAMP)/test
	$(PYTEST) tests/test_layers.py tests/test_imports.py

house: layers
	$(BIN)/python tools/check_house.py

numeric: $(STAMP)/test
	$(BIN)/python tools/numeric.py --jobs $(JOBS) $(if $(CORES),--cores $(CORES))

doctest: $(STAMP)/test
	$(PYTEST) -n $(JOBS) --doctest-modules src lab/src

lint: $(STAMP)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)/dev
	$(BIN)/mypy

docs: $(STAMP)/dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

wheels: $(STAMP)/test
	$(PYTEST) -m '' tests/test_publishing.py

sdist: $(STAMP)/dev
	$(BIN)/python tools/sdist.py

clean:
	rm -rf $(VENV) .venv-3.* build dist iokr-demo iokr-links iokr-links-cv iokr-usps docs/_build docs/api/generated docs/auto_examples docs/auto_tutorials .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Set-up, in stages; each stamp says which extras of pyproject.toml are in .venv.
$(STAMP)/venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "iokr needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMP) && touch $@

$(STAMP)/report: pyproject.toml lab/pyproject.toml | $(STAMP)/venv
	$(PIP) -e '.[report]' -e ./lab
	@touch $@

# torch is held at one version, here alone: the newest build would bring gigabytes along.
$(STAMP)/test: pyproject.toml lab/pyproject.toml | $(STAMP)/venv
	$(PIP) torch==2.13.0 -e '.[report,test]' -e ./lab
	@touch $@ $(STAMP)/report

$(STAMP)/dev: pyproject.toml lab/pyproject.toml $(STAMP)/test | $(STAMP)/venv
	$(PIP) -e '.[dev]' -e ./lab
	@touch $@
