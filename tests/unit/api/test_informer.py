from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from hpcbatch.api.informer import Informer, Workers, WorkQueue
from hpcbatch.api.port import Object, ObjectList, WatchEvent
from hpcbatch.api.resources import PODS
from hpcbatch.errors import ApiError, ConflictError, GoneError, UnreachableError
from tests.waiting import wait_for

BOUND_S = 10.0


def pod(name: str, version: int, uid: str = "") -> Object:
    return {"metadata": {"name": name, "namespace": "d", "uid": uid or name, "resourceVersion": str(version)}}


class ScriptedWatch:
    """Gives what is put into it; an exception is raised, None ends it."""

    def __init__(self) -> None:
        self.feed: SimpleQueue[WatchEvent | Exception | None] = SimpleQueue()
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[WatchEvent]:
        while (item := self.feed.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def close(self) -> None:
        self.closed.set()
        self.feed.put(None)


class ScriptedApi:
    """Lists what `lists` says, in turn, and hands out watches whose starting version it records."""

    def __init__(self, *lists: ObjectList | Exception) -> None:
        self.lists = list(lists)
        self.watches: SimpleQueue[tuple[str, ScriptedWatch]] = SimpleQueue()

    def list(self, *_: Any, **__: Any) -> ObjectList:
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, *_: Any, resource_version: str, **__: Any) -> ScriptedWatch:
        watch = ScriptedWatch()
        self.watches.put((resource_version, watch))
        return watch


@pytest.fixture
def run() -> Iterator[Callable[[ScriptedApi], tuple[Informer, SimpleQueue[tuple[str, str, str]]]]]:
    started: list[Informer] = []

    def go(api: ScriptedApi) -> tuple[Informer, SimpleQueue[tuple[str, str, str]]]:
        told: SimpleQueue[tuple[str, str, str]] = SimpleQueue()

        def on_event(event: WatchEvent) -> None:
            meta = event.object["metadata"]
            told.put((event.type, meta["name"], meta["resourceVersion"]))
            if meta["name"] == "poison":
                raise RuntimeError("a bug in the handler")

        informer = Informer(api, PODS, on_event=on_event)  # type: ignore[arg-type]
        started.append(informer)
        informer.start()
        return informer, told

    yield go
    for informer in started:
        informer.stop()


def take(told: SimpleQueue[tuple[str, str, str]], count: int) -> list[tuple[str, str, str]]:
    return [told.get(timeout=BOUND_S) for _ in range(count)]


def test_list_then_watch(run: Any) -> None:
    api = ScriptedApi(ObjectList((pod("a", 1), pod("b", 2)), "5"))
    informer, told = run(api)
    version, watch = api.watches.get(timeout=BOUND_S)
    assert version == "5"
    assert informer.synced.wait(BOUND_S)
    assert take(told, 2) == [("ADDED", "a", "1"), ("ADDED", "b", "2")]
    watch.feed.put(WatchEvent("MODIFIED", pod("a", 6)))
    watch.feed.put(WatchEvent("DELETED", pod("b", 7)))
    assert take(told, 2) == [("MODIFIED", "a", "6"), ("DELETED", "b", "7")]
    assert informer.get("d", "b") is None
    assert [item["metadata"]["resourceVersion"] for item in informer.items()] == ["6"]


def test_watch_that_ends_goes_on_where_it_was(run: Any) -> None:
    api = ScriptedApi(ObjectList((), "5"))
    _, told = run(api)
    _, watch = api.watches.get(timeout=BOUND_S)
    watch.feed.put(WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "9"}}))
    watch.feed.put(None)
    version, again = api.watches.get(timeout=BOUND_S)
    assert version == "9"
    again.feed.put(WatchEvent("ADDED", pod("a", 10)))
    assert take(told, 1) == [("ADDED", "a", "10")]


@pytest.mark.parametrize(
    "loss", [GoneError(410, "Expired", "too old"), ApiError(500, "InternalError", "etcd"), ValueError("bug")]
)
def test_what_a_lost_watch_missed_is_made_up(run: Any, loss: Exception) -> None:
    before = (pod("same", 1), pod("changed", 2), pod("gone", 3), pod("anew", 4))
    after = (pod("same", 1), pod("changed", 8), pod("anew", 9, "other"), pod("new", 10))
    api = ScriptedApi(ObjectList(before, "5"), UnreachableError("still down"), ObjectList(after, "11"))
    informer, told = run(api)
    take(told, 4)
    _, watch = api.watches.get(timeout=BOUND_S)
    watch.feed.put(loss)
    assert sorted(take(told, 5)) == sorted(
        [
            ("DELETED", "gone", "3"),
            ("DELETED", "anew", "4"),
            ("MODIFIED", "changed", "8"),
            ("ADDED", "anew", "9"),
            ("ADDED", "new", "10"),
        ]
    )
    assert api.watches.get(timeout=BOUND_S)[0] == "11"
    assert {item["metadata"]["name"] for item in informer.items()} == {"same", "changed", "anew", "new"}


