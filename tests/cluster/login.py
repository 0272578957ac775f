"""The login node: the project's login image unpacked, entered as a user whose home is the storage that jobs mount."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster import images
from tests.cluster.state import HOME, STATE, ClusterError, kubectl, run

ROOT = STATE / "login"
"""The login node's root directory."""


@dataclass(frozen=True)
class User:
    name: str
    uid: int
    gid: int
    groups: Mapping[str, int] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return HOME / self.name

    @property
    def namespace(self) -> str:
        """As `hpcbatch user add` has made it."""
        found = kubectl(
            "get", "namespace", "-l", f"hpcbatch.io/user={self.name}", "-o", "jsonpath={.items[*].metadata.name}"
        )
        assert found and " " not in found, f"namespaces of {self.name}: {found!r}"
        return found

    def environment(self) -> dict[str, str]:
        """As after a login."""
        return {
            "LANG": "C.UTF-8",
            "LOGNAME": self.name,
            "USER": self.name,
            "SHELL": "/bin/sh",
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "KUBECONFIG": str(self.home / ".kube/config"),
        }


USERS = {
    user.name: user
    for user in (
        User("alice", 1000, 1000, {"wrf": 2000}),
        User("bob", 1001, 1001),
        User("carol", 1002, 1002),
        User("dave", 1003, 1003),
    )
}
AT_ONCE = ("alice", "carol", "dave")
"""One for each of pytest's processes, in which cases run that need no cluster for themselves."""


def own() -> User:
    """This process's user."""
    return USERS[AT_ONCE[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))]]


def enter(user: User) -> tuple[str, ...]:
    """The words before a command that run it as `user` on the login node. Its directory is then /."""
    groups = ",".join(str(gid) for gid in (user.gid, *user.groups.values()))
    return ("/usr/sbin/chroot", f"--userspec={user.uid}:{user.gid}", f"--groups={groups}", str(ROOT))


def make() -> None:
    """Unpack the image and give it users, kubectl and the shared homes. What was there before goes."""
    if ROOT.exists():
        for mount in (ROOT / HOME.relative_to("/"), ROOT / "proc"):
            run("umount", "--lazy", mount, check=False)
        if any(str(ROOT) in line for line in Path("/proc/self/mounts").read_text().splitlines()):
            raise ClusterError(f"something is still mounted below {ROOT}")
        shutil.rmtree(ROOT)
    images.unpack(images.LOGIN_NODE, ROOT)
    for name, lines in (("passwd", _passwd()), ("group", _group())):
        with (ROOT / "etc" / name).open("a") as file:
            file.writelines(lines)
    shutil.copy((STATE / "bin/kubectl").resolve(), ROOT / "usr/local/bin/kubectl")
    home = ROOT / HOME.relative_to("/")
    home.mkdir(parents=True)
    run("mount", "--bind", HOME, home)
    run("mount", "-t", "proc", "proc", ROOT / "proc")
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        if not (ROOT / "dev" / name).exists():
            os.mknod(ROOT / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            (ROOT / "dev" / name).chmod(0o666)
    for user in USERS.values():
        make_home(user)


def make_home(user: User) -> None:
    user.home.mkdir(parents=True, exist_ok=True)
    os.chown(user.home, user.uid, user.gid)
    user.home.chmod(0o755)


def _passwd() -> list[str]:
    return [f"{user.name}:x:{user.uid}:{user.gid}::{user.home}:/bin/sh\n" for user in USERS.values()]


def _group() -> list[str]:
    own = [f"{user.name}:x:{user.gid}:\n" for user in USERS.values()]
    return own + [f"{name}:x:{gid}:{user.name}\n" for user in USERS.values() for name, gid in user.groups.items()]
