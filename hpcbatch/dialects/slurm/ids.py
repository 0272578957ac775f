"""Job ids as users write them, `12`, `12_7`, `12_[1-3]`, and as Slurm shows those of arrays, `12_[5-9%4]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.named import NamedJob
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:  # most commands deal with no array
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow

_ID = re.compile(
    r"([0-9]{1,18})(?:\+([0-9]+)|_(\*|\[[0-9,:%-]+\]|[0-9]+(?:-[0-9]+)?))?(?:\.([0-9]+|batch|extern|interactive))?",
    re.ASCII,
)
_COMMAS = re.compile(r",(?![^\[]*\])")
SHOWN = 64
"""So many characters of a set of indices are shown, the last of the string's end; SLURM_BITSTR_LEN changes it."""
_MOST_SHOWN = 4096


def parse_id(text: str) -> NamedJob:
    """Read the id of a job, an array or some of its members. Raises ValueError if it is no id, NotSupportedError for
    steps and parts of heterogeneous jobs. `12_*` is the whole array.
    """
    match = _ID.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise ValueError(text)
    if match[4]:
        raise NotSupportedError(f"{text}: job steps are not supported yet")
    if match[2] and int(match[2]):
        raise NotSupportedError(f"{text}: the components of a heterogeneous job are one job here, {match[1]}")
    number, members = int(match[1]), match[3]
    if members is None or members == "*":
        return NamedJob(number, is_array=members is not None)
    from hpcbatch.model.indices import Indices

    try:
        found = Indices.parse(members.strip("[]").partition("%")[0])
    except HpcBatchError:
        raise ValueError(text) from None
    if not found:
        raise ValueError(text)
    return NamedJob(number, found, is_array=True)


def split_ids(text: str) -> list[str]:
    """The parts of a comma list; commas within brackets belong to an array element."""
    return [part.strip() for part in _COMMAS.split(text) if part.strip()]


def row_id(row: JobRow) -> str:
    """`12`, of a member of an array `12_3`, of a component `12+1`."""
    if "/" in row.components:
        return f"{row.job_id}+{row.components.partition('/')[0]}"
    return str(row.job_id) if row.array_id is None else f"{row.array_id}_{row.array_index}"


def id_text(named: NamedJob) -> str:
    """`12`, `12_7`, `12_[1-3,5]`, as messages say it."""
    if named.members is None:
        return str(named.number)
    if len(named.members) == 1:
        return f"{named.number}_{named.members.first}"
    return f"{named.number}_[{task_text(named.members)}]"


def task_text(tasks: Indices, limit: int | None = None, shown: int = SHOWN) -> str:
    """A set of indices as Slurm shows it, `1-4,7%2`: cut to `shown` characters, 0 for all. Source: bit_fmt(),
    xlate_array_task_str().
    """
    suffix = "" if limit is None else f"%{limit}"
    first, last, step = tasks.first, tasks.last, tasks.step
    if step > 1 and len(tasks) > 5 and last - first > 10:
        return f"{first}-{last}:{step}{suffix}"
    most = min(shown, _MOST_SHOWN) if shown > 0 else 0
    parts: list[str] = []
    length = 0
    for begin, end in _spans(tasks):
        parts.append(str(begin) if begin == end else f"{begin}-{end}")
        length += len(parts[-1]) + 1
        if most and length > most:
            break
    text = ",".join(parts)
    if most and len(text) > most - 3:
        text = f"{text[: most - 4]}..."
    return text + suffix


def _spans(tasks: Indices) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbours."""
    begin = end = -2
    for part in tasks.ranges:
        runs = [(part[0], part[-1])] if part.step == 1 else ((number, number) for number in part)
        for first, last in runs:
            if first == end + 1:
                end = last
                continue
            if end >= 0:
                yield begin, end
            begin, end = first, last
    yield begin, end
