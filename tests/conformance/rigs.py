"""The clusters that the cases run on: an embedded engine of their own, or the real one that `make cluster` started."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.conformance.site import BIN, Site, login_environment


class Rig(Protocol):
    admin_env: Mapping[str, str]
    """Leads kubectl and vcctl to the cluster as one who may do everything."""

    def site(self, directory: Path) -> Site:
        """A user at a login node with an empty working directory, which may be `directory`."""


class EngineRig:
    """Three nodes with two CPUs each, as the real cluster has. Its one user is whoever runs the tests."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.admin_env = env

    def site(self, directory: Path) -> Site:
        return Site(self.admin_env, directory)


@contextmanager
def engine_rig(state_dir: Path) -> Iterator[EngineRig]:
    env = login_environment(state_dir)
    up = [str(BIN / "hpcbatch"), "up", "--nodes", "3", "--cpus", "2", "--mem", "4Gi"]
    subprocess.run(up, env=env, check=True, timeout=60)
    try:
        yield EngineRig(env)
    finally:
        subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


class ClusterRig:
    """alice, whom the admin has added, in the login image, with the home that the pods mount."""

    def __init__(self) -> None:
        from tests.cluster import login
        from tests.cluster.state import ADMIN_CONF, STATE

        self._alice = login.USERS["alice"]
        self._enter = login.enter
        path = f"{STATE / 'bin'}:{BIN}:{os.environ['PATH']}"
        self.admin_env = {**os.environ, "PATH": path, "KUBECONFIG": str(ADMIN_CONF)}

    def site(self, directory: Path) -> Site:
        work = self._alice.home / f"{directory.name}-{secrets.token_hex(3)}"
        work.mkdir()
        os.chown(work, self._alice.uid, self._alice.gid)
        return Site(
            self._alice.environment(), work, enter=self._enter(self._alice), admin_env=self.admin_env,
            namespace=self._alice.namespace,
        )  # fmt: skip
