"""The clusters that the cases run on: an embedded engine of their own, or the real one that `make cluster` started."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from hpcbatch.api import kubeconfig
from tests.cluster import login
from tests.cluster.state import ADMIN_CONF, SERVER, admin_environment
from tests.conformance.jobs_watch import JobsWatch
from tests.conformance.site import BIN, Site, login_environment


class Rig(Protocol):
    @property
    def admin_env(self) -> Mapping[str, str]:
        """Leads kubectl and vcctl to the cluster as one who may do everything."""

    def site(self, directory: Path) -> Site:
        """A user at a login node with an empty working directory, which may be `directory`."""


class EngineRig:
    """Three nodes with two CPUs each, as the real cluster has. Its one user is whoever runs the tests."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.admin_env = env
        self.jobs = JobsWatch(env)
        self._server = kubeconfig.load(env).cluster

    def site(self, directory: Path) -> Site:
        return Site(self.admin_env, directory, server=self._server, jobs=self.jobs)


@contextmanager
def reached(env: Mapping[str, str]) -> Iterator[EngineRig]:
    """The engine that `env` leads to, which is up."""
    rig = EngineRig(env)
    try:
        yield rig
    finally:
        rig.jobs.close()


_SITE = """\
apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
historyMovedAfter: 10m  # a case on a busy machine may look at a BatchJob that ended more than a minute ago
"""


@contextmanager
def engine_rig(state_dir: Path) -> Iterator[EngineRig]:
    env = login_environment(state_dir)
    up = [str(BIN / "hpcbatch"), "up", "--nodes", "3", "--cpus", "2", "--mem", "4Gi"]
    subprocess.run(up, env=env, check=True, timeout=60)
    try:
        create = ["kubectl", "-n", "hpcbatch-system", "create", "configmap", "hpcbatch-site"]
        subprocess.run([*create, f"--from-literal=site.yaml={_SITE}"], env=env, check=True, timeout=60)
        with reached(env) as rig:
            yield rig
    finally:
        subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


class ClusterRig:
    """Users whom the admin has added, at the login node, with homes that pods mount. Where none is named it is
    alice, or another in each of pytest's processes.
    """

    def __init__(self) -> None:
        self.admin_env = admin_environment()
        assert ADMIN_CONF.exists(), f"{ADMIN_CONF} is not there: `make cluster` starts the cluster"
        self.jobs = JobsWatch(self.admin_env)

    def site(self, directory: Path, user: login.User | None = None) -> Site:
        user = user or login.own()
        work = user.home / f"{directory.name}-{secrets.token_hex(3)}"
        work.mkdir()
        os.chown(work, user.uid, user.gid)
        return Site(
            user.environment(),
            work,
            server=SERVER,
            enter=login.enter(user),
            admin_env=self.admin_env,
            namespace=user.namespace,
            jobs=self.jobs,
        )
