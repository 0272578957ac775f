"""`-W depend=afterok:12.server,…`: read as qsub reads it, and shown as `qstat -f` shows it."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.dialects.pbs.errors import COMMAND_LINE, PBSE_BADATVAL, Origin, PbsError, not_supported
from hpcbatch.dialects.pbs.ids import parse_id
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.dependency import (
    COMPARED,
    Clause,
    Dependency,
    DependencyKind,
    DependencyProgress,
    JobRef,
    Left,
    Wait,
    left_shown,
    parse_left,
)
from hpcbatch.model.state import Reason
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

KINDS = {kind.value: kind for kind in DependencyKind if kind not in COMPARED | {"aftercorr", "singleton"}}
_OF_ARRAYS = {
    f"{when}{how}array": DependencyKind(f"{when}{'' if how == 'start' else how}")
    for when in ("after", "before")
    for how in ("start", "ok", "notok", "any")
}
"""Torque's names for what is meant of whole arrays."""
_SUBJOB = "cannot have dependancy on subjob or range"
_REASONS = frozenset({Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER})
_MAX_ON = 2**31 - 1


class DependSyntaxError(Exception):
    """What qsub and qalter answer with `illegal -W value`. `str()` is a line that stands before it, or empty."""


def parse_depend(text: str, server: str | None = None, origin: Origin = COMMAND_LINE) -> Dependency:
    """Read `type:id[:id…][,type:…]`. Raises DependSyntaxError for what the command refuses, PbsError for what only the
    server does (a count of `on` that is none), NotSupportedError for jobs of another server and old types.
    Sources: OpenPBS, parse_depend_list(), build_depend().
    """
    if not text.strip() or text.rstrip().endswith(","):
        raise DependSyntaxError
    merged: dict[DependencyKind, list[JobRef]] = {}
    count = 0
    for part in text.split(","):
        word, *values = part.strip().replace("\\:", "\0").split(":")
        if word in {"synccount", "syncwith"}:
            raise not_supported(f"-W depend={word}", origin)
        if word in _OF_ARRAYS and any("][" in value for value in values):
            raise not_supported(f"-W depend={word} on some of an array's members", origin)
        kind = KINDS.get(word) or _OF_ARRAYS.get(word)
        if kind is None or not values or not all(values):
            raise DependSyntaxError
        if kind is DependencyKind.ON:
            count = _count(values, origin)
        else:
            merged.setdefault(kind, []).extend(_job(value.replace("\0", ":"), server, origin) for value in values)
    clauses = [Clause(kind=kind, jobs=tuple(dict.fromkeys(refs))) for kind, refs in merged.items()]
    if count:
        clauses.append(Clause(kind=DependencyKind.ON, count=count))
    return Dependency(clauses=tuple(clauses))


def _count(values: list[str], origin: Origin) -> int:
    text = values[0].strip()
    if len(values) > 1 or not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MAX_ON):
        raise PbsError("Illegal attribute or resource value depend", PBSE_BADATVAL & 0xFF, origin=origin)
    return int(text)


def _job(text: str, server: str | None, origin: Origin) -> JobRef:
    try:
        named = parse_id(text, server)
    except UnknownJobError:
        raise not_supported(f"-W depend: {text}, a job of another server", origin) from None
    except PbsError:
        raise DependSyntaxError(_SUBJOB if "[" in text else "") from None
    if named.members is not None:
        raise DependSyntaxError(_SUBJOB)
    return JobRef(job_id=named.number)


def replaced(before: Dependency | None, asked: Dependency) -> Dependency:
    """What qalter makes of a dependency: `asked` replaces what is of its types. Source: OpenPBS, set_depend().
    A dependency as PBS has none, of which one part may be enough, is replaced as a whole.
    """
    kinds = {clause.kind for clause in asked.clauses}
    kept = (
        ()
        if before is None or before.is_any or before.expression
        else tuple(clause for clause in before.clauses if clause.kind not in kinds)
    )
    return Dependency(clauses=(*kept, *asked.clauses))


def waits_for_others(record: JobRecord) -> bool:
    """Whether its dependency alone would hold the job (Hold_Types s)."""
    status, progress = record.status, record.status.dependency
    if status.state.is_final or status.start_time is not None:
        return False
    return status.reason in _REASONS or (progress is not None and bool(progress.left))


def format_depend(record: JobRecord) -> str | None:
    """The attribute `depend`: what is not satisfied yet, and what the job means to others; None if that is nothing."""
    dependency, progress = record.spec.dependency, record.status.dependency
    if dependency is None and progress is None:
        return None
    if dependency is not None and (dependency.is_any or dependency.expression):  # PBS has no such ones
        return left_shown(_text(dependency, progress), lambda part: _alone(part, record.spec.server)) or None
    left = list(_not_looked_at(dependency) if progress is None else parse_left(progress.left))
    if dependency is not None:
        left += [Left(wait=wait) for wait in (*dependency.befores, *dependency.rivals)]
    left += [Left(wait=Wait.parse(name)) for name in (() if progress is None else progress.followers)]
    groups: dict[DependencyKind, list[Left]] = {}
    for part in left:
        groups.setdefault(part.wait.kind, []).append(part)
    ordered = (kind for kind in DependencyKind if kind in groups)
    return ",".join(_group(kind, groups[kind], record.spec.server) for kind in ordered) or None


def never_met(record: JobRecord, part: Left, is_unknown: bool) -> str:
    """Why this part of the dependency can never be met, as the server writes it."""
    shown = f"{part.wait.ref}{'[]' * part.is_array}.{record.spec.server}"
    if is_unknown:
        return f"Dependency request for job rejected by {shown} Unknown Job Id"
    if record.status.dependency is None:
        return f"{shown} Finished job did not satisfy dependency"
    return f"Job deleted as result of dependency on job {shown}"


def _not_looked_at(dependency: Dependency | None) -> Iterable[Left]:
    return () if dependency is None else (Left(wait=wait) for wait in dependency.waits)


def _group(kind: DependencyKind, parts: list[Left], server: str) -> str:
    return f"{kind}:" + ":".join(_value(part.wait, part.is_array, server) for part in parts)


def _text(dependency: Dependency, progress: DependencyProgress | None) -> str:
    if progress is not None:
        return progress.left
    from hpcbatch.model.conditions import written

    return written(dependency.group)


def _alone(part: Left, server: str) -> str:
    """A part of a dependency of which not all parts count."""
    value = _value(part.wait, part.is_array, server)
    return f"{'!' * part.wait.is_not}{part.wait.kind}:{value}{part.wait.compare}"


def _value(wait: Wait, is_array: bool, server: str) -> str:
    if wait.ref is None:
        return str(wait.count) if wait.kind is DependencyKind.ON else "1"
    name = f"{wait.ref.job_id}[{'' if wait.ref.index is None else wait.ref.index}]" if is_array else str(wait.ref)
    return f"{name}.{server}@{server}"
