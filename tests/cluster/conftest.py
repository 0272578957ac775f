"""What the tests of the real cluster work with. All of them need it: none is skipped where it is not up, each fails."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster import daemons, login
from tests.conformance.rigs import ClusterRig
from tests.conformance.site import Site


@dataclass(frozen=True)
class Admin:
    """Somebody with the cluster's admin.conf, at the machine itself."""

    env: Mapping[str, str]

    def run(
        self, *argv: str, stdin: str = "", check: bool = True, limit_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            argv, env=self.env, input=stdin, capture_output=True, text=True, timeout=limit_s, check=False
        )
        assert not (check and done.returncode), f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def kubectl(self, *argv: str, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("kubectl", *argv, stdin=stdin, check=check)


@pytest.fixture(scope="session")
def rig() -> ClusterRig:
    return ClusterRig()


@pytest.fixture(scope="session")
def admin(rig: ClusterRig) -> Admin:
    return Admin(rig.admin_env)


@pytest.fixture
def user(rig: ClusterRig, tmp_path: Path) -> Iterator[Callable[[str], Site]]:
    """`user("alice")`: her at the login node, in a directory of her own; her jobs end with the test."""
    sites: list[Site] = []

    def at_login(name: str) -> Site:
        site = rig.site(tmp_path / secrets.token_hex(3), login.USERS[name])
        sites.append(site)
        return site

    yield at_login
    for site in sites:
        site.close()


@pytest.fixture
def alice(user: Callable[[str], Site]) -> Site:
    return user("alice")


@pytest.fixture
def bob(user: Callable[[str], Site]) -> Site:
    return user("bob")


@pytest.fixture(autouse=True)
def whole_cluster() -> Iterator[None]:
    """Each test finds and leaves every process of the cluster running."""
    yield
    dead = [name for name in daemons.names() if not daemons.is_alive(name)]
    for name in dead:
        daemons.restart(name)
    assert not dead, f"the test left {', '.join(dead)} dead"
