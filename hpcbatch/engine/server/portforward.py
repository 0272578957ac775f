"""pods/portforward: SPDY/3.1 within a WebSocket, as kubectl since 1.31 speaks it.

For each connection the client opens two streams with the same header `requestID`: one for errors, one for the data.
The pod's side of a connection is made by the pod (`podhost/container.py`), in its own network.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import WSMsgType, web

from hpcbatch.api.port import Object
from hpcbatch.engine.registry.statuses import bad_request
from hpcbatch.engine.server import spdy
from hpcbatch.engine.server.streaming import LetIn, websocket

PROTOCOL: Final = "SPDY/3.1+portforward.k8s.io"
_PIECE: Final = 32 * 1024
_WAITING: Final = 64
"""Frames that a connection may be behind before the client has to wait."""
_CONNECTIONS: Final = 1024
_ANSWER_S: Final = 10.0


@dataclass(slots=True)
class _Pair:
    """The two streams of a connection."""

    port: int
    errors: int = 0
    data: int = 0
    inward: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(_WAITING))
    """What the client sends; an empty one is its end."""


async def serve(request: web.BaseRequest, pod: Object, let_in: LetIn) -> web.StreamResponse:
    """Raises ApiError before the upgrade."""
    channel = websocket(request, (PROTOCOL,))
    running = [
        status["name"] for status in pod.get("status", {}).get("containerStatuses", ()) if "running" in status["state"]
    ]
    if not running:
        raise bad_request(f"pod {pod['metadata']['name']} is not running")
    await channel.prepare(request)

    def connect(port: int, family: int) -> socket.socket:
        message = {"op": "connect", "container": running[0], "port": port, "family": family}
        return _connection(let_in, pod, message)

    forwarding = _Forwarding(channel, pod["metadata"]["name"], connect)
    try:
        await forwarding.run()
    finally:
        await forwarding.stop()
    with contextlib.suppress(ConnectionError):
        await channel.close()
    return channel


class _Forwarding:
    def __init__(self, channel: web.WebSocketResponse, pod: str, connect: Callable[[int, int], socket.socket]) -> None:
        self._channel, self._pod, self._connect = channel, pod, connect
        self._spdy = spdy.Connection()
        self._pairs: dict[str, _Pair] = {}
        self._of_stream: dict[int, _Pair] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the client has gone, or says what cannot be understood."""
        async for message in self._channel:
            if message.type is not WSMsgType.BINARY:
                continue
            try:
                for frame in self._spdy.receive(message.data):
                    await self._on_frame(frame)
            except spdy.SpdyError:
                return

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _on_frame(self, frame: spdy.Frame) -> None:
        match frame:
            case spdy.Opened(stream, headers):
                await self._channel.send_bytes(self._spdy.reply(stream))
                self._open(stream, headers)
            case spdy.Data(stream, content, is_last):
                pair = self._of_stream.get(stream)
                if pair is not None and stream == pair.data:
                    for part in ([content] if content else []) + ([b""] if is_last else []):
                        await pair.inward.put(part)
            case spdy.Reset(stream):
                pair = self._of_stream.get(stream)
                if pair is not None and stream == pair.data:
                    await pair.inward.put(b"")
            case spdy.Ping(number):
                await self._channel.send_bytes(spdy.ping(number))

    def _open(self, stream: int, headers: Mapping[str, str]) -> None:
        kind, port, number = (headers.get(name, "") for name in ("streamtype", "port", "requestid"))
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536) or kind not in {"error", "data"}:
            raise spdy.SpdyError(f"a stream {kind!r} for port {port!r}")
        if len(self._pairs) >= _CONNECTIONS:
            raise spdy.SpdyError(f"more than {_CONNECTIONS} connections")
        pair = self._pairs.setdefault(number, _Pair(int(port)))
        self._of_stream[stream] = pair
        if kind == "error":
            pair.errors = stream
        else:
            pair.data = stream
        if pair.errors and pair.data:
            task = asyncio.ensure_future(self._forward(number, pair))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, number: str, pair: _Pair) -> None:
        words = ""
        try:
            await self._pump(pair)
        except OSError as error:
            name = error.strerror or str(error)
            words = f"error forwarding port {pair.port} to pod {self._pod}: {name.lower()}"
        finally:
            del self._pairs[number]
            for stream in (pair.errors, pair.data):
                self._of_stream.pop(stream, None)
        with contextlib.suppress(ConnectionError):
            await self._channel.send_bytes(spdy.data(pair.errors, words.encode(), is_last=True))
            await self._channel.send_bytes(spdy.data(pair.data, b"", is_last=True))

    async def _pump(self, pair: _Pair) -> None:
        """Both ways, until the pod's side has ended. Raises OSError."""
        reader, writer = await asyncio.open_connection(sock=await self._reach(pair.port))
        inward = asyncio.ensure_future(_copy_in(pair.inward, writer))
        try:
            while content := await reader.read(_PIECE):
                await self._channel.send_bytes(spdy.data(pair.data, content))
        finally:
            inward.cancel()
            await asyncio.gather(inward, return_exceptions=True)
            writer.close()

    async def _reach(self, port: int) -> socket.socket:
        """IPv4's loopback address, then IPv6's. Raises OSError."""
        try:
            return await _made(await asyncio.to_thread(self._connect, port, 4))
        except OSError as refusal:
            try:
                return await _made(await asyncio.to_thread(self._connect, port, 6))
            except OSError:
                raise refusal from None


async def _copy_in(source: asyncio.Queue[bytes], target: asyncio.StreamWriter) -> None:
    """What comes for a side that takes no more is dropped: its end is on the way."""
    is_open = True
    while content := await source.get():
        if is_open:
            target.write(content)
            try:
                await target.drain()
            except OSError:
                is_open = False
    with contextlib.suppress(OSError):
        target.write_eof()


def _connection(let_in: LetIn, pod: Object, message: Mapping[str, Any]) -> socket.socket:
    """Raises OSError."""
    with let_in(pod, message) as caller:
        caller.settimeout(_ANSWER_S)
        words, descriptors, _, _ = socket.recv_fds(caller, 1024, 1, socket.MSG_CMSG_CLOEXEC)
    if not descriptors:
        raise ConnectionError(0, words.decode(errors="replace") or "the container has ended")
    return socket.socket(fileno=descriptors[0])


async def _made(connection: socket.socket) -> socket.socket:
    """Wait until it is connected. Raises OSError."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(connection, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    except BaseException:
        connection.close()
        raise
    finally:
        loop.remove_writer(connection)
    code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        connection.close()
        raise OSError(code, os.strerror(code))
    return connection
