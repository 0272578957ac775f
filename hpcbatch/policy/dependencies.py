"""Whether the jobs that a job depends on let it run. Reads no clock, calls no API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import Enum

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.dialects.registry import door
from hpcbatch.model.conditions import Group, parse_group, written
from hpcbatch.model.dependency import (
    COUNTED,
    COUNTED_NOW,
    Dependency,
    DependencyKind,
    DependencyProgress,
    JobRef,
    Left,
    Wait,
)
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.typed import Protocol

_BY_INDEX = frozenset({DependencyKind.AFTER_CORR, DependencyKind.SINGLETON})
"""Dependencies that each member of an array waits for by itself."""


class Verdict(Enum):
    MET = 0
    WAITS = 1
    NEVER = 2
    FOR_NOW = 3
    """Of a part: it is so, and may not be so later."""


_IS_SO = frozenset({Verdict.MET, Verdict.FOR_NOW})
_NOTHING = Group(())
_OPPOSITE = {
    Verdict.MET: Verdict.NEVER,
    Verdict.NEVER: Verdict.MET,
    Verdict.WAITS: Verdict.FOR_NOW,
    Verdict.FOR_NOW: Verdict.WAITS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a job ended, as its record has it."""

    state: JobState
    reason: Reason
    exit_code: int | None = None
    exit_signal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """The state of another job, a whole array, or one member, as a dependency needs it."""

    started_at: datetime | None = None
    ended_at: datetime | None = None
    is_ok: bool = False
    """It has ended with 0; an array: all of its members did."""
    never_ran: bool = False
    """It was deleted before it ran."""
    was_dropped: bool = False
    """It was deleted because its own dependency could never be met."""
    is_array: bool = False
    ended: Ended | None = None
    """How it ended; None: it has not, or that is not known any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another job of a `runone` set."""

    job_id: int
    is_chosen: bool = False
    """The scheduler has it, or it runs."""
    has_run: bool = False
    """It has ended after it ran."""
    may_run: bool = True
    """It is not held, not before its begin time, and has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Members of an array, as those of another array depend on them."""

    all: Indices
    succeeded: Indices
    failed: Indices
    """Deleted ones too."""
    # how many of the others, where that was asked for
    running: int = 0
    suspended: int = 0
    """After they have started."""
    held: int = 0
    """Before they have started."""
    waiting: int = 0
    """Neither started nor held."""


class OtherJobs(Protocol):
    """Finds other jobs for the evaluation; each call is one look-up."""

    def find(self, ref: JobRef, *, is_all_begun: bool = False) -> Other | None:
        """None: no such job or member is known. With `is_all_begun` an array has started when its last member has,
        else when its first has.
        """

    def members(self, job_id: int, *, with_states: bool = False) -> Members | None:
        """The members of an array; None for any other job. `with_states` costs as much as there are active ones."""

    def has_earlier(self, record: JobRecord) -> bool:
        """Whether an earlier job of the same name and user has not ended."""

    def joined(self, job_id: int) -> Sequence[Wait]:
        """What this job waits for because of accepted `before…` of other jobs."""

    def refuses(self, record: JobRecord, wait: Wait) -> str:
        """Why the job named by a `before…` or `runone` rejects it; "" if it accepts."""

    def rivals(self, record: JobRecord) -> Sequence[Rival]:
        """The other jobs of its `runone` set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    verdict: Verdict
    progress: DependencyProgress
    look_again_s: float | None = None
    """When time alone may change it (`after:12+5`)."""
    message: str = ""
    """For `never`: the reason, for a PBS job in the text of PBS; or what keeps it waiting for ever."""
    kills: bool = False
    """The job can never run and is to be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOutlook:
    """The pending members of an array."""

    ready: Indices
    never: Indices


@dataclass(slots=True)
class _Tally:
    """The results so far."""

    met: list[str] = field(default_factory=list)
    left: dict[str, Left] = field(default_factory=dict)
    """The parts that are not met, by name."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Of each part that the job waits for as a whole, by name."""
    is_refused: bool = False
    """Another job rejects a `before…` or `runone`."""
    due: datetime | None = None
    message: str = ""
    note: str = ""
    """What keeps it waiting for ever unless somebody acts."""


