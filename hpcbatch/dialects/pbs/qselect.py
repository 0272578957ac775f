"""qselect: its command line, and which jobs meet it. Source: OpenPBS, qselect.c and req_select.c."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PBSE_BADATVAL, PBSE_UNKRESC, PbsError, PbsUsageError
from hpcbatch.dialects.pbs.states import letter
from hpcbatch.dialects.pbs.values import parse_date, parse_duration, parse_size
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.row import JobRow
from hpcbatch.typed import NamedTuple


class Job(NamedTuple):
    """A job, array or member to be judged."""

    row: JobRow
    attributes: Mapping[str, str | dict[str, str]] = {}
    """As `qstat -f` shows them; needed if the options say so."""


class Criterion(NamedTuple):
    """`compare` is negative, 0 or positive as the job has less than was requested, as much, or more; `op` is which of
    these will do.
    """

    op: str
    compare: Callable[[Job], int]

    def holds(self, job: Job) -> bool:
        return _HOLDS[self.op](self.compare(job))


class QselectOptions(NamedTuple):
    criteria: tuple[Criterion, ...] = ()
    states: tuple[tuple[str, str], ...] = ()
    """Operator and letters."""
    destination: str = ""
    """`queue`, `@server` or `queue@server`."""
    arrays_only: bool = False
    members: bool = False
    """-T: the members of arrays in the place of these."""
    history: bool = False
    needs_attributes: bool = False

    def accepts(self, job: Job) -> bool:
        """Whether a job, or with `members` the array of some, meets everything but `states`."""
        if self.arrays_only and not job.row.array_indices:
            return False
        return all(criterion.holds(job) for criterion in self.criteria)

    def accepts_state(self, row: JobRow, living: Collection[int] = ()) -> bool:
        """`living` are the numbers of the arrays that have not ended."""
        shown = letter(row, living)
        return all(_HOLDS[op](0 if shown in letters else 1) for op, letters in self.states)


_HOLDS: dict[str, Callable[[int], bool]] = {
    "eq": lambda sign: sign == 0,
    "ne": lambda sign: sign != 0,
    "ge": lambda sign: sign >= 0,
    "gt": lambda sign: sign > 0,
    "le": lambda sign: sign <= 0,
    "lt": lambda sign: sign < 0,
}
_TIMES: dict[str, Callable[[JobRow], datetime | None]] = {
    "a": lambda row: row.begin_time,
    "c": lambda row: row.submit_time,
    "e": lambda row: row.eligible_time,
    "g": lambda _row: None,  # eligible_time is off
    "m": lambda row: row.end_time or row.start_time or row.submit_time,
    "q": lambda row: row.submit_time,
    "s": lambda row: row.start_time,
    "t": lambda row: row.planned_start,
}
_HOLDS_BITS = {"u": 1, "o": 2, "s": 4, "p": 8, "n": 0}
_CHECKPOINT = re.compile(r"[nsu]|[cw](?:=[0-9]+)?")
_RESOURCE = re.compile(r"([^.]+)\.(eq|ne|ge|gt|le|lt)\.([^,]+)")


def parse_qselect(argv: Sequence[str], now: datetime) -> QselectOptions:
    """Read qselect's command line; PbsUsageError or PbsError for what it does not understand."""
    parsed = options.getopt(options.words(argv), options.QSELECT)
    reader = _Reader(now)
    complaints = list(parsed.errors)
    for option in parsed.options:
        complaints += reader.take(option.name, option.value)
    if complaints or parsed.operands:
        raise PbsUsageError("\n".join(complaints), usage.QSELECT)
    return QselectOptions(
        criteria=tuple(reader.criteria),
        states=tuple(reader.states),
        destination=reader.destination,
        arrays_only="J" in reader.letters,
        members="T" in reader.letters,
        history=bool({"x", "H"} & reader.letters),
        needs_attributes=bool({"c", "h", "l", "P", "r"} & reader.letters),
    )


