"""Templates of `hpcbatch new` with real frameworks: `make test-templates` (docs/new.md)."""
