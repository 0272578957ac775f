"""A full disk, many clients, many connections."""

import threading
from pathlib import Path
from typing import Any

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


def test_connections_leave_no_files_open(api: Cluster) -> None:
    def files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    api.request("GET", P)
    before, threads = files(), threading.active_count()
    for _ in range(100):
        api.request("GET", P)
    wait_for("the connections to close", lambda: files() <= before + 2, 10)
    assert threading.active_count() == threads
