"""The Linux calls that Python 3.11 lacks: namespaces, mounts, pivot_root, prctl. Each raises OSError with its path."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

MS_RDONLY: Final = 0x1
MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_NOEXEC: Final = 0x8
MS_REMOUNT: Final = 0x20
MS_NOATIME: Final = 0x400
MS_NODIRATIME: Final = 0x800
MS_BIND: Final = 0x1000
MS_MOVE: Final = 0x2000
MS_REC: Final = 0x4000
MS_SLAVE: Final = 0x80000
MS_RELATIME: Final = 0x200000
MNT_DETACH: Final = 2

_PR_SET_PDEATHSIG: Final = 1
_PR_CAPBSET_DROP: Final = 24
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_PIVOT_ROOT_NUMBER: Final = {"x86_64": 155, "aarch64": 41, "ppc64le": 203, "riscv64": 41, "s390x": 217}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
_libc.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)
_libc.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def setns(fd: int, kind: int) -> None:
    _check(_libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)), f"setns({kind:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    _check(
        _libc.mount(
            os.fsencode(source), os.fsencode(target), kind.encode() or None, flags, os.fsencode(options) or None
        ),
        f"mount {kind or source} on {target}",
    )


def bind(source: str, target: str) -> None:
    """Bind with everything mounted below; in a user namespace the kernel allows it no other way."""
    mount(source, target, flags=MS_BIND | MS_REC)


def read_only(target: str) -> None:
    """Make a bind mount read-only; flags that a user namespace may not clear are kept."""
    have = os.statvfs(target).f_flag
    keep = 0
    for known, flag in (
        (os.ST_NOSUID, MS_NOSUID),
        (os.ST_NODEV, MS_NODEV),
        (os.ST_NOEXEC, MS_NOEXEC),
        (os.ST_NOATIME, MS_NOATIME),
        (os.ST_NODIRATIME, MS_NODIRATIME),
        (os.ST_RELATIME, MS_RELATIME),
    ):
        if have & known:
            keep |= flag
    mount("none", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | keep)


def unmount(target: str) -> None:
    """Detach at once, also where it is in use."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def enter_root(new_root: str) -> None:
    """Make `new_root`, a mount point, the root, and let go of the old one: pivot_root(2), the example with "."."""
    os.chdir(new_root)
    number = _PIVOT_ROOT_NUMBER.get(platform.machine())
    if hasattr(_libc, "pivot_root"):
        result = _libc.pivot_root(b".", b".")
    elif number is not None:
        result = _libc.syscall(ctypes.c_long(number), b".", b".")
    else:
        raise OSError(f"pivot_root: unknown machine {platform.machine()}")
    _check(result, f"pivot_root {new_root}")
    unmount(".")
    os.chdir("/")


def _prctl(option: int, value: int, what: str) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), what)


def die_with_parent(signal_number: int) -> None:
    """The kernel sends the signal when the *thread* that forked this process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal_number, "prctl(PR_SET_PDEATHSIG)")


def become_subreaper() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "prctl(PR_SET_CHILD_SUBREAPER)")


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "prctl(PR_SET_NO_NEW_PRIVS)")


def drop_capabilities() -> None:
    """Empty the bounding set, so that the next exec has no capabilities, whatever the user is."""
    for capability in range(64):
        try:
            _prctl(_PR_CAPBSET_DROP, capability, "prctl(PR_CAPBSET_DROP)")
        except OSError:  # past the last one that this kernel knows
            return


def map_user(outside_uid: int, outside_gid: int, inside_uid: int, inside_gid: int) -> None:
    """In a fresh user namespace: give the one uid and gid that the process has another number.
    Supplementary groups are kept and go on opening files, but are shown as nogroup. Source: user_namespaces(7).
    """
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside_uid} {outside_uid} 1"),
        ("gid_map", f"{inside_gid} {outside_gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
