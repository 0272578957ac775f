"""The agent's end of the pod host: starts its process, sends it messages and passes its events on."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcbatch.engine import handles, python
from hpcbatch.errors import HpcBatchError

_LOG = logging.getLogger(__name__)
_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 30.0


class PodHostError(HpcBatchError):
    """The pod host cannot be started; the text gives the reason in one line."""


@dataclass(frozen=True, slots=True)
class PodHostMode:
    """`name` is root, user or plain; `why_plain` and `why_sampling` are one line each for the user, the latter "" where
    control groups limit memory."""

    name: str
    why_plain: str
    why_sampling: str = ""


class PodHostClient:
    """One pod host process. `on_event` runs in a thread of its own; if the process dies, the last event is "lost".
    `on_caller` runs in another: it gets the connections to `api_port` of 127.0.0.1 from pods with their own networks.
    """

    def __init__(
        self,
        work: Path,
        on_event: Callable[[dict[str, Any]], None],
        api_port: int = 0,
        on_caller: Callable[[socket.socket], None] = socket.socket.close,
    ) -> None:
        self._work, self._on_event, self._api_port, self._on_caller = work, on_event, api_port, on_caller
        self._send_lock = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> PodHostMode:
        """Returns when it is ready. Raises PodHostError."""
        try:
            self._work.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise PodHostError(f"{self._work} cannot be used: {error.strerror}") from None
        self._socket, theirs = socket.socketpair()
        self._passed, their_passed = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, their_passed:
            argv = [str(theirs.fileno()), str(self._work), str(their_passed.fileno()), str(self._api_port)]
            self._process = subprocess.Popen(
                python.module("hpcbatch.engine.podhost.main", *argv),
                pass_fds=[theirs.fileno(), their_passed.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        handles.restore_limit(self._process.pid)
        self._socket.settimeout(_START_LIMIT_S)
        self._reader = self._socket.makefile("rb")
        try:
            line = self._reader.readline()
        except OSError:
            line = b""
        if not line:
            self._process.kill()
            self._process.wait()
            raise PodHostError("the process that holds the pods did not start; the engine's log says why")
        self._socket.settimeout(None)
        ready = json.loads(line)
        self._thread = threading.Thread(target=self._read, name="podhost", daemon=True)
        self._thread.start()
        threading.Thread(target=self._receive_callers, name="callers", daemon=True).start()
        return PodHostMode(ready["mode"], ready["why"], ready["memory"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Mapping[str, Any]) -> None:
        """Never raises: if the pod host has died, `on_event` gets {"event": "lost"}."""
        data = json.dumps(message).encode() + b"\n"
        try:
            with self._send_lock:
                self._socket.sendall(data)
        except OSError as error:
            if not self._stopping:
                _LOG.warning("the pod host does not listen: %s", error)

    def let_in(self, message: Mapping[str, Any]) -> socket.socket:
        """Connect to a container: see `podhost/streams.py` for what is said on the socket. If the container has gone,
        it is closed at the other end. Raises OSError.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._passed, [json.dumps(message).encode()], [theirs.fileno()], socket.MSG_NOSIGNAL)
            except OSError:
                ours.close()
                raise
        return ours

    def stop(self) -> None:
        """Kill all pods at once; returns when their processes are gone. May be called more than once."""
        self._stopping = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        try:
            self._process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)
        self._reader.close()
        self._socket.close()

    def _receive_callers(self) -> None:
        """Pass callers on until the pod host has ended."""
        with self._passed:
            while True:
                data, descriptors, _, _ = socket.recv_fds(self._passed, 1, 1, socket.MSG_CMSG_CLOEXEC)
                if not data:
                    return
                for descriptor in descriptors:
                    self._on_caller(socket.socket(fileno=descriptor))

    def _read(self) -> None:
        try:
            for line in self._reader:
                try:
                    self._on_event(json.loads(line))
                except Exception:
                    _LOG.exception("event of the pod host: %r", line[:500])
        except OSError:
            pass
        if not self._stopping:
            status = "not yet gone"
            try:
                status = str(self._process.wait(_STOP_LIMIT_S))
            except subprocess.TimeoutExpired:
                self._process.kill()
            _LOG.error("the pod host has ended (%s)", status)
            self._on_event({"event": "lost"})
