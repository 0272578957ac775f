"""Jobs whose size is said in the words of Torque, Moab, Cray's PBS and NQSV."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.errors import PbsError
from hpcbatch.dialects.pbs.resource_list import ResourceRequest, split_resources
from hpcbatch.dialects.pbs.resources import Extra, Resources, read_resources
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.spec import Arrangement, Sharing
from hpcbatch.model.warn_signal import WarnSignal

GB = 1 << 30


def read(text: str, extra: Extra | None = None) -> Resources:
    return read_resources([ResourceRequest(name, value) for name, value in split_resources(text)], extra)


@pytest.mark.parametrize(
    ("text", "chunks", "arrangement"),
    [
        ("mppwidth=128", [Chunk(count=128)], Arrangement.FILL),
        ("size=12", [Chunk(count=12)], Arrangement.FILL),
        ("procs=8", [Chunk(count=8)], Arrangement.FILL),
        ("procs=8,mem=8gb", [Chunk(count=8, mem_bytes=GB)], Arrangement.FILL),
        ("procs=8,pmem=2gb", [Chunk(count=8, mem_bytes=2 * GB)], Arrangement.FILL),
        ("procs=2:gpus=1:fast", [Chunk(count=2, resources=(("ngpus", 1),), properties=("fast",))], Arrangement.FILL),
        ("procs=8,tpn=4", [Chunk(count=2, cpus=4, ranks=4)], Arrangement.SCATTER),
        ("mppwidth=48,mppnppn=24", [Chunk(count=2, cpus=24, ranks=24)], Arrangement.SCATTER),
        (
            "mppwidth=10,mppnppn=4,mppdepth=6,mppmem=1gb",
            [
                Chunk(count=2, cpus=24, ranks=4, threads=6, mem_bytes=4 * GB),
                Chunk(count=1, cpus=12, ranks=2, threads=6, mem_bytes=2 * GB),
            ],
            Arrangement.SCATTER,
        ),
        ("mppwidth=3,mppnppn=4", [Chunk(cpus=3, ranks=3)], Arrangement.SCATTER),
        (
            "EC_total_tasks=8,EC_tasks_per_node=4,EC_threads_per_task=2,EC_memory_per_task=512MB",
            [Chunk(count=2, cpus=8, ranks=4, threads=2, mem_bytes=2 * GB)],
            Arrangement.SCATTER,
        ),
        (
            "cpunum_job=76,gpunum_job=8,memsz_job=4GB,elapstim_req=1:00",
            [Chunk(cpus=76, ranks=76, mem_bytes=4 * GB, resources=(("ngpus", 8),))],
            Arrangement.SCATTER,
        ),
        ("hostlist=n1+n2", [Chunk(count=2)], Arrangement.SCATTER),
        (
            "nodes=2,ngpus=1,ib=True",
            [Chunk(count=2, resources=(("ngpus", 1),), properties=("ib",))],
            Arrangement.SCATTER,
        ),
        ("nodes=1:ppn=2:mics=1", [Chunk(cpus=2, ranks=2, resources=(("mics", 1),))], Arrangement.SCATTER),
        ("nodes=1:gpus=2:exclusive_process", [Chunk(resources=(("ngpus", 2),))], Arrangement.SCATTER),
        ("nodes=n1.site:ppn=2+n2", [Chunk(cpus=2, ranks=2, hosts=("n1.site",)), Chunk(properties=("n2",))], "scatter"),
        ("nodes=1:ppn=4,mpiprocs=2,ompthreads=2", [Chunk(cpus=4, ranks=4, threads=2)], Arrangement.SCATTER),
        ("nodes=2,ompthreads=2,mpiprocs=3", [Chunk(count=2, threads=2, ranks=3)], Arrangement.SCATTER),
        ("host=n1,ncpus=2", [Chunk(cpus=2, hosts=("n1",))], Arrangement.PACK),
        (
            "select=2:vnode=n1:ib=False:gpu_model=a100",
            [Chunk(count=2, hosts=("n1",), lacks=("ib",), words=(("gpu_model", "a100"),))],
            Arrangement.FREE,
        ),
        (
            "select=1:vmem=2gb+1:mpiprocs=2:pmem=1gb",
            [Chunk(mem_bytes=2 * GB), Chunk(ranks=2, mem_bytes=2 * GB)],
            "free",
        ),
        ("select=1:arch=cray", [Chunk(words=(("arch", "cray"),))], Arrangement.FREE),
    ],
)
def test_shapes(text: str, chunks: list[Chunk], arrangement: Arrangement) -> None:
    found = read(text)
    assert (list(found.chunks), found.arrangement) == (chunks, arrangement)
    again = read_resources([ResourceRequest(name, found.shown[name]) for name in ("select", "place")])
    assert again.chunks == found.chunks  # it is shown in PBS's own form


def test_options_that_say_how_large_a_job_is() -> None:
    assert read("cpunum_job=4", Extra(hosts=3)).chunks == (Chunk(count=3, cpus=4, ranks=4),)
    alone = read("nodes=2", Extra(is_alone=True))
    assert (alone.sharing, alone.shown["place"]) == (Sharing.EXCLUSIVE, "scatter:excl")
    tasks = (ResourceRequest("L", "tasks=2:lprocs=12:memory=32gb"), ResourceRequest("L", "tasks=1:gpus=2:place=node"))
    found = read("walltime=60", Extra(tasks=tasks))
    assert found.chunks == (Chunk(count=2, cpus=12, mem_bytes=32 * GB), Chunk(resources=(("ngpus", 2),)))
    assert found.ignored == {"-L place=node": "a chunk is not laid out within its node"}
    assert read("", Extra(tasks=(ResourceRequest("L", "lprocs=all"),))).sharing is Sharing.EXCLUSIVE


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("nodes=3,ncpus=8", {"-l ncpus=8": "it does not divide among the nodes, which say how many there are"}),
        ("select=2,mppwidth=8", {"-l mppwidth=8": "select says it"}),
        ("nodes=2,procs=8", {"-l procs=8": "nodes says it"}),
        ("mppnppn=8", {"-l mppnppn=8": "it means something beside mppwidth or procs only"}),
        ("EC_nodes=2", {"-l EC_nodes=2": "the numbers of tasks say how many nodes there are"}),
        ("EC_hyperthreads=1", {"-l EC_hyperthreads=1": "the CPUs of a job are those that its nodes count"}),
        ("soft_walltime=60", {"-l soft_walltime=60": "only the walltime ends a job"}),
        ("walltime=60,elapstim_req=70", {"-l elapstim_req=70": "walltime is given twice"}),
    ],
)
def test_what_does_not_count_is_told(text: str, ignored: dict[str, str]) -> None:
    assert read(text).ignored == ignored


@pytest.mark.parametrize(
    ("text", "properties", "alternatives", "words", "resources"),
    [
        ("feature=16core", ("16core",), (), (), ()),
        ("feature=b:a", ("a", "b"), (), (), ()),
        ("feature=a|b:c", (), (("a",), ("b", "c")), (), ()),
        ("gres=atlas1%atlas2", (), (), (("gres", "atlas1%atlas2"),), ()),
        ("gres=matlab:2+shifter", (), (), (("gres", "shifter"),), (("matlab", 2),)),
        ("gres=gpu:2", (), (), (), (("ngpus", 2),)),
        ("filesystems=home:eagle,debug", (), (), (("debug", ""), ("filesystems", "home:eagle")), ()),
        ("partition=p", (), (), (("partition", "p"),), ()),
        ("naccesspolicy=odd", (), (), (("naccesspolicy", "odd"),), ()),
        ("select=1,matlab=2", (), (), (("matlab", "2"),), ()),
    ],
)
def test_names_for_the_site_to_know(
    text: str,
    properties: tuple[str, ...],
    alternatives: tuple[tuple[str, ...], ...],
    words: tuple[tuple[str, str], ...],
    resources: tuple[tuple[str, int], ...],
) -> None:
    found = read(text)
    chunk = found.chunks[0]
    assert (chunk.properties, chunk.alternatives, found.words, chunk.resources) == (
        properties,
        alternatives,
        words,
        resources,
    )


@pytest.mark.parametrize(
    ("policy", "sharing"),
    [
        ("singlejob", Sharing.EXCLUSIVE),
        ("SINGLEUSER", Sharing.EXCLUSIVE),
        ("uniqueuser", Sharing.EXCLUSIVE),
        ("shared", Sharing.SHARED),
    ],
)
def test_access_policies(policy: str, sharing: Sharing) -> None:
    assert read(f"nodes=1,naccesspolicy={policy}").sharing is sharing


def test_signal_before_the_end() -> None:
    assert read("signal=SIGHUP@120").limits.warn_signal == WarnSignal(signal=1, before_s=120)
    assert read("signal=15@2:00").limits.warn_signal == WarnSignal(signal=15, before_s=120)
    assert read("signal=USR1").limits.warn_signal == WarnSignal(signal=10)
    for wrong in ("odd", "15@", "15@x", "0", "15@99999"):
        with pytest.raises(PbsError, match=r"Resource_List\.signal"):
            read(f"signal={wrong}")


def test_attributes_and_hosts() -> None:
    assert read("flags=ADVRES:maint").attributes == {"reservation": "maint"}
    found = read("qos=high,advres=maint,nodes=2,hostlist=n1+n2")
    assert (found.attributes, found.required_hosts) == ({"qos": "high", "reservation": "maint"}, ("n1", "n2"))


@pytest.mark.parametrize(
    ("text", "walltime_s", "cpu_time_s", "process_limits", "nice"),
    [
        ("walltime=1:00:00:00", 86400, None, (), 0),
        ("min_walltime=60,max_walltime=90", 90, None, (), 0),
        ("min_walltime=60", 60, None, (), 0),
        ("max_walltime=90,walltime=70", 70, None, (), 0),
        ("elapstim_req=1:00:00", 3600, None, (), 0),
        ("cput=1:00:00,pcput=60", None, 3600, (("cpu", 60),), 0),
        ("cputim_job=60,cputim_prc=30", None, 60, (("cpu", 30),), 0),
        ("pvmem=1gb,file=2kb,nice=5", None, None, (("as", GB), ("fsize", 2048)), 5),
        ("stacksz_prc=1mb,vmemsz_prc=2gb,pvmem=1gb", None, None, (("as", GB), ("stack", 1 << 20)), 0),
        ("coresz_prc=0,file=0,pvmem=0", None, None, (("core", 0), ("fsize", 0)), 0),
        ("nice=-5", None, None, (), -5),
    ],
)
def test_limits(
    text: str,
    walltime_s: int | None,
    cpu_time_s: int | None,
    process_limits: tuple[tuple[str, int], ...],
    nice: int,
) -> None:
    limits = read(text).limits
    assert limits[:4] == (walltime_s, cpu_time_s, process_limits, nice)


def test_a_walltime_that_may_be_lowered() -> None:
    assert read("min_walltime=60,max_walltime=90").limits.min_walltime_s == 60
    assert read("min_walltime=60,walltime=70").limits.min_walltime_s is None
    with pytest.raises(PbsError, match=r"Resource_List\.min_walltime"):
        read("min_walltime=91,max_walltime=90")
