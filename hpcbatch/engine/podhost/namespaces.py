"""Which namespaces this machine allows, and how the pod host enters its own."""

from __future__ import annotations

import contextlib
import os

from hpcbatch.engine.podhost import linux


def probe() -> tuple[str, str]:
    """Try in a child what pods need. Returns the mode, and for "plain" the reason in one line."""
    reason = ""
    for mode in ("root", "user") if os.getuid() == 0 else ("user",):
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                enter(mode)
                linux.mount("tmpfs", "/proc", "tmpfs")
            except OSError as error:
                os.write(write_end, str(error).encode())
            finally:
                os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as answer:
            failure = answer.read().decode()
        os.waitpid(pid, 0)
        if not failure:
            return mode, ""
        reason = failure
    return "plain", f"pods need Linux namespaces, which this machine does not allow: {reason}{_hint()}"


def _hint() -> str:
    for path, bad, advice in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):
        with contextlib.suppress(OSError), open(path) as file:
            if file.read().strip() == bad:
                return f" (root may allow them: {advice})"
    return ""


def enter(mode: str) -> None:
    uid, gid = os.getuid(), os.getgid()
    if mode == "user":
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID)
        linux.map_user(uid, gid, 0, 0)
    else:
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWPID)
    # What the host mounts later is seen here; what is mounted here is not seen there.
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
