"""Writes that share a transaction: what is on disk when, what a kill leaves, and who waits for it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hpcbatch.engine.agent.outbox import Outbox
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Change, Store
from hpcbatch.engine.server.verbs import WatchAnswer
from hpcbatch.engine.server.watch import EventStream
from hpcbatch.errors import ApiError
from tests.waiting import wait_for

PODS = ("", "pods")
NEVER_S = 3600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Store:
    store = Store(str(path))
    store.disk.group(NEVER_S)
    return store


def put(store: Store, name: str, **fields: Any) -> int:
    written = store.write([Change(PODS, "ns", name, {"metadata": {"name": name, "namespace": "ns"}, **fields})])
    return int(written[0]["metadata"]["resourceVersion"])


def after_a_kill(path: Path) -> dict[str, Any]:
    """What a new engine finds: by name, without what the first level has of the store."""
    copy = path.parent / "copy"
    copy.mkdir(exist_ok=True)
    for file in path.parent.glob("store.db*"):
        shutil.copy(file, copy)
    again = Store(str(copy / "store.db"))
    found = {obj["metadata"]["name"]: obj.get("value") for obj in again.items(PODS)} | {"revision": again.revision}
    again.close()
    return found


def test_what_is_not_flushed_is_seen_here_alone(path: Path, store: Store) -> None:
    store.disk.flush()
    before = store.revision
    put(store, "a", value=1)
    put(store, "b", value=1)
    store.write([Change(PODS, "ns", "b", None)])
    newest = put(store, "a", value=2)
    assert [obj["value"] for obj in store.items(PODS)] == [2]
    assert after_a_kill(path) == {"revision": before}
    assert (store.disk.revision, store.revision) == (before, newest)
    store.disk.flush()
    assert after_a_kill(path) == {"a": 2, "revision": newest}
    assert store.disk.revision == newest
    store.close()


def test_a_moment_later_it_is_written(path: Path) -> None:
    store = Store(str(path))
    store.disk.group(0.001)
    for number in range(3):
        newest = put(store, "a", value=number)
        wait_for("the write", lambda newest=newest: store.disk.revision == newest)  # type: ignore[misc]
    store.close()


def test_who_waits_for_none_takes_the_others_along(path: Path, store: Store) -> None:
    put(store, "a", value=1)
    with store.disk.at_once():
        newest = put(store, "b", value=1)
        assert after_a_kill(path) == {"a": 1, "b": 1, "revision": newest}
    put(store, "c", value=1)
    with store.disk.at_once():
        store.items(PODS)
    assert after_a_kill(path) == {"a": 1, "b": 1, "c": 1, "revision": store.revision}
    store.close()


def test_the_end_writes_everything(path: Path, store: Store) -> None:
    newest = put(store, "a", value=1)
    store.close()
    assert after_a_kill(path) == {"a": 1, "revision": newest}


def test_full_disk(path: Path, store: Store) -> None:
    """What was written goes on to be seen, nothing more is, and all is well when there is room again."""
    put(store, "a", value=1)
    store.disk.flush()
    pages = store.disk.db.execute("PRAGMA page_count").fetchone()[0]
    store.disk.db.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own way to be out of space
    put(store, "a", value=2)
    put(store, "b", value=1, pad="x" * 100_000)
    with pytest.raises(ApiError, match="cannot be written: database or disk is full"):
        store.disk.flush()
    with pytest.raises(ApiError, match="cannot be written: database or disk is full"):
        put(store, "c", value=1)
    with store.disk.at_once():
        assert [obj["value"] for obj in store.items(PODS)] == [2, 1]
    assert after_a_kill(path)["a"] == 1
    store.disk.db.execute("PRAGMA max_page_count=100000")
    put(store, "c", value=1)
    assert after_a_kill(path) == {"a": 2, "b": 1, "c": 1, "revision": store.revision}
    put(store, "c", value=2)
    assert after_a_kill(path)["c"] == 1
    store.close()


def test_told_when_written(store: Store) -> None:
    told: list[str] = []
    store.disk.flush()
    store.disk.when_written(lambda: told.append("nothing waits"))
    put(store, "a")
    store.disk.when_written(lambda: told.append("flushed"))
    assert told == ["nothing waits"]
    store.disk.flush()
    put(store, "a", value=1)
    store.disk.flush()
    assert told == ["nothing waits", "flushed"]
    store.close()


def watch_of_pods() -> WatchAnswer:
    options = SimpleNamespace(since=None, bookmarks=False, timeout_s=60.0)
    kind = SimpleNamespace(key=PODS)
    answer = SimpleNamespace(kind=kind, namespace=None, matches=None, options=options, render=lambda obj, _first: obj)
    return cast(WatchAnswer, answer)


def test_a_watch_shows_what_is_on_disk(path: Path) -> None:
    store = Store(str(path))
    registry = Registry(store)
    store.disk.group(NEVER_S)
    sent: list[bytes] = []

    async def write(data: bytes) -> None:
        sent.append(data)

    async def watch() -> None:
        stream = EventStream(registry, watch_of_pods(), asyncio.get_running_loop())
        put(store, "a")
        stream.subscribe()  # what is there is on disk by then
        running = asyncio.ensure_future(stream.run(write))
        while not sent:
            await asyncio.sleep(0.001)
        put(store, "b")
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(sent) == 1
        store.disk.flush()
        put(store, "c")
        while len(sent) < 2:
            await asyncio.sleep(0.001)
        assert (b'"b"' in sent[1], b'"c"' in sent[1]) == (True, False)
        store.disk.flush()
        while len(sent) < 3:
            await asyncio.sleep(0.001)
        assert b'"c"' in sent[2]
        stream.stop()
        await running
        stream.close()

    asyncio.run(asyncio.wait_for(watch(), 30))
    store.close()


def test_a_watch_that_begins_on_a_full_disk(path: Path) -> None:
    """What is there is shown as soon as it is on disk, whether anything else changes or not."""
    store = Store(str(path))
    registry = Registry(store)
    store.disk.group(NEVER_S)
    store.disk.flush()
    sent: list[bytes] = []

    async def write(data: bytes) -> None:
        sent.append(data)

    async def watch() -> None:
        stream = EventStream(registry, watch_of_pods(), asyncio.get_running_loop())
        pages = store.disk.db.execute("PRAGMA page_count").fetchone()[0]
        store.disk.db.execute(f"PRAGMA max_page_count={pages}")
        put(store, "a", pad="x" * 100_000)
        stream.subscribe()
        running = asyncio.ensure_future(stream.run(write))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not sent
        store.disk.db.execute("PRAGMA max_page_count=100000")
        store.disk.flush()
        while not sent:
            await asyncio.sleep(0.001)
        assert b'"a"' in sent[0]
        stream.stop()
        await running
        stream.close()

    asyncio.run(asyncio.wait_for(watch(), 30))
    store.close()


def test_the_pod_host_hears_of_a_start_when_all_before_it_is_on_disk() -> None:
    did: list[object] = []
    later: list[Any] = []

    def flush() -> None:
        did.append("flush")
        if len(did) == 2:
            raise ApiError(500, "InternalError", "the disk is full")

    outbox = Outbox(flush, lambda message: did.append(message["op"]), lambda _s, action: later.append(action))
    outbox.send({"op": "pod"})
    outbox.send({"op": "start"})
    outbox.send({"op": "remove"})  # keeps its turn
    assert did == ["pod", "flush"]
    later.pop()()
    assert did == ["pod", "flush", "flush", "start", "remove"]
    for word in ("stop", "volume"):
        outbox.send({"op": word})
        assert did[-2:] == ["flush", word]
    assert not later
