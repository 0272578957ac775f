"""The store against a plain dict, against kill -9, against a full disk, and what watchers see of it."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hpcbatch.engine.registry.store import Change, Store, StoreEvent
from hpcbatch.errors import ApiError, GoneError, HpcBatchError
from tests.thoroughness import examples

PODS, SECRETS = ("", "pods"), ("", "secrets")
"""The objects of the latter are kept packed."""


def obj(name: str, namespace: str = "ns", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, **fields}


def put(store: Store, name: str, namespace: str = "ns", **fields: Any) -> dict[str, Any]:
    return store.write([Change(PODS, namespace, name, obj(name, namespace, **fields))])[0]


def remove(store: Store, name: str, namespace: str = "ns") -> dict[str, Any]:
    return store.write([Change(PODS, namespace, name, None)])[0]


class StoreMachine(RuleBasedStateMachine):
    """Any sequence of writes, with the file closed and opened again in between, is what a dict would hold."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(os.environ["STORE_MACHINE_DIR"])
        self.path = self.directory / "store.db"
        for old in self.directory.glob("store.db*"):
            old.unlink()
        self.store = self._open()
        self.model: dict[tuple[tuple[str, str], str, str], dict[str, Any]] = {}
        self.revision = self.store.revision
        self.seen: list[StoreEvent] = []
        self._subscribe()

    def _subscribe(self) -> None:
        self.seen, self.subscribed_at = [], self.store.revision
        for key in (PODS, SECRETS):
            self.store.subscribe(key, None, lambda event: self.seen.append(event) if event else None)
        self.expected: list[StoreEvent] = []

    places = st.tuples(st.sampled_from([PODS, SECRETS]), st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]))

    @rule(entries=st.lists(st.tuples(places, st.none() | st.integers(0, 9)), max_size=4))
    def write(self, entries: list[tuple[tuple[tuple[str, str], str, str], int | None]]) -> None:
        changes, model, expected = [], dict(self.model), []
        revision = self.revision
        for (key, namespace, name), value in entries:
            place = (key, namespace, name)
            if value is None and place not in model:
                continue
            changes.append(Change(key, namespace, name, None if value is None else obj(name, namespace, value=value)))
            revision += 1
            before = model.get(place)
            now = obj(name, namespace, value=before["value"] if value is None and before else value)
            now["metadata"]["resourceVersion"] = str(revision)
            word: Literal["ADDED", "MODIFIED", "DELETED"] = (
                "DELETED" if value is None else "MODIFIED" if before else "ADDED"
            )
            expected.append(StoreEvent(revision, key, namespace, word, now, before))
            if value is None:
                del model[place]
            else:
                model[place] = now
        self.store.write(changes)
        self.model, self.revision = model, revision
        self.expected += expected

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self._open()
        self._subscribe()

    @rule()
    def flush(self) -> None:
        self.store.disk.flush()

    def _open(self) -> Store:
        store = Store(str(self.path), history=8)
        if os.environ["STORE_MACHINE_GROUPS"]:
            store.disk.group(3600)
        return store

    @invariant()
    def holds_what_was_written(self) -> None:
        assert self.store.revision == self.revision
        for key in (PODS, SECRETS):
            items = [item for (kind, _, _), item in sorted(self.model.items()) if kind == key]
            assert self.store.items(key) == items
            places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items]
            for place in [*places, ("a", "zz"), ("", ""), ("z", "")]:
                number, rest = self.store.after(key, None, place)
                assert list(rest) == [item for item, at in zip(items, places, strict=True) if at > place]
                assert number == sum(at > place for at in places)
            for namespace in ("a", "b"):
                inside = [item for item in items if item["metadata"]["namespace"] == namespace]
                assert self.store.items(key, namespace) == inside

    @invariant()
    def watchers_saw_every_change_in_order(self) -> None:
        assert [replace(event, text="") for event in self.seen] == self.expected

    @invariant()
    def history_replays_or_says_gone(self) -> None:
        for since, key in product(range(self.subscribed_at, self.revision + 1), (PODS, SECRETS)):
            replayed: list[StoreEvent | None] = []
            try:
                subscription, present, _ = self.store.subscribe(key, None, replayed.append, since=since)
            except GoneError:
                assert since < self.revision - 7
            else:
                subscription.cancel()
                assert present == []
                assert replayed == [event for event in self.expected if event.key == key and event.revision > since]

    def teardown(self) -> None:
        self.store.close()


@pytest.mark.parametrize("groups", ["", "yes"])
def test_store_is_a_dict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str) -> None:
    monkeypatch.setenv("STORE_MACHINE_DIR", str(tmp_path))
    monkeypatch.setenv("STORE_MACHINE_GROUPS", groups)
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        StoreMachine, settings=settings(max_examples=examples(60), stateful_step_count=25, deadline=None)
    )


