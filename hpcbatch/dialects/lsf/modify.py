"""bmod: the options of bsub that are given, each also with `n` behind its name, change a job's record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.dialects.lsf.errors import LsfAnswer, LsfError, LsfUsageError
from hpcbatch.dialects.lsf.options import Given, read
from hpcbatch.dialects.lsf.submit import read_submission
from hpcbatch.dialects.lsf.table import OPTIONS
from hpcbatch.dialects.lsf.words import Word
from hpcbatch.errors import NotSupportedError, raise_all
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import JobSpec, Output, Sharing
from hpcbatch.typed import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.dialects.lsf.depend import Lookup

_SIZE_FIELDS: Final = (
    "otherwise",
    "chunks",
    "arrangement",
    "sharing",
    "grouping",
    "mem_per_pod_bytes",
    "resources_per_pod",
)
_OF_SIZE: Final = {"n": "slots", "R": "res_req", "M": "mem_limit", "gpu": "gpu", "m": "hosts"}
"""Options that together say what a job is made of, by the attributes that keep them."""
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "W": ("walltime_s",),
    "c": ("cpu_time_s",),
    "q": ("queue", "other_queues"),
    "J": ("name",),
    "o": ("stdout",),
    "e": ("stderr",),
    "i": ("stdin",),
    "w": ("dependency",),
    "b": ("begin_time",),
    "t": ("deadline",),
    "P": ("account",),
    "sp": ("priority",),
    "r": ("rerunnable",),
    "u": ("mail_users",),
    "B": ("mail_points",),
    "N": ("mail_points",),
    "cwd": ("work_dir",),
    "ti": ("dependency",),
    "wa": ("warn_signal",),
    "wt": ("warn_signal",),
    "C": ("process_limits",),
    "D": ("process_limits",),
    "F": ("process_limits",),
    "S": ("process_limits",),
    "v": ("process_limits",),
}
_KEPT: Final = {"app": "app", "g": "group", "G": "user_group", "Jd": "description", "sla": "sla", "U": "reservation"}
_SAME: Final = {"oo": "o", "eo": "e", "is": "i", "rn": "r", "Ne": "N"}
_NONE: Final[dict[str, Any]] = {"stdout": Output(append=True), "mail_points": "", "mail_users": (), "rerunnable": False}
_EMPTY: Final = {"priority": 0, "process_limits": (), "other_queues": ()}
USAGE: Final = "Usage: bmod [options of bsub, each also with n behind its name to take it off] jobid"


class Changes(NamedTuple):
    job: str
    """As it was named."""
    change: Callable[[JobRecord], JobSpec]
    array_limit: int | None
    """-J "%5": how many members may run at once."""


def read_bmod(
    argv: Sequence[str],
    *,
    cwd: str,
    user: str,
    now: datetime,
    lookup: Lookup | None,
    resized: Callable[[JobSpec], JobSpec],
) -> Changes:
    """`resized` leaves out what another dialect says of a job's size. Raises LsfError, LsfUsageError, LsfAnswer, and
    NotSupportedError for what stays as it was submitted.
    """
    taken_off, words = _taken_off(argv)
    parsed = read([Word(word) for word in words], stops=True)
    raise_all(parsed.problems)
    names = {each.name for each in parsed.given}
    if "h" in names:
        from hpcbatch.dialects.lsf.commands import help_of

        raise LsfAnswer(help_of("bmod"))
    if "V" in names:
        from hpcbatch.dialects.lsf.errors import VERSION

        raise LsfAnswer(VERSION)
    if len(parsed.operands) != 1:
        raise LsfUsageError("Job ID must be specified", USAGE)
    given = [each for each in parsed.given if not (each.name == "J" and each.value.lstrip().startswith("%"))]
    limit = next((each.value.strip()[1:] for each in parsed.given if each not in given), None)
    if limit is not None and not limit.isdigit():
        raise LsfError(f"-J %{limit}: Bad job name or array index: expected %number")
    if not given and not taken_off and limit is None:
        raise LsfUsageError("No option is specified", USAGE)
    for each in (*given, *(Given(name, "", Word(f"-{name}n")) for name in taken_off)):
        name = _SAME.get(each.name, each.name)
        if name not in {*_FIELDS, *_OF_SIZE, *_KEPT, "x"}:
            raise NotSupportedError(f"-{each.name} cannot be changed here: submit the job anew")
    changes_size = bool({*names, *taken_off} & {*_OF_SIZE, "x"})
    arguments = [word for each in given for word in _words(each)]

    def change(record: JobRecord) -> JobSpec:
        base, old = _of_size(record, {*names, *taken_off}), record.spec
        wanted = read_submission(
            [*base, *arguments, "true"],
            script=_none,
            environ={},
            cwd=old.submit_dir or cwd,
            host=old.submit_host,
            user=user,
            server=old.server,
            now=now,
            lookup=lookup,
        ).submission.spec
        return _changed(resized(old) if changes_size else old, wanted, given, taken_off)

    return Changes(parsed.operands[0].text, change, None if limit is None else int(limit))


def _none(_path: str | None) -> tuple[str | None, bytes]:
    raise FileNotFoundError


def _words(each: Given) -> list[str]:
    return [f"-{each.name}", each.value] if each.value else [f"-{each.name}"]


def _taken_off(argv: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Options with `n` behind, which are no options of bsub, and all other words."""
    found, rest = [], []
    for word in argv:
        name = word[1:-1]
        is_one = word.startswith("-") and word.endswith("n") and word[1:] not in OPTIONS and name in OPTIONS
        if is_one:
            found.append(_SAME.get(name, name))
        else:
            rest.append(word)
    return tuple(found), rest


def _of_size(record: JobRecord, named: set[str]) -> list[str]:
    """Those of the options of its size that stay, as it was submitted."""
    if not named & {*_OF_SIZE, "x"}:
        return []
    kept = record.spec.attributes
    words = [f"-{name}\0{kept[key]}" for name, key in _OF_SIZE.items() if key in kept and name not in named]
    if record.spec.sharing is Sharing.EXCLUSIVE and "x" not in named:
        words.append("-x")
    return [part for word in words for part in word.split("\0")]


def _changed(old: JobSpec, wanted: JobSpec, given: Sequence[Given], taken_off: Sequence[str]) -> JobSpec:
    names = {_SAME.get(each.name, each.name) for each in given}
    if {*names, *taken_off} & {*_OF_SIZE, "x"}:
        fields = {name: getattr(wanted, name) for name in _SIZE_FIELDS}
    else:
        fields = {}
    for name in names:
        fields |= {field: getattr(wanted, field) for field in _FIELDS.get(name, ())}
    for name in taken_off:
        fields |= {field: _NONE.get(field, _EMPTY.get(field)) for field in _FIELDS.get(name, ())}
    keys = {*_KEPT.items(), *_OF_SIZE.items(), ("w", "depend"), ("sp", "user_priority")}
    changed = {key: wanted.attributes[key] for name, key in keys if name in names and key in wanted.attributes}
    if fields.keys() >= set(_SIZE_FIELDS):
        changed |= {key: wanted.attributes[key] for key in _OF_SIZE.values() if key in wanted.attributes}
    gone = {key for name, key in keys if name in taken_off}
    attributes = {key: text for key, text in {**old.attributes, **changed}.items() if key not in gone}
    return replace(old, attributes=attributes, **fields)
