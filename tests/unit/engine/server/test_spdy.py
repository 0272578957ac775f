"""Frames of SPDY/3.1 against a client that is written out here."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.server import spdy
from hpcbatch.engine.server.spdy import Connection, Data, Opened, Ping, Reset, SpdyError

ADLER_OF_DICTIONARY = 0xE3C6A7C2
"""As the draft's own implementations have it."""


class Client:
    """Makes a client's frames, and reads the headers of a server's replies."""

    def __init__(self) -> None:
        dictionary = spdy._dictionary()
        assert zlib.adler32(dictionary) == ADLER_OF_DICTIONARY
        self._deflate = zlib.compressobj(zdict=dictionary)
        self._inflate = zlib.decompressobj(zdict=dictionary)

    def open(self, stream: int, headers: dict[str, str], *, is_last: bool = False) -> bytes:
        words = [word.encode() for pair in headers.items() for word in pair]
        block = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(word)) + word for word in words)
        compressed = self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(1, struct.pack(">IIH", stream, 0, 0) + compressed, flags=int(is_last))

    def headers(self, compressed: bytes) -> bytes:
        return self._inflate.decompress(compressed)


def control(kind: int, payload: bytes, *, flags: int = 0, version: int = 3) -> bytes:
    return struct.pack(">HHI", 0x8000 | version, kind, flags << 24 | len(payload)) + payload


def test_streams_are_opened_and_replied_to() -> None:
    client, server = Client(), Connection()
    for stream in (1, 3, 5):
        headers = {"streamtype": "data", "port": "80", "requestid": str(stream)}
        assert list(server.receive(client.open(stream, headers, is_last=stream == 3))) == [
            Opened(stream, headers, is_last=stream == 3)
        ]
        reply = server.reply(stream)
        assert struct.unpack_from(">HHII", reply) == (0x8003, 2, len(reply) - 8, stream)
        assert client.headers(reply[12:]) == bytes(4)


@given(
    st.lists(st.tuples(st.integers(1, 2**31 - 1), st.binary(max_size=300), st.booleans()), max_size=5),
    st.integers(1, 7),
)
def test_data_in_any_pieces(frames: list[tuple[int, bytes, bool]], step: int) -> None:
    sent = b"".join(spdy.data(stream, content, is_last=is_last) for stream, content, is_last in frames)
    server = Connection()
    got = [frame for at in range(0, len(sent), step) for frame in server.receive(sent[at : at + step])]
    assert got == [Data(*frame) for frame in frames]


def test_other_frames() -> None:
    server = Connection()
    sent = control(3, struct.pack(">II", 7, 5)) + spdy.ping(9) + control(7, bytes(8)) + control(9, bytes(8))
    assert list(server.receive(sent)) == [Reset(7), Ping(9)]


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (control(6, bytes(4), version=2), "version 2 of SPDY; expected 3"),
        (control(6, bytes(2)), "a frame of kind 6 that cannot be read"),
        (control(1, bytes(10) + b"no headers"), "a frame of kind 1 that cannot be read"),
        (struct.pack(">II", 1, 2**21), "a frame of 2097152 bytes; 1048576 at most"),
        (Client().open(1, {"a": "b" * 70_000}), "headers of more than 65536 bytes"),
    ],
)
def test_nonsense(sent: bytes, text: str) -> None:
    with pytest.raises(SpdyError, match=text):
        list(Connection().receive(sent))


@given(st.binary(max_size=100))
def test_any_bytes_are_frames_or_an_error(sent: bytes) -> None:
    try:
        list(Connection().receive(sent))
    except SpdyError:
        pass
