"""The words of limits that accounts, users and qualities of service can have, and their values.

The words are Slurm's. A limit that is not there is none: for an association the one above it counts instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import Final, NamedTuple


class Amount(Enum):
    """In what a limit is counted."""

    COUNT = "count"
    MINUTES = "minutes"
    TRES = "TRES"  # amounts by resource: cpu, node, mem (MiB), gres/gpu …; of the words with Mins times minutes


class Word(NamedTuple):
    """One kind of limit, and on what it can be set."""

    amount: Amount
    of_association: bool = True
    of_qos: bool = True


_COUNT, _MINUTES, _TRES = Word(Amount.COUNT), Word(Amount.MINUTES), Word(Amount.TRES)
_OWN_COUNT = Word(Amount.COUNT, of_qos=False)
_QOS_COUNT, _QOS_TRES = Word(Amount.COUNT, of_association=False), Word(Amount.TRES, of_association=False)

WORDS: Final[Mapping[str, Word]] = {
    "GrpJobs": _COUNT,
    "GrpJobsAccrue": _COUNT,
    "GrpSubmitJobs": _COUNT,
    "GrpTRES": _TRES,
    "GrpTRESMins": _TRES,
    "GrpTRESRunMins": _TRES,
    "GrpWall": _MINUTES,
    "MaxJobs": _OWN_COUNT,
    "MaxJobsAccrue": _OWN_COUNT,
    "MaxSubmitJobs": _OWN_COUNT,
    "MaxTRESPerJob": _TRES,
    "MaxTRESPerNode": _TRES,
    "MaxTRESMinsPerJob": _TRES,
    "MaxTRESRunMins": Word(Amount.TRES, of_qos=False),
    "MaxWallDurationPerJob": _MINUTES,
    "MinPrioThreshold": _COUNT,
    "Priority": _COUNT,
    "MaxJobsPerUser": _QOS_COUNT,
    "MaxJobsPerAccount": _QOS_COUNT,
    "MaxJobsAccruePerUser": _QOS_COUNT,
    "MaxJobsAccruePerAccount": _QOS_COUNT,
    "MaxSubmitJobsPerUser": _QOS_COUNT,
    "MaxSubmitJobsPerAccount": _QOS_COUNT,
    "MaxTRESPerUser": _QOS_TRES,
    "MaxTRESPerAccount": _QOS_TRES,
    "MaxTRESRunMinsPerUser": _QOS_TRES,
    "MaxTRESRunMinsPerAccount": _QOS_TRES,
    "MinTRESPerJob": _QOS_TRES,
}
"""Every limit. `Priority` is none, but is set and shown with them."""

_OF_AGES = "all waiting jobs age alike here, however many there are of a user"
_OF_RUN_MINS = "Slurm 22.05 enforces it nowhere either; GrpTRESRunMins limits what running jobs may still use"
NOT_HONOURED: Final[Mapping[str, str]] = {
    "GrpJobsAccrue": _OF_AGES,
    "MaxJobsAccrue": _OF_AGES,
    "MaxJobsAccruePerUser": _OF_AGES,
    "MaxJobsAccruePerAccount": _OF_AGES,
    "MinPrioThreshold": "which jobs get a planned start is a matter of their order and of backfillDepth alone",
    "MaxTRESRunMins": _OF_RUN_MINS,
    "MaxTRESRunMinsPerUser": _OF_RUN_MINS,
    "MaxTRESRunMinsPerAccount": _OF_RUN_MINS,
}
"""Limits that have no effect, and why; they can be taken away, not set."""

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that are set. Raises HpcBatchError for a word that there is not, or a negative amount."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Counts, and minutes, by word."""
    tres: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By word: amounts by resource."""

    def __post_init__(self) -> None:
        for word in self.counts:
            if word not in WORDS or WORDS[word].amount is Amount.TRES:
                raise HpcBatchError(f"there is no limit {word}")
        for word in self.tres:
            if word not in WORDS or WORDS[word].amount is not Amount.TRES:
                raise HpcBatchError(f"there is no limit {word}")
        for word, amounts in (*self.tres.items(), *((word, {"": count}) for word, count in self.counts.items())):
            for name, amount in amounts.items():
                if amount < 0:
                    raise HpcBatchError(f"limit {word} {name} is {amount}, less than nothing")

    def count(self, word: str) -> int | None:
        return self.counts.get(word)

    def amounts(self, word: str) -> Mapping[str, int]:
        return self.tres.get(word, _NOTHING)

    def with_limit(self, word: str, value: int | Mapping[str, int | None] | None) -> Limits:
        """With that limit; None takes it away. Of a resource's amounts only those that are given change."""
        if isinstance(value, Mapping):
            amounts = {**self.amounts(word), **value}
            left = {name: amount for name, amount in amounts.items() if amount is not None}
            tres = {**self.tres, word: left}
            return Limits(self.counts, {name: each for name, each in tres.items() if each})
        counts = {name: each for name, each in self.counts.items() if name != word}
        return Limits(counts if value is None else {**counts, word: value}, self.tres)
