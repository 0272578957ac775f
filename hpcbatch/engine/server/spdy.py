"""SPDY/3.1 as far as pods/portforward needs it: bytes in, frames out, and the frames that a server sends.

kubectl speaks it within a WebSocket. Source: "SPDY Protocol - Draft 3.1", chapters 2.2 and 2.6.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

FIN: Final = 1
"""Flag of a frame: its sender sends no more on that stream."""
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING = 1, 2, 3, 6
_VERSION: Final = 3
_HEAD: Final = 8
_FRAME_LIMIT: Final = 2**20
_HEADERS_LIMIT: Final = 64 * 1024

_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_REST: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)


class SpdyError(Exception):
    """The other side does not keep to the protocol."""


@dataclass(frozen=True, slots=True)
class Opened:
    """SYN_STREAM: a new stream, with its headers."""

    stream: int
    headers: Mapping[str, str]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Data:
    stream: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class Reset:
    stream: int


@dataclass(frozen=True, slots=True)
class Ping:
    number: int


Frame = Opened | Data | Reset | Ping


def _dictionary() -> bytes:
    words = (*_WORDS.split(), "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
    return b"".join(struct.pack(">I", len(word)) + word.encode() for word in words) + _REST.encode()


class Connection:
    """One side of a connection. Headers of one direction are compressed together, so frames must be made in the order
    in which they are sent."""

    def __init__(self) -> None:
        dictionary = _dictionary()
        self._inflate = zlib.decompressobj(zdict=dictionary)
        self._deflate = zlib.compressobj(zdict=dictionary)
        self._rest = bytearray()

    def receive(self, data: bytes) -> Iterator[Frame]:
        """What is complete with `data`. Frames that mean nothing here are left out. Raises SpdyError."""
        self._rest += data
        while len(self._rest) >= _HEAD:
            word, flags_and_length = struct.unpack_from(">II", self._rest)
            flags, length = flags_and_length >> 24, flags_and_length & 0xFFFFFF
            if length > _FRAME_LIMIT:
                raise SpdyError(f"a frame of {length} bytes; {_FRAME_LIMIT} at most")
            if len(self._rest) < _HEAD + length:
                return
            payload = bytes(self._rest[_HEAD : _HEAD + length])
            del self._rest[: _HEAD + length]
            if not word >> 31:
                yield Data(word, payload, bool(flags & FIN))
            elif (word >> 16) & 0x7FFF != _VERSION:
                raise SpdyError(f"version {(word >> 16) & 0x7FFF} of SPDY; expected {_VERSION}")
            else:
                yield from self._control(word & 0xFFFF, flags, payload)

    def _control(self, kind: int, flags: int, payload: bytes) -> Iterator[Frame]:
        try:
            if kind == _SYN_STREAM:
                (stream,) = struct.unpack_from(">I", payload)
                yield Opened(stream & 0x7FFFFFFF, self._headers(payload[10:]), bool(flags & FIN))
            elif kind == _RST_STREAM:
                yield Reset(struct.unpack_from(">I", payload)[0] & 0x7FFFFFFF)
            elif kind == _PING:
                yield Ping(struct.unpack_from(">I", payload)[0])
        except (struct.error, zlib.error, UnicodeError) as error:
            raise SpdyError(f"a frame of kind {kind} that cannot be read: {error}") from None

    def _headers(self, compressed: bytes) -> dict[str, str]:
        block = self._inflate.decompress(compressed, _HEADERS_LIMIT)
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers of more than {_HEADERS_LIMIT} bytes")
        (count,) = struct.unpack_from(">I", block)
        at, words = 4, []
        for _ in range(2 * count):
            (length,) = struct.unpack_from(">I", block, at)
            words.append(block[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return dict(zip(words[::2], words[1::2], strict=True))

    def reply(self, stream: int) -> bytes:
        """SYN_REPLY without headers: the stream is taken."""
        block = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control_frame(_SYN_REPLY, struct.pack(">I", stream) + block)


def data(stream: int, content: bytes, *, is_last: bool = False) -> bytes:
    return struct.pack(">II", stream, (FIN << 24 if is_last else 0) | len(content)) + content


def ping(number: int) -> bytes:
    return _control_frame(_PING, struct.pack(">I", number))


def _control_frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">II", 1 << 31 | _VERSION << 16 | kind, len(payload)) + payload
