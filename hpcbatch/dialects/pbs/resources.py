"""`-l`: what a job requests, from the list of resources to chunks, and what `qstat -f` shows of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from hpcbatch.dialects.pbs.errors import (
    COMMAND_LINE,
    PBSE_ATTRRO,
    PBSE_BADATVAL,
    PBSE_INVALJOBRESC,
    PBSE_INVALNODEPLACE,
    PBSE_PLACENOSELECT,
    PBSE_UNKRESC,
    USAGE_CODE,
    Origin,
    PbsError,
)
from hpcbatch.dialects.pbs.limits import NAMES as LIMITS
from hpcbatch.dialects.pbs.limits import Limits, read_limits
from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.dialects.pbs.read_chunk import COUNTED, FALSE, IN_CHUNK, JOB_WIDE, MEMORY, TRUE, ReadChunk, read_chunks
from hpcbatch.dialects.pbs.resource_list import NUMBER, ResourceRequest, bad_value, converted, refusal, whole_number
from hpcbatch.dialects.pbs.select import NodesForm, Place, SelectChunk, nodes_to_select, parse_place, parse_select
from hpcbatch.dialects.pbs.shapes import MPP, PER_NODE, Shape, as_chunk, of_nodes, of_processes, of_tasks
from hpcbatch.dialects.pbs.site_words import SITE_WORDS, SiteWords, read_site_words
from hpcbatch.dialects.pbs.table import CHUNK_WIDE, RESOURCES
from hpcbatch.dialects.pbs.values import Size, parse_size, sum_sizes
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.grouping import Grouping
from hpcbatch.model.outcome import Fate
from hpcbatch.model.spec import Arrangement, Sharing
from hpcbatch.model.text import is_printable
from hpcbatch.typed import Final, NamedTuple

ALIASES: Final[Mapping[str, str]] = {
    "elapstim_req": "walltime",
    "cputim_job": "cput",
    "cputim_prc": "pcput",
    "filesz_prc": "file",
    "EC_total_tasks": "mppwidth",
    "EC_tasks_per_node": "mppnppn",
    "EC_threads_per_task": "mppdepth",
    "EC_memory_per_task": "mppmem",
    "gpus": "ngpus",
}
"""Other systems' names for the same."""
WORK_DIR: Final = "wd"
"""NCI's: the job starts where qsub runs."""
_KNOWN: Final = frozenset({*IN_CHUNK, *JOB_WIDE, *MEMORY, *LIMITS, *MPP, *PER_NODE, *SITE_WORDS})
_LONGEST: Final = 1024
"""Characters of a text for the site to know."""
_MOST_WORDS: Final = 64
_CUSTOM_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}"
_ONE_HOST: Final = frozenset({"host", "vnode"})
"""All chunks in a group by one of these are on one node."""
_NO_PLACE: Final = Place(Arrangement.FREE, Sharing.SHARED, None)


class Extra(NamedTuple):
    """Options beside `-l` that say how large a job is."""

    is_alone: bool = False
    """Torque's `-n`."""
    hosts: int | None = None
    """NQSV's `-b`."""
    tasks: tuple[ResourceRequest, ...] = ()
    """Torque's `-L`."""


class Resources(NamedTuple):
    """What a job requests. `shown` is Resource_List as `qstat -f` lists it."""

    chunks: tuple[Chunk, ...]
    arrangement: Arrangement
    sharing: Sharing
    limits: Limits
    shown: Mapping[str, str]
    words: tuple[tuple[str, str], ...] = ()
    required_hosts: tuple[str, ...] = ()
    excluded_hosts: tuple[str, ...] = ()
    grouping: Grouping | None = None
    attributes: Mapping[str, str] = {}
    ignored: Mapping[str, str] = {}
    """Option → why it has no effect."""

    @property
    def walltime_s(self) -> int | None:
        return self.limits.walltime_s


def read_resources(requests: Sequence[ResourceRequest], extra: Extra | None = None) -> Resources:
    """Turn the resources of a job into chunks, in PBS's words where that fails.

    `requests` are in order; a name that stands twice counts as it stood last. Raises all that is wrong.
    """
    obstacles = Obstacles()
    found = collect(requests, extra or Extra(), obstacles)
    obstacles.raise_all()
    return found


