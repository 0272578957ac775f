"""scontrol: what it shows of jobs, nodes, partitions and host lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.component_records import offset_in
from hpcbatch.dialects.slurm.dependency import format_dependency
from hpcbatch.dialects.slurm.errors import SLURM_VERSION, SlurmAnswer
from hpcbatch.dialects.slurm.hostlist import compress, compress_sorted, expand
from hpcbatch.dialects.slurm.memory import MIB, size
from hpcbatch.dialects.slurm.node_states import availability, configured_tres, features, gres, gres_tres, node_state
from hpcbatch.dialects.slurm.output import shown_input, shown_paths
from hpcbatch.dialects.slurm.placement_values import format_licenses
from hpcbatch.dialects.slurm.preemption import preempt_mode
from hpcbatch.dialects.slurm.scontrol_command import ScontrolCommand, Verb
from hpcbatch.dialects.slurm.values import MAX_COUNT
from hpcbatch.model.array import shown_number
from hpcbatch.model.cpu_topology import CpuTopology
from hpcbatch.model.node_features import ACTIVE, AVAILABLE
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import JobRow, NodeRow, QueueRow
from hpcbatch.model.spec import Sharing
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.record.rows import row_of


def format_hosts(command: ScontrolCommand) -> str:
    """What `show hostnames`, `hostlist` and `hostlistsorted` print."""
    names = expand(command.operand)
    if command.verb is Verb.SHOW_HOSTNAMES:
        return "".join(f"{name}\n" for name in names)
    return (compress_sorted(names) if command.verb is Verb.SHOW_HOSTLIST_SORTED else compress(names)) + "\n"


_TRES = (
    ("CpusPerTres", "gres:gpu:", "cpus_per_gpu"),
    ("MemPerTres", "gres:gpu:", "mem_per_gpu_mb"),
    ("TresPerJob", "", "tres_per_job"),
    ("TresPerNode", "", "tres_per_node"),
    ("TresPerTask", "", "tres_per_task"),
)
NO_JOBS = "No jobs in the system\n"


def format_job(
    record: JobRecord,
    now: datetime,
    tz: tzinfo,
    one_line: bool = False,
    *,
    time_format: str = "",
    group: str = "",
    in_array: str = "",
    exempt_s: int | None = None,
    has_details: bool = False,
) -> str:
    """`scontrol show job`: the record's lines and an empty one, or with `one_line` all in a line. `exempt_s`: after
    which jobs that run may be preempted; None: never.

    `group` is the name of the job's gid where the caller knows it, `in_array` stands behind its number
    (array_records.ShownJob).
    """
    lines = _job_lines(record, now, tz, time_format, group=group, in_array=in_array, exempt_s=exempt_s)
    if has_details:
        from hpcbatch.dialects.slurm.job_details import allocation, derived_exit_code

        lines[_place(lines, "RunTime=") : 0] = [f"DerivedExitCode={derived_exit_code(record.status)}"]
        lines[_place(lines, "MinCPUsNode=") : 0] = allocation(record)
    if one_line:
        return " ".join(line.lstrip() for line in lines) + "\n"
    return "\n   ".join(lines) + "\n\n"


def _place(lines: Sequence[str], beginning: str) -> int:
    return next(place for place, line in enumerate(lines) if line.startswith(beginning))


def _limit_s(row: JobRow, deadline: datetime | None) -> int | None:
    """A job that has begun ends by its deadline: as in Slurm that is its limit then, in whole minutes."""
    if deadline is None or row.start_time is None:
        return row.walltime_s
    left_s = int((deadline - row.start_time).total_seconds()) // 60 * 60
    return left_s if row.walltime_s is None else min(left_s, row.walltime_s)


def _job_lines(
    record: JobRecord,
    now: datetime,
    tz: tzinfo,
    time_format: str,
    *,
    group: str,
    in_array: str,
    exempt_s: int | None,
) -> list[str]:
    spec, status, row = record.spec, record.status, row_of(record)
    given = spec.attributes
    code, signal = states.exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    is_batch = spec.interactive is None
    hosts = tuple(dict.fromkeys(row.hosts))
    limit_s = _limit_s(row, spec.deadline)
    limit = "UNLIMITED" if limit_s is None else full(limit_s)
    command = " ".join((spec.script_path, *spec.script_args)) if spec.script_path else "(null)"
    sharing = "NO" if spec.sharing is Sharing.EXCLUSIVE else "YES" if "oversubscribe" in given else "OK"
    time_min = "N/A" if spec.min_walltime_s is None else full(spec.min_walltime_s)
    # what was requested, though nodes have no order here, which was told; sbatch takes the name down to these letters
    contiguous = int(any(text.startswith("--conti") for text in spec.ignored))
    kills = None if spec.dependency is None else spec.dependency.kill_if_never
    told = states.system_comment(status.state, status.reason, status.message)
    offset = offset_in(record)
    component = "" if offset is None else f"HetJobId={record.job_id} HetJobOffset={offset} "
    planned = f" SchedNodeList={compress(row.planned_nodes)}" if row.planned_nodes else ""
    return [
        f"JobId={shown_number(record.job_id, spec.member_of)} {in_array}{component}JobName={spec.name}",
        *([f"HetJobIdSet={record.job_id}"] if component else []),
        f"UserId={status.owner}({status.uid}) GroupId={group or status.gid}({status.gid}) MCS_label=N/A",
        f"Priority={states.priority_of(row)} "
        f"Nice={spec.nice} Account={spec.account or '(null)'} QOS={given.get('qos', 'normal')}",
        f"JobState={states.long(status.state, status.reason)} "
        f"Reason={states.described_reason(status.state, status.reason, status.message).replace(' ', '_')} "
        f"Dependency={format_dependency(row.dependency, status.state)}",
        f"Requeue={int(spec.rerunnable)} "
        f"Restarts={states.restarts(status.state, status.run_count)} BatchFlag={int(is_batch)} Reboot=0 "
        f"ExitCode={code}:{signal}",
        f"RunTime={full(states.used_s(row, now))} TimeLimit={limit} TimeMin={time_min}",
        *_times(record, tz, time_format, exempt_s),
        f"Partition={_partitions(record)} AllocNode:Sid={spec.submit_host}:{status.session_id or 0}",
        f"ReqNodeList={compress(spec.required_hosts) or '(null)'} "
        f"ExcNodeList={compress(spec.excluded_hosts) or '(null)'}",
        f"NodeList={compress(hosts)}{planned}",
        *([f"BatchHost={hosts[0]}"] if hosts else []),
        *_sizes(record),
        f"Features={given.get('constraint', '(null)')} DelayBoot={full(0)}",
        *([f"Reservation={given['reservation']}"] if given.get("reservation") else []),
        f"OverSubscribe={sharing} Contiguous={contiguous} Licenses={format_licenses(spec) or '(null)'} Network=(null)",
        f"Command={command}",
        f"WorkDir={row.work_dir}",
        *([f"SystemComment={told} "] if told else []),
        *([f"Comment={given['comment']} "] if given.get("comment") else []),
        *(_files(record) if is_batch else []),
        "Power=",
        *([f"KillOInInvalidDependent={'Yes' if kills else 'No'}"] if kills is not None else []),
        *(f"{name}={prefix}{given[key]}" for name, prefix, key in _TRES if key in given),
        *([f"MailUser={','.join(spec.mail_users)} MailType={spec.mail_points}"] if spec.mail_points else []),
        "",
    ]


def _files(record: JobRecord) -> list[str]:
    stdout, stderr = shown_paths(record)
    return [f"StdErr={stderr}", f"StdIn={shown_input(record)}", f"StdOut={stdout}"]


def _partitions(record: JobRecord) -> str:
    """Of several that will do, all until the job has started in one of them."""
    others = record.spec.other_queues if record.status.start_time is None else ()
    return ",".join(dict.fromkeys((record.queue, *others)))


def _times(record: JobRecord, tz: tzinfo, time_format: str, exempt_s: int | None) -> list[str]:
    status, row = record.status, row_of(record)

    def shown(when: datetime | None) -> str:
        return stamp(when, tz, time_format, none="Unknown")

    deadline = stamp(record.spec.deadline, tz, time_format, none="N/A")
    begin = record.spec.begin_time if status.state is JobState.WAITING else None
    eligible = None if status.state is JobState.HELD else status.eligible_time or begin
    start = states.expected_start(row)
    end = status.end_time
    limit_s = _limit_s(row, record.spec.deadline)
    if end is None and start is not None and limit_s is not None:
        end = start + timedelta(seconds=limit_s + row.stood_s)
    if status.preempted is not None and status.end_time is None and status.preempted.mode is not PreemptMode.SUSPEND:
        end = status.preempted.end_time
    last = status.suspensions[-1] if status.suspensions else None
    changed = None if last is None else last.end_time or last.start_time
    return [
        f"SubmitTime={shown(status.submit_time)} EligibleTime={shown(eligible)}",
        f"AccrueTime={shown(eligible)}",
        f"StartTime={shown(start)} EndTime={shown(end)} Deadline={deadline}",
        *_preemption(status, tz, time_format, exempt_s),
        f"SuspendTime={stamp(changed, tz, time_format, none='None')} "
        f"SecsPreSuspend={round(status.ran_before_suspension_s)} "
        f"LastSchedEval={shown(status.start_time or status.submit_time)} Scheduler=Main",
    ]


def _preemption(status: JobStatus, tz: tzinfo, time_format: str, exempt_s: int | None) -> list[str]:
    """Of a job that has started, where jobs are preempted."""
    if status.start_time is None or (exempt_s is None and status.preempted is None):
        return []
    eligible = stamp(status.start_time + timedelta(seconds=exempt_s or 0), tz, time_format, none="None")
    chosen = stamp(None if status.preempted is None else status.preempted.time, tz, time_format, none="None")
    return [f"PreemptEligibleTime={eligible} PreemptTime={chosen}"]


def _sizes(record: JobRecord) -> list[str]:
    spec, status, row = record.spec, record.status, row_of(record)
    given, layout = spec.attributes, status.layout or spec.chunks
    waiting = status.state in WAITING
    nodes = given.get("nodes", str(row.nodes)).removesuffix(f"-{MAX_COUNT}") if waiting else str(row.nodes)
    tasks = sum(chunk.count * chunk.ranks for chunk in layout)
    per_task, per_node = number(given, "cpus_per_task") or 1, number(given, "ntasks_per_node") or 0
    mem_mb = 0 if row.mem_bytes is None else -(-row.mem_bytes // MIB)
    memory = f"mem={size(mem_mb)}," if mem_mb else ""
    if (per_cpu_mb := number(given, "mem_per_cpu_mb")) is not None:
        least = f"MinMemoryCPU={size(per_cpu_mb)}"
    elif (per_node_mb := number(given, "mem_per_node_mb")) is not None:
        least = f"MinMemoryNode={size(per_node_mb)}"
    else:
        least = f"MinMemoryNode={size(-(-mem_mb // max(row.nodes, 1)))}"
    return [
        f"NumNodes={nodes} NumCPUs={row.cpus} NumTasks={tasks} CPUs/Task={per_task} "
        f"ReqB:S:C:T=0:0:{given.get('cores_per_socket', '*')}:{given.get('threads_per_core', '*')}",
        f"TRES=cpu={row.cpus},{memory}node={row.nodes},billing={row.cpus}",
        f"Socks/Node=* NtasksPerN:B:S:C={per_node}:0:{given.get('ntasks_per_socket', '*')}:"
        f"{given.get('ntasks_per_core', '*')} CoreSpec=*",
        f"MinCPUsNode={max(per_task * max(per_node, 1), number(given, 'mincpus') or 1)} {least} "
        f"MinTmpDiskNode={size(number(given, 'tmp_mb') or 0)}",
    ]


def format_node(
    node: NodeRow,
    queues: Sequence[QueueRow],
    tz: tzinfo,
    one_line: bool = False,
    *,
    time_format: str = "",
    cpus: CpuTopology | None = None,
) -> str:
    """`scontrol show node`. What the API does not say of a node, Slurm's `n/a`, `N/A` or `n/s` stands for."""
    since = stamp(node.since, tz, time_format, none="None")
    total_mb, used_mb = node.mem_bytes // MIB, node.mem_used_bytes // MIB
    allocated = ",".join(
        [f"cpu={node.cpus_used}"] * bool(node.cpus_used)
        + [f"mem={size(used_mb)}"] * bool(node.mem_used_bytes)
        + gres_tres((each.name, each.used) for each in node.gres)
    )
    cpus = cpus or CpuTopology()
    arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(node.arch, node.arch)
    lines = [
        f"NodeName={node.name} Arch={arch} CoresPerSocket={cpus.cores_per_socket or node.cpus} ",
        f"CPUAlloc={node.cpus_used} CPUEfctv={node.cpus} CPUTot={node.cpus} CPULoad=N/A",
        f"AvailableFeatures={features(node, ACTIVE, AVAILABLE)}",
        f"ActiveFeatures={features(node, ACTIVE)}",
        f"Gres={gres(node)}",
        f"NodeAddr={node.name} NodeHostName={node.name} Version={SLURM_VERSION}",
        "OS=Linux",
        f"RealMemory={total_mb} AllocMem={used_mb} FreeMem={max(0, total_mb - used_mb)} "
        f"Sockets={cpus.sockets} Boards=1",
        *([f"CoreSpecCount={cpus.reserved_cores} "] if cpus.reserved_cores else []),
        f"State={node_state(node).upper} ThreadsPerCore={cpus.threads_per_core} TmpDisk=0 Weight=1 "
        "Owner=N/A MCS_label=N/A",
        f"Partitions={','.join(queue.name for queue in queues if queue.reaches(node))} ",
        "BootTime=None SlurmdStartTime=None",
        f"LastBusyTime={since}",
        f"CfgTRES={configured_tres(node)}",
        f"AllocTRES={allocated}",
        "CapWatts=n/a",
        "CurrentWatts=0 AveWatts=0",
        "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s",
    ]
    if cpus.policies:
        lines.append(f"Extra={cpus.policies}")
    if node.comment:
        said = stamp(node.comment_time, tz, time_format, none="Unknown")
        lines.append(f"Reason={node.comment} [{node.comment_by}@{said}]")
    return " ".join(lines) + "\n" if one_line else "\n   ".join(lines) + "\n\n"


def format_partition(queue: QueueRow, nodes: Sequence[NodeRow], one_line: bool = False) -> str:
    """`scontrol show partition`. Slurm has no limit on the CPUs of all of a job's nodes together."""
    nodes = [node for node in nodes if queue.reaches(node)]
    cpus = sum(node.cpus for node in nodes)
    mem_mb = sum(node.mem_bytes // MIB for node in nodes)
    longest = "UNLIMITED" if queue.max_walltime_s is None else full(queue.max_walltime_s)
    default = "NONE" if queue.default_walltime_s is None else full(queue.default_walltime_s)
    most = "UNLIMITED" if queue.max_nodes is None else str(queue.max_nodes)
    default_mem, most_mem = (
        "UNLIMITED" if size_bytes is None else str(size_bytes // MIB)
        for size_bytes in (queue.default_mem_per_node_bytes, queue.max_mem_per_node_bytes)
    )
    lines = [
        f"PartitionName={queue.name}",
        f"AllowGroups={_all(queue.allow_groups)} {_accounts(queue)} {_qos(queue)}",
        f"AllocNodes=ALL Default={'YES' if queue.is_default else 'NO'} QoS={queue.qos or 'N/A'}",
        f"DefaultTime={default} DisableRootJobs={_yes(queue.disables_root)} ExclusiveUser=NO GraceTime={queue.grace_s} "
        f"Hidden={_yes(queue.is_hidden)}",
        f"MaxNodes={most} MaxTime={longest} MinNodes={queue.min_nodes or 0} LLN=NO MaxCPUsPerNode=UNLIMITED",
        f"Nodes={compress([node.name for node in nodes]) or '(null)'}",
        f"PriorityJobFactor={queue.priority_job_factor} PriorityTier={queue.priority_tier} "
        f"RootOnly={_yes(queue.root_only)} ReqResv=NO OverSubscribe=NO",
        f"OverTimeLimit=NONE PreemptMode={preempt_mode(queue)}",
        f"State={availability(queue)[0]} TotalCPUs={cpus} TotalNodes={len(nodes)} SelectTypeParameters=NONE",
        "JobDefaults=(null)",
        f"DefMemPerNode={default_mem} MaxMemPerNode={most_mem}",
        f"TRES=cpu={cpus},mem={mem_mb}M,node={len(nodes)},billing={cpus}",
    ]
    return " ".join(lines) + "\n" if one_line else "\n   ".join(lines) + "\n\n"


def _all(names: Sequence[str] | None) -> str:
    return "ALL" if names is None else ",".join(names)


def _accounts(queue: QueueRow) -> str:
    if queue.deny_accounts and queue.allow_accounts is None:
        return f"DenyAccounts={','.join(queue.deny_accounts)}"
    return f"AllowAccounts={_all(queue.allow_accounts)}"


def _qos(queue: QueueRow) -> str:
    if queue.deny_qos and queue.allow_qos is None:
        return f"DenyQos={','.join(queue.deny_qos)}"
    return f"AllowQos={_all(queue.allow_qos)}"


def _yes(is_so: bool) -> str:
    return "YES" if is_so else "NO"


def not_found(kind: str, name: str) -> SlurmAnswer:
    """`Node x not found` and `Partition x not found`, on standard output, exit 1."""
    return SlurmAnswer(f"{kind} {name} not found", 1)
