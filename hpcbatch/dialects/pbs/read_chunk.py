"""One chunk of `-l select=`: its values, read by PBS's rules, for the site to know what they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from hpcbatch.dialects.pbs.errors import PBSE_DUPRESC, PBSE_INVALSELECTRESC, PBSE_UNKRESC, Origin
from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.dialects.pbs.resource_list import NUMBER, ResourceRequest, bad_value, converted, refusal, whole_number
from hpcbatch.dialects.pbs.select import SelectChunk
from hpcbatch.dialects.pbs.table import JOB_WIDE_ONLY
from hpcbatch.dialects.pbs.values import Size, parse_size
from hpcbatch.model.chunk import Chunk
from hpcbatch.typed import Final, NamedTuple

IN_CHUNK: Final = ("ncpus", "mem", "mpiprocs", "ompthreads")
"""Resources of a chunk that are honoured, in the order in which a select text is made of them."""
JOB_WIDE: Final = ("walltime", "select", "place", "nodes")
MEMORY: Final[tuple[str, ...]] = ("pmem", "vmem", "pvmem")
"""Limits of Torque's: of a process's memory, of all address space, of a process's. Without `mem` the first that is
given says how much memory there is."""
COUNTED: Final = frozenset({"ngpus", "naccelerators", "mics", "gpus"})
"""Names whose value is an amount on every site."""
TRUE, FALSE = (
    frozenset(["t", "true", "y", "yes"]),
    frozenset(["f", "false", "n", "no"]),
)  # of decode_b(); 1 and 0 are amounts
_HOST = r"[A-Za-z0-9][A-Za-z0-9_.\[\]-]{0,252}"
_MOST_NAMES = 64


class ReadChunk(NamedTuple):
    """A chunk with its values read; `text` is what `Resource_List.select` shows."""

    chunk: Chunk
    mem: Size | None
    has_mpiprocs: bool
    amounts: Mapping[str, int]
    """Of further resources, 0 among them."""
    text: str
    unwanted_hosts: tuple[str, ...] = ()
    """Of `host=^name`, as sites have it that patched PBS for it (MetaCentrum)."""


def part_name(name: str, value: str) -> str:
    """How a part of a chunk is named among the options."""
    return f"-l select: {name}={value}"


def read_chunks(parts: Sequence[SelectChunk], origin: Origin, obstacles: Obstacles) -> list[ReadChunk]:
    """All chunks that can be read; what is wrong with the others is an obstacle, each once."""
    found: list[ReadChunk] = []
    for part in parts:
        own = Obstacles()
        values: dict[str, str] = {}
        for name, value in part.values:
            own.attempt(part_name(name, value), partial(_check, name, value, values.copy(), origin), None)
            values[name] = value
        if not own:
            chunk = own.attempt("-l select", partial(_read, values, part, origin, own), None)
            if chunk is not None and not own:
                found.append(chunk)
        known = {option for option, _ in obstacles.found}
        for option, error in own.found:
            if option not in known:
                obstacles.add(option, error)
    return found


def _check(name: str, value: str, before: Mapping[str, str], origin: Origin) -> None:
    if name in before:
        text = "duplicated resource within a section of a select specification, resource is"
        raise refusal(text, name, PBSE_DUPRESC, origin)
    if name in IN_CHUNK:
        return
    if name in JOB_WIDE or name in JOB_WIDE_ONLY:
        raise refusal('Resource invalid in "select" specification', name, PBSE_INVALSELECTRESC, origin)
    if name in COUNTED and value.lower() not in TRUE | FALSE and not re.fullmatch(NUMBER, value):
        raise refusal("Unknown resource", name, PBSE_UNKRESC, origin)
    if (name in {"host", "vnode"} and not re.fullmatch(_HOST, value.removeprefix("^"))) or len(value) > 1024:
        raise bad_value(ResourceRequest(name, value, origin), "select")


def _read(values: Mapping[str, str], part: SelectChunk, origin: Origin, obstacles: Obstacles) -> ReadChunk:
    requests = {name: ResourceRequest(name, value, origin) for name, value in values.items()}
    numbers: dict[str, int | None] = {}
    for name in ("ncpus", "mpiprocs", "ompthreads"):
        option = part_name(name, values.get(name, ""))
        numbers[name] = obstacles.attempt(option, partial(whole_number, requests.get(name), "select"), None)
    cpus = 1 if numbers["ncpus"] is None else numbers["ncpus"]
    ranks = numbers["mpiprocs"]
    # source: MOM, one process for each chunk with CPUs
    processes = int(cpus > 0) if ranks is None else ranks
    by = next((name for name in ("mem", "vmem", "pmem", "pvmem") if name in requests), "mem")
    mem = obstacles.attempt(
        part_name(by, values.get(by, "")), lambda: converted(requests.get(by), parse_size, "select"), None
    )
    if mem is not None and by in {"pmem", "pvmem"}:
        mem = mem._replace(number=mem.number * processes)
    for name, is_bad in (
        ("ompthreads", numbers["ompthreads"] == 0),
        (by, mem is not None and mem.bytes * part.number >= 2**63),
    ):
        if is_bad:
            obstacles.add(part_name(name, values[name]), bad_value(requests[name], "select"))
            mem = None
    names = _Names.sort(values)
    hosts = [values[name] for name in ("host", "vnode") if name in values]
    wanted = [host for host in hosts if not host.startswith("^")]
    most = max(len(names.properties), len(names.lacks), len(names.words), len(names.amounts))
    if most > _MOST_NAMES:
        raise bad_value(ResourceRequest("select", part.text, origin))
    chunk = Chunk(
        count=part.number,
        cpus=cpus,
        mem_bytes=None if mem is None else mem.bytes,
        ranks=processes,
        threads=numbers["ompthreads"] or None,
        resources=tuple(sorted((name, amount) for name, amount in names.amounts.items() if amount)),
        properties=tuple(sorted(names.properties)),
        lacks=tuple(sorted(names.lacks)),
        words=tuple(sorted(names.words.items())),
        hosts=tuple(wanted[:1]),
    )
    text = part.text if "ncpus" in values else f"{part.text}:ncpus=1"
    unwanted = tuple(host.removeprefix("^") for host in hosts if host.startswith("^"))
    return ReadChunk(chunk, mem, ranks is not None, names.amounts, text, unwanted)


class _Names(NamedTuple):
    """What only the site can know, by the kinds of values."""

    properties: set[str]
    lacks: set[str]
    amounts: dict[str, int]
    words: dict[str, str]

    @classmethod
    def sort(cls, values: Mapping[str, str]) -> _Names:
        found = cls(set(), set(), {}, {})
        for name, value in values.items():
            if name in IN_CHUNK or name in MEMORY or name in {"host", "vnode"}:
                continue
            if (name, value.lower()) == ("arch", "linux"):  # PBS's arch is the operating system
                continue
            if value.lower() in TRUE:
                found.properties.add(name)
            elif value.lower() in FALSE:
                found.lacks.add(name)
            elif re.fullmatch(NUMBER, value):
                amount = found.amounts.get(_AMOUNT.get(name, name), 0)
                found.amounts[_AMOUNT.get(name, name)] = amount + int(value)
            else:
                found.words[name] = value
        return found


_AMOUNT: Final = {"gpus": "ngpus"}
