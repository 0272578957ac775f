"""The shapes of jobs that are not written as `select` or `nodes`: Cray's, Torque's `procs` and `-L`, NQSV's.

Each becomes chunks as `-l select=` has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hpcbatch.dialects.pbs.errors import USAGE_CODE, PbsError
from hpcbatch.dialects.pbs.resource_list import ResourceRequest, bad_value, converted, whole_number
from hpcbatch.dialects.pbs.select import GPU_MODES, SelectChunk
from hpcbatch.dialects.pbs.values import parse_size
from hpcbatch.model.chunk import MAX_CHUNKS
from hpcbatch.typed import Final, NamedTuple

MPP: Final = frozenset({"mppwidth", "mppnppn", "mppdepth", "mppmem", "size", "procs", "tpn"})
PER_NODE: Final = frozenset({"cpunum_job", "gpunum_job", "memsz_job", "venum_lhost", "venode"})


class Shape(NamedTuple):
    """The chunks, and what `place` they have."""

    chunks: tuple[SelectChunk, ...]
    place: str
    fills: bool = False
    """The chunks may share nodes as they like: as few pods as they fit into."""


def of_processes(asked: Mapping[str, ResourceRequest]) -> Shape | None:
    """Cray's `mppwidth`, `size` and Torque's `procs`: so many processes, on nodes of so many each. None: none of them.
    Source: the manuals of PBS Professional (mpp resources) and Torque (-l procs).
    """
    request = next((asked[name] for name in ("mppwidth", "procs", "size") if name in asked), None)
    if request is None:
        return None
    text, *properties = request.value.strip().split(":")
    width = _count(request._replace(value=text))
    each = _count(asked.get("mppnppn") or asked.get("tpn"))
    depth = _count(asked.get("mppdepth"))
    mem = converted(asked.get("mppmem"), parse_size)
    if width is None or width > MAX_CHUNKS:
        raise bad_value(request)
    more = [_property(word) for word in properties]

    def chunks(number: int, ranks: int) -> SelectChunk:
        values = [("ncpus", str(ranks * (depth or 1))), *more]
        values += [("mpiprocs", str(ranks))] if ranks != 1 else []
        values += [("ompthreads", str(depth))] if depth else []
        values += [("mem", f"{-(-mem.bytes * ranks // 1024)}kb")] if mem is not None else []
        return as_chunk(number, values)

    if each is None:
        return Shape((chunks(width, 1),), "free", fills=True)
    full, rest = divmod(width, each)
    parts = ([chunks(full, each)] if full else []) + ([chunks(1, rest)] if rest else [])
    return Shape(tuple(parts), "scatter")


def of_nodes(asked: Mapping[str, ResourceRequest], hosts: int | None) -> Shape | None:
    """NQSV's shape: `-b` nodes with the CPUs, GPUs and the memory of each. None: nothing of it is given."""
    if hosts is None and not PER_NODE & asked.keys():
        return None
    cpus = _count(asked.get("cpunum_job")) or 1
    values = [("ncpus", str(cpus)), *([("mpiprocs", str(cpus))] if cpus != 1 else [])]
    if "memsz_job" in asked:
        size = converted(asked["memsz_job"], parse_size)
        values.append(("mem", str(size)))
    if gpus := whole_number(asked.get("gpunum_job")):
        values.append(("ngpus", str(gpus)))
    engines, all_engines = _count(asked.get("venum_lhost")), _count(asked.get("venode"))
    count = hosts or (-(-all_engines // engines) if all_engines and engines else 1)
    if engines or all_engines:
        values.append(("ve", str(engines or -(-(all_engines or 0) // count))))
    return Shape((as_chunk(count, values),), "scatter")


def of_tasks(lists: Sequence[ResourceRequest]) -> tuple[Shape, bool, tuple[str, ...]]:
    """Torque's `-L tasks=N:lprocs=C:memory=M:gpus=G…`: N chunks of each list; whether they have their nodes alone; and
    the words about sockets, threads and the like. Raises PbsError.
    Source: the manual of Torque 6 (-L, NUMA-aware requests).
    """
    chunks: list[SelectChunk] = []
    is_alone = False
    left: list[str] = []
    for request in lists:
        count, values = 1, {"ncpus": "1"}
        for item in request.value.split(":"):
            name, _, value = item.partition("=")
            match name:
                case "tasks" | "lprocs" | "gpus" | "mics" if re.fullmatch(r"[1-9][0-9]{0,8}", value):
                    if name == "tasks":
                        count = int(value)
                    else:
                        values[{"lprocs": "ncpus", "gpus": "ngpus"}.get(name, name)] = value
                case "lprocs" if value == "all":
                    is_alone = True
                case "memory" if value:
                    values["mem"] = value
                case "feature" | "reqattr" if value and "=" not in value:
                    values[value] = "True"
                case _ if item in GPU_MODES:
                    continue
                case _ if name in _PLACING:
                    left.append(item)
                case _:
                    raise PbsError("illegal -L value", USAGE_CODE, origin=request.origin)
        chunks.append(as_chunk(count, list(values.items())))
    if not 0 < sum(chunk.number for chunk in chunks) <= MAX_CHUNKS:
        raise PbsError("illegal -L value", USAGE_CODE, origin=lists[0].origin)
    return Shape(tuple(chunks), "free"), is_alone, tuple(left)


_PLACING: Final = frozenset(
    ["place", "swap", "disk", "maxtpn", "cpt", "usecores", "usethreads", "allowthreads", "allowcores", "gres", "opsys"]
)
"""Words of `-L` about sockets, threads and the like: a chunk is not laid out within its node."""


def as_chunk(number: int, values: Sequence[tuple[str, str]]) -> SelectChunk:
    return SelectChunk(number, tuple(values), ":".join([str(number), *(f"{name}={value}" for name, value in values)]))


def _property(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    return ({"gpus": "ngpus"}.get(name, name), value if equals else "True")


def _count(request: ResourceRequest | None) -> int | None:
    """A number from 1."""
    number = whole_number(request)
    if request is not None and not number:
        raise bad_value(request)
    return number
