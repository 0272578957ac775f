"""Command lines of srun and salloc: what becomes the allocation, and what goes on to the steps."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources

import pytest

from hpcbatch.dialects.slurm.allocation import (
    Allocation,
    Surroundings,
    allocation_of,
    launching,
    read_salloc,
    read_srun,
    read_step,
)
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec

OTHERS = {
    "cwd": "/data",
    "host": "login",
    "user": "u",
    "server": "s",
    "now": datetime(2026, 1, 1, tzinfo=UTC),
    "umask": 0o22,
}


def around(environ: Mapping[str, str]) -> Surroundings:
    return Surroundings(environ, OTHERS)


def srun(*argv: str, is_terminal: bool = True) -> Allocation:
    return read_srun(argv, around({}), is_terminal=is_terminal)


def spec(*argv: str, **environ: str) -> JobSpec:
    return read_srun(argv, around(environ), is_terminal=True).submission.spec


def test_what_a_step_reads_goes_on() -> None:
    found = spec("-N2", "-n", "4", "-t5", "-p", "long", "-l", "--cpu-bind=cores", "-o", "x.%t", "prog", "-n", "1")
    assert found.command == (
        *("srun", "--nodes=2", "--ntasks=4", "--label", "--cpu-bind=cores", "--output=x.%t"),
        *("prog", "-n", "1"),
    )
    assert (found.name, found.queue, found.walltime_s, len(found.chunks)) == ("prog", "long", 300, 1)
    assert (found.interactive, found.rerunnable, found.stdout.path) == (Interactive.STREAMS, False, None)


def test_a_terminal_has_the_program_alone() -> None:
    found = srun("--pty", "-c2", "bash", "-i")
    assert (found.submission.spec.command, found.has_terminal) == (("bash", "-i"), True)
    assert found.submission.spec.interactive is Interactive.TERMINAL
    without = srun("--pty", "bash", is_terminal=False)
    assert (without.has_terminal, without.lacks_terminal) == (False, True)
    assert without.submission.spec.interactive is Interactive.STREAMS


def test_input_variables_are_those_of_the_command() -> None:
    assert spec("true", SLURM_PARTITION="mine", SBATCH_PARTITION="other").queue == "mine"
    assert spec("-p", "given", "true", SLURM_PARTITION="mine").queue == "given"
    taken = read_salloc(["true"], around({"SALLOC_TIMELIMIT": "3", "SLURM_PARTITION": "no", "WORD": "x"}))
    assert (taken.submission.spec.walltime_s, taken.submission.spec.queue) == (180, None)
    assert taken.submission.environment["WORD"] == "x"
    assert not any(name.startswith("SBATCH_") for name in taken.submission.environment)


@pytest.mark.parametrize(
    ("argv", "command", "name", "shell"),
    [
        ((), (), "interactive", True),
        (("-n2", "mpirun", "-n", "2", "x"), ("mpirun", "-n", "2", "x"), "mpirun", True),
        (("--no-shell", "-J", "mine"), (), "mine", False),
    ],
)
def test_salloc(argv: tuple[str, ...], command: tuple[str, ...], name: str, shell: bool) -> None:
    found = read_salloc(argv, around({}))
    assert (found.command, found.submission.spec.name, found.shell) == (command, name, shell)
    assert (found.submission.spec.interactive, found.submission.spec.command) == (Interactive.ALLOCATION, ())


def test_a_step_of_an_allocation() -> None:
    step = read_step(["-n2", "--jobid=4", "-l", "prog", "-x"], is_terminal=True)
    assert (step.command, step.has_terminal) == (("srun", "--ntasks=2", "--label", "prog", "-x"), False)
    step = read_step(["--pty", "-n1", "bash"], is_terminal=True)
    beside = ("--overlap", "--preserve-env", "--nodes=1", "--ntasks=1")
    assert (step.command, step.has_terminal) == (("srun", *beside, "--pty", "bash"), True)
    step = read_step(["--pty", "-n2", "-wb", "bash"], is_terminal=True)
    assert (step.command, step.has_terminal) == (("srun", "--pty", "--ntasks=2", "--nodelist=b", "bash"), True)
    step = read_step(["--pty", "bash"], is_terminal=False)
    assert (step.command, step.lacks_terminal) == (("srun", "bash"), True)
    assert read_step(["--mpi=none", "/opt/bin/prted", "--x"], is_terminal=False).daemon_of == "Open MPI"
    assert step.daemon_of == ""


@pytest.mark.parametrize(
    ("argv", "environ", "job"),
    [
        (["x"], {}, None),
        (["x"], {"SLURM_JOB_ID": ""}, None),
        (["x"], {"SLURM_JOBID": "3"}, 3),
        (["x"], {"SLURM_JOB_ID": "4", "SLURM_JOBID": "3"}, 4),
        (["--jobid", "5", "x"], {"SLURM_JOB_ID": "4"}, 5),
    ],
)
def test_whose_step_it_is(argv: list[str], environ: dict[str, str], job: int | None) -> None:
    assert allocation_of(argv, environ) == job


@pytest.mark.parametrize(
    ("argv", "kind", "text"),
    [
        ((), SlurmUsageError, "No command given to execute"),
        (("--array=1-2", "x"), SlurmUsageError, "srun: unrecognized option '--array=1-2'"),
        (("a", ":", "b"), NotSupportedError, "heterogeneous"),
        (("--version",), SlurmAnswer, ""),
        (("--usage",), SlurmAnswer, ""),
    ],
)
def test_refusals(argv: tuple[str, ...], kind: type[HpcBatchError], text: str) -> None:
    with pytest.raises(kind) as caught:
        srun(*argv)
    assert text in str(caught.value)


def test_what_a_verbose_srun_says_of_its_step() -> None:
    hosts = (ExecHost(node="n1", pod="p0", cpus=2), ExecHost(node="n2", pod="p1", cpus=1))
    status = JobStatus(layout=(Chunk(cpus=2, ranks=2), Chunk(cpus=1, ranks=1)), hosts=hosts)
    record = JobRecord(job_id=12, namespace="u", object_name="j", spec=spec("hostname"), status=status, queue="q")
    assert (srun("-v", "hostname").is_verbose, srun("hostname").is_verbose) == (True, False)
    assert list(launching(record)) == [
        "launching StepId=12.0 on host n1, 2 tasks: [0-1]",
        "launching StepId=12.0 on host n2, 1 tasks: 2",
    ]


@pytest.mark.parametrize("option", ["hint", "cpu-bind"])
def test_help_of_a_value(option: str) -> None:
    """srun in a job has the same."""
    with pytest.raises(SlurmAnswer) as answer:
        srun(f"--{option}=help", "true")
    steps = resources.files("hpcbatch.runner").joinpath("steps")
    explain = re.search(
        r"^explain\(\) \{.*?^\}", steps.joinpath("srun_options.sh").read_text(), re.DOTALL | re.MULTILINE
    )
    assert explain is not None
    script = f"{explain[0]}\nexplain {option}".replace("$root/runner", str(steps))
    in_a_job = subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True, text=True).stdout
    assert in_a_job == f"{answer.value.text}\n"
    assert in_a_job.startswith(f"Values of --{option}, ")
    assert in_a_job.endswith("  help               this\n")


def test_test_only() -> None:
    assert srun("--test-only").test_only
    found = srun("--test-only", "-N2", "prog")
    assert found.test_only and found.submission.spec.command == ("srun", "--nodes=2", "prog")
    assert not srun("prog").test_only
