"""A controller under more than it can take: many users, and watches that lag behind what is remembered."""

from __future__ import annotations

import signal

import pytest

from bench.controller import kubernetes
from bench.controller.overload import overload
from bench.controller.rig import USERS, Rig, rig
from bench.controller.starts import overloaded
from bench.controller.users import NOT_BEGUN, summary
from tests import kube_api, postgres
from tests.waiting import wait_for

_LIMIT_S = 120


def all_went_well(running: Rig, names: list[str]) -> None:
    """Each job has ended, by one Volcano Job, and has a number of its own."""
    running.wait_cleaned(len(names), _LIMIT_S)
    records = running.records()
    assert sorted(record["metadata"]["name"] for record in records) == sorted(names)
    assert {record["status"]["state"] for record in records} == {"Finished"}
    numbers = {record["status"]["jobId"] for record in records}
    assert len(numbers) == len(names)
    assert sorted(running.volcano.placed) == sorted(f"job-{number}" for number in numbers)


def test_a_controller_that_lags_behind_what_is_remembered_lists_anew() -> None:
    """While it is stopped its connections break, and more happens than is remembered: its watches get 410 Gone."""
    with rig(3, remembered=10, run_s=0.1) as running, running.controller() as controller:
        names = running.create(1)
        running.wait_cleaned(1, _LIMIT_S)
        controller.process.send_signal(signal.SIGSTOP)
        last_seen = running.registry.store.revision
        running.restart_server()
        names += running.create(12)
        assert not running.registry.store.remembers(last_seen)
        controller.process.send_signal(signal.SIGCONT)
        all_went_well(running, names)


@pytest.mark.slow
def test_nodes_do_not_stay_empty_while_many_submit() -> None:
    """While starts had no turns of their own, 30 submissions were answered for each job that got nodes, and not 5."""
    with overloaded(0.05, 8, nodes=2, run_s=1.0) as done:
        wait_for("jobs that get nodes", lambda: done().placed >= 20, _LIMIT_S)
        assert done().answered <= 15 * 20


@pytest.mark.slow
def test_nobody_waits_for_the_many_jobs_of_others() -> None:
    """Nineteen users have ten jobs each waiting when a controller comes, and the last has one: numbers tell the
    order.
    """
    with rig(1, run_s=60) as running:
        running.create(19 * 10, users=USERS[:19])
        (calm,) = running.create(1, users=USERS[19:])

        def number() -> int:
            (found,) = [obj for obj in running.records() if obj["metadata"]["name"] == calm]
            return int(found.get("status", {}).get("jobId", 0))

        with running.controller():
            wait_for("its number", lambda: number() > 0, _LIMIT_S)
            assert number() <= 3 * 19, "each of the others had one or two turns before"


@pytest.mark.slow
@pytest.mark.parametrize("with_history", [True, False])
def test_users_get_an_answer_or_are_asked_to_try_again(with_history: bool) -> None:
    """Twenty users submit and list while controllers are killed: no job is lost or doubled, nothing else is said."""
    if with_history and postgres.programs() is None:
        pytest.skip("no PostgreSQL here")
    with rig(20, more_of_site="historyMovedAfter: 0s\n", run_s=0.2) as running:
        if with_history:
            with postgres.postgres() as database:
                (running.directory / "dsn").write_text(database.dsn)
                found = overload(running, 10, 20, (2.0, 6.0))
        else:
            found = overload(running, 10, 20, (2.0, 6.0))
        records = running.records()
    submitted, _, _ = summary(found.calls, "submit")
    listed, _, _ = summary(found.calls, "list")
    assert {*submitted, *listed} <= {"answer", "try again", NOT_BEGUN}
    numbers = [call.job_id for call in found.calls if call.job_id]
    assert len(set(numbers)) == len(numbers) == submitted["answer"]
    assert len(set(found.placed)) == len(found.placed)
    assert {f"job-{number}" for number in numbers} <= {*found.placed}
    kept = {record["status"]["jobId"] for record in records}
    assert not kept if with_history else {str(number) for number in numbers} <= kept


@pytest.mark.slow
@pytest.mark.skipif(
    not (kube_api.is_there() and postgres.programs() and kube_api.own_address()),
    reason="overload of Kubernetes is NOT tested: needs `make programs`, PostgreSQL and a network address",
)
def test_users_of_kubernetes_get_an_answer_or_are_asked_to_try_again() -> None:
    """The same with a real API server, where each user is himself, and users and controllers have their priorities."""
    found = kubernetes.overload(10, 20, (2.0, 6.0))
    submitted, _, _ = summary(found.calls, "submit")
    listed, _, _ = summary(found.calls, "list")
    assert {*submitted, *listed} <= {"answer", "try again", NOT_BEGUN}
    assert submitted["answer"]
    assert listed["answer"]
    assert (found.lost, found.doubled) == (0, 0)
