"""Who waits for whom: nothing is missed, nothing runs too early, and an end costs as much as it wakes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.dialects.lsf.depend import parse_dependency
from hpcbatch.errors import RefusedError
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.array_gate import array_gate
from hpcbatch.policy.dependencies import Verdict
from hpcbatch.record.rows import row_of
from tests.thoroughness import IS_FULL, examples
from tests.unit.controller.dependency_world import World

K = DependencyKind
PBS, SLURM = Dialect.PBS, Dialect.SLURM
ENDS = [JobState.FINISHED, JobState.FAILED, JobState.TIMEOUT, JobState.DELETED]


def on(kind: DependencyKind, *numbers: int, index: int | None = None, is_any: bool = False) -> Dependency:
    refs = tuple(JobRef(job_id=number, index=index) for number in numbers)
    return Dependency(clauses=(Clause(kind=kind, jobs=refs),), is_any=is_any)


def count(number: int) -> Dependency:
    return Dependency(clauses=(Clause(kind=K.ON, count=number),))


SINGLETON = Dependency(clauses=(Clause(kind=K.SINGLETON),))


MANY = 1000 if IS_FULL else 200


def test_a_long_chain_costs_as_much_as_it_is_long() -> None:
    """One end wakes one job, which looks at one other."""
    world, length = World(), MANY
    world.submit(1)
    for number in range(2, length + 1):
        world.submit(number, on(K.AFTER_OK, number - 1))
    world.settle()
    assert world.dependents.lookups <= 4 * length
    lookups, wakes = world.dependents.lookups, world.wakes
    for number in range(1, length + 1):
        assert world.ready() == [number] if number < 5 else world.record(number).status.state is JobState.QUEUED
        world.start(number)
        world.settle()
        world.end(number, JobState.FINISHED)
        world.settle()
    assert {record.status.state for record in world.records()} == {JobState.FINISHED}
    assert world.dependents.lookups - lookups <= 8 * length
    assert world.wakes - wakes <= 4 * length


def test_many_singletons_cost_as_much_as_there_are() -> None:
    world, length = World(), MANY
    for number in range(1, length + 1):
        world.submit(number, SINGLETON, name="same")
    world.settle()
    lookups, wakes = world.dependents.lookups, world.wakes
    for number in range(1, length + 1):
        assert world.record(number).status.state is JobState.QUEUED
        world.start(number)
        world.end(number, JobState.FAILED)
        world.settle()
    assert world.dependents.lookups - lookups <= 8 * length
    assert world.wakes - wakes <= 8 * length


def test_a_failure_ends_the_whole_chain_in_pbs() -> None:
    world = World()
    world.submit(1)
    for number in range(2, 50):
        world.submit(number, on(K.AFTER_OK, number - 1), dialect=PBS)
    world.settle()
    world.start(1)
    world.end(1, JobState.FAILED)
    world.settle()
    ended = [world.record(number).status for number in range(2, 50)]
    assert {(status.state, status.reason) for status in ended} == {(JobState.DELETED, Reason.DEPENDENCY_NEVER)}
    assert ended[-1].message == "Job deleted as result of dependency on job 48.s"


def test_a_job_that_only_the_history_knows() -> None:
    world = World()
    for number, state in ((1, JobState.FINISHED), (2, JobState.FAILED)):
        world.submit(number)
        world.start(number)
        world.end(number, state)
        world.archive(number)
    world.submit(3, on(K.AFTER_OK, 1), dialect=PBS)
    world.submit(4, on(K.AFTER_OK, 2), dialect=PBS)
    world.submit(5, on(K.AFTER_OK, 2))
    world.submit(6, on(K.AFTER_OK, 99), dialect=PBS)
    world.submit(7, on(K.AFTER_OK, 99))
    states = [world.record(number).status.state for number in range(3, 8)]
    assert states == [JobState.QUEUED, JobState.DELETED, JobState.HELD, JobState.DELETED, JobState.QUEUED]


def test_what_was_met_stays_so_when_the_other_is_forgotten() -> None:
    world = World()
    world.submit(1)
    world.submit(2)
    world.submit(3, on(K.AFTER_OK, 1, 2), dialect=PBS)
    world.start(1)
    world.end(1, JobState.FINISHED)
    world.settle()
    world.archive(1)
    world.history.clear()
    world.settle()
    assert world.record(3).status.state is JobState.HELD
    world.end(2, JobState.FINISHED)
    world.settle()
    assert world.record(3).status.state is JobState.QUEUED


def test_before() -> None:
    world = World()
    world.submit(1, count(2), dialect=PBS)
    world.submit(2, on(K.BEFORE_OK, 1), dialect=PBS)
    world.submit(3, on(K.BEFORE, 1), dialect=PBS)
    world.submit(4, on(K.BEFORE_ANY, 1), dialect=PBS)  # one too many
    world.submit(5, on(K.BEFORE_ANY, 1), dialect=PBS, namespace="bob")
    world.submit(6, on(K.BEFORE_ANY, 99), dialect=PBS)
    world.settle()
    said = [
        world.record(number).status.message.removeprefix("Dependency request for job rejected by ")
        for number in (4, 5, 6)
    ]
    assert said == ["1.s Invalid Job Dependency", "1.s Unauthorized Request", "99.s Unknown Job Id"]
    assert row_of(world.record(1)).dependency == "afterok:2,after:3"
    world.start(3)
    world.restart()
    world.settle()
    world.start(2)
    world.end(2, JobState.FINISHED)
    world.settle()
    assert world.record(1).status.state is JobState.QUEUED


def test_before_that_fails_ends_the_other() -> None:
    world = World()
    world.submit(1, count(1), dialect=PBS)
    world.submit(2, on(K.BEFORE_OK, 1), dialect=PBS)
    world.settle()
    world.start(2)
    world.end(2, JobState.FAILED)
    world.settle()
    assert world.record(1).status.state is JobState.DELETED


def test_whom_others_wait_for() -> None:
    """PBS shows it at both ends."""
    world = World()
    world.submit(1, dialect=PBS)
    world.submit(2, on(K.AFTER_OK, 1), dialect=PBS)
    world.submit(3, on(K.AFTER, 1))
    world.settle()
    assert world.dependents.followers(world.record(1)) == ("beforeok:2", "before:3")
    world.start(1)
    world.settle()
    assert world.dependents.followers(world.record(1)) == ("beforeok:2",)
    assert world.dependents.followers(world.record(3)) == ()


def test_runone() -> None:
    world = World()
    world.submit(1, hold=True, dialect=PBS)
    world.submit(2, on(K.RUN_ONE, 1), dialect=PBS)
    world.submit(3, on(K.RUN_ONE, 1), dialect=PBS)
    world.settle()
    assert world.ready() == [2]
    world.start(2)
    world.settle()
    assert not world.ready()
    world.end(2, JobState.FAILED)
    world.settle()
    assert [world.record(number).status.state for number in (1, 3)] == [JobState.DELETED] * 2


def test_runone_of_which_one_is_deleted_before_it_runs() -> None:
    world = World()
    world.submit(1, dialect=PBS)
    world.submit(2, on(K.RUN_ONE, 1), dialect=PBS)
    world.settle()
    assert world.ready() == [1]
    world.end(1, JobState.DELETED)
    world.settle()
    assert world.ready() == [2]


def altered(record: JobRecord, dependency: Dependency, name: str = "") -> JobRecord:
    return replace(record, spec=replace(record.spec, dependency=dependency, name=name or record.spec.name))


def test_cycles_cannot_be_made() -> None:
    world = World()
    world.submit(1)
    world.submit(2, on(K.AFTER_OK, 1))
    world.submit(3, on(K.AFTER_ANY, 2))
    world.submit(4, SINGLETON, name="n1")
    world.settle()

    def code(number: int, dependency: Dependency, name: str = "") -> str:
        with pytest.raises(RefusedError) as caught:
            world.dependents.check_no_cycle(altered(world.record(number), dependency, name))
        return caught.value.code

    assert code(1, on(K.AFTER_OK, 1)) == RefusalCode.BAD_DEPENDENCY
    assert code(1, on(K.AFTER_OK, 3)) == RefusalCode.CIRCULAR_DEPENDENCY
    assert code(1, on(K.AFTER_OK, 4)) == RefusalCode.CIRCULAR_DEPENDENCY  # which waits for its namesake
    both = Dependency(clauses=(*on(K.AFTER_ANY, 2).clauses, *on(K.BEFORE_OK, 1).clauses))
    assert code(3, both) == RefusalCode.CIRCULAR_DEPENDENCY
    world.dependents.check_no_cycle(altered(world.record(3), on(K.AFTER_OK, 1)))
    world.end(2, JobState.FAILED)
    world.settle()
    world.dependents.check_no_cycle(altered(world.record(1), on(K.AFTER_OK, 2)))


def test_a_new_job_that_stands_before_and_behind_another() -> None:
    world = World()
    world.submit(1, count(1), dialect=PBS)
    clauses = (*on(K.BEFORE_OK, 1).clauses, *on(K.AFTER_OK, 1).clauses)
    new = replace(altered(world.record(1), Dependency(clauses=clauses)), job_id=0, object_name="new")
    with pytest.raises(RefusedError, match="it would wait for job 1, which waits for this one"):
        world.dependents.check_no_cycle(new)


def sets(pending: str = "", active: str = "", succeeded: str = "", failed: str = "") -> ArrayStatus:
    return ArrayStatus(
        pending=Indices.parse(pending),
        active=Indices.parse(active),
        succeeded=Indices.parse(succeeded),
        failed=Indices.parse(failed),
    )


def test_arrays_and_members() -> None:
    world = World()
    world.submit(1, array="0-3")
    world.submit(2, on(K.AFTER_OK, 1))
    world.submit(3, on(K.AFTER_OK, 1, index=2))
    world.submit(4, on(K.AFTER_ANY, 1, index=3))
    world.submit(5, on(K.AFTER_OK, 1, index=9), dialect=PBS)  # no such member
    world.submit(6, on(K.AFTER, 1), dialect=PBS)
    world.submit(7, on(K.AFTER, 1))
    world.settle()
    assert row_of(world.record(2)).dependency == "afterok:1[]"
    assert world.record(5).status.state is JobState.DELETED
    world.change(1, state=JobState.RUNNING, start_time=world.now, array=sets("2-3", succeeded="0-1"))
    world.settle()
    assert world.ready() == [6]  # PBS: it has begun; Slurm: not all of it
    world.change(1, array=sets(failed="3", succeeded="0-2"), end_time=world.now)
    world.settle()
    assert world.ready() == [3, 4, 6, 7]
    assert world.record(2).status.reason is Reason.DEPENDENCY
    world.end(1, JobState.FAILED)
    world.settle()
    assert world.record(2).status.reason is Reason.DEPENDENCY_NEVER


def test_an_array_wakes_only_those_whom_its_members_concern() -> None:
    world = World()
    world.submit(1, array="0-999")
    world.submit(2, on(K.AFTER_OK, 1))
    world.settle()
    wakes = world.wakes
    for number in range(1, 100):
        world.change(1, state=JobState.RUNNING, array=sets("100-999", succeeded=f"0-{number}"))
    assert world.wakes == wakes
    world.end(1, JobState.FINISHED)
    assert world.wakes == wakes + 1


def test_gate_of_an_array() -> None:
    world = World()
    world.submit(1, array="0-3")
    world.submit(2, on(K.AFTER_CORR, 1), array="0-3")
    world.settle()

    def gate() -> tuple[str, Reason | None]:
        found = array_gate(world.record(2), world.dependents, world.now)
        return str(found.ready), None if found.obstacle is None else found.obstacle.reason

    assert gate() == ("", Reason.DEPENDENCY)
    world.change(1, state=JobState.RUNNING, array=sets("3", succeeded="0,2", failed="1"))
    assert gate() == ("0,2", None)
    world.change(2, array=sets("1", succeeded="0,2-3"))
    assert gate() == ("", Reason.DEPENDENCY_NEVER)


@pytest.mark.parametrize(("dialect", "pending", "deleted"), [(PBS, "", "2-3"), (SLURM, "2-3", "")])
def test_an_array_that_has_begun_is_altered(dialect: Dialect, pending: str, deleted: str) -> None:
    """What was requested then holds for the members that have not been made yet."""
    world = World()
    world.submit(1)
    world.submit(2, array="0-3", dialect=dialect)
    world.change(2, state=JobState.RUNNING, start_time=world.now, array=sets("2-3", succeeded="0-1"))
    record = altered(world.record(2), on(K.AFTER_OK, 1))
    found = array_gate(record, world.dependents, world.now)
    assert found.obstacle is not None
    assert found.obstacle.reason is Reason.DEPENDENCY
    world.start(1)
    world.end(1, JobState.FAILED)
    array = array_gate(record, world.dependents, world.now).status.array
    assert array is not None
    assert (str(array.pending), str(array.deleted)) == (pending, deleted)


def expression(text: str) -> Dependency:
    found = parse_dependency(text, None, kill_if_never=False)
    assert found is not None
    return found


def test_what_holds_only_as_long_as_it_is_so_is_looked_at_again() -> None:
    """Also while the scheduler has the job already, by a new controller, and where the other is only in the history."""
    world = World()
    for number in (1, 2, 3):
        world.submit(number, hold=True)
    world.submit(4, expression("!started(1) && (done(2) || exit(3,>5))"), dialect=Dialect.LSF)
    world.settle()
    assert row_of(world.record(4)).dependency == "(afterok:2?aftercode:3>5)"
    world.start(3)
    world.change(3, state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT, exit_code=7, end_time=world.now)
    world.restart()
    world.archive(3)
    world.settle()
    assert world.ready() == [4]
    world.start(1)
    world.settle()
    assert (world.ready(), world.record(4).status.reason) == ([], Reason.DEPENDENCY_NEVER)
    world.dependents.check_no_cycle(altered(world.record(1), expression("!done(4)")))
    with pytest.raises(RefusedError):
        world.dependents.check_no_cycle(altered(world.record(1), expression("!done(1)")))


def test_members_of_an_array_are_counted() -> None:
    world = World()
    world.submit(1, array="0-3")
    world.submit(2, expression("numdone(1,>=2)"), dialect=Dialect.LSF)
    world.submit(3, expression("numexit(1,<1)"), dialect=Dialect.LSF)
    world.settle()
    assert world.ready() == [1, 3]
    world.change(1, state=JobState.RUNNING, start_time=world.now, array=sets("2-3", succeeded="0", failed="1"))
    world.settle()
    assert (world.ready(), world.record(3).status.reason) == ([], Reason.DEPENDENCY_NEVER)
    world.change(1, array=sets("3", succeeded="0,2", failed="1"))
    world.settle()
    assert world.ready() == [2]


def test_members_in_a_state_are_counted() -> None:
    world = World()
    world.submit(1, array="0-5")
    world.submit(2, expression("numrun(1,>=2)"), dialect=Dialect.LSF)
    world.submit(3, expression("numhold(1,1) && numpend(1,3)"), dialect=Dialect.LSF)
    world.submit(4, expression("numstart(1,>2)"), dialect=Dialect.LSF)
    world.change(1, state=JobState.RUNNING, start_time=world.now, array=sets("4-5", active="0-3"))
    world.make_member(10, 1, 0, state=JobState.RUNNING, start_time=world.now)
    world.make_member(11, 1, 1, state=JobState.SUSPENDED, start_time=world.now)
    world.make_member(12, 1, 2, state=JobState.HELD, reason=Reason.HELD_BY_USER, hold=True)
    world.settle()
    assert world.ready() == [3]  # 3 has no record yet
    world.make_member(13, 1, 3, state=JobState.RUNNING, start_time=world.now)
    world.settle()
    assert world.ready() == [2, 4]
    world.change(1, array=sets("4-5", active="0-1", succeeded="2-3"))
    world.make_member(13, 1, 3, state=JobState.FINISHED, start_time=world.now, end_time=world.now)
    world.settle()
    assert world.ready() == []


def test_how_a_member_ended_that_only_the_history_knows() -> None:
    world = World()
    world.submit(1, array="0-3")
    world.make_member(
        10,
        1,
        3,
        state=JobState.FAILED,
        reason=Reason.NON_ZERO_EXIT,
        exit_code=5,
        start_time=world.now,
        end_time=world.now,
    )
    world.change(1, state=JobState.RUNNING, start_time=world.now, array=sets("", active="0-2", failed="3"))
    world.archive(10)
    world.submit(2, expression("exit(1[3],5)"), dialect=Dialect.LSF)
    world.submit(3, expression("exit(1[3],6)"), dialect=Dialect.LSF)
    world.settle()
    assert world.ready() == [2]
    assert world.record(3).status.reason is Reason.DEPENDENCY_NEVER


def test_a_dependency_on_an_unknown_job_is_refused_where_the_dialect_does() -> None:
    world = World()
    world.submit(1, array="0-3")
    world.submit(2)
    text = "done(1[3]) && ended(2) && (done(1[4]) || exit(9))"
    world.submit(3, expression(text), dialect=Dialect.LSF)
    world.submit(4, expression(text), dialect=PBS)
    with pytest.raises(RefusedError, match=r"no such job: 1\[4\], 9$"):
        world.dependents.check_known(world.record(3))
    world.dependents.check_known(world.record(4))
    world.dependents.check_known(altered(world.record(3), expression("done(1) && done(2)")))


# Generated worlds

FINAL_KINDS = [K.AFTER, K.AFTER_OK, K.AFTER_NOT_OK, K.AFTER_ANY]


@st.composite
def dependencies(draw: st.DrawFn, number: int) -> Dependency | None:
    """Of the job `number` on earlier ones, and in PBS also `before…` and `on`."""
    if number == 1 or draw(st.integers(0, 3)) == 0:
        return count(draw(st.integers(1, 2))) if draw(st.integers(0, 4)) == 0 else None
    others = st.lists(st.integers(1, number - 1), min_size=1, max_size=3, unique=True)
    kinds = st.sampled_from([*FINAL_KINDS, *FINAL_KINDS, K.BEFORE_OK, K.BEFORE_ANY])
    clauses = [on(draw(kinds), *draw(others)).clauses[0] for _ in range(draw(st.integers(1, 2)))]
    if draw(st.integers(0, 5)) == 0:
        clauses.append(Clause(kind=K.SINGLETON))
    return Dependency(clauses=tuple(clauses), is_any=draw(st.booleans()) and draw(st.booleans()))


def is_satisfied(world: World, dependency: Dependency, dialect: str, number: int) -> bool:
    """Said anew, and without what the controller remembers: may this job run now?"""

    def one(kind: DependencyKind, other: int) -> bool:
        status = world.record(other).status
        match kind:
            case K.AFTER:
                return status.start_time is not None or status.state.is_final
            case K.AFTER_OK:
                return status.state is JobState.FINISHED
            case K.AFTER_NOT_OK:
                return status.state.is_final and status.state is not JobState.FINISHED
            case _:
                return status.state.is_final

    def namesakes() -> bool:
        name = world.record(number).spec.name
        return all(
            record.status.state.is_final
            for record in world.records()
            if record.job_id < number and record.spec.name == name
        )

    waits = dependency.waits
    results = [namesakes() if w.ref is None else one(w.kind, w.ref.job_id) for w in waits if w.kind is not K.ON]
    return not results or (any(results) if dependency.is_any else all(results))


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_dependencies_are_obeyed_and_nothing_is_missed(data: st.DataObject) -> None:
    """Jobs are submitted, started and ended, and the controller restarted, in any order. No job is queued before what
    it waits for; and once all is quiet, looking at every waiting job anew says what its record says.
    """
    world, last = World(), 0
    for _ in range(data.draw(st.integers(5, 25))):
        living = [record for record in world.records() if not record.status.state.is_final]
        match data.draw(st.integers(0, 5)):
            case 0 | 1:
                last += 1
                dialect = data.draw(st.sampled_from([PBS, SLURM]))
                dependency = data.draw(dependencies(last))
                new = World()
                new.submit(last, dependency, dialect=dialect)
                try:
                    world.dependents.check_no_cycle(replace(new.record(last), job_id=0))
                except RefusedError:
                    last -= 1
                    continue
                world.submit(last, dependency, dialect=dialect, name=data.draw(st.sampled_from(["a", "b"])))
            case 2 | 3 if world.ready():
                number = data.draw(st.sampled_from(world.ready()))
                record = world.record(number)
                if record.spec.dependency is not None:
                    assert is_satisfied(world, record.spec.dependency, record.spec.dialect, number)
                world.start(number)
            case 4 if living:
                record = data.draw(st.sampled_from(living))
                ends = ENDS if record.status.start_time is not None else [JobState.DELETED]
                world.end(record.job_id, data.draw(st.sampled_from(ends)))
            case 5:
                world.restart()
        world.settle()
        for record in world.records():
            status = record.status
            if status.state not in {JobState.HELD, JobState.QUEUED}:
                continue
            outlook = world.outlook(record)
            if outlook is None:
                assert status.state is JobState.QUEUED
                continue
            assert (outlook.verdict is Verdict.MET) == (status.state is JobState.QUEUED)
            assert (outlook.verdict is Verdict.NEVER) == (status.reason is Reason.DEPENDENCY_NEVER)


def test_only_starts_and_ends_wake() -> None:
    world = World()
    world.submit(1)
    for number in range(2, 12):
        world.submit(number, on(K.AFTER_ANY, 1))
    world.settle()
    wakes = world.wakes
    for priority in range(10):
        world.change(1, message=f"{priority}")
    assert world.wakes == wakes
    world.start(1)
    world.change(1, state=JobState.EXITING)
    world.end(1, JobState.FINISHED)
    assert world.wakes == wakes + 20
