"""Programs of others that submit and watch jobs by the commands, unmodified: `make test-clients` (docs/clients.md)."""
