"""`-l`: what a job requests, from the list of resources to chunks, and what `qstat -f` shows of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from hpcbatch.dialects.pbs.errors import (
    COMMAND_LINE,
    PBSE_BADATVAL,
    PBSE_DUPRESC,
    PBSE_INVALJOBRESC,
    PBSE_INVALNODEPLACE,
    PBSE_INVALSELECTRESC,
    PBSE_PLACENOSELECT,
    PBSE_UNKRESC,
    Origin,
    PbsError,
    not_supported,
)
from hpcbatch.dialects.pbs.select import NodesForm, SelectChunk, nodes_to_select, parse_place, parse_select
from hpcbatch.dialects.pbs.values import Size, parse_duration, parse_size, sum_sizes
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.spec import Arrangement, Sharing
from hpcbatch.units import hms

_T = TypeVar("_T")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


IN_CHUNK: Final = ("ncpus", "mem", "mpiprocs", "ompthreads")
"""Resources of a chunk that are honoured, in the order in which a select text is made of them."""
JOB_WIDE: Final = ("walltime", "select", "place", "nodes")
MEMORY: Final[tuple[str, ...]] = ("pmem", "vmem", "pvmem")
"""Job-wide limits of Torque's: of a process's memory, of all address space, of a process's. Without `mem` the
first that is given says how much memory the job gets."""
# What OpenPBS knows (its master_resc_def_all.xml) and what sites have most often added to it, but no count of things
# on a node: those are for the site to know.
KNOWN_IN_CHUNK: Final = _names(
    "accelerator accelerator_group accelerator_memory accelerator_model aoe arch eoe hbmem host nodect pmem pvmem vmem "
    "vnode vntype"
)
KNOWN_JOB_WIDE: Final = _names(
    "cpupercent cput file max_walltime min_walltime nice partition pcput pstate pgov pcap_node pcap_accelerator "
    "preempt_targets resc site soft_walltime software start_time"
)
SITE_RESOURCES: Final = _names(
    "application cluster feature filesystems gpu_cap gpu_mem gpu_model gpu_type gputype gres interconnect jobfs "
    "job_priority model mppdepth mppmem mppnppn mppwidth naccesspolicy node_type nodetype pcmem procs qos scratch "
    "scratch_local scratch_shm scratch_ssd size storage system wd"
)

_RESOURCE = re.compile(r"\s*([^=,]*)(=?)", re.ASCII)
_BLANK = " \t\n\v\f\r"  # C's isspace()
_WORD = re.compile(r"\s+", re.ASCII)
_NUMBER = rf"[{_BLANK}]*\+?[0-9]{{1,9}}"
_CUSTOM_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_TRUE, _FALSE = _names("t true y yes"), _names("f false n no")  # of decode_b(); 1 and 0 are amounts


class ResourceRequest(NamedTuple):
    """One `name=value` of `-l`, and where it stands."""

    name: str
    value: str
    origin: Origin = COMMAND_LINE


class Resources(NamedTuple):
    """What a job requests. `shown` is Resource_List as `qstat -f` lists it."""

    chunks: tuple[Chunk, ...]
    arrangement: Arrangement
    sharing: Sharing
    walltime_s: int | None
    shown: Mapping[str, str]
    notes: tuple[str, ...] = ()
    """What is printed for the user."""


def split_resources(text: str) -> Iterator[tuple[str, str]]:
    """Read `name[=value],…` as `-l` takes it. Values may be quoted; blanks separate as commas do.
    Raises HpcBatchError where a name is missing, a quote is open, or a comma ends the list.
    Source: OpenPBS, set_resources() and pbs_quote_parse().
    """
    position = 0
    while position < len(text):
        match = _RESOURCE.match(text, position)
        name = _WORD.split(match[1].strip(_BLANK))[0] if match else ""
        if match is None or not name:
            raise HpcBatchError("a resource name is missing")
        position, value = match.end(), ""
        if match[2]:
            value, position = _value(text, position)
        yield name, value
        if text[position : position + 1] == ",":
            position += 1
            if position == len(text):
                raise HpcBatchError("the list ends in a comma")
        elif not text[position:].strip(_BLANK):
            return


def _value(text: str, start: int) -> tuple[str, int]:
    value: list[str] = []
    position = start + len(text[start:]) - len(text[start:].lstrip(_BLANK))
    quote = opened = ""
    while position < len(text):
        char = text[position]
        if char == "&" or not (char.isprintable() or char in f"{_BLANK}\xa0"):
            raise HpcBatchError(f"illegal character {char!r}")
        if opened:
            if char == opened:
                opened = ""
            else:
                value.append(char)
        elif char in "\"'" and quote in {"", char}:
            quote = opened = char
        elif char == "," or char in _BLANK:
            break
        else:
            value.append(char)
        position += 1
    if opened:
        raise HpcBatchError("no closing quote")
    return "".join(value), position


def read_resources(requests: Sequence[ResourceRequest]) -> Resources:
    """Turn the resources of a job into chunks, in PBS's words where that fails.

    `requests` are in order; a name that stands twice counts as it stood last.
    """
    asked = {request.name: request for request in requests}
    for request in asked.values():
        _check_known(request)
    _check_mix(asked)
    walltime_s = _convert(asked.get("walltime"), parse_duration)
    if walltime_s == 0:
        raise _bad(asked["walltime"])
    wide = {name: _number(asked.get(name)) for name in ("ncpus", "mpiprocs", "ompthreads")}
    mem = _convert(asked.get("mem"), parse_size)
    limits = {name: _convert(asked[name], parse_size) for name in MEMORY if name in asked}
    shown = {name: str(size) for name, size in limits.items()}
    by = "mem" if "mem" in asked else next(iter(limits), "mem")
    notes = tuple(
        f"-l {name}={asked[name].value.strip()} is kept, not enforced: {by} says how much memory the job has"
        for name in ("vmem", "pvmem")
        if name in limits and name != by
    )
    origin = COMMAND_LINE
    if "select" in asked:
        origin = asked["select"].origin
        chunks = _convert(asked["select"], parse_select) or ()
        place_text = asked["place"].value if "place" in asked else "free"
    elif "nodes" in asked:
        request, ncpus = asked["nodes"], wide["ncpus"]
        origin = request.origin
        form = _convert(request, lambda text: nodes_to_select(text, ncpus)) or NodesForm("", "", ())
        for name in ("mpiprocs", "ompthreads"):
            if name in asked:
                raise _beside_nodes(asked[name])
        for name in _custom(asked):
            raise _beside_nodes(asked[name])
        if form.not_supported:
            raise not_supported(f"-l nodes: {form.not_supported[0]}", origin)
        place_text = form.place
        chunks = _convert(ResourceRequest("nodes", form.select, origin), parse_select) or ()
        chunks = _with_mem(chunks, mem, is_shared=True)
        shown["nodes"] = request.value
    else:
        in_chunk = [name for name in IN_CHUNK if name in asked] + _custom(asked)
        values = [(name, asked[name].value.strip()) for name in in_chunk]
        if "ncpus" not in asked:
            values.insert(0, ("ncpus", "1"))
        chunks = (SelectChunk(1, tuple(values), ":".join(["1", *(f"{name}={value}" for name, value in values)])),)
        origin = next((asked[name].origin for name in in_chunk), origin)
        place_text = "pack"
    if by != "mem":
        chunks = _with_mem(chunks, limits[by], is_shared=by == "vmem")
    found = _complete(
        chunks, place_text=place_text, walltime_s=walltime_s, mem=mem, asked=asked, shown=shown, origin=origin
    )
    return found._replace(notes=notes)


def _complete(
    parts: Sequence[SelectChunk],
    *,
    place_text: str,
    walltime_s: int | None,
    mem: Size | None,
    asked: Mapping[str, ResourceRequest],
    shown: dict[str, str],
    origin: Origin,
) -> Resources:
    """Make the chunks and the sums that Resource_List shows (source: set_chunk_sum)."""
    read = [_ReadChunk.read(part, origin) for part in parts if part.number]
    place_request = asked.get("place", ResourceRequest("place", place_text, origin))
    place = _convert(ResourceRequest("place", place_text, place_request.origin), parse_place)
    if place is None:
        raise _bad(place_request)
    if place.group is not None:
        raise not_supported(f"-l place: group={place.group}", place_request.origin)
    sizes = [Size(r.mem.number * r.chunk.count, r.mem.shift, r.mem.is_words) for r in read if r.mem is not None]
    named = [r for r in read if r.has_mpiprocs]
    shown["ncpus"] = str(sum(r.chunk.count * r.chunk.cpus for r in read))
    shown["nodect"] = str(sum(r.chunk.count for r in read))
    shown["place"] = place_text
    shown["select"] = "+".join(r.text for r in read)
    if "nodes" in asked and mem is not None:
        shown["mem"] = str(mem)
    elif sizes:
        shown["mem"] = str(sum_sizes(sizes))
    if named:
        shown["mpiprocs"] = str(sum(r.chunk.count * r.chunk.ranks for r in named))
    if "ompthreads" in asked:
        shown["ompthreads"] = asked["ompthreads"].value.strip()
    for r in read:
        for name, amount in r.amounts.items():
            shown[name] = str(int(shown.get(name, "0")) + r.chunk.count * amount)
    if walltime_s is not None:
        shown["walltime"] = hms(walltime_s)
    return Resources(
        chunks=tuple(r.chunk for r in read),
        arrangement=place.arrangement,
        sharing=place.sharing,
        walltime_s=walltime_s,
        shown=dict(sorted(shown.items())),
    )


class _ReadChunk(NamedTuple):
    """A chunk with its values read; `text` is what `Resource_List.select` shows."""

    chunk: Chunk
    mem: Size | None
    has_mpiprocs: bool
    amounts: Mapping[str, int]
    """Of further resources, 0 among them."""
    text: str

    @classmethod
    def read(cls, part: SelectChunk, origin: Origin) -> _ReadChunk:
        values: dict[str, str] = {}
        for name, value in part.values:
            if name in values:
                raise _refuse(
                    "duplicated resource within a section of a select specification, resource is",
                    name,
                    PBSE_DUPRESC,
                    origin,
                )
            _check_in_chunk(name, value, origin)
            values[name] = value
        requests = {name: ResourceRequest(name, value, origin) for name, value in values.items()}
        ncpus = _number(requests.get("ncpus"), "select")
        ranks = _number(requests.get("mpiprocs"), "select")
        threads = _number(requests.get("ompthreads"), "select")
        custom = {name: value for name, value in values.items() if name not in IN_CHUNK and name != "arch"}
        amounts = {name: int(value) for name, value in custom.items() if value.lower() not in _TRUE}
        mem = _convert(requests.get("mem"), parse_size, "select")
        cpus = 1 if ncpus is None else ncpus
        if threads == 0 or (mem is not None and mem.bytes * part.number >= 2**63):
            raise _bad(requests["ompthreads" if threads == 0 else "mem"], "select")
        chunk = Chunk(
            count=part.number,
            cpus=cpus,
            mem_bytes=None if mem is None else mem.bytes,
            ranks=int(cpus > 0) if ranks is None else ranks,  # source: MOM, one process for each chunk with CPUs
            threads=threads,
            resources=tuple(sorted((name, amount) for name, amount in amounts.items() if amount)),
            properties=tuple(sorted(custom.keys() - amounts.keys())),
        )
        text = part.text if ncpus is not None else f"{part.text}:ncpus=1"
        return cls(chunk, mem, ranks is not None, amounts, text)


def _with_mem(chunks: Sequence[SelectChunk], mem: Size | None, *, is_shared: bool) -> tuple[SelectChunk, ...]:
    """Chunks that have no memory of their own get their share of the job's (old form; source: cvt_nodespec_to_select),
    or that of all their processes.
    """
    if mem is None:
        return tuple(chunks)
    found = []
    for chunk in chunks:
        values = dict(chunk.values)
        if "mem" in values:
            found.append(chunk)
            continue
        if is_shared:
            kib = (mem.bytes >> 10) // sum(chunk.number for chunk in chunks)
        else:
            processes = values.get("mpiprocs", "1")
            kib = -(-mem.bytes // 1024) * int(processes if re.fullmatch(_NUMBER, processes) else 1)
        head, *rest = chunk.text.split(":")
        at = 1 if rest and rest[0].startswith("ncpus=") else 0
        text = ":".join([head, *rest[:at], f"mem={kib}kb", *rest[at:]])
        found.append(SelectChunk(chunk.number, (*chunk.values, ("mem", f"{kib}kb")), text))
    return tuple(found)


def _custom(asked: Mapping[str, ResourceRequest]) -> list[str]:
    """The names that the site may know, in order."""
    return [name for name in asked if name not in {*IN_CHUNK, *JOB_WIDE, *MEMORY}]


def _beside_nodes(request: ResourceRequest) -> NotSupportedError:
    name = request.name
    return not_supported(f"-l {name} beside -l nodes: write select=N:ncpus=C:{name}=M instead; it", request.origin)


def _check_known(request: ResourceRequest) -> None:
    """Refuse a job-wide resource that is not honoured. Amounts of others are for the site to know or to refuse."""
    name = request.name
    if name in {*IN_CHUNK, *JOB_WIDE, *MEMORY}:
        return
    if name in KNOWN_IN_CHUNK or name in KNOWN_JOB_WIDE or name in SITE_RESOURCES:
        raise not_supported(f"-l {name}", request.origin)
    if not (re.fullmatch(_CUSTOM_NAME, name) and re.fullmatch(_NUMBER, request.value)):
        raise PbsError(f"Unknown resource Resource_List.{name}", PBSE_UNKRESC & 0xFF, origin=request.origin)


def _check_in_chunk(name: str, value: str, origin: Origin) -> None:
    """The same in a chunk, where `name=True` is a node property as well. PBS's arch is the operating system."""
    if name in IN_CHUNK or (name, value.lower()) == ("arch", "linux"):
        return
    if name in JOB_WIDE or name in KNOWN_JOB_WIDE:
        raise _refuse('Resource invalid in "select" specification', name, PBSE_INVALSELECTRESC, origin)
    if name in KNOWN_IN_CHUNK or name in SITE_RESOURCES:
        raise not_supported(f"-l select: {name}", origin)
    if value.lower() in _FALSE:
        raise not_supported(f"-l select: {name}={value}, a property that nodes must not have,", origin)
    if value.lower() not in _TRUE and not re.fullmatch(_NUMBER, value):
        raise _refuse("Unknown resource", name, PBSE_UNKRESC, origin)


