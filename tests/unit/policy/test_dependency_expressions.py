"""Dependencies of LSF: any expression means what it says, now and for ever."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.lsf.depend import format_dependency, parse_dependency
from hpcbatch.model.dependency import Dependency, JobRef, Wait
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.dependencies import Ended, Members, Other, Outlook, Rival, Verdict, look, within

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
WAITING, RUNNING, OK = "waiting", "running", "ok"
NEXT: dict[str | int, tuple[str | int, ...]] = {
    WAITING: (WAITING, RUNNING, OK, 3, 7),
    RUNNING: (RUNNING, OK, 3, 7),
    OK: (OK,),
    3: (3,),
    7: (7,),
}
"""What may become of a job; a number is the code with which it has failed."""
States: TypeAlias = Sequence[str | int]
"""Of the jobs 0, 1 and 2."""
JOBS = range(3)


def other(state: str | int) -> Other:
    if state == WAITING:
        return Other()
    if state == RUNNING:
        return Other(started_at=NOW)
    ended = Ended(state=JobState.FINISHED, reason=Reason.NONE, exit_code=0)
    if isinstance(state, int):
        ended = Ended(state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT, exit_code=state)
    return Other(started_at=NOW, ended_at=NOW, is_ok=state == OK, ended=ended)


@dataclass
class Known:
    """Implements OtherJobs with the states of three jobs, or an array as each of them."""

    states: States = ()
    array: Members | None = None
    asked: list[JobRef] = field(default_factory=list)

    def find(self, ref: JobRef, *, is_all_begun: bool = False) -> Other | None:
        self.asked.append(ref)
        if self.array is not None:
            return Other(is_array=True)
        return other(self.states[ref.job_id - 1]) if ref.job_id <= len(self.states) else None

    def members(self, job_id: int, *, with_states: bool = False) -> Members | None:
        return self.array

    def has_earlier(self, record: JobRecord) -> bool:
        return False

    def joined(self, job_id: int) -> Sequence[Wait]:
        return ()

    def refuses(self, record: JobRecord, wait: Wait) -> str:
        return ""

    def rivals(self, record: JobRecord) -> Sequence[Rival]:
        return ()


def record(dependency: Dependency | None) -> JobRecord:
    spec = JobSpec(dialect=Dialect.LSF, name="j", server="s", dependency=dependency)
    return JobRecord(job_id=20, namespace="n", object_name="o", spec=spec, status=JobStatus(), queue="q")


def seen(job: JobRecord, known: Known) -> Outlook:
    outlook = look(job, known, NOW)
    assert outlook is not None
    return outlook


def read(text: str) -> Dependency:
    found = parse_dependency(text, None, kill_if_never=False)
    assert found is not None
    return found


@dataclass(frozen=True)
class Said:
    """An expression, and what it means."""

    text: str
    holds: Callable[[States], bool]


CODES = {">": operator.gt, "<": operator.lt, "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le}


def condition(job: int, word: str, compare: str, code: int) -> Said:
    meanings: dict[str, Callable[[str | int], bool]] = {
        "done": lambda state: state == OK,
        "ended": lambda state: state not in {WAITING, RUNNING},
        "started": lambda state: state != WAITING,
        "exit": lambda state: isinstance(state, int),
        "code": lambda state: isinstance(state, int) and CODES[compare](state, code),
    }
    text = f"exit({job + 1},{compare}{code})" if word == "code" else f"{word}({job + 1})"
    return Said(text, lambda states: meanings[word](states[job]))


CONDITIONS = st.builds(
    condition,
    st.sampled_from(JOBS),
    st.sampled_from(["done", "ended", "started", "exit", "code"]),
    st.sampled_from(sorted(CODES)),
    st.integers(2, 8),
)


def all_of(parts: list[Said]) -> Said:
    return Said(" && ".join(f"({part.text})" for part in parts), lambda s: all(part.holds(s) for part in parts))


def any_of(parts: list[Said]) -> Said:
    return Said(" || ".join(f"({part.text})" for part in parts), lambda s: any(part.holds(s) for part in parts))


EXPRESSIONS = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(all_of),
        st.lists(inner, min_size=1, max_size=3).map(any_of),
        inner.map(lambda part: Said(f"!({part.text})", lambda states: not part.holds(states))),
    ),
    max_leaves=8,
)


def futures(states: States) -> Iterator[States]:
    return product(*(NEXT[state] for state in states))


@given(EXPRESSIONS, st.lists(st.sampled_from(list(NEXT)), min_size=3, max_size=3), st.data())
def test_an_expression_means_what_it_says(said: Said, states: States, data: st.DataObject) -> None:
    job = record(read(said.text))
    for _ in range(3):
        outlook = seen(job, Known(states))
        assert (outlook.verdict is Verdict.MET) is said.holds(states)
        if outlook.verdict is Verdict.NEVER:
            assert not any(map(said.holds, futures(states)))
        assert bool(outlook.progress.left) is not said.holds(states)
        job = replace(job, status=JobStatus(dependency=outlook.progress))
        states = data.draw(st.sampled_from(list(futures(states))))


@given(EXPRESSIONS)
def test_the_shown_expression_means_the_same(said: Said) -> None:
    found = read(said.text)
    again = read(format_dependency(found))
    assert again.group == found.group


TEXT = "done(1) && (ended(2) || exit(3,>5)) && !started(3)"


@pytest.mark.parametrize(
    ("states", "verdict", "left"),
    [
        ((WAITING, WAITING, WAITING), Verdict.WAITS, "afterok:1,(afterany:2?aftercode:3>5)"),
        ((OK, RUNNING, WAITING), Verdict.WAITS, "(afterany:2?aftercode:3>5)"),
        ((OK, 3, WAITING), Verdict.MET, ""),
        ((OK, RUNNING, RUNNING), Verdict.NEVER, "(afterany:2?aftercode:3>5),!after:3!"),
        ((7, RUNNING, WAITING), Verdict.NEVER, "afterok:1!,(afterany:2?aftercode:3>5)"),
    ],
)
def test_what_is_left(states: States, verdict: Verdict, left: str) -> None:
    outlook = seen(record(read(TEXT)), Known(states))
    assert (outlook.verdict, outlook.progress.left) == (verdict, left)


def test_it_says_what_can_never_be() -> None:
    outlook = seen(record(read("exit(1, 5) || done(2)")), Known((3, 3, OK)))
    assert outlook.message == "Dependency condition invalid or never satisfied: exit(1, 5)"
    assert not outlook.kills


def test_what_is_so_for_good_is_not_asked_again_and_what_may_change_is() -> None:
    job = record(read("done(1) && !ended(2) && started(3)"))
    first = seen(job, Known((OK, WAITING, WAITING)))
    assert first.progress.met == ("afterok:1",)
    known = Known((OK, OK, RUNNING))
    again = seen(replace(job, status=JobStatus(dependency=first.progress)), known)
    assert (again.verdict, [ref.job_id for ref in known.asked]) == (Verdict.NEVER, [2, 3])


M, W, N = Verdict.MET, Verdict.WAITS, Verdict.NEVER


@pytest.mark.parametrize(
    ("text", "ok", "failed", "verdict", "is_met"),
    [
        ("numdone(1,>=3)", "1-2", "", W, False),
        ("numdone(1,>=3)", "1-3", "", M, True),
        ("numdone(1,>3)", "1-3", "4-5", N, False),
        ("numdone(1,2)", "1-2", "", M, False),
        ("numdone(1,2)", "1-3", "", N, False),
        ("numdone(1,!=2)", "1", "", M, False),
        ("numexit(1,<2)", "", "1", M, False),
        ("numexit(1,<2)", "2-5", "1", M, True),
        ("numexit(1,<=0)", "", "1", N, False),
        ("numended(1,>3)", "1-2", "3-4", M, True),
        ("!numended(1,>3)", "1-2", "3-4", N, False),
    ],
)
def test_numbers_of_members(text: str, ok: str, failed: str, verdict: Verdict, *, is_met: bool) -> None:
    array = Members(all=Indices.parse("1-5"), succeeded=Indices.parse(ok), failed=Indices.parse(failed))
    outlook = seen(record(read(text)), Known(array=array))
    assert (outlook.verdict, bool(outlook.progress.met)) == (verdict, is_met)


@pytest.mark.parametrize(
    ("text", "counts", "verdict", "is_met"),
    [
        # members that run, are suspended, held and wait; the rest has ended
        ("numrun(1,>=2)", (1, 1, 0, 3), W, False),
        ("numrun(1,>=2)", (2, 0, 0, 3), M, False),
        ("numrun(1,>=2)", (1, 0, 0, 0), N, False),
        ("numrun(1,<2)", (1, 0, 0, 0), M, True),
        ("numrun(1,*)", (4, 1, 0, 0), W, False),
        ("numrun(1,*)", (5, 0, 0, 0), M, False),
        ("numrun(1,*)", (4, 0, 0, 0), N, False),
        ("numstart(1,>=2)", (1, 1, 0, 3), M, False),
        ("numpend(1,0)", (1, 0, 1, 3), W, False),
        ("numpend(1,0)", (4, 0, 1, 0), M, False),
        ("numpend(1,0)", (0, 0, 0, 0), M, True),
        ("!numpend(1,>2)", (0, 0, 0, 3), W, False),
        ("numhold(1,*)", (0, 0, 5, 0), M, False),
        ("numhold(1,1)", (0, 0, 1, 2), M, False),
        ("numexit(1,*)", (1, 0, 0, 0), N, False),
        ("numexit(1,*)", (5, 0, 0, 0), W, False),
    ],
)
def test_members_in_a_state_now(text: str, counts: tuple[int, ...], verdict: Verdict, *, is_met: bool) -> None:
    running, suspended, held, waiting = counts
    ended = 5 - sum(counts)
    array = Members(
        all=Indices.parse("1-5"),
        succeeded=Indices.of(range(1, 1 + ended)),
        failed=Indices(),
        running=running,
        suspended=suspended,
        held=held,
        waiting=waiting,
    )
    outlook = seen(record(read(text)), Known(array=array))
    assert (outlook.verdict, bool(outlook.progress.met)) == (verdict, is_met)


def test_a_plain_job_has_no_members_to_count() -> None:
    assert seen(record(read("numdone(1, 1)")), Known((OK, OK, OK))).verdict is N


@given(st.sampled_from(sorted(CODES)), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_within(op: str, wanted: int, least: int, more: int) -> None:
    found = {CODES[op](number, wanted) for number in range(least, least + more + 1)}
    assert within(f"{op}{wanted}", least, least + more) == (found.pop() if len(found) == 1 else None)