WRITER = """
import sys
from hpcbatch.engine.registry.store import Change, Store
store = Store(sys.argv[1])
for number in range(1000000):
    # two objects that must always be alike, and one that counts
    pair = []
    for name in ("a", "b"):
        obj = {"metadata": {"name": name, "namespace": "ns"}, "n": number, "pad": "x" * 3000}
        pair.append(Change(("", "pods"), "ns", name, obj))
    if number % 3 == 2:
        pair.append(Change(("", "pods"), "ns", "c", None))
    elif number % 3 == 1:
        pair.append(Change(("", "pods"), "ns", "c", {"metadata": {"name": "c", "namespace": "ns"}}))
    store.write(pair)
    print(number, store.revision, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 40, 333])
def test_kill_mid_write_loses_and_halves_nothing(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "store.db"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last = [process.stdout.readline() for _ in range(lines)][-1]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    number, revision = map(int, (rest[-1] if rest and len(rest[-1].split()) == 2 else last).split())
    store = Store(str(path))
    a, b = store.get(PODS, "ns", "a"), store.get(PODS, "ns", "b")
    assert a is not None
    assert b is not None
    assert a["n"] == b["n"] >= number
    assert store.revision >= revision
    assert (store.get(PODS, "ns", "c") is not None) == (a["n"] % 3 == 1)
    assert int(put(store, "d")["metadata"]["resourceVersion"]) == store.revision > revision
    store.close()


def test_a_second_engine_is_kept_out(tmp_path: Path) -> None:
    first = Store(str(tmp_path / "s.db"))
    with pytest.raises(HpcBatchError, match=r"cannot open the engine's store .*s\.db: it is in use by another engine"):
        Store(str(tmp_path / "s.db"))
    first.close()
    Store(str(tmp_path / "s.db")).close()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    for _ in range(2):
        store = Store(str(path))
        put(store, "a")
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
        store.close()
        path.chmod(0o644)
    with pytest.raises(HpcBatchError, match=r"cannot open the engine's store .*: No such file or directory"):
        Store(str(tmp_path / "nosuch" / "s.db"))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.mkdir(), "unable to open database file"),
        (lambda path: path.write_bytes(b"not a database at all" * 100), "file is not a database"),
    ],
    ids=["directory", "garbage"],
)
def test_a_store_that_cannot_be_opened(tmp_path: Path, make: Any, why: str) -> None:
    make(tmp_path / "s.db")
    with pytest.raises(HpcBatchError, match=why):
        Store(str(tmp_path / "s.db"))


def test_full_disk_changes_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.db"))
    put(store, "a", value=1)
    seen: list[StoreEvent | None] = []
    store.subscribe(PODS, None, seen.append)
    pages = store.disk.db.execute("PRAGMA page_count").fetchone()[0]
    store.disk.db.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own way to be out of space
    before = store.revision
    with pytest.raises(ApiError) as caught:
        store.write([Change(PODS, "ns", "a", obj("a", value=2)), Change(PODS, "ns", "b", obj("b", pad="x" * 100_000))])
    assert (caught.value.code, caught.value.reason) == (500, "InternalError")
    assert caught.value.message == (
        f"Internal error occurred: the engine's store {tmp_path / 's.db'} cannot be written: database or disk is full"
    )
    found = store.get(PODS, "ns", "a")
    assert found is not None
    assert found["value"] == 1
    assert store.get(PODS, "ns", "b") is None
    assert (store.revision, seen) == (before, [])
    store.disk.db.execute("PRAGMA max_page_count=100000")
    assert put(store, "b")["metadata"]["resourceVersion"] == str(before + 1)
    store.close()
    again = Store(str(tmp_path / "s.db"))
    assert [item["metadata"]["name"] for item in again.items(PODS)] == ["a", "b"]
    again.close()


def test_what_is_no_json_is_refused_before_the_transaction() -> None:
    store = Store(":memory:")
    with pytest.raises(TypeError):
        put(store, "a", value=object())
    assert store.get(PODS, "ns", "a") is None
    put(store, "a", value="\udce9")  # a lone surrogate, as JSON may hold it
    assert store.items(PODS)


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.db"))
    put(store, "a", value="\udce9 é")
    store.close()
    store = Store(str(tmp_path / "s.db"))
    found = store.get(PODS, "ns", "a")
    assert found is not None
    assert found["value"] == "\udce9 é"
    store.close()


def test_history_ends() -> None:
    store = Store(":memory:", history=5)
    for number in range(8):
        put(store, "a", value=number)
    newest = store.revision
    store.subscribe(PODS, None, lambda _: None, since=newest - 5)[0].cancel()
    with pytest.raises(GoneError) as caught:
        store.subscribe(PODS, None, lambda _: None, since=newest - 6)
    assert caught.value.message == f"too old resource version: {newest - 6} ({newest - 4})"
    assert store.subscription_count() == 0


def test_a_revision_from_another_store_must_list_again() -> None:
    store = Store(":memory:")
    with pytest.raises(GoneError):
        store.subscribe(PODS, None, lambda _: None, since=store.revision + 1)


def test_deletion_has_a_revision_of_its_own() -> None:
    store = Store(":memory:")
    put(store, "a", value=1)
    gone = remove(store, "a")
    assert gone["value"] == 1
    assert gone["metadata"]["resourceVersion"] == str(store.revision)


def test_threads_do_not_lose_writes() -> None:
    store = Store(":memory:", history=10_000)
    seen: list[int] = []
    store.subscribe(PODS, None, lambda event: seen.append(event.revision) if event else None)

    def write(number: int) -> None:
        for index in range(100):
            put(store, f"p{number}-{index}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.count(PODS) == 600
    assert seen == list(range(2, 602))


def test_bodies_are_plain_json_rows(tmp_path: Path) -> None:
    """What is on disk can be read with sqlite3 alone, should the engine be gone."""
    import sqlite3

    store = Store(str(tmp_path / "s.db"))
    put(store, "a", value=1)
    store.close()
    with sqlite3.connect(tmp_path / "s.db") as db:
        rows = db.execute("SELECT grp, plural, namespace, name, body FROM objects").fetchall()
    assert [(row[:4], json.loads(row[4])["value"]) for row in rows] == [(("", "pods", "ns", "a"), 1)]
