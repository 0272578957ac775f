"""This process's terminal or streams, led to and from a process in a pod."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from hpcbatch.api.streams import STATUS, STDERR, STDIN, STDOUT, BrokenStreamError, PodStream
from hpcbatch.errors import HpcBatchError

_READ_SIZE = 32 * 1024
_PING_S = 20.0
_LAST_S = 5.0
"""What the other side says in this time after `beside` has failed is still read: it may fail since all is over."""
_SILENT_S = 90.0
"""A connection on which not even a ping is answered for so long is lost."""


def is_terminal() -> bool:
    """Whether input and output are one."""
    return os.isatty(sys.stdin.fileno()) and os.isatty(sys.stdout.fileno())


@contextmanager
def raw(descriptor: int) -> Iterator[None]:
    """Every key goes to the pod, Ctrl-C too."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor, termios.TCSADRAIN)  # what was typed ahead is for the pod
        yield
    finally:
        with suppress(termios.error):  # it is gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def size(descriptor: int) -> tuple[int, int]:
    """Columns and lines; 0 if it does not know."""
    lines, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8)))
    return columns, lines


class Relay:
    """`has_terminal`: both sides are one. `beside` opens a connection that is only kept open as long as this one, while
    the other side begins.
    """

    def __init__(self, stream: PodStream, *, has_terminal: bool, beside: Callable[[], PodStream] | None = None) -> None:
        self._stream, self._has_terminal, self._opening = stream, has_terminal, beside
        self._opened: PodStream | None = None
        self._failed: HpcBatchError | None = None
        self._beside: PodStream | None = None
        self._source = sys.stdin.fileno()
        self._wake, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_resized = has_terminal

    def run(self, hello: bytes = b"") -> bytes:
        """Lead all there and back until the end; returns what is said about that. `hello` is sent first. Raises
        BrokenStreamError, and what the opening of `beside` raises.
        """
        old = {signal.SIGWINCH: signal.signal(signal.SIGWINCH, self._on_resize)}
        wakeup = signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        try:
            if not self._has_terminal:
                return self._run(hello)
            with raw(self._source):
                return self._run(hello)
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in old.items():
                signal.signal(number, handler)
            if self._opening is None:  # else another thread may still write there
                os.close(self._wake)
                os.close(self._woken)
            self._stream.close()
            if self._beside is not None:
                self._beside.close()

    def _on_resize(self, _number: int, _frame: FrameType | None) -> None:
        self._is_resized = self._has_terminal

    def _run(self, hello: bytes) -> bytes:
        poll = select.poll()
        for descriptor in (self._wake, self._stream.fileno(), self._source):
            poll.register(descriptor, select.POLLIN)
        self._tell_size()
        if hello:
            self._stream.send(STDIN, hello)
        if self._opening is not None:
            threading.Thread(target=self._open_beside, args=(self._opening,), daemon=True).start()
        heard = time.monotonic()
        last = None
        while True:
            wait_s = _PING_S if last is None else max(0.0, last - time.monotonic())
            ready = dict(poll.poll(0 if self._stream.has_more else wait_s * 1000))
            now = time.monotonic()
            if self._failed is not None:
                last = last or now + _LAST_S
                if now >= last:
                    raise self._failed
            if self._wake in ready:
                os.read(self._wake, 4096)
            self._keep_beside(poll, ready)
            self._tell_size()
            if self._stream.fileno() in ready or self._stream.has_more:
                heard = now
                end = self._receive()
                if end is not None:
                    return end
            elif now - heard > _SILENT_S:
                self._stream.close()
            elif now - heard > _PING_S:
                self._stream.ping()
            if self._source in ready and not self._send():
                poll.unregister(self._source)

    def _open_beside(self, opening: Callable[[], PodStream]) -> None:
        """In a thread of its own."""
        try:
            self._opened = opening()
        except HpcBatchError as error:
            self._failed = error
        os.write(self._woken, b"\0")

    def _keep_beside(self, poll: select.poll, ready: dict[int, int]) -> None:
        """Answer the pings there; without it the other goes on."""
        opened, self._opened = self._opened, None
        if opened is not None:
            self._beside = opened
            poll.register(opened.fileno(), select.POLLIN)
        if self._beside is None or self._beside.fileno() not in ready:
            return
        try:
            self._beside.receive()
        except BrokenStreamError:
            poll.unregister(self._beside.fileno())
            self._beside = None

    def _tell_size(self) -> None:
        if self._is_resized:
            self._is_resized = False
            columns, lines = size(self._source)
            if columns and lines:
                self._stream.resize(columns, lines)

    def _receive(self) -> bytes | None:
        message = self._stream.receive()
        if message is None:
            return None
        channel, data = message
        if channel == STATUS:
            return data
        if channel in {STDOUT, STDERR}:
            _write((sys.stdout if channel == STDOUT else sys.stderr).fileno(), data)
        return None

    def _send(self) -> bool:
        """False at the end of the input."""
        try:
            data = os.read(self._source, _READ_SIZE)
        except OSError:  # a terminal that is gone
            data = b""
        if data:
            self._stream.send(STDIN, data)
        elif not self._has_terminal:
            self._stream.end_input()
        return bool(data)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:  # somebody else has made it so
            select.select([], [descriptor], [])
