"""A container's private root: the host's own directories, with the pod's mounts over and between them.

The root is a tmpfs into which every top-level directory of the host is bound, because only so can a mount point such as
/hpcbatch exist that the host lacks. Where a mount point is missing deeper down (/etc/volcano), its parent is mimicked:
a tmpfs with all the parent's entries bound into it, and the new one. Mimicked directories are read-only: a file
written there would be lost in silence. So directories in which people keep files (a home) are never mimicked; there the
mount point is made for real, as container runtimes do in an image. It stays, empty: to remove it would take the mount
away from every other pod that has it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hpcbatch.engine.podhost import linux

_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
# Devices that batch jobs use: accelerators, fabrics, fuse, shared memory across processes.
_DEVICE_PREFIXES: Final = (
    "nvidia",
    "dri",
    "kfd",
    "infiniband",
    "hfi1",
    "fuse",
    "kvm",
    "knem",
    "xpmem",
    "hugepages",
    "net",
)
_DEVICE_LINKS: Final = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)
_SYSTEM: Final = ("/etc", "/usr", "/run", "/opt", "/srv", "/mnt", "/media", "/var", "/boot", "/sys")
_NOT_SYSTEM: Final = ("/var/tmp", "/run/user")  # noqa: S108


class MountError(Exception):
    """A mount that cannot be had; `str()` is one line for the pod's event."""


@dataclass(frozen=True, slots=True)
class Mount:
    """`source` is a path of the host, or empty for a fresh tmpfs of `size_bytes` (0: the kernel's default)."""

    target: str
    source: str = ""
    read_only: bool = False
    size_bytes: int = 0
    make_source: bool = False
    """An absent `source` is made as a directory (a subPath of an emptyDir or hostPath)."""
    beneath: str = ""
    """Not empty: `source`, symbolic links followed, must lie in here (a subPath may not leave its volume)."""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Mount:
        return cls(**data)


