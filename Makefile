# make demo: from nothing to the output of an MPI job.  make demo-wrf, demo-wrf-slurm: a forecast with the stand-in for WRF,
# from its input to maps in build/wrf-pbs, build/wrf-slurm.  make test: everything else that needs no cluster.
# make test-mpi: every way to launch with every MPI library, which it gets (350 MB; eight minutes).
# make test-cluster: the rest, on a real Kubernetes with Volcano that it starts on this machine (root; Go).
# All install what they need into .venv, and as root Debian's packages.
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
# compat: a path in place of an import hook, which would cost every command 10 ms
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable
export PATH := $(BIN):/usr/sbin:/sbin:$(PATH)

.PHONY: demo demo-wrf demo-wrf-slurm test test-mpi lint bench bench-cluster programs cluster cluster-down test-cluster soak clean packages test-packages

.venv/demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) '.[demo]'
	touch $@

.venv/wrf: pyproject.toml .venv/demo
	$(INSTALL) '.[demo,wrf]'
	touch $@

.venv/dev: pyproject.toml .venv/demo
	$(INSTALL) '.[demo,dev,postgres,wrf]'
	touch $@

packages:
	@sh examples/mpi/packages.sh

test-packages: packages
	@sh tests/packages.sh

demo: packages .venv/demo
	@sh examples/mpi/demo.sh

demo-wrf demo-wrf-slurm: packages .venv/wrf
	@sh examples/wrf/packages.sh
	@sh examples/wrf/demo.sh $(if $(findstring slurm,$@),slurm,pbs) build/wrf-$(if $(findstring slurm,$@),slurm,pbs)

test: test-packages .venv/dev
	$(BIN)/pytest

test-mpi: packages .venv/dev
	@sh tests/mpi/packages.sh
	$(BIN)/pytest -m mpi tests/mpi

programs: .venv/dev
	@$(BIN)/python -m tests.cluster.binaries

cluster: .venv/dev
	@$(BIN)/python -m tests.cluster up

cluster-down: .venv/dev
	@$(BIN)/python -m tests.cluster down

test-cluster: .venv/dev
	@$(BIN)/python -m tests.cluster test

# thousands of kill -9, half an hour: HPCBATCH_SEED repeats a run
soak: test-packages .venv/dev
	HPCBATCH_KILLS=5000 $(BIN)/pytest --timeout 600 tests/component/life
	HPCBATCH_KILLS=300 $(BIN)/pytest --timeout 7200 tests/component/test_engine_random_kills.py

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: packages .venv/dev
	$(BIN)/python -m bench.engine

bench-cluster: .venv/dev
	$(BIN)/python -m bench.cluster

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
