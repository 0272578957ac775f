"""What must hold of each job in the end, whatever happened."""

from __future__ import annotations

from itertools import pairwise

from hpcbatch.model.dependency import DependencyKind
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState
from tests.component.life.limits import overlap
from tests.component.life.play import Run
from tests.component.life.user import SMALL, SMALL_CPUS, Asked, Life


def check(asked: Asked, life: Life) -> None:
    record, log = life.record(asked), life.stage.log
    spec, status = asked.spec, record.status
    told = f"{asked}\n{status}\n"
    if spec.array is None:
        runs = log.of(spec.name)
        check_runs(asked, runs, told)
        check_outcome(asked, status.state, status.exit_code, runs, told)
        check_changes(asked, record, life, told)
    else:
        assert status.array is not None, told
        assert status.array.is_over, told
        sets = status.array.succeeded, status.array.failed, status.array.deleted
        assert sorted(n for part in sets for n in part) == list(spec.array.indices), told
        for index in spec.array.indices:
            runs = log.of(f"{spec.name}[{index}]")
            check_runs(asked, runs, told)
            assert index not in status.array.succeeded or [run.exit_code for run in runs][-1:] == [0], told
        if None not in asked.limits and not asked.was_suspended:  # a suspended member makes room for another
            limit = max(limit for limit in asked.limits if limit is not None)
            most, _ = overlap((run, 1) for run in log.of_array(spec.name))
            assert most <= limit, f"{most} members at once\n{told}"
    if spec.dependency is not None:
        check_dependency(asked, life, told)


def check_runs(asked: Asked, runs: list[Run], told: str) -> None:
    told += "\n".join(map(str, runs))
    if not asked.spec.rerunnable:
        assert len(runs) <= 1, told
    assert len(runs) <= 1 + asked.losses + asked.reruns, told
    for since, until in asked.held:
        assert not any(since < run.begun < until for run in runs), f"ran while held {since} to {until}\n{told}"
    assert all(run.ended is not None for run in runs), told
    assert all(before.ended <= after.begun for before, after in pairwise(runs) if before.ended), told


def check_outcome(asked: Asked, state: JobState, code: int | None, runs: list[Run], told: str) -> None:
    told += "\n".join(map(str, runs))
    ended = [run.exit_code for run in runs if run.exit_code is not None]
    if state is JobState.FINISHED:
        assert [run.exit_code for run in runs][-1:] == [0], told
        assert code == 0, told
    elif state is JobState.DELETED:
        assert asked.is_deleted or asked.spec.dependency is not None, told
    else:
        assert state is JobState.FAILED, told
        is_excused = asked.losses or asked.failures
        assert is_excused or ended[-1:] == [1], told
        assert is_excused or code == 1, told


def check_changes(asked: Asked, record: JobRecord, life: Life, told: str) -> None:
    runs = life.stage.log.of(asked.spec.name)
    told += "\n".join(map(str, runs))
    for name, value in (asked.shown or {}).items():
        of = record.queue if name == "queue" else getattr(record.spec, name)
        assert of == value, f"{name} is {of!r}\n{told}"
    for run in runs:
        shape = [shape for since, shape in asked.shapes if since <= run.begun][-1]
        assert run.is_wounded or shape in {None, (run.pods, run.cpus)}, f"altered, but ran as before: {run}\n{told}"
    if record.status.state in {JobState.FINISHED, JobState.FAILED}:
        shown = len(runs) + life.stage.log.withdrawn[asked.spec.name]
        assert shown >= asked.reruns_granted, told
        assert shown > asked.reruns_granted or asked.losses or asked.failures, told


def check_dependency(asked: Asked, life: Life, told: str) -> None:
    log = life.stage.log
    runs = [*log.of(asked.spec.name), *log.of_array(asked.spec.name)]
    if not runs:
        return
    assert asked.spec.dependency is not None
    clause = asked.spec.dependency.clauses[0]
    other = next(o for o in life.asked.values() if o.job_id == clause.jobs[0].job_id)
    before = log.of_array(other.spec.name) if other.spec.array else log.of(other.spec.name)
    told += "\n".join(map(str, [*before, *runs]))
    begun = min(run.begun for run in runs)
    assert all(run.ended is not None and run.ended <= begun for run in before), told
    status = life.record(other).status
    if clause.kind is DependencyKind.AFTER_OK:
        assert status.state is JobState.FINISHED, told
    elif clause.kind is DependencyKind.AFTER_NOT_OK:
        assert status.state is not JobState.FINISHED, told


def check_room(life: Life, cpus: int) -> None:
    """Neither the nodes nor a queue may hold more at once than they have room for. A suspended job leaves its CPUs to
    others; for its queue it counts on.
    """
    whole = [
        run for run in life.stage.log.runs if not run.is_wounded
    ]  # a pod that is lost makes room before the others
    spells = [spell for run in whole for spell in run.spells]
    for runs, room in (spells, cpus), ([run for run in whole if run.queue == SMALL], SMALL_CPUS):
        most, when = overlap((run, run.cpus) for run in runs)
        at_once = [run for run in runs if run.begun <= when <= (run.ended or when)]
        altered = [asked for asked in life.asked.values() if any(run.name == asked.spec.name for run in at_once)]
        told = "\n".join(map(str, (*at_once, *altered)))
        assert most <= room, f"{most} CPUs in use, there are {room}\n{told}"