@pytest.mark.parametrize("loss", [UnreachableError("reset"), ApiError(429, "TooManyRequests", "later")])
def test_a_broken_watch_goes_on_where_it_broke(run: Any, loss: Exception) -> None:
    api = ScriptedApi(ObjectList((pod("a", 1),), "5"))
    informer, told = run(api)
    _, watch = api.watches.get(timeout=BOUND_S)
    watch.feed.put(WatchEvent("MODIFIED", pod("a", 6)))
    watch.feed.put(loss)
    version, again = api.watches.get(timeout=BOUND_S)
    assert version == "6", "no second list"
    again.feed.put(WatchEvent("DELETED", pod("a", 7)))
    assert take(told, 3) == [("ADDED", "a", "1"), ("MODIFIED", "a", "6"), ("DELETED", "a", "7")]
    assert informer.items() == ()


def test_a_version_that_never_works_again_is_given_up(run: Any) -> None:
    api = ScriptedApi(ObjectList((pod("a", 1),), "900"), ObjectList((pod("a", 1),), "5"))
    run(api)
    versions: list[Any] = []
    while not versions or versions[-1] == "900":
        version, watch = api.watches.get(timeout=BOUND_S)
        versions.append(version)
        watch.feed.put(UnreachableError("no answer"))
    assert versions[-1] == "5"
    assert 1 < len(versions) < 10


def test_first_list_may_fail(run: Any) -> None:
    api = ScriptedApi(UnreachableError("not up yet"), ObjectList((pod("a", 1),), "1"))
    informer, _ = run(api)
    assert informer.synced.wait(BOUND_S)


def test_a_failing_handler_does_not_end_it(run: Any) -> None:
    api = ScriptedApi(ObjectList((pod("poison", 1), pod("b", 2)), "5"))
    _, told = run(api)
    assert take(told, 2)[1] == ("ADDED", "b", "2")


def test_stop_ends_the_watch(run: Any) -> None:
    api = ScriptedApi(ObjectList((), "5"))
    informer, told = run(api)
    _, watch = api.watches.get(timeout=BOUND_S)
    informer.stop()
    informer.stop()
    assert watch.closed.is_set()
    assert told.empty()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_delays_and_backoff() -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock=clock, first_backoff_s=1, longest_backoff_s=3)
    assert [queue.retry("a") for _ in range(4)] == [1, 2, 3, 3]
    assert queue.failures("a") == 4
    queue.add_after("b", 0.5)
    assert queue.get(0) is None
    clock.now += 0.5
    assert queue.get(0) == "b"
    clock.now += 0.5
    assert queue.get(0) == "a"
    queue.done("a")
    clock.now += 10
    assert queue.get(0) is None, "the shortest delay stands for all"
    queue.forget("a")
    assert queue.retry("a") == 1


@pytest.mark.parametrize("delay_s", [1e10, 1e300, float("inf"), 2**200])
def test_no_delay_is_longer_than_a_wait_can_be(delay_s: float) -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("in the year 2400", delay_s)
    got: SimpleQueue[object] = SimpleQueue()

    def work() -> None:
        try:
            got.put(queue.get())
        except Exception as error:
            got.put(error)

    threading.Thread(target=work, daemon=True).start()
    queue.add("x")
    assert got.get(timeout=BOUND_S) == "x"
    threading.Thread(target=work, daemon=True).start()
    queue.add_after("y", 0.05)
    assert got.get(timeout=BOUND_S) == "y"


def test_a_look_makes_the_delays_before_it_void() -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock=clock, supersedes=True)
    queue.add_after("a", 5)
    queue.add("a")
    assert queue.get(0) == "a"
    queue.add_after("a", 7)
    queue.done("a")
    clock.now += 6
    assert queue.get(0) is None, "that of before"
    clock.now += 2
    assert queue.get(0) == "a", "what came while it was handled counts"


def test_nobody_wakes_up_for_a_void_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock=clock, supersedes=True)
    for key, delay_s in (("a", 5), ("b", 6), ("c", 7)):
        queue.add_after(key, delay_s)
    for key in ("a", "b"):
        queue.add(key)
        assert queue.get(0) == key
        queue.done(key)
    waits: list[float | None] = []

    def wait(_self: threading.Condition, timeout: float | None = None) -> bool:
        waits.append(timeout)
        clock.now += timeout or 0
        return False

    monkeypatch.setattr(threading.Condition, "wait", wait)
    assert (queue.get(), waits) == ("c", [7])


def test_a_thread_that_has_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, lambda _: None, name="test", count=1)
    assert workers.dead == []
    queue.get = lambda timeout=None: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    workers.start()
    wait_for("the thread to end", lambda: workers.dead == ["test-0"])
    workers.stop()
    assert workers.dead == []


def test_get_wakes_for_an_add_from_another_thread() -> None:
    queue: WorkQueue[str] = WorkQueue()
    got: SimpleQueue[str | None] = SimpleQueue()
    thread = threading.Thread(target=lambda: got.put(queue.get(BOUND_S)))
    thread.start()
    queue.add("x")
    assert got.get(timeout=BOUND_S) == "x"
    thread.join()


