"""Templates of `hpcbatch new` with the frameworks that they are for, on the engine."""

from __future__ import annotations

from tests.clients.conftest import engine, site

__all__ = ["engine", "site"]
