"""scontrol: its command line, and what it shows of jobs, nodes, partitions and host lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.dependency import format_dependency
from hpcbatch.dialects.slurm.errors import SLURM_VERSION, VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SCONTROL_USAGE
from hpcbatch.dialects.slurm.hostlist import compress, compress_sorted, expand
from hpcbatch.dialects.slurm.ids import parse_id, split_ids
from hpcbatch.dialects.slurm.memory import MIB, size
from hpcbatch.dialects.slurm.node_states import node_state
from hpcbatch.dialects.slurm.output import shown_input, shown_paths
from hpcbatch.dialects.slurm.placement_values import format_licenses
from hpcbatch.dialects.slurm.values import MAX_COUNT
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.array import shown_number
from hpcbatch.model.named import NamedJob
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import NodeRow, QueueRow
from hpcbatch.model.spec import Sharing
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.record.rows import row_of


class Verb(StrEnum):
    """The requests that scontrol knows."""

    SHOW_JOB = "show job"
    SHOW_NODE = "show node"
    SHOW_PARTITION = "show partition"
    SHOW_HOSTNAMES = "show hostnames"
    SHOW_HOSTLIST = "show hostlist"
    SHOW_HOSTLIST_SORTED = "show hostlistsorted"
    HOLD = "hold"
    UHOLD = "uhold"
    RELEASE = "release"
    REQUEUE = "requeue"
    REQUEUE_HOLD = "requeuehold"
    SUSPEND = "suspend"
    RESUME = "resume"
    TOP = "top"
    UPDATE = "update"
    PING = "ping"
    VERSION = "version"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScontrolCommand:
    """One command. `operand` is the node, partition or host list shown, "" for all; `ids` are those of the jobs."""

    verb: Verb
    operand: str = ""
    ids: tuple[str, ...] = ()
    """As written."""
    words: tuple[str, ...] = ()
    """What stands behind `update`."""
    one_line: bool = False
    quiet: bool = False
    time_format: str = ""


PARSER = Parser(
    "scontrol",
    [
        Option(name=name, short=short, takes=takes)
        for name, short, takes in (
            ("all", "a", Takes.NOTHING),
            ("clusters", "M", Takes.VALUE),
            ("details", "d", Takes.NOTHING),
            ("federation", "", Takes.NOTHING),
            ("future", "F", Takes.NOTHING),
            ("help", "h", Takes.NOTHING),
            ("hide", "", Takes.NOTHING),
            ("local", "", Takes.NOTHING),
            ("oneliner", "o", Takes.NOTHING),
            ("quiet", "Q", Takes.NOTHING),
            ("sibling", "", Takes.NOTHING),
            ("uid", "u", Takes.VALUE),
            ("usage", "", Takes.NOTHING),
            ("verbose", "v", Takes.NOTHING),
            ("version", "V", Takes.NOTHING),
        )
    ],
)

# Keywords may be cut short, down to the length given here. Source: MAX(tag_len, n) in scontrol.c.
_KEYWORDS = {
    "show": 3,
    "requeue": 3,
    "requeuehold": 11,
    "hold": 4,
    "holdu": 5,
    "uhold": 2,
    "release": 3,
    "suspend": 2,
    "resume": 3,
    "top": 3,
    "update": 1,
    "ping": 3,
    "version": 4,
}
_VERBS = {"holdu": Verb.UHOLD}
_REQUEUE_FLAGS = ("incomplete", "state=")
_NOT_YET = (
    "abort",
    "cancel_reboot",
    "cluster",
    "create",
    "delete",
    "errnumstr",
    "fsdampeningfactor",
    "listpids",
    "notify",
    "pidinfo",
    "reboot",
    "reconfigure",
    "schedloglevel",
    "setdebug",
    "setdebugflags",
    "shutdown",
    "takeover",
    "token",
    "wait_job",
    "write",
)
_ENTITIES = {
    "jobs": (1, Verb.SHOW_JOB),
    "jobid": (5, Verb.SHOW_JOB),
    "nodes": (1, Verb.SHOW_NODE),
    "partitions": (1, Verb.SHOW_PARTITION),
    "hostnames": (5, Verb.SHOW_HOSTNAMES),
    "hostlist": (5, Verb.SHOW_HOSTLIST),
    "hostlistsorted": (9, Verb.SHOW_HOSTLIST_SORTED),
}
_NO_ENTITIES_YET = (
    "aliases",
    "assoc_mgr",
    "bbstat",
    "burstbuffer",
    "config",
    "daemons",
    "dwstat",
    "federation",
    "frontend",
    "licenses",
    "reservations",
    "slurmd",
    "steps",
    "topology",
)


def read_command(argv: Sequence[str], environ: Mapping[str, str]) -> ScontrolCommand:
    """Read scontrol's command line (without the program name). Raises SlurmUsageError with the real texts."""
    given, operands = PARSER.parse(argv, permute=True)
    asked = {option.option.name for option in given}
    if {"help", "usage"} & asked:
        raise SlurmAnswer(SCONTROL_USAGE)
    if "version" in asked:
        raise SlurmAnswer(VERSION_TEXT)
    for name in ("clusters", "uid"):
        if name in asked:
            raise NotSupportedError(f"scontrol --{name} is not supported yet")
    words = [argv[index] for index in operands]
    if not words:
        raise NotSupportedError("scontrol without a command, its interactive mode, is not supported yet")
    options = _Options("oneliner" in asked, "quiet" in asked, environ.get("SLURM_TIME_FORMAT", ""))
    keyword, rest = _keyword(words[0]), words[1:]
    if keyword in {"ping", "version"}:
        if rest:
            raise SlurmUsageError(f"too many arguments for keyword:{words[0]}")
        return options.command(Verb(keyword))
    if not rest:
        raise SlurmUsageError(f"too few arguments for keyword:{words[0]}")
    if keyword == "show":
        return _show(rest, environ, options)
    verb = _VERBS.get(keyword) or Verb(keyword)
    if verb is Verb.UPDATE:
        return options.command(verb, words=rest)
    if verb is Verb.TOP and len(rest) > 1:
        raise SlurmUsageError(f"too many arguments for keyword:{words[0]}")
    if verb in {Verb.REQUEUE, Verb.REQUEUE_HOLD} and rest[0].lower().startswith(_REQUEUE_FLAGS):
        raise NotSupportedError(f"scontrol {verb} {rest[0]} is not supported yet")
    return options.command(verb, ids=tuple(part for word in rest for part in _ids(word)))


