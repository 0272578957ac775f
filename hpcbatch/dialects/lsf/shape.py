"""Slots, requirements and GPUs become chunks."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.dialects.lsf.gpu import GpuRequest, read_gpu
from hpcbatch.dialects.lsf.request import Request
from hpcbatch.dialects.lsf.resreq import BadRequirementError, Requirement, Term, UnmetRequirementError, read
from hpcbatch.dialects.lsf.select import SelectSyntaxError, SelectUnmetError
from hpcbatch.dialects.lsf.values import memory_limit, slots
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.outcome import Fate
from hpcbatch.model.spec import Alternative, Arrangement, Sharing

BAD = "Bad resource requirement syntax"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Fields of a JobSpec."""

    chunks: tuple[Chunk, ...]
    arrangement: Arrangement
    sharing: Sharing
    mem_per_pod_bytes: int | None
    resources_per_pod: tuple[tuple[str, int], ...]
    slots: tuple[int, int]
    """Least and most."""
    otherwise: tuple[Alternative, ...] = ()


def read_requirement(request: Request) -> Requirement:
    found = Requirement()
    for each in request.requirements:
        before = len(found.told)
        try:
            read(each.value, found)
        except (BadRequirementError, SelectSyntaxError) as error:
            request.refuse(each, each.wrong(BAD, str(error)))
        except (UnmetRequirementError, SelectUnmetError) as error:
            request.refuse(each, NotSupportedError(f"-R: {error}"))
        else:
            if parts := found.told[before:]:
                request.whole(each)
                for told in parts:
                    request.part(each, told.part, told.fate, told.meaning)
    return found


def shape_of(request: Request, need: Requirement) -> Shape:
    """What the job is made of, and what else it may be. What is wrong is noted in `request`."""
    shape = _shape_of(request, need)
    if not need.otherwise or request.problems:  # each would be told again
        return shape
    others = [_shape_of(request, each) for each in need.otherwise]
    return replace(
        shape,
        otherwise=tuple(
            Alternative(
                chunks=each.chunks,
                arrangement=each.arrangement,
                mem_per_pod_bytes=each.mem_per_pod_bytes,
                resources_per_pod=each.resources_per_pod,
            )
            for each in others
        ),
    )


