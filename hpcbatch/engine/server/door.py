"""Where connections come in: whoever has not shown the token is few and soon gone.

On loopback every local user can connect, and a connection costs a file handle before it has said a word. So a user
without the token has a bounded number of them, and each ends at a deadline unless a request with the token has come.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

_LOG = logging.getLogger(__name__)

REQUEST_LIMIT_S: Final = 20.0
"""From the connection to the end of the first request's head, TLS included."""
STRANGERS: Final = 64
"""Connections that one peer may have before a request on them has shown the token."""
_BACKLOG: Final = 512
_BATCH: Final = 64
_PAUSE_S: Final = 0.2
_LOG_EVERY_S: Final = 60.0
_OUT_OF_HANDLES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_SO_NETNS_COOKIE: Final = 71
_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_NO_COOKIE: Final = 0xFFFFFFFF
_UID_AT: Final = 16 + 4 + 48 + 12
"""Behind nlmsghdr, and in inet_diag_msg behind four bytes, the socket's id and three counters."""

Peer = Callable[[socket.socket], Hashable | None]
"""Who is at the other end; None for somebody who is trusted and not counted."""


def owner(connection: socket.socket) -> int | None:
    """The user whose process is at the other end of a connection on this machine; None if the kernel does not say.
    Source: sock_diag(7).
    """
    (host, port), (own_host, own_port) = connection.getpeername()[:2], connection.getsockname()[:2]
    try:
        ends = struct.pack("!HH16s16s", port, own_port, socket.inet_aton(host), socket.inet_aton(own_host))
        asked = struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ends
        asked += struct.pack("=III", 0, _NO_COOKIE, _NO_COOKIE)
        head = struct.pack("=IHHII", 16 + len(asked), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diagnosis:
            diagnosis.settimeout(1.0)
            diagnosis.send(head + asked)
            answer = diagnosis.recv(4096)
    except OSError:
        return None
    if len(answer) < _UID_AT + 4 or struct.unpack_from("=H", answer, 4)[0] != _SOCK_DIAG_BY_FAMILY:
        return None
    return int(struct.unpack_from("=I", answer, _UID_AT)[0])


def _network(connection: socket.socket) -> int:
    """The network namespace; 0 if the kernel is too old (Linux 5.14) to say."""
    try:
        return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), sys.byteorder)
    except OSError:
        return 0


def peer(connection: socket.socket) -> Hashable | None:
    """Another user of this machine, or a pod that has a network of its own."""
    network = _network(connection)
    with socket.socket() as own:
        if network != _network(own):
            return f"the pod of network {network}"
    uid = owner(connection)
    return None if uid in {0, os.getuid()} else uid if uid is not None else "an unknown user"


class Door:
    """Accepts connections for `server`. To be used in one event loop only."""

    def __init__(
        self,
        server: web.Server,
        context: ssl.SSLContext,
        *,
        who: Peer = peer,
        strangers: int = STRANGERS,
        request_limit_s: float = REQUEST_LIMIT_S,
    ) -> None:
        self._server, self._context, self._who = server, context, who
        self._strangers, self._limit_s = strangers, request_limit_s
        self._loop = asyncio.get_running_loop()
        self._listener: socket.socket | None = None
        self._unknown: Counter[Hashable | None] = Counter()
        self._waiting: dict[RequestHandler, tuple[Hashable | None, asyncio.TimerHandle]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._logged: dict[str, float] = {}

    def open(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setblocking(False)
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
        self._listener = listener
        self._loop.add_reader(listener, self._accept)
        return int(listener.getsockname()[1])

    def close(self) -> None:
        """No more connections; those that are there go on."""
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for task in self._tasks:
            task.cancel()

    def vouch(self, connection: RequestHandler) -> None:
        """A request on this connection has shown the token."""
        if connection in self._waiting:
            self._forget(connection)[1].cancel()

    def take(self, accepted: socket.socket) -> None:
        """Serve a connection, or close it if its peer has too many already."""
        try:
            who = self._who(accepted)
        except OSError:  # the client has gone
            accepted.close()
            return
        if who is not None and self._unknown[who] >= self._strangers:
            accepted.close()
            of = f"user {who}" if isinstance(who, int) else who
            self._complain(f"{of} has {self._strangers} connections without credentials: the next ones are closed")
            return
        connection = self._server()
        self._unknown[who] += 1
        task = self._loop.create_task(self._serve(accepted, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._waiting[connection] = who, self._loop.call_later(self._limit_s, self._expire, connection)

    # --- inside ---

    def _accept(self) -> None:
        for _ in range(_BATCH):  # and then other work has its turn
            if self._listener is None:
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_HANDLES:
                    raise
                self._complain(f"no connection can be accepted: {error.strerror}")
                self._loop.remove_reader(self._listener)
                self._loop.call_later(_PAUSE_S, self._resume)
                return
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.take(connection)

    def _resume(self) -> None:
        if self._listener is not None:
            self._loop.add_reader(self._listener, self._accept)

    async def _serve(self, accepted: socket.socket, connection: RequestHandler) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._context, ssl_handshake_timeout=self._limit_s
            )
        except OSError:  # no TLS, or not in time
            accepted.close()

    def _expire(self, connection: RequestHandler) -> None:
        self._forget(connection)
        if connection.transport is not None:
            connection.transport.abort()

    def _forget(self, connection: RequestHandler) -> tuple[Hashable | None, asyncio.TimerHandle]:
        who, deadline = self._waiting.pop(connection)
        self._unknown[who] -= 1
        if not self._unknown[who]:
            del self._unknown[who]
        return who, deadline

    def _complain(self, what: str) -> None:
        """One line a minute: whoever can connect could else fill the log."""
        now = time.monotonic()
        if now - self._logged.get(what, -_LOG_EVERY_S) >= _LOG_EVERY_S:
            self._logged = {kept: at for kept, at in self._logged.items() if now - at < _LOG_EVERY_S} | {what: now}
            _LOG.warning("%s", what)