def _ids(word: str) -> list[str]:
    """`12,13`, `job=12`, `JobId=12`; `Name=x` stays as it is."""
    tag, equals, value = word.partition("=")
    if equals and tag.lower() in {"job", "jobid"}:
        word = value
    return split_ids(word) or [word]


@dataclass(frozen=True, slots=True)
class _Options:
    one_line: bool
    quiet: bool
    time_format: str

    def command(
        self, verb: Verb, operand: str = "", ids: tuple[str, ...] = (), words: Sequence[str] = ()
    ) -> ScontrolCommand:
        return ScontrolCommand(
            verb=verb,
            operand=operand,
            ids=ids,
            words=tuple(words),
            one_line=self.one_line,
            quiet=self.quiet,
            time_format=self.time_format,
        )


def _keyword(word: str) -> str:
    for keyword, least in _KEYWORDS.items():
        if len(word) >= least and keyword.startswith(word.lower()):
            return keyword
    if word.lower() in _NOT_YET:
        raise NotSupportedError(f"scontrol {word.lower()} is not supported yet")
    if word.lower() == "help":
        raise SlurmAnswer(SCONTROL_USAGE)
    raise SlurmUsageError(f"invalid keyword: {word}")


def _show(rest: Sequence[str], environ: Mapping[str, str], options: _Options) -> ScontrolCommand:
    name, equals, operand = rest[0].partition("=")
    operands = [*([operand] if equals else []), *rest[1:]]
    if len(operands) > 1:
        raise SlurmUsageError("too many arguments for keyword:show")
    verb = _entity(name)
    operand = operands[0] if operands else ""
    if verb is Verb.SHOW_JOB:
        return options.command(verb, ids=(operand,) if operand else ())
    if verb is Verb.SHOW_HOSTNAMES and not operands:
        operand = environ.get("SLURM_JOB_NODELIST", "")
        if not operand:
            raise SlurmUsageError("scontrol: error: host list is empty", 0)
    if verb in {Verb.SHOW_HOSTLIST, Verb.SHOW_HOSTLIST_SORTED} and not operand:
        raise SlurmUsageError("invalid encode argument")
    return options.command(verb, operand)


def _entity(name: str) -> Verb:
    lower = name.lower()
    for entity, (least, verb) in _ENTITIES.items():
        if len(lower) >= least and entity.startswith(lower):
            return verb
    if lower and any(entity.startswith(lower) for entity in _NO_ENTITIES_YET):
        raise NotSupportedError(f"scontrol show {lower} is not supported yet")
    raise SlurmUsageError(f"invalid entity:{name} for keyword:show ")


