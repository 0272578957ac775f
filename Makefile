# make demo: from nothing to the output of an MPI job.  make test: everything is tested.  Both install what they need into .venv.
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
# compat: a path in place of an import hook, which would cost every command 10 ms
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable
export PATH := $(BIN):/usr/sbin:/sbin:$(PATH)

.PHONY: demo test lint bench clean packages

.venv/demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) '.[demo]'
	touch $@

.venv/dev: pyproject.toml .venv/demo
	$(INSTALL) '.[demo,dev]'
	touch $@

packages:
	@sh examples/mpi/packages.sh

demo: packages .venv/demo
	@sh examples/mpi/demo.sh

test: packages .venv/dev
	$(BIN)/pytest

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: packages .venv/dev
	$(BIN)/python -m bench

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
