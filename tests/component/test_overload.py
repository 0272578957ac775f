"""A controller under more than it can take: many users, watches that lag, an API server that restarts."""

from __future__ import annotations

import signal

import pytest

from bench.controller.overload import overload
from bench.controller.rig import Rig, rig
from bench.controller.users import NOT_BEGUN, summary
from tests import postgres

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
    with rig(3, remembered=20, run_s=0.1) as running, running.controller() as controller:
        names = running.create(5)
        running.wait_cleaned(5, _LIMIT_S)
        for _ in range(3):
            controller.process.send_signal(signal.SIGSTOP)
            last_seen = running.registry.store.revision
            running.restart_server()
            names += running.create(20)
            assert not running.registry.store.remembers(last_seen)
            controller.process.send_signal(signal.SIGCONT)
        all_went_well(running, names)


def test_an_api_server_that_restarts_in_the_midst_of_submissions() -> None:
    with rig(3, run_s=0.1) as running, running.controller():
        names = []
        for _ in range(4):
            names += running.create(10)
            running.restart_server()
        all_went_well(running, names)


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
    assert found.kills >= 2
    numbers = [call.job_id for call in found.calls if call.job_id]
    assert len(set(numbers)) == len(numbers) == submitted["answer"] > 0
    assert sorted(found.placed) == sorted(f"job-{number}" for number in numbers)
    kept = {record["status"]["jobId"] for record in records}
    assert kept == (set() if with_history else {str(number) for number in numbers})
