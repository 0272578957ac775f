"""The cluster's processes: in the background, remembered with their arguments: tests kill and restart them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.state import STATE, wait_until


def _file(name: str) -> Path:
    return STATE / "daemons" / f"{name}.json"


def start(name: str, *argv: str | Path, env: Mapping[str, str] | None = None, user: str | None = None) -> None:
    """Start a process that outlives this one, as `user` if that is not oneself. Its output goes to log/NAME."""
    words = [str(word) for word in argv]
    (STATE / "log").mkdir(parents=True, exist_ok=True)
    _file(name).parent.mkdir(exist_ok=True)
    with (STATE / "log" / name).open("ab") as log:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=STATE,
            env={**os.environ, **(env or {})},
            user=user,
            extra_groups=None if user is None else [],
        )
    _file(name).write_text(json.dumps({"pid": process.pid, "argv": words, "env": dict(env or {}), "user": user}))


def names() -> list[str]:
    return sorted(path.stem for path in (STATE / "daemons").glob("*.json"))


def pid(name: str) -> int:
    return int(json.loads(_file(name).read_text())["pid"])


def is_alive(name: str) -> bool:
    """Whether the process still runs. A zombie does not, nor does another one that has got its number since."""
    words = json.loads(_file(name).read_text())["argv"]
    process = Path(f"/proc/{pid(name)}")
    try:
        running = (process / "cmdline").read_bytes()
        state = (process / "stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    expected = b"".join(os.fsencode(word) + b"\0" for word in words)
    # it has no arguments yet while its program is still read from the disk
    return state not in "ZX" and (not running or running.startswith(expected))


def last_words(name: str, count: int = 2000) -> str:
    """The end of a process's log, of at most `count` characters."""
    return (STATE / "log" / name).read_text(errors="replace")[-count:].strip()


def kill(name: str, signum: int = signal.SIGKILL) -> None:
    """Send a signal and wait for the end, if it is one that ends a process."""
    if not is_alive(name):
        return
    send(pid(name), signum)
    if signum in {signal.SIGKILL, signal.SIGTERM}:
        _reap(name)


def send(process: int, signum: int) -> None:
    try:
        os.kill(process, signum)
    except ProcessLookupError:
        pass


def restart(name: str, *more: str) -> None:
    """Start anew what was killed, as it was; `more` are options for this time only."""
    known = json.loads(_file(name).read_text())
    start(name, *known["argv"], *more, env=known["env"], user=known.get("user"))
    _file(name).write_text(json.dumps({**known, "pid": pid(name)}))


def stop(name: str) -> None:
    """End a process that is no part of the cluster any more."""
    kill(name, signal.SIGTERM)
    _file(name).unlink()


def _reap(name: str) -> None:
    def is_gone() -> bool:
        try:
            os.waitpid(pid(name), os.WNOHANG)  # its parent may be this process
        except ChildProcessError:
            pass
        return not is_alive(name)

    wait_until(f"the end of {name}", is_gone, 30)