def read_job(text: str) -> NamedJob:
    """A job that is to be shown. Raises SlurmUsageError for what is no id, or names several members of an array."""
    try:
        named = parse_id(text)
    except ValueError:
        named = None
    if named is None or (named.members is not None and "[" in text):
        raise SlurmUsageError("scontrol_print_job error: Invalid job id specified")
    return named


def not_found_member(text: str) -> SlurmUsageError:
    """For an index that an array does not have."""
    return SlurmUsageError(f"Job {text} not found")


def format_hosts(command: ScontrolCommand) -> str:
    """What `show hostnames`, `hostlist` and `hostlistsorted` print."""
    names = expand(command.operand)
    if command.verb is Verb.SHOW_HOSTNAMES:
        return "".join(f"{name}\n" for name in names)
    return (compress_sorted(names) if command.verb is Verb.SHOW_HOSTLIST_SORTED else compress(names)) + "\n"


def format_ping(host: str, up: bool) -> str:
    """What `scontrol ping` prints; it exits 1 when the controller is down."""
    if up:
        return f"Slurmctld(primary) at {host} is UP\n"
    stars = "*" * 41
    return f"Slurmctld(primary) at {host} is DOWN\n{stars}\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n{stars}\n"


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
) -> str:
    """`scontrol show job`: the record's lines and an empty one, or with `one_line` all in a line.

    `group` is the name of the job's gid where the caller knows it, `in_array` stands behind its number
    (array_records.ShownJob).
    """
    lines = _job_lines(record, now, tz, time_format, group=group, in_array=in_array)
    if one_line:
        return " ".join(lines) + "\n"
    return "\n   ".join(lines) + "\n\n"


def _job_lines(
    record: JobRecord, now: datetime, tz: tzinfo, time_format: str, *, group: str, in_array: str
) -> list[str]:
    spec, status, row = record.spec, record.status, row_of(record)
    given = spec.attributes
    code, signal = states.exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    stdout, stderr = shown_paths(record)
    hosts = tuple(dict.fromkeys(row.hosts))
    limit = "UNLIMITED" if row.walltime_s is None else full(row.walltime_s)
    command = " ".join((spec.script_path, *spec.script_args)) if spec.script_path else "(null)"
    sharing = "NO" if spec.sharing is Sharing.EXCLUSIVE else "YES" if "oversubscribe" in given else "OK"
    time_min = given.get("time_min", "N/A")
    kills = None if spec.dependency is None else spec.dependency.kill_if_never
    told = states.system_comment(status.state, status.reason, status.message)
    return [
        f"JobId={shown_number(record.job_id, spec.member_of)} {in_array}JobName={spec.name}",
        f"UserId={status.owner}({status.uid}) GroupId={group or status.gid}({status.gid}) MCS_label=N/A",
        f"Priority={states.priority(states.own_number(row), status.state, spec.priority - spec.nice, status.reason)} "
        f"Nice={spec.nice} Account={spec.account or '(null)'} QOS={given.get('qos', 'normal')}",
        f"JobState={states.long(status.state, status.reason)} "
        f"Reason={states.shown_reason(status.state, status.reason, status.message)} "
        f"Dependency={format_dependency(row.dependency, status.state)}",
        f"Requeue={int(spec.rerunnable)} "
        f"Restarts={states.restarts(status.state, status.run_count)} BatchFlag=1 Reboot=0 ExitCode={code}:{signal}",
        f"RunTime={full(states.used_s(row, now))} TimeLimit={limit} TimeMin={time_min}",
        *_times(record, tz, time_format),
        f"Partition={_partitions(record)} AllocNode:Sid={spec.submit_host}:{status.session_id or 0}",
        f"ReqNodeList={compress(spec.required_hosts) or '(null)'} "
        f"ExcNodeList={compress(spec.excluded_hosts) or '(null)'}",
        f"NodeList={compress(hosts)}",
        *([f"BatchHost={hosts[0]}"] if hosts else []),
        *_sizes(record),
        f"Features={given.get('constraint', '(null)')} DelayBoot={full(0)}",
        *([f"Reservation={given['reservation']}"] if given.get("reservation") else []),
        f"OverSubscribe={sharing} Contiguous=0 Licenses={format_licenses(spec) or '(null)'} Network=(null)",
        f"Command={command}",
        f"WorkDir={row.work_dir}",
        *([f"SystemComment={told} "] if told else []),
        *([f"Comment={given['comment']} "] if given.get("comment") else []),
        f"StdErr={stderr}",
        f"StdIn={shown_input(record)}",
        f"StdOut={stdout}",
        "Power=",
        *([f"KillOInInvalidDependent={'Yes' if kills else 'No'}"] if kills is not None else []),
        *(f"{name}={prefix}{given[key]}" for name, prefix, key in _TRES if key in given),
        *([f"MailUser={','.join(spec.mail_users)} MailType={spec.mail_points}"] if spec.mail_points else []),
        "",
    ]


