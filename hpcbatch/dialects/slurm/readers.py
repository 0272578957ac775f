"""Ways in which values of sbatch's options are read into a Request: texts, numbers, sizes, amounts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from hpcbatch.dialects.slurm import tres, values
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.tres import Amounts
from hpcbatch.model.outcome import Fate
from hpcbatch.typed import NamedTuple


class Reading(NamedTuple):
    """What becomes of a value for which the table of options does not hold."""

    fate: Fate
    meaning: str


Reader = Callable[[Request, str, datetime], Reading | None]
"""Reads a value into the Request; the time is that of the submission. None: it is as the table of options says."""


def invalid(name: str) -> SlurmUsageError:
    """`Invalid --NAME specification`, exit 255."""
    return SlurmUsageError(f"sbatch: error: Invalid --{name} specification", 255)


def text_of(attribute: str) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        setattr(request, attribute, value)

    return read


def flag(attribute: str, on: bool = True) -> Reader:
    def read(request: Request, _value: str, _now: datetime) -> None:
        setattr(request, attribute, on)

    return read


def count(attribute: str, name: str) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        try:
            setattr(request, attribute, values.parse_positive(value))
        except ValueError:
            raise SlurmUsageError(f'sbatch: error: Invalid numeric value "{value}" for --{name}.') from None

    return read


def memory(attribute: str, name: str) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        try:
            size = values.parse_memory_mb(value)
        except ValueError:
            raise invalid(name) from None
        setattr(request, attribute, size)

    return read


def amounts(name: str, parse: Callable[[str], Amounts]) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        try:
            amounts = parse(value)
        except ValueError:
            if tres.is_no_count(value, has_name=name == "gres"):
                text = "Batch job submission failed: Invalid Trackable RESource (TRES) specification"
            else:
                text = "Invalid generic resource (gres) specification"
            raise SlurmUsageError(f"sbatch: error: {text}") from None
        setattr(request, name.replace("-", "_"), amounts)
        request.given.pop(name, None)
        if amounts:
            request.given[name] = value

    return read


def checked(is_right: Callable[[str], bool], text: str) -> Reader:
    """An option without effect; of a wrong value sbatch says `text`, which may have {value} in it."""

    def read(_request: Request, value: str, _now: datetime) -> None:
        if not is_right(value):
            raise SlurmUsageError(f"sbatch: error: {text.format(value=value)}", 255)

    return read


def number(name: str, least: int) -> Reader:
    def read(_request: Request, value: str, _now: datetime) -> None:
        if not re.fullmatch(r"\s*\+?[0-9]{1,18}", value) or int(value) < least:
            raise SlurmUsageError(f'sbatch: error: Invalid numeric value "{value}" for --{name}.')

    return read


def root_only(name: str) -> Reader:
    def read(_request: Request, _value: str, _now: datetime) -> None:
        raise SlurmUsageError(f"sbatch: error: --{name} only permitted by root user", 255)

    return read


def is_time(text: str) -> bool:
    try:
        values.parse_time_s(text)
    except ValueError:
        return False
    return True