def look(record: JobRecord, jobs: OtherJobs, now: datetime) -> Outlook | None:
    """The outlook of a job that has not started; None for one without dependency.

    For an array it says whether members may be made at all; `look_at_members` says which.
    """
    if record.spec.member_of is not None:  # the array's record waits, not its members
        return None
    dependency = record.spec.dependency or Dependency(clauses=())
    rivals = jobs.rivals(record)
    if record.spec.dependency is None and not rivals:
        return None
    before = record.status.dependency or DependencyProgress()
    tally = _Tally()
    joined = tuple(dict.fromkeys([*map(Wait.parse, before.joined), *jobs.joined(record.job_id)]))
    failed = frozenset(parse_group(before.left).leaves)
    for wait in dict.fromkeys((*dependency.waits, *joined)):
        _add(tally, record, wait, jobs, now, joined=len(joined), failed=failed)
    for wait in (*dependency.befores, *dependency.rivals):
        if str(wait) in before.met:
            tally.met.append(str(wait))
        elif why := jobs.refuses(record, wait):
            tally.is_refused, tally.message = True, why
        else:
            tally.met.append(str(wait))
    rules = door(record.spec.dialect).rules
    verdict = _verdict(dependency, joined, tally)
    if verdict is not Verdict.NEVER:
        verdict = _among(rivals, record, verdict, tally)
    is_over = verdict is Verdict.MET
    if is_over:
        tally.left = {name: part for name, part in tally.left.items() if part.wait.kind in _BY_INDEX}
    notes = {Verdict.NEVER: tally.message or record.status.message, Verdict.WAITS: tally.note}
    return Outlook(
        verdict=verdict,
        progress=DependencyProgress(
            met=tuple(tally.met),
            joined=tuple(map(str, joined)),
            left=written(_left(dependency, tally)),
            followers=before.followers,
        ),
        look_again_s=None if tally.due is None or is_over else max(0.0, (tally.due - now).total_seconds()),
        message=notes.get(verdict, ""),
        kills=rules.drops_unsatisfiable or bool(dependency.kill_if_never) or any(r.has_run for r in rivals),
    )


def _add(
    tally: _Tally, record: JobRecord, wait: Wait, jobs: OtherJobs, now: datetime, *, joined: int, failed: frozenset[str]
) -> None:
    """Evaluate one part, unless it was settled before."""
    name, before = str(wait), record.status.dependency
    if before is not None and name in before.met:
        tally.met.append(name)
        tally.verdicts[name] = Verdict.MET
        return
    is_array = f"{name}[]!" in failed
    if is_array or f"{name}!" in failed:
        tally.verdicts[name] = Verdict.NEVER
        tally.left[name] = Left(wait=wait, has_failed=True, is_array=is_array)
        return
    verdict, other, shown = Verdict.WAITS, None, wait
    if record.spec.array is not None and wait.kind in _BY_INDEX:
        other = jobs.find(wait.ref) if wait.ref is not None else None
        tally.left[name] = Left(wait=wait, is_array=other is not None and other.is_array)
        return
    if wait.kind is DependencyKind.ON:
        verdict = Verdict.MET if joined >= wait.count else Verdict.WAITS
        shown = replace(wait, count=wait.count - joined)
    elif wait.kind is DependencyKind.SINGLETON:
        verdict = Verdict.WAITS if jobs.has_earlier(record) else Verdict.MET
    elif wait.ref is not None:
        rules = door(record.spec.dialect).rules
        other = jobs.find(
            wait.ref, is_all_begun=rules.after_waits_for_all_members and wait.kind is DependencyKind.AFTER
        )
        verdict, due = _test(record, wait, other, jobs, now=now)
        if due is not None and (tally.due is None or due < tally.due):
            tally.due = due
    if wait.is_not:
        verdict = _OPPOSITE[verdict]
    tally.verdicts[name] = verdict
    if verdict is Verdict.MET:
        tally.met.append(name)
    if verdict in _IS_SO:
        return
    part = Left(wait=shown, has_failed=verdict is Verdict.NEVER, is_array=other is not None and other.is_array)
    tally.left[name] = part
    if part.has_failed:
        tally.message = tally.message or door(record.spec.dialect).never_met(record, part, other is None)
    elif other is not None and other.never_ran:
        tally.note = f"{wait.ref}.{record.spec.server} was deleted before it ran; qalter -W depend= lets this job go"


