"""The rig: an embedded engine of three nodes with two CPUs each, as the real cluster has."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.site import BIN, Site, login_environment


@pytest.fixture(scope="session")
def engine_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    env = login_environment(tmp_path_factory.mktemp("engine"))
    up = [str(BIN / "hpcbatch"), "up", "--nodes", "3", "--cpus", "2", "--mem", "4Gi"]
    subprocess.run(up, env=env, check=True, timeout=60)
    yield env
    subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


@pytest.fixture
def site(engine_env: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    site = Site(engine_env, tmp_path)
    site.server = site.run("kubectl", "config", "view", "-o", "jsonpath={.clusters[0].name}").stdout
    yield site
    left = site.run("squeue", "-h", "-o", "%i").stdout.split()
    if left:
        site.run("scancel", *left)
