"""Starting, stopping and finding the embedded engine's process: one for each state directory."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hpcbatch.errors import HpcBatchError

_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 45.0  # the pods' own grace, and some


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What `hpcbatch up` was told; kept for the next start."""

    nodes: int = 3
    cpus: int = 2
    mem_bytes: int = 4 * 2**30
    port: int = 0
    """0: any free one, the same as last time if it still is free."""


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
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        state_dir.chmod(0o700)
        scratch = state_dir / "engine.json.new"
        scratch.write_text(json.dumps(asdict(options)))
        scratch.replace(state_dir / "engine.json")
    except OSError as error:
        raise EngineError(f"state directory {state_dir} cannot be used: {error.strerror}") from None


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
    """Hold the state directory against a second engine for as long as this process lives."""
    with (state_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EngineError(f"an engine is already running on {state_dir}") from None
        (state_dir / "pid").write_text(str(os.getpid()))
        yield


def start(state_dir: Path, options: EngineOptions) -> tuple[int, str]:
    """Start the engine in the background and wait until it answers. Raises EngineError.

    Returns its process id, and one line about what it cannot do on this machine, or "".
    """
    if (pid := running_pid(state_dir)) is not None:
        raise EngineError(f"an engine is already running on {state_dir} (process {pid}); `hpcbatch down` stops it")
    prepare(state_dir, options)
    ready, told = os.pipe()
    with (state_dir / "engine.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "hpcbatch.cli.engine", str(state_dir), str(told)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[told], start_new_session=True, cwd="/",
        )  # fmt: skip
    os.close(told)
    with os.fdopen(ready) as answer:
        line = answer.readline().strip()
    if line.partition(" ")[0] == "ready":
        return process.pid, line.partition(" ")[2]
    process.wait(timeout=_START_LIMIT_S)
    raise EngineError(line or f"the engine did not start; {state_dir / 'engine.log'} says why")


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
