"""Which cluster: HPCBATCH_RIG=engine (when not said) or cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conformance.rigs import ClusterRig, Rig, engine_rig
from tests.conformance.site import Site
from tests.conformance.volcano_site import volcano

__all__ = ["volcano"]


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    name = os.environ.get("HPCBATCH_RIG", "engine")
    if name == "cluster":
        yield ClusterRig()
        return
    assert name == "engine", f"HPCBATCH_RIG={name}: expected engine or cluster"
    with engine_rig(tmp_path_factory.mktemp("engine")) as engine:
        yield engine


@pytest.fixture(scope="session")
def volcano_env(rig: Rig) -> Mapping[str, str]:
    """For Volcano Jobs written by hand."""
    return rig.admin_env


@pytest.fixture
def site(rig: Rig, tmp_path: Path) -> Iterator[Site]:
    site = rig.site(tmp_path)
    yield site
    site.close()
