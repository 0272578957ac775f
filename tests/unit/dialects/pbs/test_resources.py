from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.errors import PbsError, describe
from hpcbatch.dialects.pbs.resource_list import ResourceRequest, split_resources
from hpcbatch.dialects.pbs.resources import Resources, read_resources
from hpcbatch.dialects.pbs.select import parse_place, parse_select
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import MAX_CHUNKS, Chunk
from hpcbatch.model.spec import Arrangement, Sharing

GB = 1 << 30


def read(*texts: str) -> Resources:
    requests = [ResourceRequest(name, value) for text in texts for name, value in split_resources(text)]
    return read_resources(requests)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("walltime=1:0:0,mem=4gb", [("walltime", "1:0:0"), ("mem", "4gb")]),
        ("wd", [("wd", "")]),
        ("wd,mem=1", [("wd", ""), ("mem", "1")]),
        ("a = 1, b = 2", [("a", "1"), ("b", "2")]),
        ("a=1 b=2", [("a", "1"), ("b", "2")]),
        ("a=\"x,y\",b='p q'", [("a", "x,y"), ("b", "p q")]),
        ('a=x"\'"y', [("a", "x'y")]),
        ("a=", [("a", "")]),
        ("a=,b=1", [("a", ""), ("b", "1")]),
        ("", []),
    ],
)
def test_resource_lists(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(split_resources(text)) == expected


def test_other_blanks_are_text() -> None:
    assert list(split_resources("ncpus=1\xa0mem=2,\xa0x=1")) == [("ncpus", "1\xa0mem=2"), ("\xa0x", "1")]
    with pytest.raises(PbsError, match=r"Illegal attribute or resource value Resource_List\.ncpus"):
        read("ncpus=\xa01")


@pytest.mark.parametrize("text", ["=1", ",a=1", "a=1,", "a=1,,b=2", "a=1 ,b=2", 'a="x', "a=x&y", "a=1\x01", "  ,"])
def test_bad_resource_lists(text: str) -> None:
    with pytest.raises(HpcBatchError):
        list(split_resources(text))


def chunk(
    count: int = 1,
    cpus: int = 1,
    ranks: int = 1,
    mem: int | None = None,
    threads: int | None = None,
    resources: dict[str, int] | None = None,
    properties: tuple[str, ...] = (),
) -> Chunk:
    more = tuple(sorted((resources or {}).items()))
    return Chunk(
        count=count, cpus=cpus, ranks=ranks, mem_bytes=mem, threads=threads, resources=more, properties=properties
    )


@pytest.mark.parametrize(
    ("texts", "chunks", "shown"),
    [
        ((), [chunk()], {"ncpus": "1", "nodect": "1", "place": "pack", "select": "1:ncpus=1"}),
        (
            ("select=2:ncpus=36:mpiprocs=36:ompthreads=1", "walltime=01:00"),
            [chunk(2, 36, 36, threads=1)],
            {
                "mpiprocs": "72",
                "ncpus": "72",
                "nodect": "2",
                "place": "free",
                "select": "2:ncpus=36:mpiprocs=36:ompthreads=1",
                "walltime": "00:01:00",
            },
        ),
        (("select=4",), [chunk(4)], {"ncpus": "4", "nodect": "4", "place": "free", "select": "4:ncpus=1"}),
        (
            ("select=ncpus=2",),
            [chunk(1, 2)],
            {"ncpus": "2", "nodect": "1", "place": "free", "select": "1:ncpus=2"},
        ),
        (
            ("select=1:ncpus=2:mpiprocs=2+1:ncpus=1", "place=scatter"),
            [chunk(1, 2, 2), chunk(1, 1, 1)],
            {
                "mpiprocs": "2",
                "ncpus": "3",
                "nodect": "2",
                "place": "scatter",
                "select": "1:ncpus=2:mpiprocs=2+1:ncpus=1",
            },
        ),
        (
            ("select=2:mem=20GB+1:ncpus=0:mem=512mb",),
            [chunk(2, 1, 1, 20 * GB), chunk(1, 0, 0, GB // 2)],
            {
                "mem": "41472mb",
                "ncpus": "2",
                "nodect": "3",
                "place": "free",
                "select": "2:mem=20GB:ncpus=1+1:ncpus=0:mem=512mb",
            },
        ),
        (
            ("ncpus=8,mem=4gb",),
            [chunk(1, 8, 1, 4 * GB)],
            {"mem": "4gb", "ncpus": "8", "nodect": "1", "place": "pack", "select": "1:ncpus=8:mem=4gb"},
        ),
        (
            ("mem=4gb",),
            [chunk(1, 1, 1, 4 * GB)],
            {"mem": "4gb", "ncpus": "1", "nodect": "1", "place": "pack", "select": "1:ncpus=1:mem=4gb"},
        ),
        (
            ("nodes=1:ppn=2",),
            [chunk(1, 2, 2)],
            {
                "mpiprocs": "2",
                "ncpus": "2",
                "nodect": "1",
                "nodes": "1:ppn=2",
                "place": "scatter",
                "select": "1:ncpus=2:mpiprocs=2",
            },
        ),
        (
            ("nodes=4",),
            [chunk(4)],
            {"ncpus": "4", "nodect": "4", "nodes": "4", "place": "scatter", "select": "4:ncpus=1"},
        ),
        (
            ("nodes=18:ppn=8+1:ppn=6",),
            [chunk(18, 8, 8), chunk(1, 6, 6)],
            {
                "mpiprocs": "150",
                "ncpus": "150",
                "nodect": "19",
                "nodes": "18:ppn=8+1:ppn=6",
                "place": "scatter",
                "select": "18:ncpus=8:mpiprocs=8+1:ncpus=6:mpiprocs=6",
            },
        ),
        (
            ("nodes=2:ppn=2:ncpus=3",),
            [chunk(2, 6, 2)],
            {
                "mpiprocs": "4",
                "ncpus": "12",
                "nodect": "2",
                "nodes": "2:ppn=2:ncpus=3",
                "place": "scatter",
                "select": "2:ncpus=6:mpiprocs=2",
            },
        ),
        (
            ("nodes=2:ppn=2,mem=4gb",),
            [chunk(2, 2, 2, 2 * GB)],
            {
                "mem": "4gb",
                "mpiprocs": "4",
                "ncpus": "4",
                "nodect": "2",
                "nodes": "2:ppn=2",
                "place": "scatter",
                "select": "2:ncpus=2:mem=2097152kb:mpiprocs=2",
            },
        ),
        (
            ("nodes=2,ncpus=8",),
            [chunk(2, 4)],
            {"ncpus": "8", "nodect": "2", "nodes": "2", "place": "scatter", "select": "2:ncpus=4"},
        ),
        (
            ("nodes=2#excl",),
            [chunk(2)],
            {"ncpus": "2", "nodect": "2", "nodes": "2#excl", "place": "scatter:excl", "select": "2:ncpus=1"},
        ),
        (
            ("nodes=2+1#ppn=2",),
            [chunk(2, 2, 2), chunk(1, 2, 2)],
            {
                "mpiprocs": "6",
                "ncpus": "6",
                "nodect": "3",
                "nodes": "2+1#ppn=2",
                "place": "scatter",
                "select": "2:ncpus=2:mpiprocs=2+1:ncpus=2:mpiprocs=2",
            },
        ),
        (
            ("select=2:ncpus=4:ngpus=2+1:ncpus=1:ngpus=0",),
            [chunk(2, 4, resources={"ngpus": 2}), chunk()],
            {
                "ncpus": "9",
                "ngpus": "4",
                "nodect": "3",
                "place": "free",
                "select": "2:ncpus=4:ngpus=2+1:ncpus=1:ngpus=0",
            },
        ),
        (
            ("ngpus=2,ncpus=12", "mem=4gb", "foo= 3 "),
            [chunk(1, 12, 1, 4 * GB, resources={"foo": 3, "ngpus": 2})],
            {
                "foo": "3",
                "mem": "4gb",
                "ncpus": "12",
                "ngpus": "2",
                "nodect": "1",
                "place": "pack",
                "select": "1:ncpus=12:mem=4gb:ngpus=2:foo=3",
            },
        ),
        (
            ("select=1:haswell=True:ib=t:arch=linux:ncpus=2",),
            [chunk(1, 2, properties=("haswell", "ib"))],
            {"ncpus": "2", "nodect": "1", "place": "free", "select": "1:haswell=True:ib=t:arch=linux:ncpus=2"},
        ),
        (
            ("nodes=2:ppn=4:haswell:gpus=2:shared:16core+1:gpus=1",),
            [chunk(2, 4, 4, resources={"ngpus": 2}, properties=("16core", "haswell")), chunk(resources={"ngpus": 1})],
            {
                "mpiprocs": "8",
                "ncpus": "9",
                "ngpus": "5",
                "nodect": "3",
                "nodes": "2:ppn=4:haswell:gpus=2:shared:16core+1:gpus=1",
                "place": "scatter",
                "select": "2:ncpus=4:haswell=True:16core=True:mpiprocs=4:ngpus=2+1:ncpus=1:ngpus=1",
            },
        ),
        (
            ("nodes=1:shared",),
            [chunk(properties=("shared",))],
            {"ncpus": "1", "nodect": "1", "nodes": "1:shared", "place": "scatter", "select": "1:ncpus=1:shared=True"},
        ),
        (
            ("walltime=1:00:00", "walltime=2:00:00"),
            [chunk()],
            {"ncpus": "1", "nodect": "1", "place": "pack", "select": "1:ncpus=1", "walltime": "02:00:00"},
        ),
    ],
    ids=[
        "nothing",
        "mpi",
        "count",
        "no-count",
        "hetero",
        "mem-sums",
        "ncpus-mem",
        "mem",
        "ppn",
        "nodes",
        "nodes-plus",
        "nodes-cpp",
        "nodes-mem",
        "nodes-ncpus",
        "excl",
        "global",
        "gpus",
        "gpus-job-wide",
        "properties",
        "nodes-gpus",
        "property-like-a-mode",
        "last-of-a-level",
    ],
)
def test_chunks_and_what_is_shown(texts: tuple[str, ...], chunks: list[Chunk], shown: dict[str, str]) -> None:
    resources = read(*texts)
    assert list(resources.chunks) == chunks
    assert dict(resources.shown) == shown


@pytest.mark.parametrize(
    ("text", "arrangement", "sharing"),
    [
        ("free", Arrangement.FREE, Sharing.SHARED),
        ("pack", Arrangement.PACK, Sharing.SHARED),
        ("scatter:excl", Arrangement.SCATTER, Sharing.EXCLUSIVE),
        ("exclhost:vscatter", Arrangement.SCATTER, Sharing.EXCLUSIVE),
        ("SCATTER:Shared", Arrangement.SCATTER, Sharing.SHARED),
        ("excl", Arrangement.FREE, Sharing.EXCLUSIVE),
    ],
)
def test_place(text: str, arrangement: Arrangement, sharing: Sharing) -> None:
    resources = read("select=2", f"place={text}")
    assert (resources.arrangement, resources.sharing, resources.shown["place"]) == (arrangement, sharing, text)


@pytest.mark.parametrize(
    ("texts", "text", "code"),
    [
        (("ngpus=",), "Unknown resource Resource_List.ngpus", 187),
        (("ngpus=-1",), "Unknown resource Resource_List.ngpus", 187),
        (("ö=1",), "Unknown resource Resource_List.ö", 187),
        (("walltime=abc",), "Illegal attribute or resource value Resource_List.walltime", 166),
        (("walltime=",), "Illegal attribute or resource value Resource_List.walltime", 166),
        (("walltime=0",), "Illegal attribute or resource value Resource_List.walltime", 166),
        (("mem=1.5gb",), "Illegal attribute or resource value Resource_List.mem", 166),
        (("ncpus=-1",), "Illegal attribute or resource value Resource_List.ncpus", 166),
        (("select=1:ncpus=abc",), "Illegal attribute or resource value select.ncpus", 166),
        (("select=1:mem=abc",), "Illegal attribute or resource value select.mem", 166),
        (("select=1:ompthreads=0",), "Illegal attribute or resource value select.ompthreads", 166),
        (("select=",), "Illegal attribute or resource value Resource_List.select", 166),
        (("select=0:ncpus=1",), "Illegal attribute or resource value Resource_List.select", 166),
        (("select=1:ncpus",), "Illegal attribute or resource value Resource_List.select", 166),
        (("select=1:",), "Illegal attribute or resource value Resource_List.select", 166),
        (("select=1+",), "Illegal attribute or resource value Resource_List.select", 166),
        ((f"select={MAX_CHUNKS + 1}",), "Illegal attribute or resource value Resource_List.select", 166),
        (("select=1", "place=scatter:pack"), "Illegal attribute or resource value Resource_List.place", 166),
        (("nodes=0",), "Illegal attribute or resource value Resource_List.nodes", 166),
        (("nodes=2:ppn=x",), "Illegal attribute or resource value Resource_List.nodes", 166),
        (
            ("select=1:ncpus=1:ncpus=2",),
            "duplicated resource within a section of a select specification, resource is: ncpus",
            12,
        ),
        (("select=1:walltime=10",), 'Resource invalid in "select" specification: walltime', 4),
        (("select=1:cput=10",), 'Resource invalid in "select" specification: cput', 4),
        (("select=1:host=a/b",), "Illegal attribute or resource value select.host", 166),
        (("nodect=2",), "Cannot set attribute, read only or insufficient permission  Resource_List.nodect", 155),
        (("cput=0",), "Illegal attribute or resource value Resource_List.cput", 166),
        (("nice=20",), "Illegal attribute or resource value Resource_List.nice", 166),
        (("mppwidth=0",), "Illegal attribute or resource value Resource_List.mppwidth", 166),
        (("mppwidth=8,mppnppn=0",), "Illegal attribute or resource value Resource_List.mppnppn", 166),
        (("feature=a||b",), "Illegal attribute or resource value Resource_List.feature", 166),
        (("hostlist=+",), "Illegal attribute or resource value Resource_List.hostlist", 166),
        (("select=1:ngpus=a",), "Unknown resource: ngpus", 187),
        (
            ("select=1:ngpus=1:ngpus=1",),
            "duplicated resource within a section of a select specification, resource is: ngpus",
            12,
        ),
        (("select=1", "ngpus=1"), '"-lresource=" cannot be used with "select" or "place", resource is: ngpus', 5),
        (("nodes=2:ppn=2", "select=1"), "Cannot be used with select or place: nodes", 6),
        (("nodes=2", "place=scatter"), "Cannot be used with select or place: nodes", 6),
        (
            ("select=1", "ncpus=1", "mem=1gb"),
            '"-lresource=" cannot be used with "select" or "place", resource is: ncpus',
            5,
        ),
        (("place=scatter",), 'Cannot have "place" without "select"', 7),
    ],
)
def test_pbs_says_what_is_wrong(texts: tuple[str, ...], text: str, code: int) -> None:
    with pytest.raises(PbsError) as caught:
        read(*texts)
    assert describe(caught.value, "qsub") == (f"qsub: {text}", code)


@pytest.mark.parametrize(
    ("text", "mem", "shown", "noted"),
    [
        ("nodes=1:ppn=4,pmem=1gb", [4 * GB], {"pmem": "1gb", "mem": "4194304kb"}, ""),
        ("nodes=2:ppn=4+1:ppn=2,pmem=512mb", [2 * GB, GB], {"pmem": "512mb", "mem": "5242880kb"}, ""),
        ("nodes=2,pmem=1000000b", [977 << 10], {"pmem": "1000000b", "mem": "1954kb"}, ""),
        ("ncpus=4,pmem=1gb", [GB], {"pmem": "1gb", "mem": "1048576kb", "select": "1:ncpus=4:mem=1048576kb"}, ""),
        ("pmem=1gb", [GB], {"pmem": "1gb", "mem": "1048576kb"}, ""),
        ("ncpus=4,mpiprocs=4,pmem=1gb", [4 * GB], {"pmem": "1gb"}, ""),
        ("select=2:ncpus=2:mpiprocs=2+1:mem=3gb,pmem=1gb", [2 * GB, 3 * GB], {"pmem": "1gb", "mem": "7340032kb"}, ""),
        ("select=2,pmem=1gb", [GB], {"select": "2:mem=1048576kb:ncpus=1"}, ""),
        ("nodes=1:ppn=9,pvmem=6g", [54 * GB], {"pvmem": "6gb"}, ""),
        ("nodes=2:ppn=2,vmem=4gb", [2 * GB], {"vmem": "4gb", "mem": "4194304kb"}, ""),
        ("mem=10gb,pmem=10gb,vmem=12gb,pvmem=12gb", [10 * GB], {"mem": "10gb", "pvmem": "12gb"}, "vmem mem"),
        ("nodes=1:ppn=8,pmem=1gb,pvmem=2gb", [8 * GB], {"pvmem": "2gb"}, ""),
        ("nodes=1:ppn=8,mem=2gb,pmem=1gb", [2 * GB], {"mem": "2gb", "pmem": "1gb"}, ""),
    ],
)
def test_limits_of_processes(text: str, mem: list[int], shown: dict[str, str], noted: str) -> None:
    found = read(text)
    assert [chunk.mem_bytes for chunk in found.chunks] == mem
    assert {name: found.shown[name] for name in shown} == shown
    *names, by = noted.split() or [""]
    assert [option.partition("=")[0] for option in found.ignored] == [f"-l {name}" for name in names]
    assert all(reason.startswith(f"{by} says") for reason in found.ignored.values())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("pmem=1x", "Illegal attribute or resource value Resource_List.pmem"),
        ("nodes=1,mem=1gb,pvmem=x", "Illegal attribute or resource value Resource_List.pvmem"),
        ("select=1,vmem=1gb", '"-lresource=" cannot be used with "select" or "place", resource is: vmem'),
        ("nodes=1:ppn=9999,pmem=1000000tb", "Illegal attribute or resource value select.mem"),
    ],
)
def test_wrong_limits_of_processes(text: str, error: str) -> None:
    with pytest.raises(PbsError) as caught:
        read(text)
    assert str(caught.value) == error


values = st.one_of(st.integers(0, 99).map(str), st.sampled_from(["4gb", "1kw", "x"]), st.text(max_size=4))
names = st.sampled_from(
    "ncpus mem mpiprocs ompthreads select nodes place walltime foo ngpus wd mppwidth mppnppn procs pvmem feature gres "
    "cpunum_job host nice".split(" ")
)


@given(st.lists(st.tuples(names, values), max_size=4))
def test_any_resources_are_read_or_refused(pairs: list[tuple[str, str]]) -> None:
    try:
        resources = read_resources([ResourceRequest(name, value) for name, value in pairs])
    except HpcBatchError:
        return
    assert sum(c.count for c in resources.chunks) == int(resources.shown["nodect"])
    assert sum(c.count * c.cpus for c in resources.chunks) == int(resources.shown["ncpus"])


@given(st.text())
def test_any_text_is_a_resource_list_or_an_error(text: str) -> None:
    for parse in (split_resources, parse_select, parse_place, lambda t: read(f"nodes={t}"), read):
        try:
            list(parse(text)) if parse is split_resources else parse(text)
        except HpcBatchError:
            pass


@given(
    st.lists(
        st.tuples(st.integers(1, 99), st.integers(0, 64), st.integers(0, 64), st.none() | st.integers(1, 99)),
        min_size=1,
        max_size=5,
    )
)
def test_select_that_is_shown_reads_as_the_same(parts: list[tuple[int, int, int, int | None]]) -> None:
    text = "+".join(
        f"{n}:ncpus={cpus}:mpiprocs={ranks}" + (f":mem={mem}gb" if mem is not None else "")
        for n, cpus, ranks, mem in parts
    )
    first = read_resources([ResourceRequest("select", text)])
    assert first.shown["select"] == text
    assert first == read_resources([ResourceRequest("select", first.shown["select"])])


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 4)), min_size=1, max_size=4))
def test_nodes_become_chunks_with_as_many_processes(parts: list[tuple[int, int, int]]) -> None:
    resources = read("nodes=" + "+".join(f"{n}:ppn={p}:ncpus={c}" for n, p, c in parts))
    assert sum(c.count * c.ranks for c in resources.chunks) == sum(n * p for n, p, _ in parts)
    assert sum(c.count * c.cpus for c in resources.chunks) == sum(n * p * c for n, p, c in parts)
