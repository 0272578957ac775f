"""Slurm's own test suite, run against our commands on an engine: `make test-slurm-suite SOURCE=DIR`."""
