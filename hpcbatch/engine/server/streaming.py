"""pods/exec and pods/attach: WebSockets with Kubernetes' subprotocols v5.channel.k8s.io and v4.channel.k8s.io.

Each message begins with its channel. The containers speak the same way on their sockets (`podhost/streams.py`), so this
passes messages on, but for the end, which Kubernetes says by a Status.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from aiohttp import WSMsgType, web

from hpcbatch.api.port import Object
from hpcbatch.engine.registry.statuses import bad_request
from hpcbatch.engine.server.podlogs import container_name, container_status
from hpcbatch.engine.server.request import flag
from hpcbatch.errors import ApiError, NotFoundError

LetIn = Callable[[Object, Mapping[str, Any]], socket.socket]
"""Connects to a container of a pod. Raises OSError."""

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_PIECE: Final = 32 * 1024
_PACKET: Final = 128 * 1024
_MESSAGE: Final = 4 * 2**20
_COMMAND: Final = 64 * 1024
"""Longest command, all words together."""
_HEARTBEAT_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Streaming:
    """What a client wants of a pod."""

    verb: Literal["exec", "attach"]
    pod: Object
    container: str
    command: tuple[str, ...]
    tty: bool
    channels: frozenset[int]
    """Those of stdin, stdout and stderr that it wants."""

    def message(self) -> dict[str, Any]:
        """For the container, see `podhost/container.py`."""
        message = {"op": self.verb, "container": self.container, "stdin": _STDIN in self.channels}
        return message if self.verb == "attach" else {**message, "argv": list(self.command), "tty": self.tty}


def streaming(verb: str, pod: Object, query: Mapping[str, str], command: Sequence[str]) -> Streaming:
    """Read the parameters. Raises ApiError."""
    name = pod["metadata"]["name"]
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")
    container = container_name(pod, query.get("container", ""))
    wanted = frozenset(
        number for word, number in (("stdin", _STDIN), ("stdout", _STDOUT), ("stderr", _STDERR)) if flag(query, word)
    )
    tty = flag(query, "tty")
    if not wanted:
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    if tty and _STDERR in wanted:
        raise bad_request("tty and stderr cannot both be true")
    if verb == "exec" and not command:
        raise bad_request("you must specify at least 1 command")
    if sum(len(word.encode(errors="surrogateescape")) + 1 for word in command) > _COMMAND or any(
        "\0" in word for word in command
    ):
        raise bad_request(f"a command is {_COMMAND} bytes at most, without NUL")
    if "running" not in (container_status(pod, container).get("state") or {}):
        raise NotFoundError(404, "NotFound", f'container not found ("{container}")')
    spec: Object = next((one for one in pod["spec"]["containers"] if one["name"] == container), {})
    if verb == "attach":
        if tty and not spec.get("tty"):
            raise bad_request(f"Unable to use a TTY - container {container} did not allocate one")
        if not spec.get("stdin"):
            wanted -= {_STDIN}
        tty = bool(spec.get("tty"))
    return Streaming("exec" if verb == "exec" else "attach", pod, container, tuple(command), tty, wanted)


def websocket(request: web.BaseRequest, protocols: Sequence[str]) -> web.WebSocketResponse:
    """The answer to a request for one, which is still to be prepared. Raises ApiError."""
    offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    if not any(word in protocols for word in offered):
        raise bad_request(f"unable to upgrade: expected one of the subprotocols {', '.join(protocols)}")
    return web.WebSocketResponse(
        protocols=protocols, heartbeat=_HEARTBEAT_S, max_msg_size=_MESSAGE, compress=False, timeout=2.0
    )


async def serve(request: web.BaseRequest, wanted: Streaming, let_in: LetIn) -> web.StreamResponse:
    """Raises ApiError before the upgrade."""
    channel = websocket(request, PROTOCOLS)
    try:
        inside = let_in(wanted.pod, wanted.message())
    except OSError as error:
        raise ApiError(500, "InternalError", f"Internal error occurred: {error.strerror or error}") from None
    inside.setblocking(False)
    with inside:
        await channel.prepare(request)
        # as the real server does, so that the client knows that it is through
        await channel.send_bytes(bytes([min(wanted.channels - {_STDIN}, default=_STATUS)]))
        inward = asyncio.ensure_future(_copy_in(channel, inside))
        outward = asyncio.ensure_future(_copy_out(inside, channel, wanted.channels))
        try:
            await asyncio.wait((inward, outward), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (inward, outward):
                task.cancel()
            await asyncio.gather(inward, outward, return_exceptions=True)
        with contextlib.suppress(ConnectionError):
            await channel.close()
    return channel


async def _copy_in(channel: web.WebSocketResponse, inside: socket.socket) -> None:
    """Until the client has gone. Input for a container that has ended is dropped; its end is on the way."""
    loop = asyncio.get_running_loop()
    async for message in channel:
        data: bytes = message.data.encode() if message.type is WSMsgType.TEXT else message.data
        if not data or data[0] not in {_STDIN, _RESIZE, _CLOSE}:
            continue
        for at in range(1, max(len(data), 2), _PIECE):
            with contextlib.suppress(OSError):
                await loop.sock_sendall(inside, data[:1] + data[at : at + _PIECE])


async def _copy_out(inside: socket.socket, channel: web.WebSocketResponse, wanted: frozenset[int]) -> None:
    loop = asyncio.get_running_loop()
    end: Object = _failure("the container has ended")
    while True:
        try:
            packet = await loop.sock_recv(inside, _PACKET)
        except ConnectionResetError:  # said once, before what is left to be read: it went without reading all input
            continue
        except OSError:
            packet = b""
        if not packet:
            break
        if packet[0] == _STATUS:
            end = _status(json.loads(packet[1:]))
            break
        if packet[0] in wanted:
            await channel.send_bytes(packet)
    await channel.send_bytes(bytes([_STATUS]) + json.dumps(end).encode())


def _status(end: Mapping[str, Any]) -> Object:
    """Source: Kubernetes, apimachinery's remotecommand."""
    if "error" in end:
        return _failure(f"error executing command in container: {end['error']}")
    code = end.get("code", 0)
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _failure(text: str) -> Object:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {text}",
        "reason": "InternalError",
        "details": {"causes": [{"message": text}]},
        "code": 500,
    }
