"""A full disk, many clients, many connections."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.engine.server.verbs import Request
from tests.component.api_server import Cluster, batch_job, cluster
from tests.component.server.paths import BJ, CM, P
from tests.waiting import wait_for


def test_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    with cluster(tmp_path) as own:
        own.request("POST", CM, {"metadata": {"name": "c"}, "data": {"a": "1"}})
        db = own.registry.store.disk.db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own way to be out of space
        refused = own.request("POST", CM, {"metadata": {"name": "d"}, "data": {"a": "x" * 200_000}})
        assert (refused.code, refused.json["reason"]) == (500, "InternalError")
        assert refused.json["message"].endswith("store.db cannot be written: database or disk is full")
        assert own.request("GET", f"{CM}/d").code == 404
        assert own.get(f"{CM}/c")["data"] == {"a": "1"}
        db.execute("PRAGMA max_page_count=100000")
        assert own.request("POST", CM, {"metadata": {"name": "d"}}).code == 201


def test_many_clients_at_once(api: Cluster) -> None:
    made: list[dict[str, Any]] = []

    def submit() -> None:
        for _ in range(5):
            made.append(api.request("POST", BJ, batch_job() | {"metadata": {"generateName": "j-"}}).json)

    threads = [threading.Thread(target=submit) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({job["metadata"]["name"] for job in made}) == 100
    assert len({job["metadata"]["resourceVersion"] for job in made}) == 100
    assert len(api.get(BJ)["items"]) == 100


@pytest.fixture
def held_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Cluster, threading.Event]]:
    """Lists of this server take until the event is set; two may be at work, four in line."""
    monkeypatch.setattr("hpcbatch.engine.server.server._LISTS_IN_LINE", 4)
    with cluster(tmp_path) as own:
        may_go_on, handle = threading.Event(), own.server._verbs.handle

        def slow(request: Request) -> Any:
            if request.is_list:
                assert may_go_on.wait(60)
            return handle(request)

        own.server._verbs.handle = slow  # type: ignore[method-assign]
        yield own, may_go_on
        may_go_on.set()


def test_lists_that_take_long_keep_no_writer_waiting(held_lists: tuple[Cluster, threading.Event]) -> None:
    """Most wait in a line, and whoever would make it longer is told when to come again, as by Kubernetes."""
    own, may_go_on = held_lists
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(own.request("GET", CM).code)) for _ in range(6)]
    for thread in threads:
        thread.start()
    wait_for("the lists", lambda: own.server._lists == 6, 60)
    assert own.request("POST", CM, {"metadata": {"name": "c"}}).code == 201
    assert own.request("GET", f"{CM}/c").code == 200
    refused = own.request("GET", CM)
    assert (refused.code, refused.json["reason"], refused.headers.get("retry-after")) == (429, "TooManyRequests", "1")
    may_go_on.set()
    for thread in threads:
        thread.join(60)
    assert found == [200] * 6
    assert own.request("GET", CM).code == 200


def test_connections_leave_no_files_open(api: Cluster) -> None:
    def files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    api.request("GET", P)
    before, threads = files(), threading.active_count()
    for _ in range(100):
        api.request("GET", P)
    wait_for("the connections to close", lambda: files() <= before + 2, 10)
    assert threading.active_count() <= threads + 1  # a second one that makes lists, if the first was not free again
