"""`--dependency=afterok:12,…`: read as slurmctld reads it, and shown as squeue and scontrol show it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.dependency import MAX_JOBS, Clause, Dependency, DependencyKind, JobRef, Left, left_shown
from hpcbatch.model.indices import Indices
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

KINDS = {
    "after": DependencyKind.AFTER,
    "afterany": DependencyKind.AFTER_ANY,
    "afterok": DependencyKind.AFTER_OK,
    "afternotok": DependencyKind.AFTER_NOT_OK,
    "aftercorr": DependencyKind.AFTER_CORR,
}
_OTHERS = frozenset({"expand", "afterburstbuffer"})
_JOB = r"(?a)([0-9]{1,18})(?:_(\*|[0-9]{1,9}|\[[0-9,:-]+\]))?(?:\+([0-9]{1,9}))?(\([^)]*\))?"
_SEPARATOR = r"[,?](?![^\[]*\])"
_MINUTE_S = 60
_SHOWN_IN = frozenset({JobState.QUEUED, JobState.HELD, JobState.WAITING, JobState.DELETED})


def parse_dependency(text: str, *, kill_if_never: bool | None = None) -> Dependency | None:
    """Read `type:id[:id…][,type:…]`, with `?` for `,` where one of them is enough; None for the empty text and `0`.
    Raises ValueError for what slurmctld answers with `Job dependency problem`, NotSupportedError for its rare types.
    Source: update_job_dependency() of job_scheduler.c.
    """
    if text in {"", "0"}:
        return None
    clauses = [clause for part in re.split(_SEPARATOR, text) for clause in _clauses(part)]
    if all(clause.kind is DependencyKind.AFTER_ANY for clause in clauses) and _is_old(text) and "?" in text:
        raise ValueError(text)
    return Dependency(clauses=tuple(dict.fromkeys(clauses)), is_any="?" in text, kill_if_never=kill_if_never)


def _is_old(text: str) -> bool:
    return ":" not in text


def _clauses(part: str) -> Iterator[Clause]:
    word, colon, jobs = part.partition(":")
    word = word.lower()
    if re.fullmatch(r"singleton(\([^)]*\))?", part, re.IGNORECASE):
        yield Clause(kind=DependencyKind.SINGLETON)
        return
    if not colon:  # the old form: ids alone
        word, jobs = "afterany", part
    if word in _OTHERS:
        raise NotSupportedError(f"--dependency={word} is not supported yet")
    if word not in KINDS:
        raise ValueError(part)
    kind, refs = KINDS[word], list[JobRef]()
    for job in re.split(r":(?![^\[]*\])", jobs):
        found, delay_s = _refs(job)
        if kind is DependencyKind.AFTER and delay_s:
            yield Clause(kind=kind, jobs=found, delay_s=delay_s)
        else:
            refs += found
    if refs:
        yield Clause(kind=kind, jobs=tuple(dict.fromkeys(refs)))


def _refs(text: str) -> tuple[tuple[JobRef, ...], int]:
    match = re.fullmatch(_JOB, text)
    if match is None or int(match[1]) == 0 or (match[3] is not None and int(match[3]) == 0):
        raise ValueError(text)
    number, members, delay_s = int(match[1]), match[2], int(match[3] or 0) * _MINUTE_S
    if members in {None, "*"}:
        return (JobRef(job_id=number),), delay_s
    try:
        indices = Indices.parse(members.strip("[]"))
    except HpcBatchError:
        raise ValueError(text) from None
    if not 0 < len(indices) <= MAX_JOBS:
        raise ValueError(text)
    return tuple(JobRef(job_id=number, index=index) for index in indices), delay_s


def format_dependency(left: str, state: JobState) -> str:
    """What `%E` and `Dependency=` show: `afterok:12(unfulfilled)`; `(null)` when nothing is left. `left` is the text of
    a row or status. Conditions of LSF stand there as they do in it, with `!` and in parentheses.
    """
    if not left or state not in _SHOWN_IN:
        return "(null)"
    try:
        return left_shown(left, _shown)
    except ValueError:  # the row of one job must not end the listing of all
        return "(unreadable)"


def _shown(part: Left) -> str:
    wait = part.wait
    text = f"{'!' * wait.is_not}{wait.kind}"
    if wait.ref is not None:
        index = wait.ref.index
        text += f":{wait.ref.job_id}{'_*' if part.is_array else '' if index is None else f'_{index}'}{wait.compare}"
    elif wait.kind is DependencyKind.ON:
        text += f":{wait.count}"
    if wait.delay_s:
        text += f"+{wait.delay_s // _MINUTE_S}"
    return f"{text}({'failed' if part.has_failed else 'unfulfilled'})"


def never_met(_record: JobRecord, part: Left, _is_unknown: bool) -> str:
    return f"its dependency {part.wait} can never be satisfied"
