"""Watches of the client."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from hpcbatch import errors
from hpcbatch.api.resources import PODS
from tests.component.http_api.scripted_server import Server, drops, event, says, status, streams, waited


def test_watch_gives_events_cut_anywhere_into_chunks(server: Server) -> None:
    text = event("ADDED", "a") + b"\n" + event("MODIFIED", "b")
    server.answers.put(streams(text[:10], text[10:70], text[70:]))
    watch = server.api().watch(PODS, "ns", resource_version="5", fields="metadata.name=a", timeout_s=30)
    assert [(e.type, e.object["metadata"]["name"]) for e in watch] == [("ADDED", "a"), ("MODIFIED", "b")]
    assert server.seen[0][1] == (
        "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Da&watch=true&allowWatchBookmarks=true"
        "&resourceVersion=5&timeoutSeconds=30"
    )


def test_watch_raises_what_the_server_says(server: Server) -> None:
    line = json.dumps({"type": "ERROR", "object": status(410, "Expired", "too old")}).encode() + b"\n"
    server.answers.put(streams(line))
    server.answers.put(says(status(403, "Forbidden"), 403))
    with pytest.raises(errors.GoneError, match="too old"):
        list(server.api().watch(PODS))
    with pytest.raises(errors.ForbiddenError):
        server.api().watch(PODS)


def test_watch_that_breaks_is_unreachable(server: Server) -> None:
    server.answers.put(streams(event("ADDED", "a"), then=drops))
    seen: list[Any] = []
    with pytest.raises(errors.UnreachableError, match="broke"):
        seen.extend(server.api().watch(PODS))


def test_watch_ends_at_its_time_limit_although_the_server_does_not(server: Server) -> None:
    release = threading.Event()
    server.answers.put(streams(event("ADDED", "a"), then=lambda _: waited(release)))
    begin = time.monotonic()
    assert len(list(server.api().watch(PODS, timeout_s=0.2))) == 1
    assert time.monotonic() - begin < 60
    release.set()


@pytest.mark.parametrize("head", [{}, {"Connection": "close"}], ids=["alive", "closing"])
def test_watch_is_closed_from_another_thread(server: Server, head: dict[str, str]) -> None:
    release = threading.Event()

    def holds(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        for name, value in head.items():
            handler.send_header(name, value)
        handler.end_headers()
        line = event("ADDED", "a")
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        handler.wfile.flush()
        release.wait(10)

    server.answers.put(holds)
    watch = server.api().watch(PODS)
    arrived = threading.Event()
    events = []

    def read() -> None:
        for item in watch:
            events.append(item)
            arrived.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert arrived.wait(60)
    watch.close()
    watch.close()
    reader.join(5)
    assert not reader.is_alive()
    assert len(events) == 1
    release.set()
