"""Queries of the history: a field selector as in URLs, read into values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError, InvalidError
from hpcbatch.units import parse_rfc3339

_TIMES = {"endedAfter": "ended_after", "endedBefore": "ended_before", "startedBefore": "began_before"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Jobs that match all fields; an empty set of values means any."""

    namespace: str | None = None
    names: tuple[str, ...] = ()
    """Names of the BatchJobs."""
    numbers: tuple[int, ...] = ()
    array_numbers: tuple[int, ...] = ()
    """Numbers of the arrays whose members are requested."""
    no_members: bool = False
    """Excludes members of arrays."""
    owners: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    job_names: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    other_states: tuple[str, ...] = ()
    """States to exclude."""
    ended_after: datetime | None = None
    """Inclusive."""
    ended_before: datetime | None = None
    began_before: datetime | None = None
    """For jobs that never started, the end counts."""


def read_query(namespace: str | None, selector: str) -> Query | None:
    """Reads `status.owner=alice|bob,status.state!=Finished,endedAfter=2026-11-01T00:00:00Z`; `|` separates values.
    None: no job can match. Raises InvalidError for an unknown field.
    """
    sets: dict[str, tuple[str, ...]] = {}
    other_states: tuple[str, ...] = ()
    times: dict[str, datetime] = {}
    for term in filter(None, selector.split(",")):
        field, is_not, values = _split(term)
        if is_not:
            if field != "status.state":
                raise _bad(f"only status.state can be asked for by !=, not {field!r}")
            other_states += values
        elif field in _TIMES:
            times[_TIMES[field]] = _time(field, values)
        elif field in _SETS:
            known = sets.get(field)
            sets[field] = values if known is None else tuple(value for value in values if value in known)
        else:
            raise _bad(f"unknown field {field!r}: known are {', '.join((*_SETS, *_TIMES))}")
    spaces = sets.pop("metadata.namespace", None)
    if spaces is not None:
        if len(spaces) != 1:
            raise _bad("metadata.namespace takes one value")
        if namespace not in (None, spaces[0]):
            return None
        namespace = spaces[0]
    if not all(sets.values()):
        return None
    no_members = sets.get(_ARRAY) == ("",)
    if no_members:
        del sets[_ARRAY]
    return Query(
        namespace=namespace,
        names=sets.get("metadata.name", ()),
        numbers=_numbers(sets, "status.jobId"),
        array_numbers=_numbers(sets, _ARRAY),
        no_members=no_members,
        owners=sets.get("status.owner", ()),
        queues=sets.get("status.queue", ()),
        job_names=sets.get("spec.name", ()),
        states=sets.get("status.state", ()),
        other_states=other_states,
        ended_after=times.get("ended_after"),
        ended_before=times.get("ended_before"),
        began_before=times.get("began_before"),
    )


_ARRAY = "spec.memberOf.arrayId"
_SETS = (
    "metadata.namespace",
    "metadata.name",
    "status.jobId",
    "status.owner",
    "status.queue",
    "spec.name",
    _ARRAY,
    "status.state",
)


def _split(term: str) -> tuple[str, bool, tuple[str, ...]]:
    """Field, whether it is `!=`, values."""
    field, equals, text = term.partition("=")
    if not equals:
        raise _bad(f"{term!r}: expected field=value")
    is_not = field.endswith("!")
    return field.removesuffix("!"), is_not, tuple(text.removeprefix("=").split("|"))


def _numbers(sets: Mapping[str, tuple[str, ...]], field: str) -> tuple[int, ...]:
    values = sets.get(field, ())
    if not all(value.isascii() and value.isdigit() and len(value) < 19 for value in values):
        raise _bad(f"{field}: expected numbers, found {'|'.join(values)!r}")
    return tuple(map(int, values))


def _time(field: str, values: tuple[str, ...]) -> datetime:
    try:
        return parse_rfc3339("|".join(values))
    except HpcBatchError:
        raise _bad(f"{field}: expected a time such as 2026-11-01T00:00:00Z, found {'|'.join(values)!r}") from None


def _bad(message: str) -> InvalidError:
    return InvalidError(400, "BadRequest", f"field selector: {message}")
