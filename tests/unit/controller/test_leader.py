"""Candidates with clocks, slow answers and long pauses of their own: never do two of them lead at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NODES
from hpcbatch.controller.guarded import GuardedApi, NoLongerLeadingError
from hpcbatch.controller.leader import Candidate, Timing
from hpcbatch.errors import AlreadyExistsError, ConflictError, NotFoundError, UnreachableError, UsageError
from tests.thoroughness import examples

TIMING = Timing(lease_s=15, renew_s=10, retry_s=2)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class LeaseApi:
    """One Lease, as the API server keeps it."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.version = 0
        self.is_down = False

    def get(self, *_: Any) -> Object:
        self._reach()
        if self.lease is None:
            raise NotFoundError(404, "NotFound", "no lease")
        return self.lease

    def create(self, _: Any, obj: Mapping[str, Any], *__: Any) -> Object:
        self._reach()
        if self.lease is not None:
            raise AlreadyExistsError(409, "AlreadyExists", "there")
        return self._keep(obj)

    def replace(self, _: Any, obj: Mapping[str, Any], *__: Any) -> Object:
        self._reach()
        if self.lease is None:
            raise NotFoundError(404, "NotFound", "no lease")
        if obj["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "changed")
        return self._keep(obj)

    def _reach(self) -> None:
        if self.is_down:
            raise UnreachableError("down")

    def _keep(self, obj: Mapping[str, Any]) -> Object:
        self.version += 1
        self.lease = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        return self.lease


class SlowApi:
    """The same as one candidate reaches it: time passes on the way there and back, and answers are lost."""

    def __init__(self, api: LeaseApi, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self.there_s = self.back_s = 0.0
        self.is_lost = False

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> Any:
            self._clock.now += self.there_s
            try:
                answer = getattr(self._api, name)(*args)
            finally:
                self._clock.now += self.back_s
            if self.is_lost:
                raise UnreachableError("the answer was lost")
            return answer

        return call


def candidate(api: Any, clock: Clock, name: str) -> Candidate:
    return Candidate(lambda: api, namespace="n", name="l", identity=name, timing=TIMING, clock=clock)


def test_the_second_takes_over_when_the_lease_has_run_out() -> None:
    api, clock = LeaseApi(), Clock()
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b")
    first.look()
    second.look()
    assert (first.may_act, second.may_act) == (True, False)
    clock.now += 9.9
    assert first.may_act
    clock.now += 0.2
    assert first.has_lost, "it stops before anybody can take the lease"
    second.look()
    assert not second.may_act
    clock.now += 5
    second.look()
    assert second.may_act
    assert api.lease is not None
    assert api.lease["spec"]["leaseTransitions"] == 1
    first.look()
    assert first.has_lost, "once lost, never again"


def test_a_leader_that_renews_goes_on() -> None:
    api, clock = LeaseApi(), Clock()
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b")
    for _ in range(30):
        first.look()
        second.look()
        assert (first.may_act, second.may_act) == (True, False)
        clock.now += 2
    api.is_down = True
    for _ in range(3):
        first.look()
        clock.now += 2
    assert first.may_act, "a short absence of the API server is borne"
    assert not first.is_reached.is_set()
    api.is_down = False
    first.look()
    clock.now += 9
    assert first.may_act
    assert first.is_reached.is_set()


def test_a_lease_given_back_is_taken_at_once() -> None:
    api, clock = LeaseApi(), Clock()
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b")
    first.start()
    assert first.has_led.wait(60)
    first.stop(gives_back=True)
    assert not first.may_act
    second.look()
    assert second.may_act


def test_a_stolen_lease_ends_a_leader_at_its_next_look() -> None:
    api, clock = LeaseApi(), Clock()
    first = candidate(api, clock, "a")
    first.look()
    assert api.lease is not None
    api._keep(api.lease | {"spec": api.lease["spec"] | {"holderIdentity": "somebody"}})
    first.look()
    assert first.has_lost


def test_a_deleted_lease_is_no_free_one() -> None:
    api, clock = LeaseApi(), Clock()
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b")
    first.look()
    second.look()
    api.lease = None
    second.look()
    assert not second.may_act
    clock.now += 15
    assert first.has_lost
    second.look()
    assert second.may_act


STEPS = st.tuples(
    st.integers(0, 2),  # who looks
    st.floats(0, 12),  # before that, seconds pass
    st.sampled_from([0.0, 0.0, 0.1, 3.0, 20.0]),  # on the way there
    st.sampled_from([0.0, 0.0, 0.1, 3.0, 20.0]),  # and back; longer than a lease: the process was stopped
    st.sampled_from([False, False, False, True]),  # whether the answer is lost
)


@settings(max_examples=examples(300))
@given(st.lists(STEPS, max_size=40))
def test_never_do_two_lead(steps: list[tuple[int, float, float, float, bool]]) -> None:
    api, clock = LeaseApi(), Clock()
    ways = [SlowApi(api, clock) for _ in range(3)]
    candidates = [candidate(way, clock, name) for way, name in zip(ways, "abc", strict=True)]
    for who, pause_s, there_s, back_s, is_lost in steps:
        clock.now += pause_s
        way = ways[who]
        way.there_s, way.back_s, way.is_lost = there_s, back_s, is_lost
        if not candidates[who].has_lost:
            candidates[who].look()
        assert sum(one.may_act for one in candidates) <= 1


@pytest.mark.parametrize("wrong", [(15, 15, 2), (10, 15, 2), (15, 10, 10)])
def test_timings_that_would_let_two_lead_are_refused(wrong: tuple[int, float, float]) -> None:
    with pytest.raises(UsageError):
        Timing(lease_s=wrong[0], renew_s=wrong[1], retry_s=wrong[2])


class CountedApi:
    def __init__(self) -> None:
        self.written = 0

    def create(self, *_: Any, **__: Any) -> Object:
        self.written += 1
        return {}

    def get(self, *_: Any, **__: Any) -> Object:
        raise NotFoundError(404, "NotFound", "none")


def test_nothing_is_written_by_one_who_may_not() -> None:
    api, may = CountedApi(), [True]
    guarded = GuardedApi(api, lambda: may[0])  # type: ignore[arg-type]
    guarded.create(BATCHJOBS, {}, "n")
    may[0] = False
    with pytest.raises(NoLongerLeadingError):
        guarded.create(BATCHJOBS, {}, "n")
    with pytest.raises(NotFoundError):
        guarded.get(NODES, "n")
    assert api.written == 1
    assert guarded.calls == {("create", "batchjobs", 200): 1, ("get", "nodes", 404): 1}


def test_after_close_nothing_is_written() -> None:
    api = CountedApi()
    guarded = GuardedApi(api)  # type: ignore[arg-type]
    assert guarded.close(1)
    with pytest.raises(NoLongerLeadingError):
        guarded.create(BATCHJOBS, {}, "n")
    assert api.written == 0
