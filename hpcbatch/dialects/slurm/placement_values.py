"""Values of sbatch's options that say where a job may run, and what it holds there beside CPUs and memory."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.model.spec import JobSpec

_HOST = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}"
_LICENSE = r"([^\s:,;|]+)(?::([0-9]{1,9}))?"
MAX_HOSTS = 10_000
LIMITS = ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS")
"""The limits that --propagate knows. Source: slurm_rlimits_info.c."""


def parse_hosts(text: str) -> tuple[str, ...]:
    """The hosts of a host list, in order; one may stand there more than once. Raises ValueError for what is none."""
    try:
        hosts = tuple(expand(text))
    except SlurmUsageError as error:
        raise ValueError(text) from error
    if not 0 < len(hosts) <= MAX_HOSTS or not all(re.fullmatch(_HOST, host) for host in hosts):
        raise ValueError(text)
    return hosts


def parse_hostfile(content: bytes) -> tuple[str, ...]:
    """The hosts of a file, several on a line with commas between, `host*3` three times; `#` begins a comment.
    Raises ValueError with what sbatch says is wrong. Source: slurm_read_hostfile() of allocate.c.
    """
    hosts: list[str] = []
    for number, raw in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        line = raw.partition("#")[0].rstrip()
        if not line:
            continue
        if not line[0].isalnum():
            raise ValueError(f"contents on line {number}")
        for part in line.split(","):
            name, star, count = part.strip().partition("*")
            times = int(count) if star and count.isascii() and count.isdigit() and len(count) < 7 else 1
            if name:
                hosts += parse_hosts(name) * max(times, 1)
    if not hosts:
        raise ValueError("Hostlist is empty!")
    return tuple(hosts)


def parse_licenses(text: str) -> dict[str, int]:
    """Read `name[@server][:count][,…]`; what is named twice adds up. Raises ValueError if it is anything else,
    NotImplementedError for a choice (`a|b`), which came with later releases. Source: _build_license_list().
    """
    found: dict[str, int] = {}
    for part in re.split("[,;]", text):
        if not part:
            continue
        if "|" in part:
            raise NotImplementedError(text)
        match = re.fullmatch(_LICENSE, part)
        if match is None:
            raise ValueError(text)
        found[match[1]] = found.get(match[1], 0) + int(match[2] or 1)
    return {name: count for name, count in found.items() if count}


def format_licenses(spec: JobSpec) -> str:
    """The licences of a job as Slurm shows them, as they were given; "" for none."""
    return spec.attributes.get("licenses") or format_amounts(spec.licenses)


def format_amounts(licenses: Iterable[tuple[str, int]]) -> str:
    return ",".join(f"{name}:{count}" for name, count in licenses)


def parse_limits(text: str) -> tuple[str, ...]:
    """The names of --propagate, as setrlimit(2) has them in lower case. Raises ValueError with a name that is none."""
    if text in {"", "ALL"}:
        return tuple(name.lower() for name in LIMITS)
    if text == "NONE":
        return ()
    names = [name.removeprefix("RLIMIT_") for name in re.split("[, \t\n]+", text) if name]
    for name in names:
        if name not in LIMITS:
            raise ValueError(name)
    return tuple(dict.fromkeys(name.lower() for name in names))