def _partitions(record: JobRecord) -> str:
    """Of several that will do, all until the job has started in one of them."""
    others = record.spec.other_queues if record.status.start_time is None else ()
    return ",".join(dict.fromkeys((record.queue, *others)))


def _times(record: JobRecord, tz: tzinfo, time_format: str) -> list[str]:
    status, row = record.status, row_of(record)

    def shown(when: datetime | None) -> str:
        return stamp(when, tz, time_format, none="Unknown")

    deadline = stamp(record.spec.deadline, tz, time_format, none="N/A")
    begin = record.spec.begin_time if status.state is JobState.WAITING else None
    eligible = None if status.state is JobState.HELD else status.eligible_time or begin
    start = states.expected_start(row)
    end = status.end_time
    if end is None and start is not None and row.walltime_s is not None:
        end = start + timedelta(seconds=row.walltime_s)
    return [
        f"SubmitTime={shown(status.submit_time)} EligibleTime={shown(eligible)}",
        f"AccrueTime={shown(eligible)}",
        f"StartTime={shown(start)} EndTime={shown(end)} Deadline={deadline}",
        f"SuspendTime=None SecsPreSuspend=0 LastSchedEval={shown(status.start_time or status.submit_time)} "
        "Scheduler=Main",
    ]


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
    node: NodeRow, queues: Sequence[QueueRow], tz: tzinfo, one_line: bool = False, *, time_format: str = ""
) -> str:
    """`scontrol show node`. What the API does not say of a node, Slurm's `n/a`, `N/A` or `n/s` stands for."""
    since = stamp(node.since, tz, time_format, none="None")
    total_mb, used_mb = node.mem_bytes // MIB, node.mem_used_bytes // MIB
    allocated = ",".join(
        [f"cpu={node.cpus_used}"] * bool(node.cpus_used) + [f"mem={size(used_mb)}"] * bool(node.mem_used_bytes)
    )
    arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(node.arch, node.arch)
    lines = [
        f"NodeName={node.name} Arch={arch} CoresPerSocket={node.cpus} ",
        f"CPUAlloc={node.cpus_used} CPUEfctv={node.cpus} CPUTot={node.cpus} CPULoad=N/A",
        "AvailableFeatures=(null)",
        "ActiveFeatures=(null)",
        "Gres=(null)",
        f"NodeAddr={node.name} NodeHostName={node.name} Version={SLURM_VERSION}",
        "OS=Linux",
        f"RealMemory={total_mb} AllocMem={used_mb} FreeMem={max(0, total_mb - used_mb)} Sockets=1 Boards=1",
        f"State={node_state(node).upper} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
        f"Partitions={','.join(queue.name for queue in queues if queue.reaches(node))} ",
        "BootTime=None SlurmdStartTime=None",
        f"LastBusyTime={since}",
        f"CfgTRES=cpu={node.cpus},mem={total_mb}M,billing={node.cpus}",
        f"AllocTRES={allocated}",
        "CapWatts=n/a",
        "CurrentWatts=0 AveWatts=0",
        "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s",
    ]
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
        "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL",
        f"AllocNodes=ALL Default={'YES' if queue.is_default else 'NO'} QoS=N/A",
        f"DefaultTime={default} DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO",
        f"MaxNodes={most} MaxTime={longest} MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED",
        f"Nodes={compress([node.name for node in nodes]) or '(null)'}",
        "PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO",
        "OverTimeLimit=NONE PreemptMode=OFF",
        f"State={'UP' if queue.is_open else 'INACTIVE'} TotalCPUs={cpus} TotalNodes={len(nodes)} "
        "SelectTypeParameters=NONE",
        "JobDefaults=(null)",
        f"DefMemPerNode={default_mem} MaxMemPerNode={most_mem}",
        f"TRES=cpu={cpus},mem={mem_mb}M,node={len(nodes)},billing={cpus}",
    ]
    return " ".join(lines) + "\n" if one_line else "\n   ".join(lines) + "\n\n"


def not_found(kind: str, name: str) -> SlurmUsageError:
    """`Node x not found` and `Partition x not found`, exit 1."""
    return SlurmUsageError(f"{kind} {name} not found")
