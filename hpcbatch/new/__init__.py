"""Job scripts from templates: `hpcbatch new` (docs/new.md). It makes texts; what a script means is for the dialects."""
