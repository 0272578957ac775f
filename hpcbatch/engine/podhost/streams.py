"""The standard streams of the processes in a container: pipes or a terminal, the log, and who is attached.

A client is the other end of a SEQPACKET socket. The first byte of each packet is its channel, as in Kubernetes'
subprotocol v5.channel.k8s.io, so that the API server passes packets on as they are:
    0 input    1 output    2 errors    3 the end, JSON: {"code": n} or {"error": text}    4 size of the terminal, JSON
    255 no more of the channel whose number follows
All is done by one thread that never waits for one client: what a client does not take stays in a queue, and until it
is taken nothing more is read from the process, which waits as for a terminal that was stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import termios
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
STATUS: Final = 3
RESIZE: Final = 4
CLOSE: Final = 255

MESSAGE_LIMIT: Final = 160 * 1024
"""Of what is sent with a client's descriptor: less than a socket takes at once."""

_READ_SIZE: Final = 32 * 1024
_PACKET: Final = 128 * 1024
_PENDING: Final = 64 * 1024
"""Input that a process has not read yet; beyond it no more is taken from its clients."""
_ROUNDS: Final = 64
_LAST_WORDS_S: Final = 2.0
_MAX_SIZE: Final = 0xFFFF

Feed = Callable[[str, bytes], None]


@dataclass(slots=True)
class Stdio:
    """`child` are the descriptors 0, 1 and 2 of a process to be; `inputs` and `outputs` our ends."""

    child: tuple[int, int, int]
    inputs: int
    """-1: it has no input."""
    outputs: dict[int, int]
    """Descriptor: channel."""
    is_tty: bool

    def close_child(self) -> None:
        for descriptor in set(self.child):
            os.close(descriptor)

    def close(self) -> None:
        for descriptor in {self.inputs, *self.outputs} - {-1}:
            os.close(descriptor)


def open_stdio(*, tty: bool, stdin: bool, owner: int | None) -> Stdio:
    """Pipes, or a terminal that belongs to `owner`. Raises OSError."""
    if tty:
        master, slave = os.openpty()
        if owner is not None:
            os.fchown(slave, owner, -1)
        os.set_blocking(master, False)
        return Stdio((slave, slave, slave), master, {master: STDOUT}, is_tty=True)
    if stdin:
        theirs, inputs = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(inputs, False)
    else:
        theirs, inputs = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), -1
    out, err = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    for read_end in (out[0], err[0]):
        os.set_blocking(read_end, False)
    return Stdio((theirs, out[1], err[1]), inputs, {out[0]: STDOUT, err[0]: STDERR}, is_tty=False)


