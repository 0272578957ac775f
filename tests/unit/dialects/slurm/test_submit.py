"""sbatch: from command line, environment and script to the Submission."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmUsageError, describe
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.layout import NodeSize, lay_out
from hpcbatch.model.spec import Arrangement, JobSpec, Output, Sharing
from hpcbatch.model.warn_signal import WarnSignal
from tests.unit.dialects.slurm.submit_parts import ENVIRON, NOW, PLAIN, directives, read, spec, submit

MIB = 1024**2


def test_defaults() -> None:
    found = submit().submission
    expected = JobSpec(
        dialect=found.spec.dialect,
        name="job.sh",
        arrangement=Arrangement.SCATTER,
        script_path="/work dir/job.sh",
        work_dir="/work dir",
        submit_dir="/work dir",
        submit_host="login",
        stdout=Output(),
        umask=0o22,
        server="cluster",
        attributes={},
    )
    assert found.spec == expected
    assert found.script == PLAIN.encode()
    assert dict(found.environment) == ENVIRON
    assert found.notes == ()
    assert not found.export_none


FIELDS: list[tuple[list[str], str, object]] = [
    (["-J", "x"], "name", "x"),
    (["--job-name="], "name", "job.sh"),
    (["-p", "long"], "queue", "long"),
    (["-A", "acc"], "account", "acc"),
    (["-t", "1:30"], "walltime_s", 120),
    (["-t", "0"], "walltime_s", None),
    (["-H"], "hold", True),
    (["--no-requeue"], "rerunnable", False),
    (["--no-requeue", "--requeue"], "rerunnable", True),
    (["--requeue", "--no-requeue"], "rerunnable", False),
    (["--exclusive"], "sharing", Sharing.EXCLUSIVE),
    (["-D", "/x"], "work_dir", "/x"),
    (["-D", "x"], "work_dir", "/work dir/x"),
    (["--workdir=/x"], "work_dir", "/x"),
    (["-o", "a-%j"], "stdout", Output(path="/work dir/a-%j")),
    (["-o", "/a"], "stdout", Output(path="/a")),
    (["-D", "/x", "-o", "a"], "stdout", Output(path="/x/a")),
    (["-o", "none"], "stdout", Output(path="/dev/null")),
    (["-e", "b"], "stderr", Output(path="/work dir/b")),
    (["-o", "a", "--open-mode=append"], "stdout", Output(path="/work dir/a", append=True)),
    (["-e", "a", "--open-mode=A"], "stderr", Output(path="/work dir/a", append=True)),
    (["--open-mode=truncate"], "stdout", Output()),
    (["--nice"], "nice", 100),
    (["--nice=-5"], "nice", -5),
    (["--nice=5x"], "nice", 5),
    (["--nice=x"], "nice", 0),
    (["--nice=100000"], "nice", 100000),
    (["--priority=0"], "hold", True),
    (["--priority=5"], "hold", False),
    (["--begin=now+1hour"], "begin_time", NOW + timedelta(hours=1)),
    (["--mail-type=end,FAIL"], "mail_points", "END,FAIL"),
    (["--mail-type=END"], "mail_users", ("u",)),
    (["--mail-type=FAIL", "--mail-type=BEGIN,FAIL"], "mail_points", "BEGIN,FAIL"),
    (["--mail-type=END", "--mail-type=NONE"], "mail_points", "END"),
    (["--mail-user=a,b"], "mail_users", ("a", "b")),
    (["--mail-type=NONE"], "mail_users", ()),
    (["--comment=a b"], "attributes", {"comment": "a b"}),
    (["--oversubscribe"], "attributes", {"oversubscribe": ""}),
    (["--export=ALL,X=1"], "attributes", {"export": "ALL,X=***"}),
    (["--signal=B:USR1@30"], "warn_signal", WarnSignal(signal=10, before_s=30, is_batch_only=True)),
    (["-N2-4", "-n3"], "attributes", {"ntasks": "3", "nodes": "2-3"}),
    (["-c2", "--mem=1G"], "attributes", {"cpus_per_task": "2", "mem_per_node_mb": "1024"}),
    (["--mem-per-cpu=50", "--ntasks-per-node=2"], "attributes", {"mem_per_cpu_mb": "50", "ntasks_per_node": "2"}),
    (["--no-kill=off", "--gres=none", "--gpus=0"], "attributes", {}),
]


@pytest.mark.parametrize(("argv", "field", "value"), FIELDS, ids=[" ".join(f[0]) for f in FIELDS])
def test_field(argv: list[str], field: str, value: object) -> None:
    assert getattr(spec(*argv), field) == value
    if "--help" not in argv:  # the same as a directive
        quoted = " ".join(f'"{word}"' for word in argv)
        assert getattr(spec(script=directives(quoted)), field) == value


def chunk(
    count: int, cpus: int, ranks: int, mem_mb: int | None = None, threads: int | None = None, **resources: int
) -> Chunk:
    mem = None if mem_mb is None else mem_mb * MIB
    more = tuple(sorted(resources.items()))
    return Chunk(count=count, cpus=cpus, ranks=ranks, mem_bytes=mem, threads=threads, resources=more)


FILL, SCATTER = Arrangement.FILL, Arrangement.SCATTER
SIZES: list[tuple[str, Arrangement, tuple[Chunk, ...], int | None]] = [
    ("-n1", SCATTER, (chunk(1, 1, 1),), None),
    ("-c 4", SCATTER, (chunk(1, 4, 1, threads=4),), None),
    ("-N3", SCATTER, (chunk(3, 1, 1),), None),
    ("-N2-4", SCATTER, (chunk(2, 1, 1),), None),
    ("-N-4", SCATTER, (chunk(1, 1, 1),), None),
    ("-N2-0", SCATTER, (chunk(2, 1, 1),), None),
    ("-N2 -n3", SCATTER, (chunk(1, 2, 2), chunk(1, 1, 1)), None),
    ("-N2 -n3 -c2 --mem-per-cpu=10", SCATTER, (chunk(1, 4, 2, 40, 2), chunk(1, 2, 1, 20, 2)), None),
    ("-N3 -n8 --mem=1G", SCATTER, (chunk(2, 3, 3, 1024), chunk(1, 2, 2, 1024)), None),
    ("-N5 -n2", SCATTER, (chunk(2, 1, 1),), None),
    ("-n4", FILL, (chunk(4, 1, 1),), None),
    ("-n4 -c2 --mem-per-cpu=10", FILL, (chunk(4, 2, 1, 20, 2),), None),
    ("-n4 --mem=100", FILL, (chunk(4, 1, 1),), 100 * MIB),
    ("-n1 --mem=100", SCATTER, (chunk(1, 1, 1, 100),), None),
    ("--ntasks-per-node=2", SCATTER, (chunk(1, 2, 2),), None),
    ("-N2 --ntasks-per-node=3 -c2", SCATTER, (chunk(2, 6, 3, threads=2),), None),
    ("-n8 --ntasks-per-node=3", SCATTER, (chunk(2, 3, 3), chunk(1, 2, 2)), None),
    ("-n6 -N1-3 --ntasks-per-node=2", SCATTER, (chunk(3, 2, 2),), None),
]


@pytest.mark.parametrize(("argv", "arrangement", "chunks", "mem_per_pod"), SIZES, ids=[s[0] for s in SIZES])
def test_size(argv: str, arrangement: Arrangement, chunks: tuple[Chunk, ...], mem_per_pod: int | None) -> None:
    found = spec(*argv.split())
    assert (found.arrangement, found.chunks, found.mem_per_pod_bytes) == (arrangement, chunks, mem_per_pod)


GPUS: list[tuple[str, Arrangement, tuple[Chunk, ...], dict[str, int]]] = [
    ("--gres=gpu:2", SCATTER, (chunk(1, 1, 1, gpu=2),), {}),
    ("-N2 --gres=gpu,lscratch:2k", SCATTER, (chunk(2, 1, 1, gpu=1, lscratch=2048),), {}),
    ("-N2 --gpus-per-node=4 --ntasks-per-node=2", SCATTER, (chunk(2, 2, 2, gpu=4),), {}),
    ("-N2 --gres=gpu:4 --gpus-per-node=4", SCATTER, (chunk(2, 1, 1, gpu=4),), {}),
    ("-N2 -n3 --gpus-per-task=1", SCATTER, (chunk(1, 2, 2, gpu=2), chunk(1, 1, 1, gpu=1)), {}),
    ("-N2 -G 4", SCATTER, (chunk(2, 1, 1, gpu=2),), {}),
    ("-N3 -n4 -G 5", SCATTER, (chunk(1, 2, 2, gpu=2), chunk(1, 1, 1, gpu=2), chunk(1, 1, 1, gpu=1)), {}),
    ("-G 2", SCATTER, (chunk(1, 1, 1, gpu=2),), {}),
    ("-G 8 --gpus-per-node=4", SCATTER, (chunk(2, 1, 1, gpu=4),), {}),
    ("-G 8 --gpus-per-node=4 -n4", SCATTER, (chunk(2, 2, 2, gpu=4),), {}),
    ("-G 4 --gpus-per-task=1", FILL, (chunk(4, 1, 1, gpu=1),), {}),
    ("-n4 --gres=gpu:1", FILL, (chunk(4, 1, 1),), {"gpu": 1}),
    ("-n4 --gpus-per-task=2", FILL, (chunk(4, 1, 1, gpu=2),), {}),
    ("-n4 -G 4", FILL, (chunk(4, 1, 1, gpu=1),), {}),
    ("-n4 -G 6", FILL, (chunk(2, 1, 1, gpu=2), chunk(2, 1, 1, gpu=1)), {}),
    ("-n4 -G 1", FILL, (chunk(1, 1, 1, gpu=1), chunk(3, 1, 1)), {}),
    ("--gres=gpu:a100:2", SCATTER, (chunk(1, 1, 1, **{"gpu:a100": 2}),), {}),
    ("-N1 -n2 --gres=gpu:a100:2 --gpus-per-task=1", SCATTER, (chunk(1, 2, 2, **{"gpu:a100": 2}),), {}),
    ("--gpus=a100:1,v100:2", SCATTER, (chunk(1, 1, 1, **{"gpu:a100": 1, "gpu:v100": 2}),), {}),
    ("-N2 --gres=gpu:2 --cpus-per-gpu=4", SCATTER, (chunk(2, 8, 1, gpu=2),), {}),
    ("-N1 -n9 -G2 --cpus-per-gpu=4", SCATTER, (chunk(1, 9, 9, gpu=2),), {}),
    ("-N2 -G3 --mem-per-gpu=1G", SCATTER, (chunk(1, 1, 1, 2048, gpu=2), chunk(1, 1, 1, 1024, gpu=1)), {}),
    ("-n4 --gpus-per-task=1 --cpus-per-gpu=4 --mem-per-gpu=10", FILL, (chunk(4, 4, 1, 10, gpu=1),), {}),
    ("-n4 -G1 --mem-per-gpu=10", FILL, (chunk(1, 1, 1, 10, gpu=1), chunk(3, 1, 1)), {}),
    ("--gres=none", SCATTER, (chunk(1, 1, 1),), {}),
    ("--gpus=0", SCATTER, (chunk(1, 1, 1),), {}),
    ("--gpus=", SCATTER, (chunk(1, 1, 1),), {}),
    ("--cpus-per-gpu=2", SCATTER, (chunk(1, 1, 1),), {}),
    ("--gpus-per-node=a100", SCATTER, (chunk(1, 1, 1, **{"gpu:a100": 1}),), {}),
    ("--gpus=1080ti:2", SCATTER, (chunk(1, 1, 1, **{"gpu:1080ti": 2}),), {}),
    ("--gres=gpu:1,gpu:3", SCATTER, (chunk(1, 1, 1, gpu=3),), {}),
    ("--gres=gpu:1 --gpus-per-node=2", SCATTER, (chunk(1, 1, 1, gpu=1),), {}),
    ("--ntasks-per-node=2 --gpus-per-task=1", SCATTER, (chunk(1, 2, 2, gpu=2),), {}),
]


@pytest.mark.parametrize(("argv", "arrangement", "chunks", "per_pod"), GPUS, ids=[g[0] for g in GPUS])
def test_gpus(argv: str, arrangement: Arrangement, chunks: tuple[Chunk, ...], per_pod: dict[str, int]) -> None:
    found = spec(*argv.split())
    assert (found.arrangement, found.chunks, dict(found.resources_per_pod)) == (arrangement, chunks, per_pod)


NOT_AVAILABLE = "sbatch: error: Batch job submission failed: Requested node configuration is not available"
GRES = "Invalid generic resource (gres) specification"
TRES = "Invalid Trackable RESource (TRES) specification"
CONTRADICTIONS = [
    ("-N4 -G 2", NOT_AVAILABLE),
    ("-N2 -G 2 --gpus-per-node=2", NOT_AVAILABLE),
    ("-G 3 --gpus-per-node=2", NOT_AVAILABLE),
    ("-G 4 --gpus-per-node=2 -n1", NOT_AVAILABLE),
    ("-n2 -G 4 --gpus-per-task=1", NOT_AVAILABLE),
    ("-G 3 --gpus-per-task=2", NOT_AVAILABLE),
    ("-N1 -n4 --gres=gpu:2 --gpus-per-task=1", NOT_AVAILABLE),
    (
        "--gres=gpu:a:1,gpu:b:1 --gpus=2",
        f"sbatch: error: Invalid GRES specification (with and without type identification)\nsbatch: error: {GRES}",
    ),
    ("-N 200000", f"{NOT_AVAILABLE[:43]} More processors requested than permitted"),
    ("--gres=gpu:x:y:1", f"sbatch: error: {GRES}"),
    ("--gres=gpu:%n", f"sbatch: error: {GRES}"),
    ("--gres=", f"{NOT_AVAILABLE[:43]} {TRES}"),
    ("--gres=gpu:80gb", f"{NOT_AVAILABLE[:43]} {TRES}"),
    ("--gpus=80gb", f"{NOT_AVAILABLE[:43]} {TRES}"),
    ("--gpus=a100:80gb", f"sbatch: error: {GRES}"),
    ("--gpus=a100:", f"sbatch: error: {GRES}"),
    ("--gres=gpu:-1", f"sbatch: error: {GRES}"),
    ("--gpus-per-task=1:2:3", f"sbatch: error: {GRES}"),
    (
        "-n4 --mem-per-gpu=2",
        f"sbatch: error: Requested mem_per_tres=gres:gpu:2 but did not request any GPU.\nsbatch: error: {GRES}",
    ),
    ("-c2 --cpus-per-gpu=2 -G1", "sbatch: fatal: --cpus-per-task and --cpus-per-gpu are mutually exclusive."),
    ("--mem=1 --mem-per-gpu=2 -G1", "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."),
    (f"--gres=x:{10**17}p", f"sbatch: error: {GRES}"),
]


@pytest.mark.parametrize(("argv", "text"), CONTRADICTIONS, ids=[c[0] for c in CONTRADICTIONS])
def test_gpus_that_cannot_be(argv: str, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(*argv.split())
    assert describe(error.value, "sbatch") == (text, 1)


def test_memory_and_cpus_of_the_gpus_of_each_pod() -> None:
    found = spec("-n4", "--gres=gpu:2", "--mem-per-gpu=1G")
    assert (found.mem_per_pod_bytes, found.resources_per_pod) == (2048 * MIB, (("gpu", 2),))
    found = spec("-n", "4", "--gres=gpu:2", "--cpus-per-gpu=3")
    assert [(c.count, c.cpus, c.ranks, c.resources) for c in found.chunks] == [(1, 6, 4, (("gpu", 2),))]
    found = spec("--mem-per-gpu=2", "-G1", environ={"SBATCH_MEM_PER_NODE": "1", "SBATCH_MEM_PER_CPU": "1"})
    assert found.attributes == {"mem_per_gpu_mb": "2", "gpus": "1", "tres_per_job": "gres:gpu:1"}


def test_what_is_shown_of_gpus() -> None:
    found = spec("-N2", "--gres=gpu:a100:2,lscratch:5", script=directives("-G a100:4")).attributes
    assert found["tres_per_node"] == "gres:gpu:a100:2,gres:lscratch:5"
    assert (found["tres_per_job"], found["gpus"]) == ("gres:gpu:a100:4", "a100:4")
    found = spec("-N1", "--gpus-per-node=2", "--gpus-per-task=1").attributes
    assert (found["tres_per_node"], found["gpus_per_node"]) == ("gres:gpu:2", "2")
    assert (found["tres_per_task"], found["gpus_per_task"]) == ("gres:gpu:1", "1")
    assert spec("--gres=none", script=directives("--gres=gpu:1")).attributes == {}


@pytest.mark.parametrize("text", ["haswell", "ib&haswell", "haswell&ib&ib", "gen:9-a_b.c"])
def test_constraint(text: str) -> None:
    found = spec("-N2", "-C", text)
    assert found.attributes["constraint"] == text
    assert {chunk.properties for chunk in found.chunks} == {tuple(sorted(set(text.split("&"))))}
    assert {chunk.properties for chunk in spec("-n4", environ={"SBATCH_CONSTRAINT": text}).chunks} == {
        found.chunks[0].properties
    }


@pytest.mark.parametrize("text", ["a|[b|c]", "a*2|b", "(a|b)*2", "[a|b]&(c|d)"])
def test_constraint_that_is_not_supported(text: str) -> None:
    with pytest.raises(NotSupportedError) as error:
        submit(script=directives(f"-C '{text}'"))
    assert str(error.value).startswith(f"job.sh:2:9: --constraint={text}: ")
    assert str(error.value).endswith(" is not supported yet")


@pytest.mark.parametrize("option", ["--constraint=", "--nodelist=", "--exclude=", "--wait-all-nodes="])
def test_no_value_is_none(option: str) -> None:
    assert spec(option) == replace(spec(), attributes=spec(option).attributes)


@pytest.mark.parametrize("text", ["a&", "&a", "a b", "!a"])
def test_constraint_that_is_none(text: str) -> None:
    with pytest.raises(SlurmUsageError, match="Invalid feature specification"):
        submit("-C", text)


IMAGES: list[tuple[list[str], str, dict[str, str], str | None]] = [
    ([], "-N1", {}, None),
    (["--container-image=nvcr.io#nvidia/pytorch:23.04"], "-N1", {}, "nvcr.io/nvidia/pytorch:23.04"),
    ([], "--container-image=docker://a:1", {}, "a:1"),
    (["--container-image=b"], "--container-image=a", {}, "b"),
    ([], "--container-image=a", {"HPCBATCH_IMAGE": "d", "PYXIS_CONTAINER_IMAGE": "p"}, "a"),
    ([], "-N1", {"HPCBATCH_IMAGE": "d", "PYXIS_CONTAINER_IMAGE": "reg#p"}, "reg/p"),
    ([], "-N1", {"HPCBATCH_IMAGE": "d", "PYXIS_CONTAINER_IMAGE": ""}, "d"),
]


@pytest.mark.parametrize(("argv", "line", "variables", "image"), IMAGES)
def test_image(argv: list[str], line: str, variables: dict[str, str], image: str | None) -> None:
    assert spec(*argv, script=directives(line), environ=variables).image == image


def test_image_that_is_none() -> None:
    text = "'/x.sqsh' is no image in a registry: expected [registry/]name[:tag]"
    with pytest.raises(SlurmUsageError) as error:
        submit(script=directives("--container-image=/x.sqsh"))
    assert describe(error.value, "sbatch") == (
        f"sbatch: error: --container-image: {text}\nsbatch: error: job.sh:2:9: refused here",
        255,
    )
    with pytest.raises(SlurmUsageError) as error:
        submit(environ={"HPCBATCH_IMAGE": "/x.sqsh"})
    assert describe(error.value, "sbatch") == (f"sbatch: error: HPCBATCH_IMAGE: {text}", 255)


@pytest.mark.parametrize(
    ("line", "image"),
    [
        ("--container-image=reg.io\\#a", "reg.io/a"),
        ('--container-image "reg.io#a"', "reg.io/a"),
        ("--container-image=a # b", "a"),
        ("--container-image a -Jx#y", "a"),
        ("--container-image=a -Jx#y", "a"),
    ],
)
def test_image_in_a_directive(line: str, image: str) -> None:
    assert spec(script=directives(line)).image == image


@pytest.mark.parametrize(("line", "column"), [("--container-image=reg.io#a", 9), ("--container-image reg.io#a", 27)])
def test_image_cut_by_a_comment(line: str, column: int) -> None:
    with pytest.raises(SlurmUsageError, match="an unquoted # ends the line") as error:
        submit(script=directives(line))
    assert (error.value.line, error.value.column) == (2, column)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 200))
def test_no_gpu_gets_lost(nodes: int, tasks: int, gpus: int) -> None:
    for argv in ([f"-N{nodes}"], [f"-N{nodes}", f"-n{tasks}"], [f"-n{tasks}"]):
        try:
            found = spec(*argv, "-G", str(gpus))
        except SlurmUsageError:
            assert gpus < nodes
            continue
        assert sum(c.count * dict(c.resources).get("gpu", 0) for c in found.chunks) == gpus


def test_memory_per_node_is_not_lost_where_tasks_are_spread() -> None:
    pods = lay_out(spec("-n5", "--mem=100"), [NodeSize(cpus=4)] * 2)
    assert [(p.count, p.cpus, p.mem_bytes) for p in pods] == [(1, 4, 100 * MIB), (1, 1, 100 * MIB)]


def test_more_nodes_than_tasks() -> None:
    found = submit("-N", "5", script=directives("-n 1")).submission
    assert found.notes == ("sbatch: Warning: can't run 1 processes on 5 nodes, setting nnodes to 1",)
    assert found.spec.chunks == (Chunk(),)
    assert submit("-N5").submission.notes == ()
    assert submit("-Q", "-N5", "-n1").submission.notes == ()


PRECEDENCE = [
    ([], {}, "script"),
    ([], {"SBATCH_JOB_NAME": "env"}, "env"),
    (["-J", "cli"], {"SBATCH_JOB_NAME": "env"}, "cli"),
    (["-J", "first", "--job-name=last"], {}, "last"),
]


@pytest.mark.parametrize(("argv", "variables", "name"), PRECEDENCE, ids=[p[2] for p in PRECEDENCE])
def test_command_line_over_environment_over_script(argv: list[str], variables: dict[str, str], name: str) -> None:
    assert spec(*argv, script=directives("-J early", "-J script"), environ=variables).name == name


VARIABLES = [
    ({"SBATCH_PARTITION": "long"}, "queue", "long"),
    ({"SBATCH_TIMELIMIT": "5"}, "walltime_s", 300),
    ({"SBATCH_EXCLUSIVE": ""}, "sharing", Sharing.EXCLUSIVE),
    ({"SBATCH_NO_REQUEUE": ""}, "rerunnable", False),
    ({"SBATCH_OUTPUT": "o"}, "stdout", Output(path="/work dir/o")),
    ({"SBATCH_ACCOUNT": "x"}, "account", "x"),
    ({"SBATCH_MEM_PER_NODE": "5G"}, "chunks", (chunk(1, 1, 1, 5120),)),
    ({"SBATCH_NTASKS": "3", "SBATCH_NODES": "2", "SBATCH_HOLD": "1"}, "attributes", {}),
]


@pytest.mark.parametrize(("variables", "field", "value"), VARIABLES, ids=[next(iter(v[0])) for v in VARIABLES])
def test_input_variable(variables: dict[str, str], field: str, value: object) -> None:
    assert getattr(spec(environ=variables), field) == value


ENVIRONMENTS = [
    (None, ENVIRON, False),
    ("ALL", ENVIRON, False),
    ("ALL,FOO=2,NEW=x", {**ENVIRON, "FOO": "2", "NEW": "x", "SLURM_EXPORT_ENV": "ALL,FOO=2,NEW=x"}, False),
    ("NONE", {"SLURM_CONF": "/etc/x"}, True),
    ("NONE,FOO=1", {"SLURM_CONF": "/etc/x", "FOO": "1", "SLURM_EXPORT_ENV": "NONE,FOO=1"}, True),
    ("HOME,ABSENT", {"SLURM_CONF": "/etc/x", "HOME": "/home/u"}, True),
    ("NIL", {"SLURM_CONF": "/etc/x"}, False),
    ("A='x,y'", {"SLURM_CONF": "/etc/x", "A": "x,y", "SLURM_EXPORT_ENV": "A='x,y'"}, True),
]


@pytest.mark.parametrize(("export", "variables", "none"), ENVIRONMENTS, ids=[str(e[0]) for e in ENVIRONMENTS])
def test_environment(export: str | None, variables: dict[str, str], none: bool) -> None:
    found = submit(*([] if export is None else [f"--export={export}"])).submission
    assert (dict(found.environment), found.export_none) == (variables, none)


@pytest.mark.parametrize(
    ("argv", "login", "attribute"),
    [
        ([], False, None),
        (["--get-user-env"], True, "1"),
        (["--get-user-env=L"], True, "1"),
        (["--get-user-env=10"], True, "1"),
        (["--get-user-env=10l"], True, "1"),
        (["--get-user-env=S"], False, "0"),
        (["--get-user-env=5s"], False, "0"),
        (["--get-user-env=S", "--export=NONE"], True, "0"),
        (["--get-user-env=S", "--get-user-env"], True, "1"),
    ],
    ids=str,
)
def test_get_user_env(argv: list[str], login: bool, attribute: str | None) -> None:
    found = submit(*argv).submission
    assert (found.export_none, found.spec.attributes.get("get_user_env")) == (login, attribute)
    if "--export=NONE" not in argv:
        assert found.environment == ENVIRON


def test_get_user_env_in_a_variable_and_wrong() -> None:
    assert submit(environ={"SBATCH_GET_USER_ENV": "L"}).submission.export_none
    with pytest.raises(SlurmUsageError, match=r"^sbatch: error: Invalid --get-user-env specification$"):
        submit("--get-user-env=10x")


def test_wrap() -> None:
    found = submit("--wrap", "hostname; echo 'x'").submission
    assert found.script == b"#!/bin/sh\n# This script was created by sbatch --wrap.\n\nhostname; echo 'x'\n"
    assert (found.spec.name, found.spec.script_path) == ("wrap", None)


def test_standard_input() -> None:
    found = read([], PLAIN.encode()).submission
    assert (found.spec.name, found.spec.script_path, found.script) == ("sbatch", None, PLAIN.encode())


def test_script_arguments() -> None:
    found = read(["-n1", "dir/s.sh", "-n", "2", "a b"], PLAIN.encode()).submission.spec
    assert (found.name, found.script_args, found.attributes["ntasks"]) == ("s.sh", ("-n", "2", "a b"), "1")


def test_how_to_answer() -> None:
    found = submit("--parsable", "-v", "-v", "--dry-run")
    assert (found.parsable, found.quiet, found.verbose, found.dry_run) == (True, False, 2, True)
    assert submit(script=directives("--parsable")).parsable


def test_mail_types_of_the_script_and_the_command_line_add_up() -> None:
    script = directives("--mail-type=END", "--mail-type=FAIL")
    assert submit("--mail-type=BEGIN", script=script).submission.spec.mail_points == "BEGIN,END,FAIL"


def test_mail_is_told_once() -> None:
    found = submit("--mail-type=END", script=directives("--mail-user=x@example.com")).submission
    assert found.mail_note == "this site sends no mail; --mail-type and --mail-user are kept with the job"
    assert found.notes == ()
    assert submit("--mail-type=NONE").submission.mail_note == ""
    assert submit("-Q", "--mail-type=END").submission.mail_note == ""


def test_wait() -> None:
    assert submit("--wait").wait
    assert submit("-W").wait
    assert submit(script=directives("-W")).wait
    assert not submit().wait
