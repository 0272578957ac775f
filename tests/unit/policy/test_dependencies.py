"""Met, waits or never: every kind of dependency on every kind of job, in both dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from hpcbatch.model.array import Array, ArrayStatus
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, DependencyProgress, JobRef, Wait
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.dependencies import (
    Members,
    Other,
    Rival,
    Verdict,
    dropped,
    find_cycle,
    look,
    look_at_members,
)

K, MET, WAITS, NEVER = DependencyKind, Verdict.MET, Verdict.WAITS, Verdict.NEVER
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
LOOKED_AT = DependencyProgress()
EARLIER = NOW - timedelta(seconds=100)
PBS, SLURM = Dialect.PBS, Dialect.SLURM
OTHERS = {
    "waiting": Other(),
    "running": Other(started_at=EARLIER),
    "ok": Other(started_at=EARLIER, ended_at=NOW, is_ok=True),
    "failed": Other(started_at=EARLIER, ended_at=NOW),
    "never ran": Other(ended_at=NOW, never_ran=True),
    "dropped": Other(ended_at=NOW, never_ran=True, was_dropped=True),
    "unknown": None,
}


@dataclass
class Known:
    """Implements OtherJobs with what it was given."""

    others: Mapping[JobRef, Other | None] = field(default_factory=dict)
    is_behind: bool = False
    joins: Sequence[Wait] = ()
    refusal: str = ""
    in_set: Sequence[Rival] = ()
    arrays: Mapping[int, Members] = field(default_factory=dict)
    asked: list[JobRef] = field(default_factory=list)

    def find(self, ref: JobRef, *, is_all_begun: bool = False) -> Other | None:
        self.asked.append(ref)
        return self.others.get(ref)

    def members(self, job_id: int, *, with_states: bool = False) -> Members | None:
        return self.arrays.get(job_id)

    def has_earlier(self, record: JobRecord) -> bool:
        return self.is_behind

    def joined(self, job_id: int) -> Sequence[Wait]:
        return self.joins

    def refuses(self, record: JobRecord, wait: Wait) -> str:
        return self.refusal

    def rivals(self, record: JobRecord) -> Sequence[Rival]:
        return self.in_set


def clause(kind: DependencyKind, *numbers: int, delay_s: int = 0) -> Clause:
    return Clause(kind=kind, jobs=tuple(JobRef(job_id=number) for number in numbers), delay_s=delay_s)


def job(
    *clauses: Clause,
    dialect: Dialect = SLURM,
    is_any: bool = False,
    kill: bool | None = None,
    job_id: int = 20,
    progress: DependencyProgress | None = LOOKED_AT,
    array: str = "",
    **status: object,
) -> JobRecord:
    spec = JobSpec(
        dialect=dialect,
        name="j",
        server="s",
        dependency=Dependency(clauses=clauses, is_any=is_any, kill_if_never=kill) if clauses else None,
        array=Array(indices=Indices.parse(array)) if array else None,
    )
    held = JobStatus(state=JobState.HELD, reason=Reason.DEPENDENCY, dependency=progress)
    full = replace(held, **status)  # type: ignore[arg-type]
    return JobRecord(job_id=job_id, namespace="n", object_name="o", spec=spec, status=full, queue="q")


def known(**by_number: Other | None) -> Known:
    return Known({JobRef(job_id=int(name[1:])): other for name, other in by_number.items()})


ON_ONE = [
    # kind, its state: Slurm, PBS
    (K.AFTER, "waiting", WAITS, WAITS),
    (K.AFTER, "running", MET, MET),
    (K.AFTER, "ok", MET, MET),
    (K.AFTER, "failed", MET, MET),
    (K.AFTER, "never ran", MET, WAITS),
    (K.AFTER, "dropped", MET, NEVER),
    (K.AFTER, "unknown", MET, NEVER),
    (K.AFTER_OK, "waiting", WAITS, WAITS),
    (K.AFTER_OK, "running", WAITS, WAITS),
    (K.AFTER_OK, "ok", MET, MET),
    (K.AFTER_OK, "failed", NEVER, NEVER),
    (K.AFTER_OK, "never ran", NEVER, WAITS),
    (K.AFTER_OK, "dropped", NEVER, NEVER),
    (K.AFTER_OK, "unknown", MET, NEVER),
    (K.AFTER_NOT_OK, "waiting", WAITS, WAITS),
    (K.AFTER_NOT_OK, "running", WAITS, WAITS),
    (K.AFTER_NOT_OK, "ok", NEVER, NEVER),
    (K.AFTER_NOT_OK, "failed", MET, MET),
    (K.AFTER_NOT_OK, "never ran", MET, WAITS),
    (K.AFTER_NOT_OK, "dropped", MET, NEVER),
    (K.AFTER_NOT_OK, "unknown", MET, NEVER),
    (K.AFTER_ANY, "waiting", WAITS, WAITS),
    (K.AFTER_ANY, "running", WAITS, WAITS),
    (K.AFTER_ANY, "ok", MET, MET),
    (K.AFTER_ANY, "failed", MET, MET),
    (K.AFTER_ANY, "never ran", MET, WAITS),
    (K.AFTER_ANY, "dropped", MET, NEVER),
    (K.AFTER_ANY, "unknown", MET, NEVER),
]


@pytest.mark.parametrize(("kind", "state", "slurm", "pbs"), ON_ONE)
def test_one_job(kind: DependencyKind, state: str, slurm: Verdict, pbs: Verdict) -> None:
    for dialect, wanted in ((SLURM, slurm), (PBS, pbs)):
        outlook = look(job(clause(kind, 1), dialect=dialect), known(_1=OTHERS[state]), NOW)
        assert outlook is not None
        assert outlook.verdict is wanted
        name = f"{kind}:1"
        assert outlook.progress.met == ((name,) if wanted is MET else ())
        assert outlook.progress.left == {MET: "", WAITS: name, NEVER: f"{name}!"}[wanted]


def test_the_table_is_total() -> None:
    kinds = {K.AFTER, K.AFTER_OK, K.AFTER_NOT_OK, K.AFTER_ANY}
    assert {(kind, state) for kind, state, _, _ in ON_ONE} == {(kind, state) for kind in kinds for state in OTHERS}


@pytest.mark.parametrize(("kind", "verdict"), [(K.AFTER_OK, NEVER), (K.AFTER_ANY, MET), (K.AFTER_NOT_OK, MET)])
def test_pbs_on_a_job_that_was_deleted_before_the_submission(kind: DependencyKind, verdict: Verdict) -> None:
    """It is settled at once: such a job does not wait for ever from the start."""
    outlook = look(job(clause(kind, 1), dialect=PBS, progress=None), known(_1=OTHERS["never ran"]), NOW)
    assert outlook is not None
    assert outlook.verdict is verdict


@pytest.mark.parametrize(
    ("ends", "is_any", "verdict", "left"),
    [
        (("ok", "ok"), False, MET, ""),
        (("ok", "running"), False, WAITS, "afterok:2"),
        (("running", "running"), False, WAITS, "afterok:1,afterok:2"),
        (("failed", "running"), False, NEVER, "afterok:1!,afterok:2"),
        (("ok", "running"), True, MET, ""),
        (("failed", "running"), True, WAITS, "afterok:1!?afterok:2"),
        (("failed", "failed"), True, NEVER, "afterok:1!?afterok:2!"),
        (("failed", "ok"), True, MET, ""),
    ],
)
def test_all_or_any(ends: tuple[str, str], is_any: bool, verdict: Verdict, left: str) -> None:
    record = job(clause(K.AFTER_OK, 1), clause(K.AFTER_OK, 2), is_any=is_any)
    outlook = look(record, known(_1=OTHERS[ends[0]], _2=OTHERS[ends[1]]), NOW)
    assert outlook is not None
    assert (outlook.verdict, outlook.progress.left) == (verdict, left)


def test_what_was_settled_is_not_asked_again() -> None:
    """The others may be forgotten meanwhile."""
    record = job(clause(K.AFTER_OK, 1, 2), dialect=PBS, progress=DependencyProgress(met=("afterok:1",)))
    others = known(_2=OTHERS["running"])
    assert [o.verdict for o in [look(record, others, NOW)] if o] == [WAITS]
    assert others.asked == [JobRef(job_id=2)]
    failed = job(clause(K.AFTER_OK, 1), progress=DependencyProgress(left="afterok:1!"))
    others = known()
    assert [o.verdict for o in [look(failed, others, NOW)] if o] == [NEVER]
    assert not others.asked


def test_after_a_delay() -> None:
    record = job(clause(K.AFTER, 1, delay_s=300))
    outlook = look(record, known(_1=OTHERS["running"]), NOW)
    assert outlook is not None
    assert (outlook.verdict, outlook.look_again_s) == (WAITS, 200)
    later = look(record, known(_1=OTHERS["running"]), NOW + timedelta(seconds=200))
    assert later is not None
    assert (later.verdict, later.look_again_s) == (MET, None)


def test_kill() -> None:
    def kills(record: JobRecord) -> bool:
        outlook = look(record, known(_1=OTHERS["failed"]), NOW)
        assert outlook is not None
        return outlook.kills

    assert kills(job(clause(K.AFTER_OK, 1), dialect=PBS))
    assert not kills(job(clause(K.AFTER_OK, 1)))
    assert not kills(job(clause(K.AFTER_OK, 1), kill=False))
    assert kills(job(clause(K.AFTER_OK, 1), kill=True))


@pytest.mark.parametrize(
    ("state", "progress", "message"),
    [
        ("unknown", None, "Dependency request for job rejected by 1.s Unknown Job Id"),
        ("failed", None, "1.s Finished job did not satisfy dependency"),
        ("failed", DependencyProgress(), "Job deleted as result of dependency on job 1.s"),
    ],
)
def test_pbs_says_why(state: str, progress: DependencyProgress | None, message: str) -> None:
    outlook = look(job(clause(K.AFTER_OK, 1), dialect=PBS, progress=progress), known(_1=OTHERS[state]), NOW)
    assert outlook is not None
    assert outlook.message == message


def test_pbs_says_what_to_do_about_a_job_that_never_ran() -> None:
    outlook = look(job(clause(K.AFTER_OK, 1), dialect=PBS), known(_1=OTHERS["never ran"]), NOW)
    assert outlook is not None
    assert outlook.message == "1.s was deleted before it ran; qalter -W depend= lets this job go"


def test_singleton() -> None:
    for is_behind, verdict in ((True, WAITS), (False, MET)):
        outlook = look(job(Clause(kind=K.SINGLETON)), Known(is_behind=is_behind), NOW)
        assert outlook is not None
        assert outlook.verdict is verdict


def test_on_counts_what_others_add() -> None:
    record = job(Clause(kind=K.ON, count=2), dialect=PBS)
    first = Wait(kind=K.AFTER_ANY, ref=JobRef(job_id=21))
    second = Wait(kind=K.AFTER_OK, ref=JobRef(job_id=22))
    steps: list[tuple[list[Wait], str, Verdict, str]] = [
        ([], "waiting", WAITS, "on:2"),
        ([first], "waiting", WAITS, "on:1,afterany:21"),
        ([first], "ok", WAITS, "on:1"),
        ([first, second], "ok", MET, ""),
        ([first, second], "failed", NEVER, "afterok:22!"),
    ]
    for joins, state, verdict, left in steps:
        others = Known({JobRef(job_id=21): OTHERS[state], JobRef(job_id=22): OTHERS[state]}, joins=joins)
        outlook = look(record, others, NOW)
        assert outlook is not None
        assert (outlook.verdict, outlook.progress.left) == (verdict, left)
        assert outlook.progress.joined == tuple(map(str, joins))


def test_a_before_is_accepted_once() -> None:
    record = job(clause(K.BEFORE_OK, 1), dialect=PBS)
    refused = look(record, Known(refusal="no"), NOW)
    assert refused is not None
    assert (refused.verdict, refused.message) == (NEVER, "no")
    accepted = look(record, Known(), NOW)
    assert accepted is not None
    assert (accepted.verdict, accepted.progress.met) == (MET, ("beforeok:1",))
    again = look(replace(record, status=replace(record.status, dependency=accepted.progress)), Known(refusal="no"), NOW)
    assert again is not None
    assert again.verdict is MET


@pytest.mark.parametrize(
    ("rival", "verdict"),
    [
        (Rival(job_id=10), WAITS),  # before it
        (Rival(job_id=10, may_run=False), MET),  # held
        (Rival(job_id=30), MET),  # behind it
        (Rival(job_id=30, is_chosen=True), WAITS),
        (Rival(job_id=30, has_run=True, may_run=False), NEVER),
    ],
)
def test_runone(rival: Rival, verdict: Verdict) -> None:
    for record in (job(clause(K.RUN_ONE, rival.job_id), dialect=PBS), job(dialect=PBS)):
        outlook = look(record, Known(in_set=[rival]), NOW)
        assert outlook is not None
        assert (outlook.verdict, outlook.kills) == (verdict, True)


def test_who_depends_on_nobody() -> None:
    assert look(job(), Known(), NOW) is None


def members(text: str, succeeded: str, failed: str) -> Members:
    return Members(all=Indices.parse(text), succeeded=Indices.parse(succeeded), failed=Indices.parse(failed))


def test_corresponding_members() -> None:
    record = job(clause(K.AFTER_CORR, 1), array="0-5")
    others = Known({JobRef(job_id=1): Other(started_at=EARLIER, is_array=True)}, arrays={1: members("0-3", "0,2", "3")})
    gate = look(record, others, NOW)
    assert gate is not None
    assert (gate.verdict, gate.progress.left) == (MET, "aftercorr:1[]")
    found = look_at_members(record, Indices.parse("0-5"), others)
    assert (str(found.ready), str(found.never)) == ("0,2", "3")
    ended = Known({JobRef(job_id=1): Other(ended_at=NOW, is_array=True)}, arrays={1: members("0-3", "0-2", "3")})
    found = look_at_members(record, Indices.parse("0-5"), ended)
    assert (str(found.ready), str(found.never)) == ("0-2", "3-5")


def test_members_correspond_to_a_plain_job_as_a_whole() -> None:
    record, pending = job(clause(K.AFTER_CORR, 1), array="0-5"), Indices.parse("0-5")
    for state, ready, never in (("running", "", ""), ("ok", "0-5", ""), ("failed", "", "0-5"), ("unknown", "0-5", "")):
        found = look_at_members(record, pending, known(_1=OTHERS[state]))
        assert (str(found.ready), str(found.never)) == (ready, never)


def test_members_of_a_singleton_come_one_by_one() -> None:
    record, pending = job(Clause(kind=K.SINGLETON), array="0-5"), Indices.parse("2-5")
    assert str(look_at_members(record, pending, Known()).ready) == "2"
    assert not look_at_members(record, pending, Known(is_behind=True)).ready
    busy = replace(record, status=replace(record.status, array=ArrayStatus(active=Indices.parse("1"))))
    assert not look_at_members(busy, pending, Known()).ready


def test_dropped_array() -> None:
    record = job(clause(K.AFTER_OK, 1), array="0-3")
    status = replace(record.status, array=ArrayStatus(pending=Indices.parse("0-3")))
    outlook = look(record, known(_1=OTHERS["failed"]), NOW)
    assert outlook is not None
    ended = dropped(status, outlook, NOW)
    assert (ended.state, ended.reason, ended.end_time) == (JobState.DELETED, Reason.DEPENDENCY_NEVER, NOW)
    assert ended.array is not None
    assert ended.array.is_over
    assert str(ended.array.deleted) == "0-3"


@pytest.mark.parametrize(
    ("edges", "way"),
    [
        ({1: [2], 2: [3], 3: []}, ()),
        ({1: [1]}, (1, 1)),
        ({1: [2], 2: [1]}, (1, 2, 1)),
        ({1: [4, 2], 2: [3], 3: [1], 4: [3]}, (1, 2, 3, 1)),
        ({1: [2], 2: [3], 3: [2]}, ()),  # one that the job is no part of
    ],
)
def test_cycles(edges: Mapping[int, list[int]], way: tuple[int, ...]) -> None:
    found = find_cycle(1, lambda number: edges.get(number, []))
    assert bool(found) == bool(way)
    if way:
        assert found[0] == found[-1] == 1
        assert all(b in edges[a] for a, b in pairwise(found))
