"""One engine with three nodes of room for several jobs, and each family once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.rigs import EngineRig, reached
from tests.conformance.site import BIN, Site, login_environment
from tests.mpi.families import FAMILIES, Family


@contextmanager
def engine_with(directory: Path, *options: str) -> Iterator[EngineRig]:
    env = login_environment(directory)
    up = [str(BIN / "hpcbatch"), "up", "--nodes", "3", "--cpus", "16", "--mem", "16Gi", *options]
    subprocess.run(up, env=env, check=True, timeout=60)
    try:
        with reached(env) as rig:
            yield rig
    finally:
        subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineRig]:
    with engine_with(tmp_path_factory.mktemp("engine")) as rig:
        yield rig


@pytest.fixture(scope="session")
def installed() -> Callable[[str], Family]:
    """A family by its title, ready to be used."""

    @cache
    def install(title: str) -> Family:
        family = next(family for family in FAMILIES if family.title == title)
        family.install()
        return family

    return install


@pytest.fixture
def site(engine: EngineRig, tmp_path: Path) -> Iterator[Site]:
    site = engine.site(tmp_path)
    yield site
    site.close()
