"""What a runner reports of the steps of srun: words of its log and of its termination message. Written by
runner/watch/step_usage.sh; the script's user may have forged them.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.indices import Indices
from hpcbatch.model.step import MAX_STEPS
from hpcbatch.model.text import printable

_NUMBER: Final = re.compile(r"\d{1,10}", re.ASCII)
_CODE: Final = re.compile(r"(\d{1,3})([ct]?)", re.ASCII)
_LAYOUTS: Final = frozenset({"block", "cyclic", "plane", "arbitrary"})
_NAME_LENGTH: Final = 64
_LINE_LENGTH: Final = 200
_SPENT: Final = re.compile(r"(\d{1,9}):(\d{1,14}):(\d{1,14}):(\d{1,9})((?::\d{1,14}){15})?", re.ASCII)
_COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
_LINE: Final = re.compile(r"hpcbatch: (steps|spent) (.*)")


class ToldStep(NamedTuple):
    number: int
    start: int
    """Unix times."""
    end: int | None
    code: int | None
    """What srun exited with."""
    is_cancelled: bool
    is_timed_out: bool
    limit_s: int | None
    """Its time limit."""
    tasks: int
    cpus: int
    hosts: Indices
    distribution: str
    name: str
    submit_line: str = ""
    """The command line of its srun, as far as there was room for it."""
    srun_pid: int | None = None


class Largest(NamedTuple):
    """Of the tasks on one host."""

    total: int
    most: int
    task: int
    """The one that has `most`."""


class ByTask(NamedTuple):
    """What the tasks of a step on one host have used, each by itself; CPU in hundredths of a second, sizes in bytes."""

    tasks: int
    """How many were seen."""
    rss_total: int
    cpu: Largest
    least_cpu: Largest
    """Its `most` is the least."""
    vm: Largest
    read: Largest
    written: Largest


class Spent(NamedTuple):
    """What a step's tasks have used on one host."""

    ticks: int
    """Hundredths of a second of CPU."""
    rss_bytes: int
    """Of the largest task; 0 where none was seen."""
    task: int
    """That task."""
    by_task: ByTask | None = None
    """None where there was no room for it, or no task was seen."""


class StepReport(NamedTuple):
    """Of one pod."""

    total: int = 0
    """How many steps there were; the first pod says that, and which."""
    steps: tuple[ToldStep, ...] = ()
    spent: tuple[tuple[int, Spent], ...] = ()
    """By a step's number."""


NO_STEPS: Final = StepReport()


def parse_words(steps: str, spent: str) -> StepReport:
    """What can be read of it."""
    total, _, rest = steps.partition(" ")
    told = [step for word in rest.split(" ") if word and (step := _step(word)) is not None]
    found = [match for word in spent.split(" ") if (match := _SPENT.fullmatch(word)) is not None]
    return StepReport(
        total=int(total) if _COUNT.fullmatch(total) else 0,
        steps=tuple(told[:MAX_STEPS]),
        spent=tuple((int(one[1]), _spent(one)) for one in found[:MAX_STEPS]),
    )


def _spent(word: re.Match[str]) -> Spent:
    by_task = None
    if word[5]:
        n = [int(part) for part in word[5][1:].split(":")]
        sizes = (Largest(n[at] * 1024, n[at + 1] * 1024, n[at + 2]) for at in (6, 9, 12))
        total = int(word[2])
        by_task = ByTask(n[0], n[1] * 1024, Largest(total, n[2], n[3]), Largest(total, n[4], n[5]), *sizes)
    return Spent(int(word[2]), int(word[3]) * 1024, int(word[4]), by_task)


def last_words(log: str) -> StepReport:
    """The last report in a runner's log."""
    found = {match[1]: match[2] for match in _LINE.finditer(log)}
    return parse_words(found.get("steps", ""), found.get("spent", ""))


def _step(word: str) -> ToldStep | None:
    """None for what is no such word."""
    parts = word.split(":")
    if len(parts) not in {9, 10, 11, 12}:
        return None
    number, start, end, code, tasks, cpus, hosts, distribution, name, *more = parts
    limit, line, pid = more[:1], "".join(more[1:2]), "".join(more[2:])
    given = _CODE.fullmatch(code)
    numbers = (number, start, tasks, cpus, *limit) if not end else (number, start, tasks, cpus, end, *limit)
    if not all(_NUMBER.fullmatch(one) for one in numbers) or (end and given is None):
        return None
    try:
        places = Indices.parse(hosts)
    except HpcBatchError:
        return None
    return ToldStep(
        number=int(number),
        start=int(start),
        end=int(end) if end else None,
        code=min(int(given[1]), 255) if end and given is not None else None,
        is_cancelled=bool(end and given is not None and given[2] == "c"),
        is_timed_out=bool(end and given is not None and given[2] == "t"),
        limit_s=(int(limit[0]) or None) if limit else None,
        tasks=int(tasks),
        cpus=int(cpus),
        hosts=places,
        distribution=distribution if distribution in _LAYOUTS else "",
        name=_text(name, _NAME_LENGTH),
        submit_line=_text(line if line.startswith("%") else line.replace(",", " "), _LINE_LENGTH),
        srun_pid=int(pid) if _NUMBER.fullmatch(pid) else None,
    )


def _text(text: str, most: int) -> str:
    """Of `wrf.exe`, or `%6d%79` with all of its bytes."""
    if text.startswith("%"):
        try:
            text = bytes.fromhex(text.replace("%", "")).decode(errors="replace")
        except ValueError:
            text = ""
    return printable(text).strip()[:most]