class _Reader:
    """Takes one option after the other."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self.letters: set[str] = set()
        self.criteria: list[Criterion] = []
        self.states: list[tuple[str, str]] = []
        self.destination = ""

    def take(self, name: str, value: str) -> list[str]:
        """The complaints about one option."""
        self.letters.add(name)
        op, text = _operator(value)
        try:
            match name:
                case "a":
                    self._add(op, _time_of("a", parse_date(text, self._now)))
                case "t" if value[:1] in _TIMES:
                    op, text = _operator(value[1:])
                    self._add(op, _time_of(value[0], parse_date(text, self._now)))
                case "s":
                    self.states.append((op, text.strip()))
                case "H":
                    self.states.append(("eq", "FM"))
                case "q":
                    self.destination = text
                case "u":
                    users = {user.partition("@")[0].strip() for user in value.split(",")}
                    self._add("eq", lambda job: int(job.row.user not in users))
                case "A":
                    self._add("eq", lambda job: int(job.row.account != value))
                case "N":
                    self._add("eq", lambda job: int(job.row.name != value))
                case "P":
                    self._add("eq", lambda job: int(job.attributes.get("project") != value))
                case "p":
                    self._add(op, _priority(text))
                case "r" if value.strip()[:1] in {"y", "n"}:
                    wanted = str(value.strip().startswith("y"))
                    self._add("eq", lambda job: int(job.attributes.get("Rerunable") != wanted))
                case "h":
                    self._add(op, _hold(text.strip()))
                case "c" if _CHECKPOINT.fullmatch(text.strip()):
                    self._add(op, _checkpoint(text.strip()))
                case "l":
                    return self._take_resources(value)
                case "J" | "T" | "x":
                    pass
                case _:
                    raise HpcBatchError(value)
        except PbsError:
            raise
        except HpcBatchError:
            return [f"illegal -{name} value"]
        return []

    def _add(self, op: str, compare: Callable[[Job], int]) -> None:
        self.criteria.append(Criterion(op, compare))

    def _take_resources(self, text: str) -> list[str]:
        for part in text.split(","):
            match = _RESOURCE.fullmatch(part)
            if match is None:
                raise PbsUsageError("illegal -l value", f"resource_list: {part}\n{usage.QSELECT}")
            self._add(match[2], _resource(match[1], match[3]))
        return []


def _operator(text: str) -> tuple[str, str]:
    """`.gt.5` as `gt` and `5`; without an operator, or with an unknown one, `eq`."""
    if not text.startswith("."):
        return "eq", text
    return (text[1:3] if text[1:3] in _HOLDS else "eq"), text[4:]


def _sign(mine: float, asked: float) -> int:
    return (mine > asked) - (mine < asked)


def _time_of(which: str, asked: datetime) -> Callable[[Job], int]:
    def compare(job: Job) -> int:
        when = _TIMES[which](job.row)
        return _sign(0 if when is None else int(when.timestamp()), int(asked.timestamp()))

    return compare


def _priority(text: str) -> Callable[[Job], int]:
    try:
        asked = int(text)
    except ValueError:
        raise PbsError("Illegal attribute or resource value", PBSE_BADATVAL & 0xFF) from None
    return lambda job: _sign(job.row.priority, asked)


def _hold(text: str) -> Callable[[Job], int]:
    if not text or any(letter not in _HOLDS_BITS for letter in text):
        raise HpcBatchError(text)
    asked = _bits(text)
    return lambda job: _sign(_bits(str(job.attributes.get("Hold_Types", "n"))), asked)


def _bits(letters: str) -> int:
    return sum(_HOLDS_BITS[letter] for letter in set(letters) if letter in _HOLDS_BITS)


def _checkpoint(text: str) -> Callable[[Job], int]:
    return lambda job: _sign(_order(str(job.attributes.get("Checkpoint", "u"))), _order(text))


def _order(checkpoint: str) -> int:
    """n > s > c=minutes > c > u. Source: order_chkpnt()."""
    return {"n": 5, "s": 4, "c": 3 if len(checkpoint) > 1 else 2, "u": 1}.get(checkpoint[:1], 0)


def _resource(name: str, asked: str) -> Callable[[Job], int]:
    def compare(job: Job) -> int:
        have = job.attributes.get("Resource_List")
        mine = have.get(name) if isinstance(have, dict) else None
        if mine is None:
            from hpcbatch.dialects.pbs.table import CHUNK_WIDE, JOB_WIDE_ONLY, RESOURCES

            if name not in RESOURCES and name not in CHUNK_WIDE | JOB_WIDE_ONLY | {"nodect"}:
                raise PbsError("Unknown resource", PBSE_UNKRESC & 0xFF)
            return -1
        try:
            return _sign(_amount(name, mine), _amount(name, asked))
        except HpcBatchError:
            return int(mine != asked)

    return compare


def _amount(name: str, text: str) -> float:
    """Raises HpcBatchError for what is no number, size or duration."""
    if name in {"walltime", "cput", "pcput"}:
        return parse_duration(text)
    if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text):
        return float(text)
    return parse_size(text).bytes
