"""Reading HTTP answers, however they are cut."""

from __future__ import annotations

import io
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api.http import BrokenResponseError, HttpConnection, Response


def answer(text: bytes, method: str = "GET") -> Response:
    return Response(io.BufferedReader(io.BytesIO(text)), method)


@pytest.mark.parametrize(
    ("text", "status", "body", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcREST", 200, b"abc", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\na", 200, b"a", False),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, b"until the end", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201, b"", True),
        (
            b"HTTP/1.1 404\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
            404,
            b"abc0123456789",
            True,
        ),
    ],
    ids=["length", "no-content", "close", "until-end", "http-1.0", "continue", "chunked"],
)
def test_answers(text: bytes, status: int, body: bytes, keeps: bool) -> None:
    found = answer(text)
    assert (found.status, found.read(), found.keeps_connection) == (status, body, keeps)
    assert found.read_some() == b""


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 5 + b"c: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
)
def test_broken_answers(text: bytes) -> None:
    with pytest.raises(BrokenResponseError):
        answer(text).read()


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_an_answer_or_broken(text: bytes) -> None:
    for head in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        try:
            answer(head + text).read()
        except BrokenResponseError:
            pass


@given(st.lists(st.binary(min_size=1, max_size=50)))
def test_chunks_come_one_by_one_and_whole(chunks: list[bytes]) -> None:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    found = answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    assert list(iter(found.read_some, b"")) == chunks


def test_requests_as_sent() -> None:
    ours, theirs = socket.socketpair()
    got: list[bytes] = []

    def serve() -> None:
        got.append(theirs.recv(65536))
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    thread = threading.Thread(target=serve)
    thread.start()
    connection = HttpConnection(ours, "h:1")
    assert connection.request("POST", "/a?b=c", {"Accept": "x"}, b"{}").read() == b"ok"
    thread.join(5)
    assert got == [b"POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nAccept: x\r\nContent-Length: 2\r\n\r\n{}"]
    connection.close()
    theirs.close()


@pytest.mark.parametrize("arguments", [("GET", "/a\r\nb", {}), ("GET", "/", {"A": "b\nC: d"})])
def test_line_breaks_never_reach_the_wire(arguments: Any) -> None:
    ours, theirs = socket.socketpair()
    with pytest.raises(ValueError, match="line break"):
        HttpConnection(ours, "h").request(*arguments)
    ours.close()
    theirs.close()
