"""What of a job's attributes is a number: read leniently for views, and strictly where a job is taken."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.errors import HpcBatchError

NUMBERS = (
    "ntasks",
    "ntasks_per_node",
    "cpus_per_task",
    "mem_per_node_mb",
    "mem_per_cpu_mb",
    "cpus_per_gpu",
    "mem_per_gpu_mb",
    "mincpus",
    "ntasks_per_gpu",
    "sockets_per_node",
    "tmp_mb",
)
_LONGEST = 18  # digits: fits whatever it is multiplied with or stored in


def number(attributes: Mapping[str, str], name: str) -> int | None:
    """None where it is not given, and where anything else than a number is: a record from before `check`."""
    text = attributes.get(name, "")
    return int(text) if _is_number(text) else None


def check(attributes: Mapping[str, str]) -> None:
    """Raise HpcBatchError for text in the place of a number."""
    for name in NUMBERS:
        if name in attributes and not _is_number(attributes[name]):
            raise HpcBatchError(
                f"attribute {name}: {attributes[name][:40]!r} is not a number of 1 to {_LONGEST} digits"
            )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST
