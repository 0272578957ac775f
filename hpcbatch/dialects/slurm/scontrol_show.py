"""scontrol: what it shows of a cluster beside jobs, nodes and partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.errors import INVALID_JOB
from hpcbatch.dialects.slurm.hostlist import compress, compress_sorted, expand
from hpcbatch.dialects.slurm.ids import parse_id
from hpcbatch.dialects.slurm.states import alone_number
from hpcbatch.dialects.slurm.steps import Step
from hpcbatch.model.named import NamedJob
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState

NO_FRONTENDS = "No nodes in the system\n"
NO_JOB = f"slurm_get_job_steps error: {INVALID_JOB}"
NO_STEPS = "No job steps in the system\n"
PIDS_HEADING = "PID      JOBID    STEPID   LOCALID GLOBALID"
NO_PID = "Failed to locate job for requested pid"
NO_SLURMD = "scontrol: error: slurm_slurmd_info: Connection refused\nslurm_load_slurmd_status: Connection refused"


def format_ping(host: str, up: bool) -> str:
    """What `scontrol ping` prints; it exits 1 when the controller is down."""
    if up:
        return f"Slurmctld(primary) at {host} is UP\n"
    stars = "*" * 41
    return f"Slurmctld(primary) at {host} is DOWN\n{stars}\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n{stars}\n"


def format_update(when: datetime, records: int, tz: tzinfo, time_format: str = "") -> str:
    """What -v has before the jobs, nodes or partitions that are shown."""
    return f"last_update_time={stamp(when, tz, time_format)}, records={records}\n"


def format_pidinfo(row: JobRow, now: datetime, tz: tzinfo, time_format: str = "") -> str:
    """`scontrol pidinfo`: the job of a process, and the time that it has left."""
    if row.start_time is None or row.walltime_s is None:
        return f"Slurm JobId={row.job_id} ends at Unknown\n"
    end = row.start_time + timedelta(seconds=row.walltime_s)
    left_s = max(0, round((end - now).total_seconds()))
    return f"Slurm JobId={row.job_id} ends at {stamp(end, tz, time_format)}\nJob remaining time is {left_s} seconds\n"


def format_daemons(host: str, controller: str, nodes: Iterable[str]) -> str:
    """`scontrol show daemons`: which of them this host has, as the configuration that is shown names their hosts."""
    names = [*(["slurmctld"] if controller in {host, "localhost", "127.0.0.1", "::1"} else [])]
    names += ["slurmd"] if host in nodes else []
    return " ".join(names) + "\n"


def format_licenses(
    total: Mapping[str, int], used: Mapping[str, int], only: str = "", *, one_line: bool = False
) -> str:
    """`scontrol show licenses`, of that name or of all; a name that there is not is shown as nothing."""
    between = " " if one_line else "\n    "
    return "".join(
        f"LicenseName={name}{between}Total={count} Used={used.get(name, 0)} "
        f"Free={max(0, count - used.get(name, 0))} Reserved=0 Remote=no\n"
        for name, count in sorted(total.items())
        if only in {"", name}
    )


def topology_error(name: str) -> str:
    """What `show topology` says on stderr; it exits 0."""
    what = f"contains no switch or node named {name}" if name else "available"
    return f"scontrol: error: {'Topology information' if name else 'No topology information'} {what}"


def format_topology(levels: Sequence[str], nodes: Mapping[str, Mapping[str, str]], asked: str) -> str:
    """`scontrol show topology [NAME]`: the groups of nodes at each level as switches, the lowest first. Of a name, the
    switch that is called so, or has a node of that name. `levels`: labels of nodes whose values are the groups;
    `nodes`: the labels of each.
    """
    lines = []
    below: dict[str, set[str]] = {}
    for height, label in enumerate(levels):
        groups: dict[str, set[str]] = {}
        for name, labels in nodes.items():
            if group := labels.get(label):
                groups.setdefault(group, set()).add(name)
        for group, members in sorted(groups.items()):
            head = f"SwitchName={group} Level={height} LinkSpeed=1 Nodes={compress(sorted(members))}"
            switches = sorted(each for each, its in below.items() if its <= members)
            if asked in {"", group} or asked in members:
                lines.append(head + (f" Switches={compress(switches)}" if switches else ""))
        below = groups
    return "".join(f"{line}\n" for line in lines)


def format_aliases(names: Iterable[str], asked: str) -> str:
    """The host names of the nodes, or of those asked for, in one line; nothing where one is not known."""
    known = list(names)
    found = expand(asked) if asked else known
    return f"{','.join(found)}\n" if found and set(found) <= set(known) else ""


def read_step(text: str) -> tuple[NamedJob | None, str]:
    """The job and the step of `12`, `12.0`, `12_7.batch`; None: what is no number stands for all, as in Slurm."""
    job, _, step = text.partition(".")
    try:
        return parse_id(job), step
    except ValueError:
        return None, ""


def format_steps(steps: Iterable[Step], tz: tzinfo, *, time_format: str = "", one_line: bool = False) -> str:
    """`scontrol show step`, as recorded from 22.05.8; the process of srun is that in its pod."""
    between, end = (" ", "\n") if one_line else ("\n   ", "\n\n")
    shown = []
    for step in steps:
        row, srun = step.row, step.srun
        nodes = len(step.hosts)
        cpus = 0 if srun is None else srun.cpus
        host, pid = ("(null)", 0) if srun is None or not row.hosts else (row.hosts[0], srun.srun_pid or 0)
        limit = "UNLIMITED" if srun is None or srun.limit_s is None else full(srun.limit_s)
        lines = [
            f"StepId={step.step_id} UserId={0 if row.uid is None else row.uid} "
            f"StartTime={stamp(step.start_time, tz, time_format, none='Unknown')} TimeLimit={limit}",
            f"State=RUNNING Partition={row.queue} NodeList={compress(step.hosts)}",
            f"Nodes={nodes} CPUs={cpus} Tasks={step.tasks} Name={step.title} Network=(null)",
            "TRES=(null)" if srun is None else f"TRES=cpu={cpus},mem=0,node={nodes}",
            "ResvPorts=(null)",
            "CPUFreqReq=Default" if srun is None else f"CPUFreqReq=Default Dist={srun.distribution.capitalize()}",
            f"SrunHost:Pid={host}:{pid}",
        ]
        shown.append(between.join(lines) + end)
    return "".join(shown)


def step_not_found(text: str) -> str:
    """What is said, on standard output, of a job without such a step."""
    return f"Job step {text if '.' in text else f'{text}.'} not found"


def format_completing(rows: Iterable[JobRow], now: datetime, tz: tzinfo, time_format: str = "") -> str:
    """`scontrol completing`: the jobs that are ending. When a job began to end is not known: it counts as now."""
    return "".join(
        f"JobId={alone_number(row)} EndTime={stamp(row.end_time or now, tz, time_format)} CompletingTime={full(0)} "
        f"Nodes(COMPLETING)={compress_sorted(tuple(dict.fromkeys(row.hosts)))} \n"
        for row in rows
        if row.state is JobState.EXITING
    )
