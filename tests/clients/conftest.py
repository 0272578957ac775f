"""One engine, and a user whose shell the clients are started from."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.install import HERE, python_of
from tests.conformance.rigs import EngineRig, engine_rig
from tests.conformance.site import Site


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineRig]:
    with engine_rig(tmp_path_factory.mktemp("engine")) as rig:
        yield rig


@pytest.fixture
def site(engine: EngineRig, tmp_path: Path) -> Iterator[Site]:
    site = engine.site(tmp_path)
    yield site
    site.close()


Program = Callable[..., dict[str, Any]]


@pytest.fixture
def program(site: Site) -> Program:
    """Runs programs/NAME with the Python of a client, and returns what it printed last: one line of JSON."""

    def run(client: str, name: str, *arguments: str) -> dict[str, Any]:
        python = python_of(client)
        env = {**site.env, "PATH": f"{python.parent}:{site.env['PATH']}"}
        argv = [str(python), str(HERE / "programs" / name), *arguments]
        done = subprocess.run(argv, cwd=site.work, env=env, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, f"{name} ended with {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        found = json.loads(done.stdout.strip().splitlines()[-1])
        assert isinstance(found, dict)
        return found

    return run
