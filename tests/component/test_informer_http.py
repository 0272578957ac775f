"""An informer over HTTP and an API server that has a bad week: whatever it does, the cache comes right in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hpcbatch import __version__
from hpcbatch.api.informer import Informer
from hpcbatch.api.resources import PODS
from tests.component.http_api.scripted_server import Server, drops, says, status, streams
from tests.waiting import wait_for

Answer = Callable[[BaseHTTPRequestHandler], None]


def pod(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "d", "uid": name, "resourceVersion": str(version)}}


def page(version: int, *items: Any, more: str = "") -> Answer:
    return says({"kind": "PodList", "metadata": {"resourceVersion": str(version), "continue": more}, "items": items})


def line(kind: str, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


class Week:
    """What the server answers, request by request; the last watch stays open until the end."""

    def __init__(self, server: Server, *answers: Answer) -> None:
        for answer in answers:
            server.answers.put(answer)

        def until_closed(handler: BaseHTTPRequestHandler) -> None:
            handler.rfile.read(1)

        server.answers.put(streams(then=until_closed))
        self._server = server
        self.informer = Informer(server.api(), PODS, on_event=lambda _: None)
        self.informer.start()

    def wait_for(self, *names: str) -> None:
        def is_right() -> bool:
            return {item["metadata"]["name"] for item in self.informer.items()} == set(names)

        wait_for(f"pods {names}, with all answers given", lambda: is_right() and self._server.answers.empty())

    @property
    def asked(self) -> list[str]:
        """`list`, `list after TOKEN` or `watch VERSION` for each request."""
        found = []
        for _, path, _, _ in self._server.seen:
            query = {key: value[0] for key, value in parse_qs(urlsplit(path).query).items()}
            if "watch" in query:
                found.append(f"watch {query['resourceVersion']}")
            else:
                found.append(f"list after {query['continue']}" if "continue" in query else "list")
        return found


@pytest.fixture
def week() -> Iterator[Callable[..., Week]]:
    server = Server()
    weeks: list[Week] = []

    def make(*answers: Answer) -> Week:
        weeks.append(Week(server, *answers))
        return weeks[-1]

    yield make
    for one in weeks:
        one.informer.stop()
    server.close()


def test_pages_events_and_a_quiet_end(week: Any) -> None:
    bookmark = {"metadata": {"resourceVersion": "30"}}
    found = week(
        page(10, pod("a", 1), more="t"),
        page(10, pod("b", 2)),
        streams(line("ADDED", pod("c", 11)), line("DELETED", pod("a", 12)), line("BOOKMARK", bookmark)),
    )
    found.wait_for("b", "c")
    assert found.asked == ["list", "list after t", "watch 10", "watch 30"]


def test_connections_that_break_cost_no_new_list(week: Any) -> None:
    found = week(
        page(10, pod("a", 1)),
        streams(line("ADDED", pod("b", 11)), then=drops),
        drops,  # the API server starts anew
        says(status(503, "ServiceUnavailable"), 503),
        streams(line("ADDED", pod("c", 12))[:20], then=drops),  # an event cut in two is none
        streams(line("ADDED", pod("c", 12))),
    )
    found.wait_for("a", "b", "c")
    assert found.asked == ["list", "watch 10", *["watch 11"] * 4, "watch 12"]


def test_a_busy_server_is_asked_again(week: Any) -> None:
    busy = says(status(429, "TooManyRequests"), 429, Retry_After="1")
    found = week(busy, page(10, pod("a", 1)), busy, streams(line("ADDED", pod("b", 11))))
    found.wait_for("a", "b")
    assert found.asked == ["list", "list", "watch 10", "watch 10", "watch 11"]


@pytest.mark.parametrize("how", ["at once", "as an event"])
def test_a_version_too_old_is_listed_anew(week: Any, how: str) -> None:
    gone = status(410, "Expired", "too old resource version")
    answer = says(gone, 410) if how == "at once" else streams(line("ADDED", pod("x", 11)), line("ERROR", gone))
    found = week(page(10, pod("a", 1), pod("b", 2)), answer, page(50, pod("b", 40)))
    found.wait_for("b")
    assert found.asked == ["list", "watch 10", "list", "watch 50"]


@pytest.mark.parametrize(
    "trouble",
    [
        says(status(500, "InternalError", "failed calling webhook"), 500),
        says(status(401, "Unauthorized"), 401),
        says(status(403, "Forbidden"), 403),
        says(b"<html>proxy</html>", 502),
        says(b"not json"),
    ],
    ids=["500", "401", "403", "a proxy", "no api server"],
)
def test_lists_that_fail_are_made_again(week: Any, trouble: Answer) -> None:
    found = week(trouble, page(10, pod("a", 1)))
    found.wait_for("a")
    assert found.informer.synced.is_set()
    assert found.asked == ["list", "list", "watch 10"]


def test_the_server_learns_who_asks(week: Any) -> None:
    found = week(page(10))
    found.wait_for()
    assert {headers["User-Agent"] for _, _, headers, _ in found._server.seen} == {f"hpcbatch/{__version__}"}
