"""Steps of srun in sacct, squeue, scontrol and sstat. States, codes and forms were recorded from Slurm 22.05.8."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from hpcbatch.dialects.slurm import sstat
from hpcbatch.dialects.slurm.sacct import Facts, select_lines
from hpcbatch.dialects.slurm.sacct_json import format_json
from hpcbatch.dialects.slurm.sacct_options import read_options
from hpcbatch.dialects.slurm.scontrol_show import format_steps
from hpcbatch.dialects.slurm.squeue_options import read_options as read_squeue
from hpcbatch.dialects.slurm.squeue_steps import format_steps as squeue
from hpcbatch.dialects.slurm.steps import steps_of
from hpcbatch.model.indices import Indices
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState
from hpcbatch.model.step import StepRecord
from hpcbatch.record.rows import row_of
from tests.unit.dialects.slurm.sacct_jobs import GANG, NOW, at, sacct

START = at("03:02:10")


def step(number: int, name: str, code: int | None, signal: int | None = None, **more: object) -> StepRecord:
    given: dict[str, object] = {
        "number": number,
        "name": name,
        "start_time": START,
        "end_time": START + timedelta(seconds=5),
        "exit_code": code,
        "exit_signal": signal,
        "tasks": 1,
        "cpus": 2,
        "hosts": Indices.of([0]),
        "distribution": "cyclic",
        **more,
    }
    return StepRecord(**given)  # type: ignore[arg-type]


STEPS = (
    step(0, "sleep", 0),
    step(1, "named", 1, tasks=2, distribution="block"),
    step(2, "sh", None, 9),
    step(3, "nosuch", 2),
    step(4, "sh", None, 9, is_cancelled=True),
    step(5, "sleep", None, 10),
    step(6, "sleep", None, end_time=None),
)


def with_steps(*steps: StepRecord, state: JobState = JobState.FINISHED) -> JobRecord:
    end = GANG.status.end_time if state.is_final else None
    status = replace(GANG.status, steps=steps, step_count=len(steps), state=state, end_time=end)
    return replace(GANG, status=status)


def test_states_are_as_recorded() -> None:
    job = with_steps(*STEPS, state=JobState.RUNNING)
    lines = sacct("-j 200 -n -P -o jobid,jobname,state,exitcode,ntasks,elapsed,layout,reqcpufreq", [job]).splitlines()
    assert lines[3:] == [
        "200.0|sleep|COMPLETED|0:0|1|00:00:05|Cyclic|Unknown",
        "200.1|named|FAILED|1:0|2|00:00:05|Block|Unknown",
        "200.2|sh|CANCELLED|0:9|1|00:00:05|Cyclic|Unknown",
        "200.3|nosuch|FAILED|2:0|1|00:00:05|Cyclic|Unknown",
        "200.4|sh|CANCELLED by 1002|0:9|1|00:00:05|Cyclic|Unknown",
        "200.5|sleep|CANCELLED|0:10|1|00:00:05|Cyclic|Unknown",
        "200.6|sleep|RUNNING|0:0|1|00:07:50|Cyclic|Unknown",
    ]


def test_a_step_that_ran_at_the_end_of_its_job_ended_with_it() -> None:
    lines = sacct("-j 200.6 -n -P -o jobid,state,exitcode,end", [with_steps(*STEPS)])
    assert lines == "200.6|CANCELLED|0:15|2026-11-21T03:03:40\n"


def test_its_hosts_and_what_it_used() -> None:
    used = step(0, "wrf", 0, tasks=4, cpus=4, hosts=Indices.of([0, 2]), cpu_s=100, max_rss_bytes=2**20, max_rss_host=2,
                max_rss_task=3)  # fmt: skip
    fields = "jobid,nnodes,ncpus,nodelist,ntasks,totalcpu,avecpu,maxrss,maxrssnode,maxrsstask,averss"
    assert sacct(f"-j 200 -n -P -o {fields}", [with_steps(used)]).splitlines() == [
        "200|3|6|n[0-2]||00:07:33|||||",
        "200.batch|1|2|n0|1|00:01:40|00:01:40|100M|n0|0|100M",
        "200.extern|3|6|n[0-2]|3|00:04:13|00:02:06|300M|n2|1|250M",
        "200.0|2|4|n[0,2]|4|00:01:40|00:00:25|1M|n2|3|",
    ]


def test_as_json() -> None:
    options = read_options(["-j", "200", "--json"], {}, "tester", NOW)
    (job,) = json.loads(format_json(select_lines([with_steps(*STEPS)], options, Facts(NOW))))["jobs"]
    shown = [(one["step"]["id"], one["step"]["name"], one["state"], one["kill_request_user"]) for one in job["steps"]]
    assert shown[2:] == [
        (0, "sleep", "COMPLETED", None),
        (1, "named", "FAILED", None),
        (2, "sh", "CANCELLED", None),
        (3, "nosuch", "FAILED", None),
        (4, "sh", "CANCELLED", GANG.status.owner),
        (5, "sleep", "CANCELLED", None),
        (6, "sleep", "CANCELLED", None),
    ]
    assert job["steps"][3]["task"] == {"distribution": "Block"}


# Steps of jobs that run, as recorded from 22.05.8

RUNS = with_steps(
    step(0, "sleep", 0),
    step(4, "sh", None, end_time=None),
    step(5, "sleep", None, end_time=None, tasks=2, cpus=4, hosts=Indices.parse("1-2"), distribution="block"),
    step(10, "a.out", None, end_time=None),
    state=JobState.RUNNING,
)
ROWS, RECORDS = [row_of(RUNS)], {200: RUNS}


def test_squeue_lists_those_that_run() -> None:
    options = read_squeue(["-s", "-h", "-o", "%i|%j|%A|%N|%M"], {}, "tester")
    assert squeue(ROWS, RECORDS, options, at("03:04:15"), UTC).splitlines() == [
        "200.4|sh|1|n0|2:05",
        "200.5|sleep|2|n[1-2]|2:05",
        "200.10|a.out|1|n0|2:05",
        "200.batch|batch|1|n0|2:15",
        "200.extern|extern|3|n[0-2]|2:15",
    ]
    assert squeue(ROWS, RECORDS, read_squeue(["-h", "-s", "200.5", "-o", "%i"], {}, "x"), NOW, UTC) == "200.5\n"


def of(kind: Interactive, *steps: StepRecord) -> JobRecord:
    """A job of srun or salloc that runs."""
    job = with_steps(*steps, state=JobState.RUNNING)
    return replace(job, spec=replace(job.spec, interactive=kind, name="bash"))


@pytest.mark.parametrize(
    ("job", "squeue_s", "sacct_j"),
    [
        (of(Interactive.ALLOCATION), "extern interactive", "interactive extern"),
        (of(Interactive.TERMINAL), "0 extern", "extern 0"),
        (of(Interactive.TERMINAL, step(1, "sh", None, end_time=None)), "0 1 extern", "extern 0 1"),
        (of(Interactive.STREAMS, step(0, "sh", None, end_time=None)), "0 extern", "extern 0"),
    ],
)
def test_what_srun_and_salloc_began_is_no_batch_step(job: JobRecord, squeue_s: str, sacct_j: str) -> None:
    options = read_squeue(["-s", "-h", "-o", "%i"], {}, "tester")
    shown = squeue([row_of(job)], {200: job}, options, NOW, UTC).split()
    assert shown == [f"200.{name}" for name in squeue_s.split()]
    shown = sacct("-j 200 -n -P -o jobid", [job]).split()
    assert shown == ["200", *(f"200.{name}" for name in sacct_j.split())]


def test_the_program_of_a_terminal_is_step_0() -> None:
    job = of(Interactive.TERMINAL)
    (_, first) = steps_of([row_of(job)], {200: job})
    assert format_steps([first], UTC).splitlines()[2:4] == [
        "   Nodes=1 CPUs=2 Tasks=1 Name=bash Network=(null)",
        "   TRES=cpu=2,mem=0,node=1",
    ]
    ended = replace(job, status=replace(GANG.status, exit_code=3, state=JobState.FINISHED))
    fields = "jobid,jobname,state,exitcode,ntasks,ncpus,nnodes,totalcpu,maxrss,layout"
    assert sacct(f"-j 200.0 -n -P -o {fields}", [ended]) == "200.0|bash|FAILED|3:0|1|2|1|00:02:30|100M|Block\n"


def test_scontrol_shows_those_that_run() -> None:
    found = {one.name: one for one in steps_of(ROWS, RECORDS)}
    assert list(found) == ["batch", "extern", "4", "5", "10"]
    assert format_steps([found["5"]], UTC) == (
        "StepId=200.5 UserId=1002 StartTime=2026-11-21T03:02:10 TimeLimit=UNLIMITED\n"
        f"   State=RUNNING Partition={ROWS[0].queue} NodeList=n[1-2]\n"
        "   Nodes=2 CPUs=4 Tasks=2 Name=sleep Network=(null)\n"
        "   TRES=cpu=4,mem=0,node=2\n"
        "   ResvPorts=(null)\n"
        "   CPUFreqReq=Default Dist=Block\n"
        "   SrunHost:Pid=n0:0\n\n"
    )


def test_sstat_without_a_step_means_the_first_of_srun() -> None:
    lines = select_lines([RUNS], read_options(["-j", "200"], {}, "tester", NOW), Facts(NOW))

    def shown(text: str, *, all_steps: bool = False) -> list[str]:
        (wanted,) = sstat.read_options(["-j", text]).wanted
        return [line.step for line in sstat.chosen(lines, wanted, all_steps=all_steps)]

    assert shown("200") == ["4"] and shown("200.5") == ["5"] and shown("200.0") == []
    assert shown("200", all_steps=True) == ["batch", "extern", "4", "5", "10"]
    (wanted,) = sstat.read_options(["-j", "200.0"]).wanted
    assert sstat.complaint(wanted, has_job=True) == "sstat: error: StepId=200.0 not found running."