class Client:
    """`takes_input`: what it sends reaches the process."""

    def __init__(self, connection: socket.socket, *, takes_input: bool) -> None:
        self._connection, self.takes_input = connection, takes_input
        self._queue: deque[bytes] = deque()
        self.is_gone = False

    def fileno(self) -> int:
        return self._connection.fileno()

    @property
    def is_behind(self) -> bool:
        return bool(self._queue)

    def say(self, channel: int, data: bytes) -> None:
        if not self.is_gone:
            self._queue.append(bytes([channel]) + data)
            self.flush()

    def flush(self) -> None:
        """Send what it takes."""
        while self._queue:
            try:
                self._connection.send(self._queue[0], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError:
                self.is_gone = True
                self._queue.clear()
                return
            self._queue.popleft()

    def receive(self) -> bytes:
        """A packet; empty if there is none now, or never again."""
        try:
            packet = self._connection.recv(_PACKET, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return b""
        except OSError:
            packet = b""
        if not packet:
            self.is_gone = True
        return packet

    def leave(self) -> None:
        """Wait a moment for it to take what is left."""
        with contextlib.suppress(OSError):
            self._connection.settimeout(_LAST_WORDS_S)
            while self._queue:
                self._connection.send(self._queue.popleft(), socket.MSG_NOSIGNAL)
        self._connection.close()


class Session:
    """A process with its streams and clients; `pid` is for the caller. The main process's has a log (`feed`) and
    outlives its clients, though with `once` its input does not; that of another is hung up when its client has gone.
    """

    def __init__(self, pid: int, stdio: Stdio, *, feed: Feed | None = None, once: bool = False) -> None:
        self.pid, self._stdio, self._feed, self._once = pid, stdio, feed, once
        self._clients: list[Client] = []
        self._pending = bytearray()
        self._ends_input = False

    def attach(self, client: Client) -> None:
        self._clients.append(client)

    def interests(self) -> Iterator[tuple[int, int]]:
        """Descriptors and what poll should look for there."""
        if not any(client.is_behind for client in self._clients):
            yield from ((descriptor, select.POLLIN) for descriptor in self._stdio.outputs)
        for client in self._clients:
            reads = select.POLLIN if len(self._pending) < _PENDING else 0
            yield client.fileno(), reads | (select.POLLOUT if client.is_behind else 0)
        if self._pending and self._stdio.inputs >= 0:
            yield self._stdio.inputs, select.POLLOUT

    def on_ready(self, ready: dict[int, int]) -> None:
        """Do what can be done at once; `ready` is what poll has found."""
        for client in [one for one in self._clients if ready.get(one.fileno())]:
            client.flush()
            if ready[client.fileno()] & ~select.POLLOUT and (packet := client.receive()):
                self._take(client, packet)
        self._write()
        for descriptor in [one for one in self._stdio.outputs if ready.get(one)]:
            self._read(descriptor, rounds=1)
        for client in [one for one in self._clients if one.is_gone]:
            self._clients.remove(client)
            client.leave()
            if self._feed is None:
                self._hang_up()
            elif self._once and not self._stdio.is_tty and client.takes_input:
                self._end_input()

    def finish(self, end: dict[str, Any]) -> None:
        """The process has ended: pass on what it wrote (not for ever: one in the background may go on), and say so."""
        for descriptor in list(self._stdio.outputs):
            self._read(descriptor, rounds=_ROUNDS)
        self._stdio.close()
        for client in self._clients:
            client.say(STATUS, json.dumps(end).encode())
            client.leave()
        self._clients.clear()

    # --- inside ---

    def _take(self, client: Client, packet: bytes) -> None:
        channel, data = packet[0], packet[1:]
        if channel == RESIZE and self._stdio.is_tty:
            resize(self._stdio.inputs, data)
        elif not client.takes_input:
            return
        elif channel == STDIN:
            self._pending += data
        elif channel == CLOSE and data == bytes([STDIN]) and (self._feed is None or self._once):
            self._end_input()

    def _end_input(self) -> None:
        if not self._stdio.is_tty:
            self._ends_input = True
            self._write()

    def _write(self) -> None:
        if self._stdio.inputs < 0:
            self._pending.clear()
            return
        while self._pending:
            try:
                del self._pending[: os.write(self._stdio.inputs, self._pending)]
            except BlockingIOError:
                return
            except OSError:  # the process has closed its input
                self._pending.clear()
        if self._ends_input:
            os.close(self._stdio.inputs)
            self._stdio.inputs = -1

    def _read(self, descriptor: int, rounds: int) -> None:
        channel = self._stdio.outputs[descriptor]
        for _ in range(rounds):
            try:
                data = os.read(descriptor, _READ_SIZE)
            except BlockingIOError:
                return
            except OSError:  # a terminal that no process has open any more
                data = b""
            if not data:
                del self._stdio.outputs[descriptor]
                if descriptor != self._stdio.inputs:
                    os.close(descriptor)
                return
            if self._feed is not None:
                self._feed("stderr" if channel == STDERR else "stdout", data)
            for client in self._clients:
                client.say(channel, data)

    def _hang_up(self) -> None:
        """No client is left who would see what it writes: it gets SIGHUP from its terminal, or SIGPIPE and an end."""
        self._stdio.close()
        self._stdio.inputs = -1
        self._stdio.outputs.clear()
        self._pending.clear()


def resize(terminal: int, data: bytes) -> None:
    """`data` is JSON as Kubernetes' clients send it, {"Width": columns, "Height": lines}; anything else is ignored."""
    try:
        size = json.loads(data)
        lines, columns = int(size["Height"]), int(size["Width"])
    except (ValueError, TypeError, KeyError):
        return
    if 0 < lines <= _MAX_SIZE and 0 < columns <= _MAX_SIZE:
        with contextlib.suppress(OSError):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
