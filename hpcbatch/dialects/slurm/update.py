"""`scontrol update`: its command line, and what it makes of a job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.dialects.slurm import states, values
from hpcbatch.dialects.slurm.begin import parse_begin
from hpcbatch.dialects.slurm.dependency import parse_dependency
from hpcbatch.dialects.slurm.errors import NOT_PENDING, SlurmUsageError
from hpcbatch.dialects.slurm.ids import split_ids
from hpcbatch.dialects.slurm.placement_values import parse_hosts, parse_licenses
from hpcbatch.dialects.slurm.read_request import read_option, request_of
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.sizes import SIZE_ATTRIBUTES, size_attributes, size_of
from hpcbatch.dialects.slurm.submit import node_range, output_path
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.dependency import Dependency
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import MAX_FIXED_PRIORITY, JobSpec, Output
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.model.text import is_printable, printable
from hpcbatch.record.rows import row_of
from hpcbatch.typed import NamedTuple

RELEASE = 2**32 - 1
"""Slurm's INFINITE: as a priority it takes the hold off."""
_COUNT = re.compile(r"[0-9]{1,18}")
_HELD = "Job is in held state, pending scheduler release"
_NOT_RUNNING = "Job is not running"
# Tags with the length down to which they may be cut short, in the order in which they are looked for.
# Source: scontrol_update_job(), 22.05.
_TAGS = {
    "JobId": 3,
    "AdminComment": 6,
    "SiteFactor": 5,
    "ArrayTaskThrottle": 10,
    "Comment": 3,
    "Clusters": 8,
    "ClusterFeatures": 8,
    "DelayBoot": 5,
    "TimeLimit": 5,
    "TimeMin": 5,
    "Priority": 2,
    "Nice": 2,
    "CPUsPerTask": 9,
    "CpusPerTres": 9,
    "NumCPUs": 6,
    "NumTasks": 8,
    "ReqProcs": 8,
    "Requeue": 4,
    "ReqNodes": 8,
    "NumNodes": 8,
    "ReqSockets": 4,
    "ReqCores": 4,
    "TasksPerNode": 2,
    "ReqThreads": 4,
    "MinCPUsNode": 4,
    "MinMemoryNode": 10,
    "MinMemoryCPU": 10,
    "MinTmpDiskNode": 5,
    "Partition": 2,
    "QOS": 2,
    "ReservationName": 3,
    "Name": 2,
    "JobName": 4,
    "WCKey": 1,
    "StdOut": 6,
    "Switches": 5,
    "wait-for-switch": 5,
    "OverSubscribe": 2,
    "Shared": 2,
    "Contiguous": 3,
    "CoreSpec": 4,
    "MemPerTres": 5,
    "ThreadSpec": 4,
    "TresBind": 5,
    "TresFreq": 5,
    "TresPerJob": 8,
    "TresPerNode": 8,
    "TresPerSocket": 8,
    "TresPerTask": 8,
    "ExcNodeList": 3,
    "NodeList": 8,
    "ReqNodeList": 8,
    "Features": 1,
    "Prefer": 3,
    "Gres": 2,
    "Account": 1,
    "BurstBuffer": 1,
    "Dependency": 1,
    "Licenses": 1,
    "EligibleTime": 2,
    "StartTime": 2,
    "EndTime": 2,
    "Reboot": 3,
    "UserID": 3,
    "Deadline": 3,
    "WorkDir": 2,
    "MailType": 5,
    "MailUser": 5,
}
_SAME_AS = {
    "ReqProcs": "NumTasks",
    "ReqNodes": "NumNodes",
    "JobName": "Name",
    "EligibleTime": "StartTime",
    "TresPerNode": "Gres",
    "NodeList": "ReqNodeList",
}
_KEPT = {"Comment": "comment", "QOS": "qos", "ReservationName": "reservation", "WCKey": "wckey"}
_OTHERS = {"NodeName": 3, "PartitionName": 3, "StepId": 4, "FrontendName": 2, "ReservationName": 3, "SlurmctldDebug": 2}
# Of these the size of the job follows; each is read as sbatch's option.
_SIZE = {
    "NumNodes": "nodes",
    "NumTasks": "ntasks",
    "CPUsPerTask": "cpus-per-task",
    "TasksPerNode": "ntasks-per-node",
    "MinMemoryNode": "mem",
    "MinMemoryCPU": "mem-per-cpu",
    "Gres": "gres",
    "Features": "constraint",
    "MinCPUsNode": "mincpus",
    "MinTmpDiskNode": "tmp",
    "NumCPUs": "",
}
_TAKEN = {
    *_KEPT,
    "TimeMin",
    *_SIZE,
    "Account",
    "ArrayTaskThrottle",
    "Deadline",
    "Dependency",
    "EndTime",
    "ExcNodeList",
    "Licenses",
    "MailType",
    "MailUser",
    "Name",
    "Nice",
    "Partition",
    "Priority",
    "ReqNodeList",
    "Requeue",
    "StartTime",
    "StdOut",
    "TimeLimit",
    "WorkDir",
}