def _shape_of(request: Request, need: Requirement) -> Shape:
    least, most = request.read("n", slots, "Bad argument for option -n") or (1, 1)
    if most > least and (each := request.given("n")) is not None:
        request.tell(each, Fate.TRANSLATED, f"{least} slots: a job gets its least number")
    gpu = request.read("gpu", read_gpu, "Bad GPU requirement") or GpuRequest(number=0)
    if (each := request.given("gpu")) is not None and gpu.told:
        request.whole(each)
        for part, fate, meaning in gpu.told:
            request.part(each, part, fate, meaning)
    nodes = request.read("nnodes", _number, "Bad argument for option -nnodes")
    is_whole = nodes is not None and "n" not in request
    if nodes is not None and not is_whole and (each := request.given("nnodes")) is not None:
        request.tell(each, Fate.TRANSLATED, "so many nodes for the slots of -n; without that they would be whole nodes")
    sharing = Sharing.EXCLUSIVE if "x" in request or is_whole else Sharing.SHARED
    if need.terms:
        return _compound(request, need.terms, (least, most), gpu, sharing)
    mem = _memory(request, need)
    resources = dict(need.resources)
    if gpu.number and not gpu.per_task:
        resources["gpu"] = max(gpu.number, resources.get("gpu", 0))
    chunks: tuple[Chunk, ...]
    if nodes is not None:
        each_has = need.ptile or max(1, -(-least // nodes))
        chunks, arrangement = (_chunk(request, need, gpu, nodes, each_has),), Arrangement.SCATTER
    elif need.one_host:
        chunks, arrangement = (_chunk(request, need, gpu, least, 1),), Arrangement.PACK
    elif need.ptile or need.block:
        chunks = tuple(_chunk(request, need, gpu, *each) for each in _blocks(need, least))
        arrangement = Arrangement.SCATTER if need.ptile else Arrangement.FREE
    else:
        chunks, arrangement = (_chunk(request, need, gpu, least, 1),), Arrangement.FILL
    whole = need.mem.get("job")
    if whole is not None:
        pods = 1 if need.one_host else sum(chunk.count for chunk in chunks) if nodes or need.ptile else 1
        mem = max(mem or 0, -(-whole // pods))
    return Shape(
        chunks=chunks,
        arrangement=arrangement,
        sharing=sharing,
        mem_per_pod_bytes=None if "task" in need.mem else mem,
        resources_per_pod=tuple(sorted(resources.items())),
        slots=(least, most),
    )


def _chunk(request: Request, need: Requirement, gpu: GpuRequest, count: int, size: int) -> Chunk:
    """`count` pieces of `size` slots each."""
    per_slot = need.mem.get("task")
    return Chunk(
        count=count,
        cpus=size * need.cpus_per_slot,
        ranks=size,
        mem_bytes=None if per_slot is None else size * per_slot,
        resources=(("gpu", size * gpu.number),) if gpu.per_task else (),
        properties=tuple(sorted(need.nodes.properties)),
        lacks=tuple(sorted(need.nodes.lacks)),
        alternatives=tuple(need.nodes.alternatives),
        words=tuple(sorted({**need.nodes.words, **({"gpu_model": gpu.model} if gpu.model else {})}.items())),
        hosts=_hosts(request) or need.nodes.hosts,
        excluded_hosts=tuple(need.nodes.excluded),
        tmp_bytes=need.tmp_bytes,
        threads=need.cpus_per_slot if need.cpus_per_slot > 1 else None,
    )


def _blocks(need: Requirement, least: int) -> tuple[tuple[int, int], ...]:
    """How many pieces of how many slots: by span[ptile=n] or span[block=n]; one of all with span[hosts=1]."""
    size = least if need.one_host else min(need.ptile or need.block or 1, least)
    full, rest = divmod(least, size)
    return ((full, size), (1, rest)) if rest else ((full, size),)


def _compound(
    request: Request, terms: Sequence[Term], asked: tuple[int, int], gpu: GpuRequest, sharing: Sharing
) -> Shape:
    """`1*{…} + 8*{…}`: each part has chunks of its own, with the memory and the resources that it names."""
    counts = [term.slots or 0 for term in terms]
    given, has_number = request.requirements[0], "n" in request
    if terms[-1].slots is None:
        counts[-1] = max(0, asked[0] - sum(counts))
    if "nnodes" in request:
        request.refuse(given, given.wrong(BAD, "a compound requirement cannot stand beside -nnodes"))
    if not all(counts) or (has_number and sum(counts) != asked[0]):
        request.refuse(given, given.wrong(BAD, f"its parts have {sum(counts)} slots, -n has {asked[0]}"))
        return Shape(
            chunks=(Chunk(),),
            arrangement=Arrangement.FREE,
            sharing=sharing,
            mem_per_pod_bytes=None,
            resources_per_pod=(),
            slots=asked,
        )
    chunks: list[Chunk] = []
    limit = _memory(request, Requirement())
    for (_, need), slots_of in zip(terms, counts, strict=True):
        blocks = _blocks(need, slots_of)
        pods = sum(count for count, _ in blocks)
        of_job = -(-need.mem["job"] // pods) if "job" in need.mem else None
        for count, size in blocks:
            chunk = _chunk(request, need, gpu, count, size)
            amounts = [each for each in (chunk.mem_bytes, need.mem.get("host"), limit, of_job) if each is not None]
            resources = {**need.resources, **dict(chunk.resources)}
            if gpu.number and not gpu.per_task:
                resources["gpu"] = max(gpu.number, resources.get("gpu", 0))
            chunks.append(
                replace(chunk, mem_bytes=max(amounts, default=None), resources=tuple(sorted(resources.items())))
            )
    return Shape(
        chunks=tuple(chunks),
        arrangement=Arrangement.SCATTER if any(term.need.ptile for term in terms) else Arrangement.FREE,
        sharing=sharing,
        mem_per_pod_bytes=None,
        resources_per_pod=(),
        slots=(sum(counts), sum(counts)),
    )


def _memory(request: Request, need: Requirement) -> int | None:
    """Memory of each host: the larger one of what is reserved and of the limit, since a pod has one number for both."""
    limit = request.read("M", memory_limit, "Bad MEMLIMIT specification")
    reserved = need.mem.get("host")
    each = request.given("M")
    if limit is None or each is None:
        return reserved
    amount, is_larger_unit = limit
    if amount == 0:
        request.refuse(each, each.wrong("Bad MEMLIMIT specification", "expected a number above 0"))
    elif reserved is not None or "task" in need.mem or "job" in need.mem:
        request.tell(each, Fate.TRANSLATED, "memory of each host, if that is more than rusage[mem=…] requests")
    elif is_larger_unit:
        meaning = f"{each.value} MB on each host: no program runs in {each.value} KB"
        request.tell(each, Fate.TRANSLATED, meaning)
    return max(amount, reserved or 0)


def _hosts(request: Request) -> tuple[str, ...]:
    """-m: `all` and preferences, `host+1`, choose nothing."""
    each = request.given("m")
    if each is None:
        return ()
    words = [word.rstrip("!").partition("+")[0] for word in each.value.split()]
    if "all" in words or "others" in words:
        request.tell(each, Fate.IGNORED, "the scheduler chooses among all nodes by what they have")
        request.ignored[each.text] = "the scheduler chooses among all nodes by what they have"
        return ()
    return tuple(dict.fromkeys(words))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= 10**6:
        raise ValueError("a number from 1 on")
    return int(text)