def _verdict(dependency: Dependency, joined: Iterable[Wait], tally: _Tally) -> Verdict:
    """What follows from the verdicts of the parts. One without a verdict is left to each member of the array."""
    if tally.is_refused:
        return Verdict.NEVER

    def of_group(group: Group) -> Verdict:
        found = [
            of_group(part) if isinstance(part, Group) else tally.verdicts[part]
            for part in group.parts
            if isinstance(part, Group) or part in tally.verdicts
        ]
        return _any(found) if group.is_any and found else _all(found)

    return _all([of_group(dependency.group), of_group(Group(tuple(map(str, joined))))])


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.NEVER in verdicts:
        return Verdict.NEVER
    return Verdict.WAITS if Verdict.WAITS in verdicts else Verdict.MET


def _any(verdicts: Sequence[Verdict]) -> Verdict:
    if not _IS_SO.isdisjoint(verdicts):
        return Verdict.MET
    return Verdict.WAITS if Verdict.WAITS in verdicts else Verdict.NEVER


def _left(dependency: Dependency, tally: _Tally) -> Group:
    """What is left, in the groups of the dependency: without what is met, and without a group of which one part is."""

    def of_group(group: Group) -> Group:
        parts: list[str | Group] = []
        for each in group.parts:
            part: str | Group = of_group(each) if isinstance(each, Group) else str(tally.left.get(each, ""))
            if part not in ("", _NOTHING):
                parts.append(part)
            elif group.is_any:
                return _NOTHING
        return Group(tuple(parts), bool(parts) and group.is_any)

    if dependency.expression:
        return of_group(dependency.group)
    return Group(tuple(map(str, tally.left.values())), dependency.is_any)


def _test(
    record: JobRecord, wait: Wait, other: Other | None, jobs: OtherJobs, *, now: datetime
) -> tuple[Verdict, datetime | None]:
    """Whether one job satisfies one part, and when time alone may change that.

    Recorded: Slurm lifts a dependency on an unknown job, PBS deletes the job that has it. A job that was deleted before
    it ran keeps its dependants waiting in PBS; one that was deleted for its own dependency takes them along.
    """
    rules, is_new = door(record.spec.dialect).rules, record.status.dependency is None
    if other is None:
        return (Verdict.MET if rules.unknown_job_meets_dependency else Verdict.NEVER), None
    if rules.deleted_job_keeps_dependants and other.never_ran and not is_new:
        return (Verdict.NEVER if other.was_dropped else Verdict.WAITS), None
    if wait.kind in COUNTED and wait.ref is not None:
        members = jobs.members(wait.ref.job_id, with_states=wait.kind in COUNTED_NOW)
        return (Verdict.NEVER if members is None else _counted(wait, members)), None
    if wait.kind is DependencyKind.AFTER:
        begun = other.started_at or other.ended_at
        if begun is None:
            return Verdict.WAITS, None
        due = begun + timedelta(seconds=wait.delay_s)
        return (Verdict.MET, None) if due <= now else (Verdict.WAITS, due)
    if other.ended_at is None:
        return Verdict.WAITS, None
    if wait.kind is DependencyKind.AFTER_CODE:
        return (Verdict.MET if _has_code(record, wait, other) else Verdict.NEVER), None
    if wait.kind is DependencyKind.AFTER_ANY or other.is_ok is not (wait.kind is DependencyKind.AFTER_NOT_OK):
        return Verdict.MET, None
    return Verdict.NEVER, None


def _has_code(record: JobRecord, wait: Wait, other: Other) -> bool:
    """Whether the job ended otherwise than well, with a code as the dependency wants it. An array has no code."""
    end = other.ended
    if other.is_ok or end is None or other.is_array:
        return False
    code = door(record.spec.dialect).exit_code(end.state, end.reason, end.exit_code, end.exit_signal)
    return code is not None and within(wait.compare, code, code) is True


def _counted(wait: Wait, members: Members) -> Verdict:
    """Whether as many members of an array have ended so, for good, for now, not yet, or can never."""
    ok, not_ok, total = len(members.succeeded), len(members.failed), len(members.all)
    left = total - ok - not_ok
    now = {
        DependencyKind.NUM_OK: ok,
        DependencyKind.NUM_NOT_OK: not_ok,
        DependencyKind.NUM_ANY: ok + not_ok,
        DependencyKind.NUM_RUN: members.running,
        DependencyKind.NUM_PEND: members.waiting,
        DependencyKind.NUM_HOLD: members.held,
        DependencyKind.NUM_BEGUN: members.running + members.suspended,
    }[wait.kind]
    least, most = (0, left) if wait.kind in COUNTED_NOW else (now, now + left)
    compare = wait.compare.replace("*", str(total))
    for_good = within(compare, least, most)
    if for_good is not None:
        return Verdict.MET if for_good else Verdict.NEVER
    return Verdict.FOR_NOW if within(compare, now, now) else Verdict.WAITS


