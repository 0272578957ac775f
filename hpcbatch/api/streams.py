"""pods/attach and pods/exec: the streams of a process in a pod, over a WebSocket as kubectl has it since 1.30."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hpcbatch.api.resources import PODS
from hpcbatch.api.url import query_string
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.api.client import HttpApi

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""In version 4 the end of the input cannot be said."""
_PIECE: Final = 32 * 1024
_START_S: Final = 30.0
"""The API server asks the pod's node before it answers."""


class Target(NamedTuple):
    """A process in the container `main` of a pod: its own, or with `command` a new one."""

    namespace: str
    pod: str
    verb: Literal["attach", "exec"]
    tty: bool = False
    stdin: bool = True
    command: Sequence[str] = ()


class BrokenStreamError(HpcBatchError):
    """The connection ended before the process did."""


def load() -> None:
    """What a connection needs takes some 60 ms."""
    import websocket  # noqa: F401


class PodStream:
    """An open connection, for one thread."""

    def __init__(self, api: HttpApi, target: Target) -> None:
        """Raises ApiError if the server refuses, UnreachableError."""
        import websocket

        from hpcbatch.api.client import status_error

        query = [("container", "main"), ("stdout", "true")]
        query += [("stdin", "true")] if target.stdin else []
        query += [("tty", "true")] if target.tty else [("stderr", "true")]
        query += [("command", word) for word in target.command]
        path = PODS.path(target.namespace, target.pod, target.verb)
        self._connection, url, headers = api.upgrade(f"{path}?{query_string(query)}")
        self._connection.settimeout(_START_S)
        try:
            self._socket = websocket.create_connection(
                url, socket=self._connection, header=headers, subprotocols=list(PROTOCOLS)
            )
        except websocket.WebSocketBadStatusException as error:
            self._connection.close()
            raise status_error(int(error.status_code or 500), bytes(error.resp_body or b"")) from None
        except (OSError, websocket.WebSocketException) as error:
            self._connection.close()
            raise api.lost(error) from None
        self._connection.settimeout(None)
        self._says_end = self._socket.getsubprotocol() == PROTOCOLS[0]

    def send(self, channel: int, data: bytes) -> None:
        """Raises BrokenStreamError."""
        import websocket

        for at in range(0, max(len(data), 1), _PIECE):
            try:
                self._socket.send_binary(bytes([channel]) + data[at : at + _PIECE])
            except (OSError, websocket.WebSocketException):
                raise _broken() from None

    def fileno(self) -> int:
        return int(self._connection.fileno())

    @property
    def has_more(self) -> bool:
        """Something has been received already, which no poll shows."""
        pending = getattr(self._connection, "pending", None)
        return pending is not None and pending() > 0

    def resize(self, columns: int, lines: int) -> None:
        self.send(RESIZE, json.dumps({"Width": columns, "Height": lines}).encode())

    def end_input(self) -> None:
        """Nothing in version 4."""
        if self._says_end:
            self.send(CLOSE, bytes([STDIN]))

    def ping(self) -> None:
        """So that what lies between does not take the connection for a dead one, and a dead one is noticed."""
        import websocket

        try:
            self._socket.ping()
        except (OSError, websocket.WebSocketException):
            raise _broken() from None

    def receive(self) -> tuple[int, bytes] | None:
        """The next message: a channel and what it says; None for one that says nothing. After STATUS none follows.
        Raises BrokenStreamError.
        """
        import websocket

        try:
            opcode, data = self._socket.recv_data(control_frame=True)
        except (OSError, websocket.WebSocketException):
            raise _broken() from None
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            raise _broken()
        is_said = opcode in {websocket.ABNF.OPCODE_BINARY, websocket.ABNF.OPCODE_TEXT} and len(data) > 1
        return (data[0], bytes(data[1:])) if is_said else None

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """All that are still to come; the last is STATUS. Raises BrokenStreamError."""
        channel = None
        while channel != STATUS:
            message = self.receive()
            if message is not None:
                channel = message[0]
                yield message

    def close(self) -> None:
        self._connection.close()


def _broken() -> BrokenStreamError:
    return BrokenStreamError("the connection to the pod is lost")


def exit_code(status: bytes) -> int:
    """Of a process of `exec`, from what STATUS says. Raises HpcBatchError if it never started, or nobody knows."""
    value = json.loads(status)
    if value.get("status") == "Success":
        return 0
    for cause in (value.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise HpcBatchError(str(value.get("message") or "the process in the pod could not be started"))