def test_get_wakes_for_a_shorter_delay_than_it_waits_for() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("later", 600)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(queue.get, 60)
        queue.add_after("much later", 1200)
        queue.add_after("soon", 0.01)
        assert found.result(60) == "soon"


def test_workers_try_again_and_survive() -> None:
    queue: WorkQueue[str] = WorkQueue()
    raising: list[Exception] = [
        ConflictError(409, "Conflict", "changed"),
        UnreachableError("down"),
        KeyError("a bug"),
    ]
    ended = threading.Event()

    def handle(key: str) -> None:
        if raising:
            raise raising.pop()
        ended.set()

    workers = Workers(queue, handle, name="test", count=2)
    workers.start()
    queue.add("k")
    assert ended.wait(BOUND_S)
    workers.stop()
    assert queue.get() is None


def test_lanes_take_turns() -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock=clock, lane=lambda key: (key[0],))
    for key in ("a1", "a2", "a3", "b1", "a4", "b2", "c1"):
        queue.add(key)
        clock.now += 1
    assert len(queue) == 7
    order: list[str] = []
    while (taken := queue.get(0)) is not None:
        order.append(taken)
        if order == ["a1", "b1"]:
            assert queue.waited_s("b1") == 4
            queue.add("b1")
        queue.done(taken)
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3", "b1", "a4"]
    assert queue.waited_s("b1") == 0, "nobody works on it"


def test_lanes_within_lanes_take_turns() -> None:
    """Many lanes within one have together as many turns as one lane."""
    queue: WorkQueue[str] = WorkQueue(lane=lambda key: tuple(key[:2]))
    for key in ("xa1", "xa2", "xb1", "xc1", "ya1", "ya2", "ya3"):
        queue.add(key)
    order = [queue.get(0) for _ in range(7)]
    assert order == ["xa1", "ya1", "xb1", "ya2", "xc1", "ya3", "xa2"]
    assert queue.get(0) is None


def test_a_key_that_is_added_again_moves_to_its_lane_of_then() -> None:
    clock, moved = Clock(), set[str]()
    queue: WorkQueue[str] = WorkQueue(clock=clock, lane=lambda key: ("moved" if key in moved else "others",))
    for key in "abcd":
        queue.add(key)
    clock.now += 5
    moved.add("d")
    queue.add("a")
    queue.add("d")
    assert [queue.get(0), queue.get(0)] == ["a", "d"]
    assert queue.waited_s("d") == 5, "from the beginning"
    moved.add("c")
    queue.add("c")
    moved.clear()
    queue.add("c")
    assert [queue.get(0), queue.get(0), queue.get(0)] == ["b", "c", None]


class QueueModel(RuleBasedStateMachine):
    """A key is worked on by one worker at a time, no `add` is ever lost, and a lane that has keys has its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.lanes = {key: (key % 2, key % 3) for key in range(5)}
        self.queue: WorkQueue[int] = WorkQueue(clock=self.clock, lane=self.lanes.__getitem__)
        self.owed: set[int] = set()
        self.later: dict[int, float] = {}
        self.active: set[int] = set()
        self.last: int | None = None
        """The outermost lane of the key that was taken last."""
        self.in_turn: dict[int, int] = {}
        """The outermost lanes of the others that could have been taken then, and have not moved since."""

    @rule(key=st.integers(0, 4))
    def add(self, key: int) -> None:
        self.queue.add(key)
        self.owed.add(key)

    @rule(key=st.integers(0, 4), lane=st.tuples(st.integers(0, 1), st.integers(0, 2)))
    def move(self, key: int, lane: tuple[int, int]) -> None:
        self.lanes[key] = lane
        self.add(key)
        self.in_turn.pop(key, None)

    @rule(key=st.integers(0, 4), delay=st.integers(1, 5))
    def add_after(self, key: int, delay: int) -> None:
        self.queue.add_after(key, delay)
        self.later[key] = min(self.later.get(key, 1e9), self.clock.now + delay)

    @rule(step=st.integers(1, 4))
    def tick(self, step: int) -> None:
        self.clock.now += step

    @rule()
    def get(self) -> None:
        due = {key for key, moment in self.later.items() if moment <= self.clock.now}
        self.owed |= due
        for late in due:
            del self.later[late]
        key = self.queue.get(0)
        free = self.owed - self.active
        if key is None:
            assert not free
            return
        assert key in free
        self.owed.discard(key)
        self.active.add(key)
        lane, _ = self.lanes[key]
        if lane == self.last:
            assert set(self.in_turn.values()) <= {lane}
        self.last, self.in_turn = lane, {other: self.lanes[other][0] for other in free - {key}}

    @rule(pick=st.integers(0, 4))
    def done(self, pick: int) -> None:
        if self.active:
            key = sorted(self.active)[pick % len(self.active)]
            self.active.discard(key)
            self.queue.done(key)


TestQueueModel = QueueModel.TestCase
