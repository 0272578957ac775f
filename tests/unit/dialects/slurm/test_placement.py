"""Where a job may run, and what it asks for there: nodes by name, licences, sizes inside a node."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.spec import Arrangement, JobSpec, Sharing
from tests.unit.dialects.slurm.submit_parts import NOW, directives, spec, submit

GIB = 1024**3


def sizes(job: JobSpec) -> list[tuple[int, int, int]]:
    """Pods, CPUs and ranks of each chunk."""
    return [(chunk.count, chunk.cpus, chunk.ranks) for chunk in job.chunks]


def test_nodelist() -> None:
    found = spec("-w", "n[1-3],n1", "-x", "n9,m[1-2]")
    assert (found.required_hosts, found.excluded_hosts) == (("n1", "n2", "n3"), ("n9", "m1", "m2"))
    assert (sizes(found), found.arrangement) == ([(3, 1, 1)], Arrangement.SCATTER)
    assert found.attributes["nodes"] == "3-3"
    assert sizes(spec("-N4-6", "-w", "n1")) == [(4, 1, 1)]
    assert spec("-N1-6", "-w", "n[1-2]").attributes["nodes"] == "2-6"
    assert sizes(spec("-n", "8", "-w", "n1")) == [(1, 8, 8)]
    assert sizes(spec("-w", "n[1-2]", "--ntasks-per-node=4")) == [(2, 4, 4)]
    fewer = submit("-n1", "-w", "n[1-2]").submission
    assert (fewer.spec.required_hosts, sizes(fewer.spec)) == (("n1",), [(1, 1, 1)])
    assert fewer.notes[0].startswith("sbatch: Warning: can't run 1 processes on 2 nodes")
    assert spec("-w", "n1", script=directives("-w n2 -F /f")).required_hosts == ("n1",)


def test_nodefile() -> None:
    files = {"hosts": b"n1\nn2,n3\n", "./x": b"n9\n"}

    def reader(name: str | None) -> tuple[str | None, bytes]:
        if name not in files:
            raise PermissionError(13, "Permission denied")
        return name, files[name]

    found = submit("-F", "hosts", "-x", "./x", reader=reader).submission.spec
    assert (found.required_hosts, found.excluded_hosts, sizes(found)) == (("n1", "n2", "n3"), ("n9",), [(3, 1, 1)])
    with pytest.raises(SlurmUsageError) as error:
        submit("-w", "/none", reader=reader)
    assert error.value.text == "sbatch: error: slurm_allocate_resources error opening file /none, Permission denied"
    arbitrary = submit("-F", "f", "-m", "arbitrary", reader=lambda name: (name, b"n1*3\nn2\n")).submission.spec
    assert sizes(arbitrary) == [(2, 2, 2)]


def test_export_file() -> None:
    found = submit("--export-file=f", reader=lambda name: (name, b"A=1\0B=x=y\0C\0")).submission
    assert (found.environment, found.export_none) == ({"A": "1", "B": "x=y"}, False)
    with pytest.raises(SlurmUsageError, match="Could not open user environment file f"):
        submit(script=directives("--export-file=f"))


def test_partitions() -> None:
    found = spec("-p", "a,b,,c,a")
    assert (found.queue, found.other_queues) == ("a", ("b", "c"))
    assert spec("-p", "x", script=directives("-p a,b")).other_queues == ()


def test_memory_and_disk() -> None:
    found = spec("--mem=0", "-N2", "--tmp=2G")
    assert (found.whole_node_mem, found.chunks[0].mem_bytes, found.chunks[0].tmp_bytes) == (True, None, 2 * GIB)
    assert spec("--mem=0", "-n4").whole_node_mem
    assert not spec("--mem-per-cpu=0").whole_node_mem
    assert spec("--mem-per-cpu=0").chunks[0].mem_bytes is None


def test_licenses() -> None:
    assert spec("-L", "b:2,a").licenses == (("a", 1), ("b", 2))
    with pytest.raises(NotSupportedError, match="one of several licences"):
        submit("-L", "a|b")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-N2 --ntasks-per-node=4 --hint=nomultithread", [(2, 4, 4)]),
        ("-N2 --hint=nomultithread", [(2, 1, 1)]),
        ("-N1 --threads-per-core=1 -c8", [(1, 8, 1)]),
        ("-N1 -B 1:8:1", [(1, 8, 8)]),
        ("-B 2:4", [(8, 1, 1)]),
        ("-N2 --cores-per-socket=4 --sockets-per-node=2", [(2, 8, 8)]),
        ("--cores-per-socket=4", [(1, 1, 1)]),
        ("-n4 -N2 --ntasks-per-socket=1 --ntasks-per-core=1", [(2, 2, 2)]),
        ("-N2 --mincpus=16", [(2, 16, 1)]),
        ("-n8 --mincpus=4", [(2, 4, 4)]),
        ("-n16 -O -c2", [(1, 2, 16)]),
        ("-n16 -N2 -O", [(2, 1, 8)]),
        ("-G8 -N2 --ntasks-per-gpu=2", [(2, 8, 8)]),
        ("--gres=gpu:4 -N2 --ntasks-per-gpu=1", [(2, 4, 4)]),
        ("-n8 -N2 --ntasks-per-gpu=2", [(2, 4, 4)]),
        ("-N2 --ntasks-per-tres=2", [(2, 2, 2)]),
        ("-N2 --gpus-per-socket=2 --sockets-per-node=2 -n2", [(2, 1, 1)]),
        ("-N3 -C a*1", [(1, 1, 1), (2, 1, 1)]),
        ("-C [a*1&b*2]", [(1, 1, 1), (2, 1, 1)]),
        ("-n6 -C [a*1&b*2]", [(1, 2, 2), (2, 2, 2)]),
    ],
)
def test_size(words: str, expected: list[tuple[int, int, int]]) -> None:
    found = spec(*words.split())
    assert sizes(found) == expected
    if "ntasks" in found.attributes:
        assert int(found.attributes["ntasks"]) == sum(count * ranks for count, _, ranks in expected)


def test_gpus_of_tasks_and_sockets() -> None:
    assert spec("-n8", "-N2", "--ntasks-per-gpu=2").chunks[0].resources == (("gpu", 2),)
    found = spec("-N2", "-n2", "--gpus-per-socket=a100:2", "--sockets-per-node=2")
    assert found.chunks[0].resources == (("gpu:a100", 4),)
    assert found.attributes["tres_per_socket"] == "gres:gpu:a100:2"


def test_constraints() -> None:
    (first, second) = spec("-N3", "-C", "fast*2&x").chunks
    assert (first.count, first.properties, second.count, second.properties) == (2, ("fast", "x"), 1, ("x",))
    (chunk,) = spec("-C", "[a|b]").chunks
    assert (chunk.properties, chunk.alternatives, chunk.same_alternative) == ((), (("a",), ("b",)), True)
    assert {c.alternatives for c in spec("-n4", "-C", "a|b").chunks} == {(("a",), ("b",))}
    with pytest.raises(SlurmUsageError, match="Requested node configuration is not available"):
        spec("-N2", "-C", "[a*2&b*2]")


def test_what_the_runner_binds_by() -> None:
    words = "-N1 -n2 --hint=compute_bound --ntasks-per-socket=1 -m block:cyclic".split()
    attributes = spec(*words).attributes
    assert attributes["hint"] == "compute_bound"
    assert (attributes["ntasks_per_socket"], attributes["distribution"]) == ("1", "block:cyclic")
    attributes = spec("-N1", "-B", "1:2:1", "--threads-per-core=1", "--ntasks-per-core=2").attributes
    assert (attributes["extra_node_info"], attributes["threads_per_core"]) == ("1:2:1", "1")
    assert attributes["ntasks_per_core"] == "2"


def test_a_hint_gives_way() -> None:
    found = spec("--hint=nomultithread", "--ntasks-per-core=1").attributes
    assert ("hint" in found, found["ntasks_per_core"]) == (False, "1")
    assert "hint" not in spec("--threads-per-core=2", environ={"SLURM_HINT": "nomultithread"}).attributes
    found = spec("--hint=nomultithread", environ={"SBATCH_THREADS_PER_CORE": "2"}).attributes
    assert (found["hint"], "threads_per_core" in found) == ("nomultithread", False)


def test_limits_of_processes() -> None:
    limits = {"stack": 8 << 20, "core": 0, "nofile": 1024, "as": -1}
    everything = submit("--propagate", limits=limits).submission.spec.process_limits
    assert everything == (("core", 0), ("nofile", 1024), ("stack", 8 << 20))
    found = submit("--propagate=STACK,CORE", limits=limits).submission.spec
    assert (found.process_limits, found.attributes["propagate"]) == ((("core", 0), ("stack", 8 << 20)), "stack,core")
    assert spec("--propagate=NONE").attributes["propagate"] == ""
    assert submit(limits=limits).submission.spec.process_limits == ()


def test_other_options() -> None:
    found = spec("--deadline=now+2hours", "-i", "in/%j", "--exclusive=mcs", "--container-workdir=/c")
    assert found.deadline == (NOW + timedelta(hours=2)).replace(microsecond=0)
    assert (found.stdin, found.work_dir, found.sharing) == ("/c/in/%j", "/c", Sharing.EXCLUSIVE)
    assert spec("--container-workdir=/c", "-D", "/d").work_dir == "/d"
    assert spec("-i", "none").stdin is None
    kept = spec("--reservation=r", "-M", "other").attributes
    assert (kept["reservation"], kept["clusters"]) == ("r", "other")
    assert submit("--test-only").test_only
