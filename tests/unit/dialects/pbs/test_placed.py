"""Output files, environment and node file of a job that is about to run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.dialects.pbs.environment import environment, nodefile
from hpcbatch.dialects.pbs.output import output_files
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles, PlacedJob, PlacedPod
from hpcbatch.model.spec import JobSpec, Output


def placed(
    *, pods: tuple[PlacedPod, ...] = (), chunks: tuple[Chunk, ...] = (Chunk(),), keep: str = "n", **changes: object
) -> PlacedJob:
    values: dict[str, object] = {
        "name": "wrf",
        "submit_dir": "/data/run",
        "submit_host": "login",
        "stderr": Output(),
        "umask": 0o077,
        "server": "pbs1",
    }
    spec = JobSpec(dialect=Dialect.PBS, chunks=chunks, attributes={"Keep_Files": keep}, **(values | changes))  # type: ignore[arg-type]
    return PlacedJob(
        job_id=12,
        spec=spec,
        queue="workq",
        pods=pods or (PlacedPod(host="job-12-0", chunk=chunks[0]),),
        owner="tester",
        uid=1000,
        gid=1000,
        home="/home/tester",
        cluster="hpcbatch",
    )


@pytest.mark.parametrize(
    ("changes", "stdout", "stderr"),
    [
        ({}, "/data/run/wrf.o12", "/data/run/wrf.e12"),
        ({"submit_dir": "/"}, "/wrf.o12", "/wrf.e12"),
        ({"stderr": None}, "/data/run/wrf.o12", None),
        ({"stdout_to_stderr": True}, "/data/run/wrf.e12", None),
        ({"stdout": Output(path="/d/o"), "stderr": Output(path="/d/e")}, "/d/o", "/d/e"),
        ({"stdout": Output(path="/d/x"), "stderr": Output(path="/d/x")}, "/d/x", None),
        ({"stdout": Output(path="/d/"), "stderr": Output(path="/d/")}, "/d/", "/d/"),
        ({"stdout": Output(path="/d/$PBS_JOBID.${PBS_JOBNAME}")}, "/d/12.pbs1.wrf", "/data/run/wrf.e12"),
        ({"stdout": Output(path="$HOME/$UNKNOWN")}, "/home/tester/$UNKNOWN", "/data/run/wrf.e12"),
        ({"stdout": Output(path="${PBS_O_WORKDIR}/o")}, "/data/run/o", "/data/run/wrf.e12"),
        ({"keep": "oe"}, "/home/tester/wrf.o12", "/home/tester/wrf.e12"),
        ({"keep": "o", "stdout": Output(path="/d/o")}, "/home/tester/wrf.o12", "/data/run/wrf.e12"),
        ({"keep": "oed", "stdout": Output(path="/d/o")}, "/d/o", "/data/run/wrf.e12"),
        ({"keep": "e", "stdout_to_stderr": True}, "/home/tester/wrf.e12", None),
    ],
    ids=[
        "default",
        "root",
        "oe",
        "eo",
        "paths",
        "one-path",
        "directory",
        "id",
        "home",
        "workdir",
        "keep",
        "keep-o",
        "direct",
        "keep-eo",
    ],
)
def test_output_files(changes: dict[str, object], stdout: str, stderr: str | None) -> None:
    files = output_files(placed(**changes))  # type: ignore[arg-type]
    assert (files.stdout, files.stderr) == (stdout, stderr)
    assert (files.umask, files.append) == (0o077, False)


@pytest.mark.parametrize(
    ("keep", "meanwhile"),
    [
        ("n", ("12.pbs1.OU.running", "12.pbs1.ER.running")),
        ("oed", ("", "")),
        ("oe", ("", "")),
        ("od", ("", "12.pbs1.ER.running")),
        ("e", ("12.pbs1.OU.running", "")),
    ],
)
def test_what_is_kept_is_written_directly(keep: str, meanwhile: tuple[str, str]) -> None:
    found = output_files(placed(keep=keep))
    assert (found.stdout_meanwhile, found.stderr_meanwhile) == meanwhile


def test_names_in_a_directory() -> None:
    assert output_files(placed()) == OutputFiles(
        stdout="/data/run/wrf.o12",
        stderr="/data/run/wrf.e12",
        stdout_in_dir="12.pbs1.OU",
        stderr_in_dir="12.pbs1.ER",
        umask=0o077,
        stdout_meanwhile="12.pbs1.OU.running",
        stderr_meanwhile="12.pbs1.ER.running",
    )
    only_errors = output_files(placed(stdout_to_stderr=True))
    assert (only_errors.stdout_in_dir, only_errors.stdout_meanwhile) == ("12.pbs1.ER", "12.pbs1.ER.running")
    assert output_files(placed(stderr=None)).stderr_in_dir is None


def test_environment_of_a_batch_job() -> None:
    """The variables of the recorded `penv.sh`, but for those of the runner, the shell and the submitter."""
    assert environment(placed()) == {
        "ENVIRONMENT": "BATCH",
        "HOME": "/home/tester",
        "LOGNAME": "tester",
        "NCPUS": "1",
        "OMP_NUM_THREADS": "1",
        "PBS_ENVIRONMENT": "PBS_BATCH",
        "PBS_JOBDIR": "/home/tester",
        "PBS_JOBID": "12.pbs1",
        "PBS_JOBNAME": "wrf",
        "PBS_MOMPORT": "15003",
        "PBS_NODENUM": "0",
        "PBS_O_QUEUE": "workq",
        "PBS_QUEUE": "workq",
        "PBS_TASKNUM": "1",
        "USER": "tester",
    } | {
        "PBS_NCPUS": "1",
        "PBS_NNODES": "1",
        "PBS_NP": "1",
        "PBS_NUM_NODES": "1",
        "PBS_NUM_PPN": "1",
        "PBS_SERVER": "pbs1",
        "PBS_VNODENUM": "0",
    }


def test_environment_of_an_mpi_job() -> None:
    chunk = Chunk(count=2, cpus=8, ranks=4, threads=2)
    pods = tuple(PlacedPod(host=f"job-12-{n}", chunk=chunk) for n in range(2))
    job = placed(chunks=(chunk,), pods=pods, queue="long", account="acc", walltime_s=3600, interpreter="/bin/csh")
    found = environment(job)
    wanted = {
        "OMP_NUM_THREADS": "2",
        "NCPUS": "2",
        "PBS_NP": "8",
        "PBS_NCPUS": "16",
        "PBS_NUM_NODES": "2",
        "PBS_NUM_PPN": "4",
        "PBS_ACCOUNT": "acc",
        "PBS_WALLTIME": "3600",
        "SHELL": "/bin/csh",
        "PBS_O_QUEUE": "long",
        "PBS_QUEUE": "workq",
    }
    assert {name: found[name] for name in wanted} == wanted
    assert nodefile(job) == "job-12-0\n" * 4 + "job-12-1\n" * 4


def test_chunk_without_processes_has_no_line() -> None:
    pods = (PlacedPod(host="a", chunk=Chunk(ranks=0, cpus=0)), PlacedPod(host="b", chunk=Chunk()))
    assert nodefile(placed(pods=pods)) == "b\n"


def test_a_job_that_runs_again_goes_on_in_its_files() -> None:
    assert not output_files(replace(placed(), run_count=1)).append
    assert output_files(replace(placed(), run_count=2)).append
    assert output_files(replace(placed(stderr=None), run_count=2)).append
