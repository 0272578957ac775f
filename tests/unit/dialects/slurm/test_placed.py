"""What is known of a job that is about to run: its output files, its variables, its node file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.environment import environment, nodefile, runs
from hpcbatch.dialects.slurm.output import input_file, output_files
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import PlacedJob, PlacedPod
from hpcbatch.model.spec import JobSpec, Output
from tests.unit.dialects.slurm.jobs import recorded

SPEC = JobSpec(
    dialect=Dialect.SLURM, name="env.sh", work_dir="/home/tester", submit_dir="/home/tester", submit_host="vm", umask=2
)
JOB = PlacedJob(
    job_id=117,
    spec=SPEC,
    queue="debug",
    pods=(PlacedPod(host="vm", chunk=Chunk()),),
    owner="tester",
    uid=1002,
    gid=1002,
    home="/home/tester",
    cluster="real",
)
PODS = tuple(
    PlacedPod(host=f"job-117-{name}", chunk=Chunk(cpus=cpus, ranks=ranks))
    for name, cpus, ranks in (("mpimaster-0", 4, 2), ("mpiworker-0", 4, 2), ("mpiworker-1", 2, 1))
)


def test_recorded_environment() -> None:
    expected = dict(line.split("=", 1) for line in recorded("environment.txt").splitlines())
    # The shell sets PWD, the runner the process id; there is no configuration file and no federation.
    for name in ("PWD", "SLURM_TASK_PID", "SLURM_CONF", "SLURM_WORKING_CLUSTER"):
        del expected[name]
    assert environment(JOB) == expected


def test_several_nodes() -> None:
    found = environment(replace(JOB, pods=PODS))
    assert found["SLURM_JOB_NODELIST"] == found["SLURM_NODELIST"] == "job-117-mpimaster-0,job-117-mpiworker-[0-1]"
    assert found["SLURM_JOB_NUM_NODES"] == found["SLURM_NNODES"] == "3"
    assert found["SLURM_TASKS_PER_NODE"] == "2(x2),1"
    assert found["SLURM_JOB_CPUS_PER_NODE"] == "4(x2),2"
    assert (found["SLURM_CPUS_ON_NODE"], found["SLURMD_NODENAME"]) == ("4", "job-117-mpimaster-0")
    assert nodefile(replace(JOB, pods=PODS)).split() == [p.host for p in PODS for _ in range(p.chunk.ranks)]


HETEROGENEOUS = {
    "het_size": "2",
    "ntasks": "3",
    "het_0_ntasks": "3",
    "het_1_cpus_per_task": "2",
    "het_1_partition": "gpu",
    "het_1_ntasks": "2",
}


def test_components() -> None:
    """SLURM_* is the first component's; all have the job's id, since they are one job."""
    chunks = (Chunk(cpus=2, ranks=2), Chunk(ranks=1), Chunk(cpus=4, ranks=2, component=1))
    pods = tuple(PlacedPod(host=f"n{index}", chunk=chunk) for index, chunk in enumerate(chunks))
    found = environment(replace(JOB, spec=replace(SPEC, attributes=HETEROGENEOUS), pods=pods))
    assert (found["SLURM_JOB_NODELIST"], found["SLURM_NNODES"], found["SLURM_NTASKS"]) == ("n[0-1]", "2", "3")
    assert (found["SLURM_TASKS_PER_NODE"], found["SLURM_JOB_CPUS_PER_NODE"]) == ("2,1", "2,1")
    assert found["SLURM_HET_SIZE"] == found["SLURM_PACK_SIZE"] == "2"
    second = {
        name.removesuffix("_HET_GROUP_1"): value for name, value in found.items() if name.endswith("_HET_GROUP_1")
    }
    assert second == {
        "SLURM_CPUS_PER_TASK": "2",
        "SLURM_JOB_CPUS_PER_NODE": "4",
        "SLURM_JOB_ID": "117",
        "SLURM_JOB_NAME": "env.sh",
        "SLURM_JOB_NODELIST": "n2",
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_JOB_PARTITION": "gpu",
        "SLURM_JOB_QOS": "normal",
        "SLURM_NODE_ALIASES": "(null)",
        "SLURM_NPROCS": "2",
        "SLURM_NTASKS": "2",
        "SLURM_TASKS_PER_NODE": "2",
    }
    assert {name for name in found if "_PACK_GROUP_" in name} == {
        name.replace("HET", "PACK") for name in found if "_HET_GROUP_" in name
    }


OPTIONAL = [
    ({"reservation": "r"}, {"SLURM_JOB_RESERVATION": "r"}),
    ({"overcommit": "1"}, {"SLURM_OVERCOMMIT": "1"}),
    ({"ntasks_per_gpu": "2"}, {"SLURM_NTASKS_PER_GPU": "2"}),
    ({"gpus_per_socket": "2"}, {"SLURM_GPUS_PER_SOCKET": "2"}),
    ({"mem_per_node_mb": "0"}, {"SLURM_MEM_PER_NODE": "0"}),
    ({"distribution": "cyclic:block"}, {"SLURM_DISTRIBUTION": "cyclic:block"}),
    ({"distribution": "plane=4"}, {"SLURM_DISTRIBUTION": "plane", "SLURM_DIST_PLANESIZE": "4"}),
    ({"hint": "nomultithread"}, {"SLURM_HINT": "nomultithread"}),
    ({"threads_per_core": "1"}, {"SLURM_THREADS_PER_CORE": "1"}),
    ({"ntasks": "5"}, {"SLURM_NTASKS": "5", "SLURM_NPROCS": "5"}),
    ({"ntasks_per_node": "2"}, {"SLURM_NTASKS_PER_NODE": "2", "SLURM_NTASKS": "5", "SLURM_NPROCS": "5"}),
    ({"cpus_per_task": "2"}, {"SLURM_CPUS_PER_TASK": "2"}),
    ({"mem_per_node_mb": "500"}, {"SLURM_MEM_PER_NODE": "500"}),
    ({"mem_per_cpu_mb": "50"}, {"SLURM_MEM_PER_CPU": "50"}),
    ({"cpus_per_gpu": "4"}, {"SLURM_CPUS_PER_GPU": "4"}),
    ({"qos": "long"}, {}),
    ({"mem_per_gpu_mb": "50"}, {"SLURM_MEM_PER_GPU": "50"}),
    ({"open_mode": "a"}, {"SLURM_OPEN_MODE": "a"}),
    ({"export": "ALL"}, {}),
    ({"export": "NONE"}, {"SLURM_EXPORT_ENV": "NONE", "SLURM_GET_USER_ENV": "1"}),
    ({"export": "X"}, {"SLURM_EXPORT_ENV": "X", "SLURM_GET_USER_ENV": "1"}),
    ({"export": "ALL,X=***"}, {"SLURM_GET_USER_ENV": "1"}),
    ({"comment": "x"}, {}),
    ({"get_user_env": "1"}, {"SLURM_GET_USER_ENV": "1"}),
]


@pytest.mark.parametrize(("attributes", "variables"), OPTIONAL, ids=[str(o[0]) for o in OPTIONAL])
def test_only_when_the_option_was_given(attributes: dict[str, str], variables: dict[str, str]) -> None:
    job = replace(JOB, pods=PODS)
    plain, found = environment(job), environment(replace(job, spec=replace(SPEC, attributes=attributes)))
    assert {name: value for name, value in found.items() if name not in plain} == variables


def test_gpus() -> None:
    pods = tuple(replace(pod, chunk=replace(pod.chunk, resources=(("gpu:a100", 3), ("lscratch", 9)))) for pod in PODS)
    attributes = {"gpus": "a100:9", "gpus_per_node": "a100:3", "gpus_per_task": "1"}
    plain = environment(replace(JOB, pods=PODS))
    found = environment(replace(JOB, pods=pods, spec=replace(SPEC, attributes=attributes)))
    assert {name: value for name, value in found.items() if name not in plain} == {
        "SLURM_GPUS": "a100:9",
        "SLURM_GPUS_PER_NODE": "a100:3",
        "SLURM_GPUS_PER_TASK": "1",
        "SLURM_GPUS_ON_NODE": "3",
        "SLURM_JOB_GPUS": "0,1,2",
    }
    many = PlacedPod(host="vm", chunk=Chunk(resources=(("gpu", 2**62),)))
    assert environment(replace(JOB, pods=(many,))).keys() == plain.keys()


def test_licenses_and_all_memory() -> None:
    pods = (PlacedPod(host="vm", chunk=Chunk(mem_bytes=3 << 30)),)
    asked = replace(SPEC, licenses=(("a", 1), ("b", 2)), attributes={"mem_per_node_mb": "0"})
    found = environment(replace(JOB, spec=asked, pods=pods))
    assert (found["SLURM_JOB_LICENSES"], found["SLURM_MEM_PER_NODE"]) == ("a:1,b:2", "3072")


def test_account_and_restart() -> None:
    found = environment(replace(JOB, spec=replace(SPEC, account="acc"), run_count=3))
    assert (found["SLURM_JOB_ACCOUNT"], found["SLURM_RESTART_COUNT"]) == ("acc", "2")


PATTERNS = [
    (None, "/home/tester/slurm-117.out"),
    ("/x/%j", "/x/117"),
    ("%x-%j.out", "/home/tester/n m-117.out"),
    (
        "p-%s-%J-%t-%n-%a-%b-%r-%S-%4j-%03A-%5x-%%-%z-%12j-%N-%u-%q-%",
        "/home/tester/p-batch-117-0-0-4294967294-4-0-%S-0117-117-n m-%-%z-0000000117-node1-tester-%q-%",
    ),
    ("q\\%j-%j", "/home/tester/q%j-%j"),
    ("e%%%j\\\\%j", "/home/tester/e%%%j\\%j"),
    ("w2%j\\", "/home/tester/w2%j"),
    ("/dev/null", "/dev/null"),
    ("%A_%a", "/home/tester/117_4294967294"),
]


@pytest.mark.parametrize(("pattern", "path"), PATTERNS, ids=[str(p[0]) for p in PATTERNS])
def test_pattern(pattern: str | None, path: str) -> None:
    spec = replace(SPEC, name="n m", stdout=Output(path=pattern))
    job = replace(JOB, spec=spec, pods=(PlacedPod(host="node1.svc", chunk=Chunk()),))
    assert output_files(job).stdout == path


def test_input_file() -> None:
    assert input_file(JOB) == ""
    assert input_file(replace(JOB, spec=replace(SPEC, stdin="/in/%x.%3j"))) == "/in/env.sh.117"


def test_output_files() -> None:
    found = output_files(JOB)
    assert (found.stdout, found.stderr, found.append, found.umask) == ("/home/tester/slurm-117.out", None, False, 2)
    assert (found.stdout_in_dir, found.stderr_in_dir) == (None, None)
    spec = replace(SPEC, stdout=Output(path="/o", append=True), stderr=Output(path="/e-%j", append=True))
    found = output_files(replace(JOB, spec=spec, run_count=2))
    assert (found.stdout, found.stderr, found.append) == ("/o", "/e-117", True)


@given(st.lists(st.integers(0, 99), max_size=20))
def test_runs_there_and_back(counts: list[int]) -> None:
    found: list[int] = []
    for part in filter(None, runs(counts).split(",")):
        value, _, times = part.partition("(x")
        found += [int(value)] * int(times.rstrip(")") or 1)
    assert found == counts


@given(st.text(max_size=20))
def test_any_pattern(text: str) -> None:
    assert output_files(replace(JOB, spec=replace(SPEC, stdout=Output(path=text)))).stdout.startswith("/")
