"""PodGroups of released jobs are let in at once; what the scheduler has said stays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hpcbatch.api.port import Object
from hpcbatch.controller import let_in
from hpcbatch.controller.let_in import LetIn
from hpcbatch.errors import ApiError, ConflictError, ForbiddenError, HpcBatchError, NotFoundError
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import Policy
from hpcbatch.policy.lone_pod import given_to
from tests.waiting import wait_for

JOB: Object = {
    "metadata": {"namespace": "ann", "name": "job-7", "uid": "u7"},
    "spec": {"schedulerName": "volcano", "tasks": [{"template": {"spec": {}}}]},
}
OTHER: Object = {**JOB, "metadata": {"namespace": "ann", "name": "job-8", "uid": "u8"}}


class Groups:
    """Answers what `answers` say, one after the other: a phase, or an error."""

    def __init__(self, *answers: str | HpcBatchError, refusal: HpcBatchError | None = None, keeps: bool = True) -> None:
        self._answers, self._refusal, self._keeps = list(answers), refusal, keeps
        self.asked: list[str] = []
        self.patches: list[Object] = []

    def get(self, _resource: object, name: str, namespace: str) -> Object:
        self.asked.append(f"{namespace}/{name}")
        answer = self._answers.pop(0)
        if isinstance(answer, HpcBatchError):
            raise answer
        return {"metadata": {"resourceVersion": "5"}, "status": {"phase": answer} if answer else {}}

    def patch(self, _resource: object, _name: str, patch: Object, _namespace: str) -> Object:
        if self._refusal is not None:
            error, self._refusal = self._refusal, None
            raise error
        self.patches.append(patch)
        return {"status": patch["status"] if self._keeps else {}}


def let(
    groups: Groups,
    *jobs: Object,
    scheduler: Scheduler = Scheduler.VOLCANO,
    policy: Policy = Policy.BACKFILL,
) -> None:
    """The jobs are made, each when all is done for the one before."""
    site = SimpleNamespace(in_force=SimpleNamespace(config=SimpleNamespace(scheduler=scheduler, policy=policy)))
    made = LetIn(cast(Any, groups), cast(Any, site))
    made.thread.start()
    for job in jobs:
        made.was_made(job)
        wait_for("the PodGroup", lambda: made.is_idle, 20)
    made.stop()
    made.thread.join(20)
    assert not made.thread.is_alive()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(let_in, "_FIRST_LOOK_S", 0.001)
    monkeypatch.setattr(let_in, "_NEXT_LOOK_S", 0.001)


NOT_YET = NotFoundError(404, "NotFound", "")
TO_INQUEUE = {"metadata": {"resourceVersion": "5"}, "status": {"phase": "Inqueue"}}


@pytest.mark.parametrize(
    ("groups", "looks", "patches"),
    [
        (Groups(""), 1, 1),
        (Groups("Inqueue"), 1, 0),
        (Groups("Pending"), 1, 0),
        (Groups(NOT_YET, NOT_YET, ""), 3, 1),
        (Groups("", "", refusal=ConflictError(409, "Conflict", "")), 2, 1),
        (Groups("", "Running", refusal=ConflictError(409, "Conflict", "")), 2, 0),
        (Groups(*[NOT_YET] * 9), 5, 0),
        (Groups(ApiError(500, "InternalError", "")), 1, 0),
    ],
)
def test_a_new_group_is_let_in(groups: Groups, looks: int, patches: int) -> None:
    let(groups, JOB)
    assert groups.asked == ["ann/job-7-u7"] * looks
    assert groups.patches == [TO_INQUEUE] * patches


def test_where_somebody_waits_for_a_prompt_it_is_looked_for_more_often() -> None:
    urgent = given_to(JOB, "default-scheduler")
    groups = Groups(*[NOT_YET] * 99)
    let(groups, urgent)
    assert len(groups.asked) == 25
    groups = Groups(*[NOT_YET] * 9, "")
    let(groups, urgent)
    assert (len(groups.asked), groups.patches) == (10, [TO_INQUEUE])


@pytest.mark.parametrize(
    "groups", [Groups("", "", refusal=ForbiddenError(403, "Forbidden", "")), Groups("", "", keeps=False)]
)
def test_what_has_no_effect_is_not_tried_again(groups: Groups, caplog: pytest.LogCaptureFixture) -> None:
    let(groups, JOB, OTHER)
    assert groups.asked == ["ann/job-7-u7"]
    assert "left to Volcano's scheduler" in caplog.text


def test_who_decides_otherwise_is_left_alone() -> None:
    groups = Groups()
    let(groups, JOB, policy=Policy.VOLCANO)
    let(groups, JOB, scheduler=Scheduler.NONE)
    assert groups.asked == []
