"""The HTTP/1.1 client for API servers: one connection, one request after the other, responses read as they arrive.

The standard library's http.client does the same, but importing it takes 10 ms, as it reads headers with the email
package: a seventh of the time of a whole qstat. Source: RFC 9112.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from io import BufferedReader

_LINE_LIMIT = 65536
_HEADER_LIMIT = 200
_NO_BODY = frozenset({204, 304})


class BrokenResponseError(OSError):
    """The data is no HTTP response, or an incomplete one."""


class Response:
    """One response: its head has been read, its body is read on demand."""

    def __init__(self, reader: BufferedReader, method: str) -> None:
        self._reader = reader
        version, self.status, self.headers = _head(reader)
        while 100 <= self.status < 200:
            version, self.status, self.headers = _head(reader)
        coding = self.headers.get("transfer-encoding", "").lower()
        if coding not in {"", "chunked"}:
            raise BrokenResponseError(f"the answer comes as {coding}, which nobody asked for")
        self._is_chunked = coding == "chunked"
        self._left: int | None = 0 if self._is_chunked else _length(self.headers.get("content-length"))
        if self.status in _NO_BODY or method == "CONNECT":
            self._is_chunked, self._left = False, 0
        wish = self.headers.get("connection", "close" if version == "HTTP/1.0" else "keep-alive").lower()
        self.keeps_connection = self._left is not None and wish != "close"
        self._is_over = not self._is_chunked and self._left == 0

    def read_some(self) -> bytes:
        """The next bytes of the body, as soon as there are any; b"" at its end. Raises BrokenResponseError."""
        if self._is_over:
            return b""
        if self._is_chunked and self._left == 0:
            self._left = _chunk_size(self._reader)
            if self._left == 0:
                while _line(self._reader):
                    pass  # trailers
                self._is_over = True
                return b""
        data = self._read1()
        if self._left is not None:
            self._left -= len(data)
            if self._left == 0 and self._is_chunked and _line(self._reader):
                raise BrokenResponseError("the answer's chunks are not as long as they say")
        self._is_over = not self._is_chunked and (self._left == 0 or not data)
        return data

    def read(self) -> bytes:
        """The whole body."""
        parts = []
        while part := self.read_some():
            parts.append(part)
        return b"".join(parts)

    def _read1(self) -> bytes:
        limit = 1 << 16 if self._left is None else min(self._left, 1 << 20)
        data = self._reader.read1(limit)
        if not data and self._left is not None:
            raise BrokenResponseError("the connection was closed in the middle of the answer")
        return data


class HttpConnection:
    """A connected socket for HTTP. `host` goes into the Host header."""

    def __init__(self, sock: socket.socket, host: str) -> None:
        self.sock = sock
        self._host = host
        self._reader = sock.makefile("rb")

    def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> Response:
        """Send a request and read the head of the response. Read its body before the next request."""
        self.sock.sendall(self._head(method, target, headers, body) + (body or b""))
        return Response(self._reader, method)

    def send_ahead(self, targets: Iterable[str], headers: Mapping[str, str]) -> None:
        """Send a GET for each; `receive` returns their responses, in the same order. No other request before that."""
        self.sock.sendall(b"".join(self._head("GET", target, headers) for target in targets))

    def receive(self) -> Response:
        """The next response to `send_ahead`."""
        return Response(self._reader, "GET")

    def _head(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header or path must not hold a line break")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def close(self) -> None:
        self._reader.close()
        self.sock.close()


def _head(reader: BufferedReader) -> tuple[str, int, dict[str, str]]:
    """HTTP version, status and headers; names in lower case; of repeated headers the last counts."""
    line = _line(reader, is_first=True)
    version, _, rest = line.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise BrokenResponseError("what answers does not speak HTTP")
    headers: dict[str, str] = {}
    while line := _line(reader):
        name, colon, value = line.partition(":")
        if not colon or len(headers) > _HEADER_LIMIT:
            raise BrokenResponseError("the answer's headers cannot be read")
        headers[name.strip().lower()] = value.strip()
    return version, int(rest[:3]), headers


def _line(reader: BufferedReader, *, is_first: bool = False) -> str:
    """A line without its end."""
    line = reader.readline(_LINE_LIMIT)
    if not line.endswith(b"\n"):
        if is_first and not line:
            raise BrokenResponseError("the connection was closed without an answer")
        raise BrokenResponseError("the connection was closed in the middle of the answer")
    return line.rstrip(b"\r\n").decode("latin-1")


def _length(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise BrokenResponseError(f"the answer's length is {text!r}")
    return int(text)


def _chunk_size(reader: BufferedReader) -> int:
    text = _line(reader).partition(";")[0].strip()
    try:
        size = int(text, 16)
    except ValueError:
        size = -1
    if size < 0:
        raise BrokenResponseError(f"the size of a chunk is {text!r}")
    return size
