"""All of these cases need the real cluster for themselves, as those of tests/cluster."""

from __future__ import annotations

from tests.cluster.conftest import admin, alice, rig, user

__all__ = ["admin", "alice", "rig", "user"]
