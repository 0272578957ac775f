"""Many objects by their names: all of them, in order, whatever becomes of connections."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from hpcbatch import errors
from hpcbatch.api.resources import SECRETS
from tests.component.http_api.scripted_server import Answer, Server, drops, says, status

NAMES = [f"s{number}" for number in range(200)]


def by_name(special: Callable[[str, int], Answer | None] = lambda *_: None) -> Answer:
    """Answers with the object of the path's last part; `special` may do so otherwise, by name and how often it came."""
    times: dict[str, int] = {}

    def answer(handler: BaseHTTPRequestHandler) -> None:
        name = handler.path.rpartition("/")[2]
        times[name] = times.get(name, 0) + 1
        (special(name, times[name]) or says({"metadata": {"name": name}}))(handler)

    return answer


def read(server: Server, answer: Answer) -> list[str | None]:
    for _ in range(3 * len(NAMES)):
        server.answers.put(answer)
    found = server.api().get_many(SECRETS, NAMES, "ns")
    return [None if obj is None else obj["metadata"]["name"] for obj in found]


def test_they_come_in_order_over_few_connections(server: Server) -> None:
    assert read(server, by_name()) == NAMES
    assert len(server.seen) == len(NAMES)
    assert len(server.peers) == 4
    assert {path for _, path, _, _ in server.seen} == {f"/api/v1/namespaces/ns/secrets/{name}" for name in NAMES}


def test_what_does_not_exist_is_none(server: Server) -> None:
    missing = {"s0", "s17", "s199"}
    found = read(server, by_name(lambda name, _: says(status(404, "NotFound"), 404) if name in missing else None))
    assert found == [None if name in missing else name for name in NAMES]


@pytest.mark.parametrize(
    "fails",
    [
        drops,
        says(status(503, "ServiceUnavailable"), 503, Retry_After="0"),
        says(status(429, "TooManyRequests"), 429, Retry_After="0"),
        says(b"no JSON"),
        says({"n": 1}, 500, Retry_After="0"),
    ],
    ids=["broken", "unavailable", "busy", "no-json", "failed"],
)
def test_what_fails_once_is_requested_again(server: Server, fails: Answer) -> None:
    names = {"s0", "s33", "s34", "s150"}
    assert read(server, by_name(lambda name, time: fails if name in names and time == 1 else None)) == NAMES


def test_a_server_that_closes_after_each_answer(server: Server) -> None:
    assert read(server, by_name(lambda name, _: says({"metadata": {"name": name}}, Connection="close"))) == NAMES


def test_a_refusal_ends_it(server: Server) -> None:
    with pytest.raises(errors.ForbiddenError):
        read(server, by_name(lambda *_: says(status(403, "Forbidden"), 403)))


def test_none_are_requested_of_none(server: Server) -> None:
    assert list(server.api().get_many(SECRETS, [], "ns")) == []
