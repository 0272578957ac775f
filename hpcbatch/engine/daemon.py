"""Starting, stopping and finding the embedded engine's process: one for each state directory."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pwd
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hpcbatch.engine import python
from hpcbatch.errors import HpcBatchError

_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 45.0  # more than the pods' grace


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The options of `hpcbatch up`; kept for the next start."""

    nodes: int = 3
    cpus: int = 2
    mem_bytes: int = 4 * 2**30
    port: int = 0
    """0: any free port, the same as last time if it still is free."""


class EngineError(HpcBatchError):
    """The engine cannot be started or stopped; the text says why and what to do."""


def read_options(state_dir: Path) -> EngineOptions | None:
    """The options of the last start; None if there was none."""
    try:
        return EngineOptions(**json.loads((state_dir / "engine.json").read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(f"{state_dir / 'engine.json'} cannot be read: {error}") from None


def prepare(state_dir: Path, options: EngineOptions) -> None:
    """Make the state directory, for its owner only, and keep the options."""
    try:
        _make_private(state_dir)
        _check_private(state_dir)
        scratch = state_dir / "engine.json.new"
        scratch.write_text(json.dumps(asdict(options)))
        scratch.replace(state_dir / "engine.json")
    except OSError as error:
        raise EngineError(f"state directory {state_dir} cannot be used: {error.strerror}") from None


def _make_private(directory: Path) -> None:
    """Make the missing parents for the owner only too: with mkdir's `parents` their modes would follow the umask."""
    try:
        directory.mkdir(mode=0o700)
    except FileNotFoundError:
        _make_private(directory.parent)
        directory.mkdir(mode=0o700)
    except FileExistsError:
        pass


def _check_private(state_dir: Path) -> None:
    """Refuse a directory of another user, or one that holds symbolic links or another user's files: the engine would
    write its token and its jobs' scripts there.
    """
    unsafe = f"state directory {state_dir} cannot be used"
    try:
        directory = os.open(state_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and state_dir.is_symlink():
            raise EngineError(f"{unsafe}: it is a symbolic link; name the directory itself") from None
        raise
    try:
        found = os.fstat(directory)
        if found.st_uid != os.geteuid():
            raise EngineError(f"{unsafe}: it belongs to {_name(found.st_uid)}")
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise EngineError(f"{unsafe}: {entry.name} in it is a symbolic link")
                owner = entry.stat(follow_symlinks=False).st_uid
                if owner != os.geteuid():
                    raise EngineError(f"{unsafe}: {entry.name} in it belongs to {_name(owner)}")
        os.fchmod(directory, 0o700)
    finally:
        os.close(directory)


def _name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"uid {uid}"


def running_pid(state_dir: Path) -> int | None:
    """Process id of the engine that holds the state directory; None if none does."""
    try:
        with (state_dir / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return int((state_dir / "pid").read_text())
    return None


@contextmanager
def sole_engine(state_dir: Path) -> Iterator[None]:
    """Lock the state directory against a second engine for as long as this process lives."""
    with (state_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EngineError(f"an engine is already running on {state_dir}") from None
        (state_dir / "pid").write_text(str(os.getpid()))
        yield


def start(state_dir: Path, options: EngineOptions) -> tuple[int, str, str]:
    """Start the engine in the background and wait until it is ready. Raises EngineError.

    Returns its process id, one line on how memory limits are enforced, and one about what it cannot do on this
    machine, or "".
    """
    if (pid := running_pid(state_dir)) is not None:
        raise EngineError(f"an engine is already running on {state_dir} (process {pid}); `hpcbatch down` stops it")
    prepare(state_dir, options)
    ready, told = os.pipe()
    with (state_dir / "engine.log").open("ab") as log:
        process = subprocess.Popen(
            python.module("hpcbatch.cli.engine", str(state_dir), str(told)),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[told],
            start_new_session=True,
            cwd="/",
        )
    os.close(told)
    with os.fdopen(ready) as answer:
        line = answer.readline().rstrip("\n")
    if line.startswith("ready\t"):
        _, memory_limits, warning = line.split("\t", 2)
        return process.pid, memory_limits, warning
    process.wait(timeout=_START_LIMIT_S)
    raise EngineError(line or f"the engine did not start; {state_dir / 'engine.log'} says why")


def _environment() -> dict[str, str]:
    """Our environment, without the LD_LIBRARY_PATH that the launcher (scripts/hpcbatch) took from this Python and keeps
    for other programs.
    """
    environment = dict(os.environ)
    if b"\0LD_LIBRARY_PATH=" not in b"\0" + Path("/proc/self/environ").read_bytes():
        environment.pop("LD_LIBRARY_PATH", None)
    return environment


def stop(state_dir: Path) -> bool:
    """Stop the engine and all its pods; False if none was running. Returns when all of its processes are gone."""
    pid = running_pid(state_dir)
    if pid is None:
        return False
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        if not select.select([process], [], [], _STOP_LIMIT_S)[0]:
            raise EngineError(f"the engine (process {pid}) does not stop; {state_dir / 'engine.log'} may say why")
    finally:
        os.close(process)
    return True