@dataclass(slots=True)
class Root:
    """Builds the root of the calling process, which has a mount namespace of its own."""

    work: str
    """Private directory of the pod host with the empty directories `root` and `stage`; hidden from the pod."""
    _mimicked: list[str] = field(default_factory=list)
    _mounted: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"{self.work}/root"

    def build(self, mounts: list[Mount]) -> None:
        """Everything but the last step, `enter`. Raises MountError."""
        try:
            self._skeleton()
            self._devices()
            self._processes()
            for mount in sorted(mounts, key=lambda mount: mount.target.rstrip("/").count("/")):
                self._add(mount)
            for path in self._mimicked:
                linux.read_only(path)
            linux.read_only(self.path)
            if os.path.isdir(self.path + self.work):
                linux.unmount(self.path + self.work)
        except OSError as error:
            raise MountError(f"cannot build the container's root: {error}") from None

    def enter(self) -> None:
        linux.enter_root(self.path)

    def _skeleton(self) -> None:
        linux.mount("tmpfs", self.path, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=0755,size=1m")
        with os.scandir("/") as entries:
            for entry in entries:
                if entry.name not in {"dev", "proc"}:
                    _mirror(entry, f"{self.path}/{entry.name}")

    def _devices(self) -> None:
        dev = f"{self.path}/dev"
        os.mkdir(dev)
        linux.mount("tmpfs", dev, "tmpfs", linux.MS_NOSUID, "mode=0755,size=1m")
        with os.scandir("/dev") as entries:
            for entry in entries:
                if entry.name in _DEVICES or entry.name.startswith(_DEVICE_PREFIXES):
                    _mirror(entry, f"{dev}/{entry.name}")
        for name, target in _DEVICE_LINKS:
            os.symlink(target, f"{dev}/{name}")
        os.mkdir(f"{dev}/shm")
        linux.mount("tmpfs", f"{dev}/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
        os.mkdir(f"{dev}/pts")
        for options in ("newinstance,ptmxmode=0666,mode=0620,gid=5", "newinstance,ptmxmode=0666,mode=0620"):
            try:
                linux.mount("devpts", f"{dev}/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, options)
            except OSError:  # a user namespace does not know group 5 (tty)
                continue
            return
        linux.bind("/dev/pts", f"{dev}/pts")

    def _processes(self) -> None:
        os.mkdir(f"{self.path}/proc")
        mount_proc(f"{self.path}/proc")

    def _add(self, mount: Mount) -> None:
        target = os.path.realpath(mount.target)
        if target == "/" or target.split("/")[1] == "proc":
            raise MountError(f"{mount.target} cannot be a mount point")
        source = self._source(mount)
        place = self.path + target
        self._mount_point(target, directory=source is None or os.path.isdir(source))
        try:
            if source is None:
                size = f",size={mount.size_bytes}" if mount.size_bytes else ""
                linux.mount("tmpfs", place, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode=1777{size}")
            else:
                linux.bind(source, place)
            if mount.read_only:
                linux.read_only(place)
            self._mounted.append(target)
        except OSError as error:
            raise MountError(f"cannot mount {mount.source or 'a tmpfs'} at {mount.target}: {error}") from None

    @staticmethod
    def _source(mount: Mount) -> str | None:
        if not mount.source:
            return None
        source = os.path.realpath(mount.source)
        if mount.beneath:
            within = os.path.realpath(mount.beneath)
            if source != within and not source.startswith(within + "/"):
                raise MountError(f"the subPath mounted at {mount.target} leads out of its volume")
        if mount.make_source:
            os.makedirs(source, mode=0o777, exist_ok=True)
        if not os.path.lexists(source):
            raise MountError(f"{mount.source}, to be mounted at {mount.target}, does not exist")
        return source

    def _mount_point(self, target: str, *, directory: bool) -> None:
        """Make sure that `target`, a path without symbolic links, exists in the new root as a directory or a file."""
        place = self.path + target
        if os.path.lexists(place):
            if os.path.isdir(place) != directory:
                have, want = ("file", "directory") if directory else ("directory", "file")
                raise MountError(f"{target} is a {have} of the host, so no {want} can be mounted on it")
            return
        parent = os.path.dirname(target)
        if not os.path.isdir(self.path + parent):
            self._mount_point(parent, directory=True)
        private = False
        if not _within(parent, self._mounted) and not self._ours(parent):
            private = _for_real(parent, self.path)
            if not private:
                self._mimic(parent)
        if directory:
            with contextlib.suppress(FileExistsError):  # another pod, on the host's own file system
                os.mkdir(place, 0o700 if private else 0o755)
        else:
            _touch(place)

    def _ours(self, directory: str) -> bool:
        """Whether `directory` is a part of the root that was made here, where new entries cost nothing."""
        device = os.stat(self.path + directory).st_dev
        return device in {os.stat(path).st_dev for path in (self.path, f"{self.path}/dev", *self._mimicked)}

    def _mimic(self, directory: str) -> None:
        original, stage = self.path + directory, f"{self.work}/stage"
        mode = stat.S_IMODE(os.stat(original).st_mode)
        linux.mount("tmpfs", stage, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode={mode:o},size=1m")
        with contextlib.suppress(PermissionError), os.scandir(original) as entries:
            for entry in entries:
                _mirror(entry, f"{stage}/{entry.name}")
        linux.mount(stage, original, flags=linux.MS_MOVE)
        self._mimicked.append(original)


def mount_proc(target: str) -> None:
    """A /proc of this process id namespace; where the kernel refuses (inside some containers), the one there is."""
    try:
        linux.mount("proc", target, "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    except OSError:
        if target != "/proc":
            linux.bind("/proc", target)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _mirror(entry: os.DirEntry[str], place: str) -> None:
    """Let `place` show the entry: a link is copied, all else bound. What cannot be bound is left out, with a word."""
    try:
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
            return
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(place, 0o755)
        else:
            _touch(place)
        linux.bind(entry.path, place)
    except FileNotFoundError:  # gone meanwhile
        return
    except OSError as error:
        print(f"podhost: {entry.path} is not seen in pods: {error}", file=sys.stderr, flush=True)


def _within(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root + "/") for root in roots)


def _for_real(parent: str, new_root: str) -> bool:
    """Whether a missing mount point below `parent`, a directory of the host, may be made on the host itself."""
    if _within(parent, _SYSTEM) and not _within(parent, _NOT_SYSTEM):
        return False
    return os.access(new_root + parent, os.W_OK)