def collect(requests: Sequence[ResourceRequest], extra: Extra, obstacles: Obstacles) -> Resources:
    """The same; what is wrong goes to `obstacles`, and then the result is of no use."""
    reader = _Reader(extra, obstacles)
    for request in {request.name: request for request in requests}.values():
        reader.take(request)
    return reader.read()


class _Reader:
    def __init__(self, extra: Extra, obstacles: Obstacles) -> None:
        self.extra, self.obstacles = extra, obstacles
        self.asked: dict[str, ResourceRequest] = {}
        self.own: dict[str, ResourceRequest] = {}  # names that only the site can know
        self.shown: dict[str, str] = {}
        self.words: dict[str, str] = {}
        self.ignored: dict[str, str] = {}

    def take(self, request: ResourceRequest) -> None:
        """Sort a resource by its name."""
        name = ALIASES.get(request.name, request.name)
        request = request._replace(name=name, given=request.option)
        rule = RESOURCES.get(request.name)
        if name == "flags" and request.value.lower().startswith("advres:"):  # Moab's other way to name a reservation
            name, request = "advres", request._replace(name="advres", value=request.value.partition(":")[2])
        if name in self.asked:  # under its other name
            self.ignored[request.option] = f"{name} is given twice"
        elif len(request.value) > _LONGEST and name not in {"select", "nodes"}:
            self.obstacles.add(request.option, bad_value(request))
        elif not is_printable(request.value) and (name in SITE_WORDS or name not in _KNOWN):
            self.obstacles.add(request.option, _unknown(request))
        elif name in _KNOWN:
            self.asked[name] = request
        elif name == WORK_DIR:
            self.shown[name] = "True"
        elif name == "nodect":
            text = "Cannot set attribute, read only or insufficient permission  Resource_List.nodect"
            self.obstacles.add(request.option, PbsError(text, PBSE_ATTRRO & 0xFF, origin=request.origin))
        elif not re.fullmatch(_CUSTOM_NAME, name) or (name in COUNTED and not re.fullmatch(NUMBER, request.value)):
            self.obstacles.add(request.option, _unknown(request))
        elif rule is not None and rule.fate is Fate.IGNORED:
            self.ignored[request.option] = rule.meaning
        else:
            self.own[name] = request
            if rule is not None and rule.fate is Fate.KEPT:
                self.shown[name] = self.own.pop(name).value.strip()

    def read(self) -> Resources:
        asked, obstacles = self.asked, self.obstacles
        self._check_mix()
        for name in ("ncpus", "mpiprocs", "ompthreads"):
            if name in asked and self._number(name) is None:
                del asked[name]  # reported
        sizes = {name: self._size(asked[name]) for name in ("mem", *MEMORY) if name in asked}
        for name in [name for name, size in sizes.items() if size is None]:
            del asked[name], sizes[name]
        limits = read_limits(asked, obstacles)
        site = read_site_words(asked, obstacles)
        main = next((asked[name] for name in ("select", "nodes", *_SHAPES) if name in asked), None)
        shape = obstacles.attempt("" if main is None else main.option, partial(self._shape, site), _NO_SHAPE)
        self._tell_unused()
        chunks = self._with_memory(self._with_own(shape.chunks, site), sizes)
        origin = self._origin(main)
        place = self._place(shape, site)
        read = read_chunks([part for part in chunks if part.number], origin, obstacles)
        self.shown |= {**limits.shown, **site.shown}
        self.shown |= {name: str(size) for name, size in sizes.items() if name != "mem"}
        self._show_sums(read, sizes.get("mem"))
        words = self.words | dict(site.words)
        if len(words) > _MOST_WORDS:
            self.obstacles.add("", PbsError(f"more than {_MOST_WORDS} resources of the site", PBSE_BADATVAL & 0xFF))
        self.shown |= {name: value for name, value in words.items() if value}
        return Resources(
            chunks=tuple(site.applied(r.chunk) for r in read) or (Chunk(),),
            arrangement=Arrangement.FILL if shape.fills else place.arrangement,
            sharing=place.sharing,
            limits=limits,
            shown=dict(sorted(self.shown.items())),
            words=tuple(sorted(words.items())),
            required_hosts=site.hosts,
            excluded_hosts=tuple(dict.fromkeys(host for r in read for host in r.unwanted_hosts)),
            grouping=None if place.group is None else Grouping(level=place.group),
            attributes=site.attributes,
            ignored=self.ignored,
        )

    def _check_mix(self) -> None:
        """Refuse old forms beside new ones (source: req_quejob), and Torque's old ones beside its -L."""
        asked = self.asked
        if self.extra.tasks:
            for name in sorted({"nodes", "select", *IN_CHUNK, *MEMORY, *MPP, *PER_NODE} & asked.keys()):
                text = f"-l {name} cannot be used with -L"
                self.obstacles.add(asked[name].option, PbsError(text, USAGE_CODE, origin=asked[name].origin))
            return
        new = next((asked[name] for name in ("select", "place") if name in asked), None)
        if new is None:
            return
        everything = asked | self.own
        names = {*IN_CHUNK, *CHUNK_WIDE, "nodes", "vmem"}
        old = [everything[name] for name in sorted(everything) if name in names]
        if old and old[-1].name == "nodes":
            error = refusal("Cannot be used with select or place", "nodes", PBSE_INVALNODEPLACE, old[-1].origin)
            self.obstacles.add(old[-1].option, error)
        elif old:
            text = '"-lresource=" cannot be used with "select" or "place", resource is'
            self.obstacles.add(old[-1].option, refusal(text, old[-1].name, PBSE_INVALJOBRESC, old[-1].origin))
        elif "select" not in asked:
            text = 'Cannot have "place" without "select"'
            self.obstacles.add(new.option, PbsError(text, PBSE_PLACENOSELECT & 0xFF, origin=new.origin))

    def _shape(self, site: SiteWords) -> Shape:
        asked = self.asked
        ncpus = self._number("ncpus")
        if self.extra.tasks:
            shape, is_alone, left = of_tasks(self.extra.tasks)
            self.ignored |= {f"-L {item}": "a chunk is not laid out within its node" for item in left}
            return shape._replace(place="free:excl") if is_alone else shape
        if "select" in asked:
            chunks = converted(asked["select"], parse_select) or ()
            return Shape(chunks, asked["place"].value if "place" in asked else "free")
        if "nodes" in asked:
            request = asked["nodes"]
            form = converted(request, lambda text: nodes_to_select(text, ncpus)) or NodesForm("", "")
            if not form.counts_ncpus:
                self.ignored[asked["ncpus"].option] = "it does not divide among the nodes, which say how many there are"
            self.shown["nodes"] = request.value
            return Shape(converted(request._replace(value=form.select), parse_select) or (), form.place)
        shape_or_none = of_processes(asked) or of_nodes(asked, self.extra.hosts)
        if shape_or_none is not None:
            return shape_or_none
        in_chunk = [name for name in IN_CHUNK if name in asked]
        values = [(name, asked[name].value.strip()) for name in in_chunk]
        if "ncpus" not in asked:
            values.insert(0, ("ncpus", "1"))
        return Shape((as_chunk(max(1, len(site.hosts)), values),), "scatter" if len(site.hosts) > 1 else "pack")

    def _tell_unused(self) -> None:
        """What of several ways to say how large the job is does not count."""
        asked = self.asked
        used = next((name for name in ("select", "nodes", "mppwidth", "procs", "size") if name in asked), None)
        if used is None:
            unused = set(MPP & asked.keys())
            reason = "it means something beside mppwidth or procs only"
        else:
            with_width = MPP - {"mppwidth", "procs", "size"} if used not in {"select", "nodes"} else frozenset()
            unused = ({*MPP, *PER_NODE} - with_width - {used}) & asked.keys()
            if used not in {"select", "nodes"}:
                unused |= {"ncpus"} & asked.keys()
            reason = f"{used} says it"
        self.ignored |= {asked[name].option: reason for name in sorted(unused)}

    def _with_own(self, chunks: Sequence[SelectChunk], site: SiteWords) -> tuple[SelectChunk, ...]:
        """The chunks with what stands beside them: beside `select` it belongs to the job, else to each chunk."""
        values: list[tuple[str, str]] = []
        for name, request in self.own.items():
            text = request.value.strip()
            is_of_chunk = name in CHUNK_WIDE or re.fullmatch(NUMBER, text) or text.lower() in TRUE | FALSE
            if "select" in self.asked or not is_of_chunk:
                self.words[name] = text
            else:
                values.append((name, text))
        if "select" not in self.asked:
            values += [
                (name, self.asked[name].value.strip()) for name in ("mpiprocs", "ompthreads") if name in self.asked
            ]
        values += site.amounts
        return tuple(_with_values(chunk, values) for chunk in chunks) if values else tuple(chunks)

    def _with_memory(self, chunks: Sequence[SelectChunk], sizes: Mapping[str, Size | None]) -> tuple[SelectChunk, ...]:
        by = next((name for name in ("mem", *sizes) if name in sizes), "")
        if "vmem" in sizes and by != "vmem":
            self.ignored[self.asked["vmem"].option] = f"{by} says how much memory the job has"
        if not by or (by == "mem" and "select" in self.asked):
            return tuple(chunks)
        return _with_mem(chunks, sizes[by], is_shared=by in {"mem", "vmem"})

    def _place(self, shape: Shape, site: SiteWords) -> Place:
        asked = self.asked.get("place")
        text = shape.place
        if self.extra.is_alone or site.sharing is Sharing.EXCLUSIVE:
            text = f"{text}:excl" if asked is None and ":" not in text else text
        request = ResourceRequest("place", text, COMMAND_LINE if asked is None else asked.origin)
        option = "" if asked is None else asked.option
        place = self.obstacles.attempt(option, lambda: converted(request, parse_place), None)
        if place is None:
            return _NO_PLACE
        if place.group in _ONE_HOST:
            place = place._replace(arrangement=Arrangement.PACK, group=None)
        self.shown["place"] = text
        if self.extra.is_alone:
            return place._replace(sharing=Sharing.EXCLUSIVE)
        return place if site.sharing is None else place._replace(sharing=site.sharing)

    def _show_sums(self, read: Sequence[ReadChunk], mem: Size | None) -> None:
        """The sums that Resource_List shows (source: set_chunk_sum)."""
        shown = self.shown
        sizes = [Size(r.mem.number * r.chunk.count, r.mem.shift, r.mem.is_words) for r in read if r.mem is not None]
        named = [r for r in read if r.has_mpiprocs]
        shown["ncpus"] = str(sum(r.chunk.count * r.chunk.cpus for r in read))
        shown["nodect"] = str(sum(r.chunk.count for r in read))
        shown["select"] = "+".join(r.text for r in read)
        if "nodes" in self.asked and mem is not None:
            shown["mem"] = str(mem)
        elif sizes:
            shown["mem"] = str(sum_sizes(sizes))
        if named:
            shown["mpiprocs"] = str(sum(r.chunk.count * r.chunk.ranks for r in named))
        if "ompthreads" in self.asked:
            shown["ompthreads"] = self.asked["ompthreads"].value.strip()
        for r in read:
            for name, amount in r.amounts.items():
                shown[name] = str(int(shown.get(name, "0")) + r.chunk.count * amount)

    def _origin(self, main: ResourceRequest | None) -> Origin:
        """Where that stands which the chunks were made of."""
        if main is not None:
            return main.origin
        everything = self.asked | self.own
        names = [*IN_CHUNK, *self.own]
        return next((everything[name].origin for name in names if name in everything), COMMAND_LINE)

    def _number(self, name: str) -> int | None:
        request = self.asked.get(name)
        if request is None:
            return None
        return self.obstacles.attempt(request.option, partial(whole_number, request), None)

    def _size(self, request: ResourceRequest) -> Size | None:
        return self.obstacles.attempt(request.option, partial(converted, request, parse_size), None)


_SHAPES: Final = ("mppwidth", "procs", "size", *sorted(PER_NODE))
_NO_SHAPE: Final = Shape((), "free")


def _unknown(request: ResourceRequest) -> PbsError:
    return PbsError(f"Unknown resource Resource_List.{request.name}", PBSE_UNKRESC & 0xFF, origin=request.origin)


def _with_values(chunk: SelectChunk, values: Sequence[tuple[str, str]]) -> SelectChunk:
    """What the chunk has already stays."""
    known = {name for name, _ in chunk.values}
    more = [(name, value) for name, value in values if name not in known]
    text = ":".join([chunk.text, *(f"{name}={value}" for name, value in more)])
    return SelectChunk(chunk.number, (*chunk.values, *more), text)


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
            kib = -(-mem.bytes // 1024) * int(processes if re.fullmatch(NUMBER, processes) else 1)
        head, *rest = chunk.text.split(":")
        at = 1 if rest and rest[0].startswith("ncpus=") else 0
        text = ":".join([head, *rest[:at], f"mem={kib}kb", *rest[at:]])
        found.append(SelectChunk(chunk.number, (*chunk.values, ("mem", f"{kib}kb")), text))
    return tuple(found)
