"""sstat and seff: what was recorded, and jobs of several hosts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from hpcbatch.dialects.slurm import seff, sstat
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sacct import Facts, select_lines
from hpcbatch.dialects.slurm.sacct_line import Line, View
from hpcbatch.dialects.slurm.sacct_options import read_options
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import ExecHost, HostUsage, JobRecord
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import record
from tests.unit.dialects.slurm.sacct_jobs import NOW, at, ended
from tests.unit.dialects.slurm.transcripts import Case, cases, check

MIB = 1024**2


def lines_of(*jobs: JobRecord) -> list[Line]:
    options = read_options(["-j", ",".join(str(job.job_id) for job in jobs)], {}, "tester", NOW)
    return select_lines(jobs, options, Facts(NOW))


def running(job_id: int, hosts: int = 1) -> JobRecord:
    names = [f"n{index}" for index in range(1, hosts + 1)]
    return record(
        job_id,
        state=JobState.RUNNING,
        reason=Reason.NONE,
        start_time=at("03:00:00"),
        hosts=tuple(ExecHost(node=name, pod=f"p-{name}", cpus=1) for name in names),
        usage=tuple(
            HostUsage(pod=f"p-{name}", cpu_s=60 * place, max_rss_bytes=place * 30 * MIB)
            for place, name in enumerate(names, start=1)
        ),
    )


def usage(argv: tuple[str, ...], jobs: dict[int, JobRecord] | None = None) -> str:
    """As the command does it; raises what it complains of."""
    known = {2: running(2), 7: running(7, 2), 3: record(3)} if jobs is None else jobs
    options = sstat.read_options(argv)
    found: list[Line] = []
    for wanted in options.wanted:
        job = known.get(wanted.job.number)
        steps = sstat.chosen(lines_of(job) if job else [], wanted, all_steps=options.all_steps)
        if not steps:
            raise SlurmUsageError(sstat.complaint(wanted, has_job=job is not None), 0)
        found += steps
    return "".join(sstat.format_usage(found, options, View(now=NOW, tz=UTC, convert=options.convert)))


@pytest.mark.parametrize("case", cases("sstat.txt"))
def test_sstat(case: Case) -> None:
    """Where there is nothing to show, the headings stand above what is said."""
    if "No steps" in case.stderr or "couldn't" in case.stderr:
        assert case.stdout == "".join(sstat.format_usage([], sstat.read_options(case.argv), View(now=NOW, tz=UTC)))
        case = case._replace(stdout="")
    check(case, usage)


def test_steps_of_several_hosts() -> None:
    assert usage(("-nP", "-j", "7", "-o", "jobid,maxrss,avecpu")) == "7.batch|30M|00:01:00\n"
    assert usage(("-nPa", "-j", "7", "-o", "jobid,maxrss,ntasks")) == "7.batch|30M|1\n7.extern|60M|2\n"
    assert usage(("-nP", "7.extern", "-o", "jobid,nodelist,pids")) == "7.extern|n[1-2]|\n"
    assert usage(("-nP", "--noconvert", "-j", "2", "-o", "maxrss")) == f"{30 * MIB}\n"


BATCH = """\
Job ID: 18
Cluster: localhost
User/Group: tester/1002
State: COMPLETED (exit code 0)
Cores: 1
CPU Utilized: 00:00:03
CPU Efficiency: 42.86% of 00:00:07 core-walltime
Job Wall-clock time: 00:00:07
Memory Utilized: 37.96 MB
Memory Efficiency: 37.96% of 100.00 MB
"""


def of_job(job: JobRecord, *, debug: bool = False) -> str:
    return seff.format_efficiency(lines_of(job), str, debug=debug)


def finished(job_id: int, **more: object) -> JobRecord:
    return ended(job_id, "wrap", "03:00:00", "03:00:00", "03:00:07", mem=100 * MIB, **more)  # type: ignore[arg-type]


def test_seff_as_recorded() -> None:
    job = finished(18, cpu_used_s=3, max_rss_bytes=38868 * 1024)
    assert of_job(job) == BATCH
    raw = "Slurm data: 18  tester 1002 COMPLETED localhost 1 1 1 102400 1 3 7 38868 0\n\n"
    assert of_job(job, debug=True).splitlines(keepends=True)[1:3] == raw.splitlines(keepends=True)
    failed = finished(19, cpus=2, state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT, code=3, cpu_used_s=0)
    assert of_job(failed).splitlines()[3:] == [
        "State: FAILED (exit code 3)",
        "Nodes: 1",
        "Cores per node: 2",
        "CPU Utilized: 00:00:00",
        "CPU Efficiency: 0.00% of 00:00:14 core-walltime",
        "Job Wall-clock time: 00:00:07",
        "Memory Utilized: 0.00 MB (estimated maximum)",
        "Memory Efficiency: 0.00% of 100.00 MB (100.00 MB/node)",
    ]


def test_seff_of_jobs_that_have_not_ended() -> None:
    waiting = of_job(record(20)).splitlines()
    assert waiting[3:] == ["State: PENDING", "Cores: 1", "Efficiency not available for jobs in the PENDING state."]
    job = running(7, 2)
    job = replace(job, spec=replace(job.spec, chunks=(Chunk(count=2, mem_bytes=100 * MIB),)))
    shown = of_job(job).splitlines()
    assert shown[3] == "State: RUNNING"
    assert "Memory Utilized: 120.00 MB (estimated maximum)" in shown
    assert "Memory Efficiency: 60.00% of 200.00 MB (100.00 MB/node)" in shown
    assert shown[-1] == "WARNING: Efficiency statistics may be misleading for RUNNING jobs."


def test_seff_s_command_line() -> None:
    assert seff.read_options(["-v"]) == ("seff Version 2.1\n", "")
    for argv in ([], ["1", "2"], ["-h"], [""]):
        answer = seff.read_options(argv)
        assert isinstance(answer, tuple)
        assert str(answer[0]).startswith("Usage: seff [Options] <Jobid>\n")
    assert seff.read_options(["-x"])[1] == "Unknown option: x\n"
    options = seff.read_options(["-d", "12_3"])
    assert isinstance(options, seff.SeffOptions)
    assert (options.text, options.debug) == ("12_3", True)
    with pytest.raises(SlurmUsageError, match="Bad job/step specified: abc"):
        seff.read_options(["abc"])
    with pytest.raises(SlurmAnswer, match="Help menu") as answered:
        seff.read_options(["--help"])
    assert answered.value.code == 0
    assert seff.not_found().code == 2