class Change(NamedTuple):
    """One `Tag=value`; `sign` is the `+` or `-` of `TimeLimit+=5` and `TimeLimit=+5`."""

    tag: str
    value: str
    sign: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What is to change, in which jobs: `ids` as written, or all of the name `job_name`."""

    ids: tuple[str, ...] = ()
    job_name: str = ""
    changes: tuple[Change, ...]

    def value(self, tag: str) -> str | None:
        """The last value of a tag; None: not given."""
        return next((change.value for change in reversed(self.changes) if change.tag == tag), None)

    @property
    def priority(self) -> int | None:
        """0 holds the job, RELEASE takes the hold off."""
        value = self.value("Priority")
        return None if value is None else int(value)

    @property
    def nice(self) -> int | None:
        value = self.value("Nice")
        return None if value is None else int(value)

    @property
    def array_limit(self) -> int | None:
        """0: as many as fit."""
        value = self.value("ArrayTaskThrottle")
        return None if value is None else int(value)


def read_update(words: Sequence[str]) -> Update:
    """Read what stands behind `update`. Raises SlurmUsageError with the real texts, exit 1."""
    pairs = list(pairs_of(words))
    if not any(is_tag(tag, "JobId", 3) or is_tag(tag, "JobName", 3) for tag, _, _ in pairs):
        if any(is_tag(tag, name, least) for tag, _, _ in pairs for name, least in _OTHERS.items()):
            raise NotSupportedError("scontrol update of anything but jobs is not supported yet")
        raise SlurmUsageError(
            'No valid entity in update command\nInput line must include "NodeName", "PartitionName", "Reservation", '
            '"JobId", or "SlurmctldDebug"'
        )
    ids: tuple[str, ...] | None = None
    changes: list[Change] = []
    for tag, value, sign in pairs:
        name = next((name for name, least in _TAGS.items() if is_tag(tag, name, least)), None)
        if name is None:
            raise SlurmUsageError(f"Update of this parameter is not supported: {tag}{sign}={value}\nRequest aborted")
        name = _SAME_AS.get(name, name)
        if name == "JobId":
            ids = tuple(split_ids(value) or [value])
            continue
        if name not in _TAKEN:
            raise NotSupportedError(f"scontrol update {name} is not supported yet")
        changes.append(_checked(Change(name, value, sign), has_id=ids is not None))
    if not changes:
        raise SlurmUsageError("No changes specified")
    named = next((change.value for change in changes if change.tag == "Name"), "")
    return Update(ids=ids or (), job_name="" if ids else named, changes=tuple(changes))


def pairs_of(words: Sequence[str]) -> list[tuple[str, str, str]]:
    """Tags, values and signs: `Tag=value`, `Tag+=value`, `Tag value`, and `Nice` alone."""
    pairs = []
    index = 0
    while index < len(words):
        tag, equals, value = words[index].partition("=")
        index += 1
        if equals:
            sign = tag[-1:] if tag[-1:] in {"+", "-"} else ""
            pairs.append((tag.removesuffix(sign) if sign else tag, value, sign))
        elif is_tag(tag, "Nice", 2):
            pairs.append((tag, "100", ""))
        elif index < len(words):
            pairs.append((tag, words[index], ""))
            index += 1
        else:
            raise SlurmUsageError(f"Invalid input: {tag}\nRequest aborted")
    return pairs


def is_tag(tag: str, name: str, least: int) -> bool:
    return len(tag) >= least and name.lower().startswith(tag.lower())


def _checked(change: Change, *, has_id: bool) -> Change:
    """With its value as it will be read. Raises SlurmUsageError for one that scontrol itself refuses."""
    tag, value, sign = change
    if tag == "TimeLimit":
        if value[:1] in {"+", "-"} and value != "-1":
            if sign:
                raise _error("Invalid syntax, variations of +=- are not accepted.")
            sign, value = value[0], value[1:]
        try:
            values.parse_time_s(value)
        except ValueError:
            raise _error("Invalid TimeLimit value") from None
        if sign and not has_id:
            raise _error("JobId must precede TimeLimit increment or decrement")
        return Change(tag, value, sign)
    if sign:
        raise _error(f"Option {tag} does not accept [+|-]= syntax")
    if not is_printable(value):
        raise _error(f"Invalid {tag} value: {printable(value)}: it has a character that cannot be printed")
    match tag:
        case "ArrayTaskThrottle":
            if not _COUNT.fullmatch(value):
                raise _error("Invalid ArrayTaskThrottle value")
        case "Priority":
            if not _COUNT.fullmatch(value) or int(value) > RELEASE:
                raise _error(f"Invalid Priority value: {value}")
        case "Nice":
            value = _nice(value)
        case "NumCPUs" | "NumTasks" | "CPUsPerTask" | "TasksPerNode" | "MinMemoryNode" | "MinMemoryCPU" | "Requeue":
            number = value.partition("-")[0] if tag == "NumCPUs" else value
            if not _COUNT.fullmatch(number) or (
                int(number) == 0 and tag not in {"MinMemoryNode", "MinMemoryCPU", "Requeue"}
            ):
                raise _error(f"Invalid {tag} value: {value}")
            value = number
        case "TimeMin":
            try:
                values.parse_time_s(value)
            except ValueError:
                raise _error("Invalid TimeMin value") from None
        case "MailType":
            try:
                values.parse_mail_types(value)
            except ValueError:
                raise SlurmUsageError(f"Invalid MailType: {value}") from None
        case _:
            pass
    return Change(tag, value)


def _nice(text: str) -> str:
    try:
        return str(values.parse_nice(text))
    except OverflowError:
        raise _error(f"Nice value out of range (+/- {values.MAX_NICE}). Value ignored") from None
    except ValueError:
        raise _error(f"Invalid Nice value: {text}") from None


def _error(text: str) -> SlurmUsageError:
    return SlurmUsageError(f"scontrol: error: {text}")


def altered(update: Update, record: JobRecord, now: datetime) -> JobSpec:
    """The job as it is to be. `now` is aware, in the user's zone.
    Raises SlurmUsageError with what stands before ` for job N`: what the job is too far for, and sizes that do not fit.
    """
    spec = record.spec
    request: Request | None = None
    for change in update.changes:
        if change.tag in _SIZE:
            request = request or request_of(spec)
            _resize(request, change, now)
        else:
            spec = _with(spec, change, record, now)
    return spec if request is None else _with_size(spec, request)


def _with(spec: JobSpec, change: Change, record: JobRecord, now: datetime) -> JobSpec:
    value = change.value
    match change.tag:
        case "TimeLimit":
            return replace(spec, walltime_s=_walltime_s(change, record))
        case "TimeMin":
            return replace(spec, min_walltime_s=values.parse_time_s(value))
        case "Name":
            return replace(spec, name=value)
        case "Partition":
            first, *others = value.split(",")
            return replace(spec, queue=first, other_queues=tuple(dict.fromkeys(name for name in others if name)))
        case "ReqNodeList":
            return replace(spec, required_hosts=tuple(dict.fromkeys(_hosts(value))))
        case "ExcNodeList":
            return replace(spec, excluded_hosts=tuple(dict.fromkeys(_hosts(value))))
        case "Licenses":
            kept = {name: text for name, text in spec.attributes.items() if name != "licenses"}
            return replace(spec, licenses=_licenses(value), attributes=kept | ({"licenses": value} if value else {}))
        case "Deadline":
            return replace(spec, deadline=_time(value, now))
        case "Account":
            return replace(spec, account=value or None)
        case "Requeue":
            return replace(spec, rerunnable=int(value) > 0)
        case "Nice":
            return replace(spec, nice=int(value))
        case "Priority":
            return _with_priority(spec, int(value), record)
        case "StartTime":
            _check_waits(record)
            return replace(spec, begin_time=max(_time(value, now), now.replace(microsecond=0)))
        case "EndTime":
            return replace(spec, walltime_s=_until(value, record, now))
        case "StdOut":
            work_dir = spec.work_dir or record.status.home
            return replace(spec, stdout=Output(path=output_path(value, work_dir), append=spec.stdout.append))
        case "WorkDir":
            return replace(spec, work_dir=value)
        case "MailType":
            types = values.parse_mail_types(value)
            users = spec.mail_users or ((record.status.owner,) if types else ())
            return replace(spec, mail_points=",".join(types), mail_users=users)
        case "Dependency":
            return replace(spec, dependency=_dependency(value, spec.dependency))
        case "MailUser":
            return replace(spec, mail_users=tuple(user for user in value.split(",") if user))
        case tag if tag in _KEPT:
            kept = {name: text for name, text in spec.attributes.items() if name != _KEPT[tag]}
            return replace(spec, attributes=kept | ({_KEPT[tag]: value} if value else {}))
        case _:  # ArrayTaskThrottle is no field of the job's
            return spec


def _dependency(text: str, before: Dependency | None) -> Dependency | None:
    """--kill-on-invalid-dep stays as it was."""
    try:
        return parse_dependency(text, kill_if_never=None if before is None else before.kill_if_never)
    except ValueError:
        raise SlurmUsageError("Job dependency problem") from None


def _check_waits(record: JobRecord) -> None:
    if record.status.state not in WAITING:
        raise SlurmUsageError(NOT_PENDING)


def _walltime_s(change: Change, record: JobRecord) -> int | None:
    """Slurm counts in minutes."""
    asked_s = values.parse_time_s(change.value)
    if not change.sign:
        return asked_s
    if record.spec.array is not None:
        raise _error("TimeLimit increment/decrement not supported for job arrays")
    before_s, more_s = row_of(record).walltime_s, asked_s or 0
    if before_s is None:
        return None
    if change.sign == "+":
        return before_s + more_s
    if more_s >= before_s:
        raise _error(f"TimeLimit decrement larger than current time limit ({more_s // 60} > {before_s // 60})")
    return before_s - more_s


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return parse_hosts(text) if text else ()
    except ValueError:
        raise SlurmUsageError("Invalid node name specified") from None


def _licenses(text: str) -> tuple[tuple[str, int], ...]:
    try:
        return tuple(sorted(parse_licenses(text).items()))
    except (ValueError, NotImplementedError):
        raise SlurmUsageError("Invalid license specification") from None


def _time(text: str, now: datetime) -> datetime:
    try:
        return parse_begin(text, now)
    except SlurmUsageError as error:
        raise SlurmUsageError(error.text.partition("\n")[0]) from None


def _until(text: str, record: JobRecord, now: datetime) -> int:
    start = record.status.start_time
    if record.status.state not in {JobState.RUNNING, JobState.SUSPENDED} or start is None:
        raise SlurmUsageError(_NOT_RUNNING)
    end = _time(text, now)
    return max(1, int((max(end, now) - start) / timedelta(seconds=1)))


def _with_priority(spec: JobSpec, priority: int, record: JobRecord) -> JobSpec:
    """A priority given outright takes the place of nice; to hold and to release is no alteration."""
    if priority in {0, RELEASE}:
        return replace(spec, fixed_priority=None) if priority == RELEASE else spec
    if spec.hold or spec.admin_holds:
        raise SlurmUsageError(_HELD)
    return with_priority(spec, priority, states.own_number(row_of(record)))


def with_priority(spec: JobSpec, priority: int, number: int) -> JobSpec:
    """The job `number` with a priority given outright, which is shown as it is given."""
    weight = priority - states.FIRST_PRIORITY + number
    return replace(spec, priority=weight, nice=0, fixed_priority=min(priority, MAX_FIXED_PRIORITY - 1))


def _resize(request: Request, change: Change, now: datetime) -> None:
    if change.tag == "NumCPUs":
        each = request.cpus_per_task or 1
        read_option(request, "ntasks", str(-(-int(change.value) // each)), now)
        return
    try:
        read_option(request, _SIZE[change.tag], change.value, now)
    except SlurmUsageError as error:
        raise _reason(error) from None
    if change.tag == "MinMemoryNode":
        request.mem_per_cpu_mb = None
    elif change.tag == "MinMemoryCPU":
        request.mem_mb = None


def _with_size(spec: JobSpec, request: Request) -> JobSpec:
    if "het_size" in spec.attributes:
        raise SlurmUsageError("Requested operation not supported on this system")
    nodes = node_range(request)
    try:
        size = size_of(request, nodes)
    except SlurmUsageError as error:
        raise _reason(error) from None
    return replace(
        spec,
        chunks=size.chunks,
        arrangement=size.arrangement,
        mem_per_pod_bytes=size.mem_per_pod_bytes,
        resources_per_pod=size.resources_per_pod,
        whole_node_mem=request.mem_mb == 0,
        attributes={**without_sizes(spec).attributes, **size_attributes(request, nodes)},
    )


def without_sizes(spec: JobSpec) -> JobSpec:
    """The same without what was requested in Slurm's words for its size, which has become another."""
    kept = {name: value for name, value in spec.attributes.items() if name not in SIZE_ATTRIBUTES}
    return replace(spec, attributes=kept)


def _reason(error: SlurmUsageError) -> SlurmUsageError:
    """slurmctld's own text, without what sbatch says around it."""
    last = error.text.rpartition("\n")[2]
    return SlurmUsageError(last.removeprefix("sbatch: error: ").removeprefix("Batch job submission failed: "))
