"""What --gres and --gpus ask for, under the names that a site knows: `gpu`, `gpu:a100`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hpcbatch.typed import TypeAlias

Amounts: TypeAlias = dict[str, int]
"""By name, each at least 1. A GPU of a certain type is a resource of its own, `gpu:a100`."""

GPU = "gpu"
MAX_AMOUNT = 2**63 - 1

_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_COUNT = r"([0-9]{1,18})([kmgtp]?)"
_AMOUNT = rf"({_WORD}):{_COUNT}|{_COUNT}|(?![0-9])({_WORD})"  # a type alone does not begin with a digit
_GRES = rf"(?i)(?:gres[:/])?({_WORD})(?::(?:{_AMOUNT}))?"
_GPUS = rf"(?i)(?:{_AMOUNT})"
_SHIFT = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


def parse_gres(text: str) -> Amounts:
    """Read `name[[:type]:count][,…]`, a count with k, m, g, t or p in powers of 1024; `none` is nothing.
    Of one thing that is named twice the last amount counts. Raises ValueError if it is anything else.
    """
    if text.lower() == "none":
        return {}
    return _amounts(_item(re.fullmatch(_GRES, item)) for item in text.split(","))


def parse_gpus(text: str) -> Amounts:
    """Read `[type:]count[,…]`; a type alone is one GPU of it. Raises ValueError if it is anything else."""
    return _amounts(_item(re.fullmatch(_GPUS, item)) for item in text.split(",") if text)


def _item(match: re.Match[str] | None) -> tuple[str, str | None, str | None, str | None] | None:
    """Name, type, count and unit."""
    if match is None:
        return None
    *name, kind, count, unit, count_alone, unit_alone, kind_alone = match.groups()
    return (*name, GPU)[0], kind or kind_alone, count or count_alone, unit or unit_alone


def is_no_count(text: str, *, has_name: bool) -> bool:
    """Whether what is wrong with a list is a number with more behind it where the amount is: sbatch lets it pass."""
    name, _, count = text.partition(",")[0].rpartition(":")
    is_number = count[:1].isdigit() and not re.fullmatch(_COUNT, count, re.IGNORECASE)
    return not text or (is_number and bool(name) is has_name and ":" not in name)


def parse_tres_per_task(text: str) -> tuple[int | None, Amounts]:
    """Read `cpu=4,gres/gpu[:type]=1` (also with colons): CPUs and GPUs of a task. Raises ValueError if it is anything
    else, NotImplementedError for other resources.
    """
    cpus: int | None = None
    gpus: Amounts = {}
    for item in text.split(","):
        name, _, count = item.replace("=", ":").rpartition(":")
        if not (count.isascii() and count.isdigit() and len(count) < 19):
            name, count = item, ""
        if name == "cpu" and count and int(count):
            cpus = int(count)
        elif match := re.fullmatch(rf"gres[/:]gpu(?::({_WORD}))?", name):
            full = f"{GPU}:{match[1]}" if match[1] else GPU
            gpus[full] = gpus.get(full, 0) + int(count or 1)
        elif re.fullmatch(r"(gres|license|bb|mem|node)\b.*", name):
            raise NotImplementedError(name)
        else:
            raise ValueError(text)
    return cpus, {name: count for name, count in gpus.items() if count}


def _amounts(items: Iterable[tuple[str, str | None, str | None, str | None] | None]) -> Amounts:
    """Amounts of (name, type, count, unit); None: what is none."""
    found: Amounts = {}
    for item in items:
        if item is None:
            raise ValueError("not a generic resource")
        what, kind, count, unit = item
        full = f"{what}:{kind}" if kind else what
        amount = int(count or 1) << _SHIFT[(unit or "").lower()]
        if amount > MAX_AMOUNT:
            raise ValueError(f"too much of {full}")
        found[full] = amount
    return {full: amount for full, amount in found.items() if amount}


def shown(text: str, prefix: str = "gres:") -> str:
    """A list as Slurm shows it, with `prefix` before each item: `gres:gpu:2`."""
    return ",".join(prefix + item.removeprefix("gres:") for item in text.split(","))


def gpus_of(resources: Iterable[tuple[str, int]]) -> int:
    """How many GPUs there are among `resources`, of all types."""
    return sum(amount for name, amount in resources if name.partition(":")[0] == GPU)


def same_type(*asked: Mapping[str, int]) -> list[Amounts]:
    """`asked` with GPUs of no type taken for those of the one type that is named beside them.
    Raises ValueError where several types are named.
    """
    types = {name for amounts in asked for name in amounts if name.startswith(f"{GPU}:")}
    if not types or not any(GPU in amounts for amounts in asked):
        return [dict(amounts) for amounts in asked]
    if len(types) > 1 or any(types & amounts.keys() and GPU in amounts for amounts in asked):
        raise ValueError("GPUs with and without a type")
    (kind,) = types
    return [{kind if name == GPU else name: amount for name, amount in amounts.items()} for amounts in asked]
