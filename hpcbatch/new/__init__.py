"""Job scripts from templates: `hpcbatch new` (docs/new.md)."""
