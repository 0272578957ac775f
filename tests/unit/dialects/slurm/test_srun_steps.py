"""Steps of srun in sacct. The states and codes were recorded from sacct 22.05.8."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from hpcbatch.dialects.slurm.sacct import Facts, select_lines
from hpcbatch.dialects.slurm.sacct_json import format_json
from hpcbatch.dialects.slurm.sacct_options import read_options
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState
from hpcbatch.model.step import StepRecord
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