def _check_mix(asked: Mapping[str, ResourceRequest]) -> None:
    """Refuse old forms beside new ones (source: req_quejob)."""
    new = next((asked[name] for name in ("select", "place") if name in asked), None)
    if new is None:
        return
    old = [asked[name] for name in sorted(asked) if name in (*IN_CHUNK, *_custom(asked), "nodes", "vmem")]
    if old and old[-1].name == "nodes":
        raise _refuse("Cannot be used with select or place", "nodes", PBSE_INVALNODEPLACE, old[-1].origin)
    if old:
        text = '"-lresource=" cannot be used with "select" or "place", resource is'
        raise _refuse(text, old[-1].name, PBSE_INVALJOBRESC, old[-1].origin)
    if "select" not in asked:
        raise PbsError('Cannot have "place" without "select"', PBSE_PLACENOSELECT & 0xFF, origin=new.origin)


def _convert(request: ResourceRequest | None, parse: Callable[[str], _T], inside: str = "Resource_List") -> _T | None:
    if request is None:
        return None
    try:
        return parse(request.value)
    except HpcBatchError:
        raise _bad(request, inside) from None


def _number(request: ResourceRequest | None, inside: str = "Resource_List") -> int | None:
    if request is None:
        return None
    if not re.fullmatch(_NUMBER, request.value):
        raise _bad(request, inside)
    return int(request.value)


def _bad(request: ResourceRequest, inside: str = "Resource_List") -> PbsError:
    text = f"Illegal attribute or resource value {inside}.{request.name}"
    return PbsError(text, PBSE_BADATVAL & 0xFF, origin=request.origin)


def _refuse(text: str, name: str, number: int, origin: Origin) -> PbsError:
    return PbsError(f"{text}: {name}", number & 0xFF, origin=origin)