def within(compare: str, least: int, most: int) -> bool | None:
    """Whether a number between the two compares so (`>=5`); None: some do, others do not."""
    number = compare.lstrip("=!<>")
    op, wanted = compare.removesuffix(number), int(number)
    if op == "!=":
        is_equal = within(f"=={wanted}", least, most)
        return None if is_equal is None else not is_equal
    lowest = wanted + (op == ">") if op in {">", ">=", "=="} else least
    greatest = wanted - (op == "<") if op in {"<", "<=", "=="} else most
    if lowest <= least and most <= greatest:
        return True
    return False if most < lowest or greatest < least else None


def _among(rivals: Sequence[Rival], record: JobRecord, verdict: Verdict, tally: _Tally) -> Verdict:
    """Of jobs bound by `runone` one at a time is given to the scheduler: the one that is already there, else the first
    that may run. When it has ended, the others are ended.
    """
    done = next((rival for rival in rivals if rival.has_run), None)
    if done is not None:
        tally.message = f"Job deleted as result of dependency on job {done.job_id}.{record.spec.server}"
        return Verdict.NEVER
    if any(rival.is_chosen or (rival.may_run and rival.job_id < record.job_id) for rival in rivals):
        return Verdict.WAITS
    return verdict


def with_followers(status: JobStatus, followers: tuple[str, ...]) -> JobStatus:
    """The same status, with the jobs that wait for this one."""
    progress = status.dependency
    if followers == (() if progress is None else progress.followers):
        return status
    return replace(status, dependency=replace(progress or DependencyProgress(), followers=followers))


def dropped(status: JobStatus, outlook: Outlook, now: datetime) -> JobStatus:
    """The end of a job or array of which nothing has run or ever will."""
    array = status.array
    if array is not None:
        array = replace(array, pending=Indices(), deleted=array.deleted | array.pending)
    return replace(
        status,
        state=JobState.DELETED,
        reason=Reason.DEPENDENCY_NEVER,
        message=outlook.message,
        end_time=now,
        eligible_time=None,
        array=array,
        dependency=outlook.progress,
    )


def look_at_members(record: JobRecord, pending: Indices, jobs: OtherJobs) -> IndexOutlook:
    """Which members of an array without a record may start, and which never will. Call it only when `look` returns MET
    for the array. Costs as much as the arrays have ranges.
    """
    dependency, ready, never = record.spec.dependency, pending, Indices()
    for wait in () if dependency is None else dependency.waits:
        if wait.kind is DependencyKind.AFTER_CORR and wait.ref is not None:
            met, lost = _counterparts(wait.ref, pending, jobs)
            ready, never = ready & met, never | lost
        elif wait.kind is DependencyKind.SINGLETON:
            array = record.status.array
            is_free = not (array is not None and array.active) and not jobs.has_earlier(record)
            ready = ready.take(1) if is_free else Indices()
    return IndexOutlook(ready=ready, never=never)


def _counterparts(ref: JobRef, pending: Indices, jobs: OtherJobs) -> tuple[Indices, Indices]:
    """Those of `pending` whose counterpart has ended with 0, and those whose counterpart has not. For an index that the
    other array lacks, and for a plain job, the whole job counts.
    """
    whole = jobs.find(ref)
    if whole is None:
        return pending, Indices()
    members = jobs.members(ref.job_id)
    rest, met, lost = pending, Indices(), Indices()
    if members is not None:
        rest, met, lost = pending - members.all, pending & members.succeeded, pending & members.failed
    if rest and whole.ended_at is not None:
        met, lost = (met | rest, lost) if whole.is_ok else (met, lost | rest)
    return met, lost


def find_cycle(start: int, targets: Callable[[int], Iterable[int]]) -> tuple[int, ...]:
    """The cycle from `start` along what each job waits for, `start` first and last; () if there is none."""
    came_from: dict[int, int] = {}
    stack = [start]
    while stack:
        job_id = stack.pop()
        for target in targets(job_id):
            if target == start:
                way = [start, job_id]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            if target not in came_from:
                came_from[target] = job_id
                stack.append(target)
    return ()
