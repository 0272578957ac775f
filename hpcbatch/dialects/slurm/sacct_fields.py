"""sacct's fields: their names, widths and values. Source: sacct 22.05.8, sacct.c and print.c.

What hpcbatch does not measure (pages, energy, the split of CPU time into user and system; of the script also disk and
virtual memory) is empty, as Slurm leaves it empty where no plugin gathers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.field_table import Kind
from hpcbatch.dialects.slurm.sacct_line import MIB, Line, Value, View
from hpcbatch.dialects.slurm.sacct_usage import (
    ave_cpu,
    ave_rss,
    average_of,
    disk,
    max_rss,
    max_rss_node,
    max_rss_task,
    min_cpu,
    min_cpu_node,
    min_cpu_task,
    most_of,
    node_of,
    of_step,
    read_of,
    size_of,
    task_of,
    total_of,
    tres_in,
    tres_out,
    tres_place,
    vm_of,
    written_by,
)
from hpcbatch.dialects.slurm.states import system_comment
from hpcbatch.model.row import JobRow, is_reservations_queue, reservation_names
from hpcbatch.typed import NamedTuple


class Field(NamedTuple):
    width: int
    """Negative: to the left."""
    value: Value
    kind: Kind = Kind.TEXT


def _empty(_line: Line, _view: View) -> str:
    return ""


def _job(value: Value) -> Value:
    """Of a job; empty for its steps."""
    return lambda line, view: "" if line.is_step else value(line, view)


def told(line: Line) -> str:
    """What happened to the job."""
    status = line.record.status
    return system_comment(status.state, status.reason, status.message)


def _given(key: str) -> Value:
    return _job(lambda line, _: line.record.spec.attributes.get(key, ""))


def _time(pick: Callable[[Line], datetime | None]) -> Value:
    return lambda line, view: stamp(pick(line), view.tz, view.time_format, now=view.now, none="Unknown")


def cpu_time(seconds: int | None) -> str:
    """`00:12:07`, `1-00:00:00`: CPU time, "" where it is not known."""
    return "" if seconds is None else full(seconds)


def _job_id(line: Line, _view: View) -> str:
    return f"{line.job_id}.{line.step}" if line.is_step else line.job_id


def _job_id_raw(line: Line, _view: View) -> str:
    return f"{line.job_id_raw}.{line.step}" if line.is_step else line.job_id_raw


def _timelimit(line: Line, _view: View) -> str:
    limit_s = line.row.walltime_s
    return "UNLIMITED" if limit_s is None else full(limit_s)


def _timelimit_raw(line: Line, _view: View) -> str:
    limit_s = line.row.walltime_s
    return "UNLIMITED" if limit_s is None else str(-(-limit_s // 60))


def reservation(row: JobRow) -> str:
    """Of several the first one until the job starts, then the one that it uses, as Slurm's accounting has it."""
    named = reservation_names(row.reservation)
    queue = row.queue if is_reservations_queue(row.queue) else ""
    return row.used_reservation or (named[0] if named else queue)


def _reservation_id(row: JobRow) -> str:
    """PBS's have numbers; Slurm's are known by their names alone here."""
    name = reservation(row)
    return name[1:] if is_reservations_queue(name) else ""


def _mem_mib(line: Line) -> int:
    return -(-(line.row.mem_bytes or 0) // MIB)


def _tres(cpus: int, nodes: int, mem: str, gres: Mapping[str, int], *, billing: bool) -> str:
    """Sorted by name, as slurmdbd gives them."""
    parts = {f"gres/{name}": str(amount) for name, amount in gres.items()}
    parts |= {"cpu": str(cpus), "node": str(nodes)}
    if mem:
        parts["mem"] = mem
    if billing:
        parts["billing"] = str(cpus)
    return ",".join(f"{name}={parts[name]}" for name in sorted(parts))


def _gres(line: Line) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in line.record.status.layout or line.record.spec.chunks:
        for name, amount in chunk.resources:
            found[name] = found.get(name, 0) + chunk.count * amount
    return found


def _mem(line: Line, view: View) -> str:
    return view.size(_mem_mib(line), 2) if _mem_mib(line) else ""


def _req_cpus(line: Line) -> int:
    return line.cpus if line.is_step else line.record.requested_cpus


def _req_tres(line: Line, view: View) -> str:
    return _tres(line.record.requested_cpus, line.row.nodes, _mem(line, view), _gres(line), billing=True)


def _alloc_tres(line: Line, view: View) -> str:
    if not line.allocated_nodes:
        return ""
    if not line.is_step:
        return _tres(line.row.cpus, line.row.nodes, _mem(line, view), _gres(line), billing=True)
    share = _mem_mib(line) * line.nodes // max(line.row.nodes, 1)
    return _tres(line.cpus, line.nodes, view.size(share, 2) if share else "", {}, billing=False)


def _reserved_s(line: Line, view: View) -> int:
    if line.eligible is None:
        return 0
    return max(0, int(((line.start or view.now) - line.eligible).total_seconds()))


_number = Kind.NUMBER
FIELDS: dict[str, Field] = {
    "Account": Field(10, lambda line, _: line.row.account),
    "AdminComment": Field(15, _empty),
    "AllocCPUS": Field(10, lambda line, _: str(line.cpus), _number),
    "AllocNodes": Field(10, lambda line, _: str(line.allocated_nodes)),
    "AllocTRES": Field(10, _alloc_tres),
    "AssocID": Field(7, lambda *_: "0", _number),
    "AveCPU": Field(10, of_step(ave_cpu)),
    "AveCPUFreq": Field(10, of_step(lambda *_: "0")),
    "AveDiskRead": Field(14, disk(average_of, read_of)),
    "AveDiskWrite": Field(14, disk(average_of, written_by)),
    "AvePages": Field(10, _empty),
    "AveRSS": Field(10, of_step(ave_rss)),
    "AveVMSize": Field(10, size_of(average_of, vm_of)),
    "BlockID": Field(16, _empty),
    "Cluster": Field(10, lambda line, _: line.record.spec.server),
    "Comment": Field(14, _given("comment")),
    "Constraints": Field(19, _given("constraint")),
    "ConsumedEnergy": Field(14, _empty),
    "ConsumedEnergyRaw": Field(17, _empty, _number),
    "Container": Field(19, _empty),
    "CPUTime": Field(10, lambda line, _: full(line.elapsed_s * line.cpus), _number),
    "CPUTimeRAW": Field(10, lambda line, _: str(line.elapsed_s * line.cpus), _number),
    "DBIndex": Field(-10, lambda line, _: str(line.record.job_id), _number),
    "DerivedExitCode": Field(15, _job(lambda *_: "0:0")),
    "Elapsed": Field(10, lambda line, _: full(line.elapsed_s), _number),
    "ElapsedRaw": Field(10, lambda line, _: str(line.elapsed_s), _number),
    "Eligible": Field(19, _time(lambda line: line.start if line.is_step else line.eligible), Kind.DATE),
    "End": Field(19, _time(lambda line: line.end), Kind.DATE),
    "ExitCode": Field(8, lambda line, _: exit_text(line.exit_code, line.exit_signal)),
    "Flags": Field(19, _job(lambda line, _: "SchedMain" if line.allocated_nodes else "")),
    "GID": Field(6, _job(lambda line, _: str(line.record.status.gid)), _number),
    "Group": Field(9, _job(lambda line, view: view.group_name(line.record.status.gid))),
    "JobID": Field(-12, _job_id),
    "JobIDRaw": Field(-12, _job_id_raw),
    "JobName": Field(10, lambda line, _: line.name),
    "Layout": Field(9, of_step(lambda line, _: line.layout)),
    "MaxDiskRead": Field(12, disk(most_of, read_of)),
    "MaxDiskReadNode": Field(15, node_of(read_of)),
    "MaxDiskReadTask": Field(15, task_of(read_of), _number),
    "MaxDiskWrite": Field(12, disk(most_of, written_by)),
    "MaxDiskWriteNode": Field(16, node_of(written_by)),
    "MaxDiskWriteTask": Field(16, task_of(written_by), _number),
    "MaxPages": Field(8, _empty),
    "MaxPagesNode": Field(12, _empty),
    "MaxPagesTask": Field(14, _empty, _number),
    "MaxRSS": Field(10, of_step(max_rss)),
    "MaxRSSNode": Field(10, of_step(max_rss_node)),
    "MaxRSSTask": Field(10, of_step(max_rss_task), _number),
    "MaxVMSize": Field(10, size_of(most_of, vm_of)),
    "MaxVMSizeNode": Field(14, node_of(vm_of)),
    "MaxVMSizeTask": Field(14, task_of(vm_of), _number),
    "McsLabel": Field(12, _empty),
    "MinCPU": Field(10, of_step(min_cpu)),
    "MinCPUNode": Field(10, of_step(min_cpu_node)),
    "MinCPUTask": Field(10, of_step(min_cpu_task), _number),
    "NCPUS": Field(10, lambda line, _: str(line.cpus), _number),
    "NNodes": Field(8, lambda line, _: str(line.nodes), _number),
    "NodeList": Field(15, lambda line, _: line.node_list),
    "NTasks": Field(8, of_step(lambda line, _: "" if line.tasks is None else str(line.tasks)), _number),
    "Partition": Field(10, _job(lambda line, _: ",".join((line.row.queue, *line.row.other_queues)))),
    "Priority": Field(10, _job(lambda line, _: str(line.priority)), _number),
    "QOS": Field(10, _job(lambda line, _: line.row.qos or "normal")),
    "QOSRAW": Field(6, _job(lambda *_: "1"), _number),
    "Reason": Field(22, _job(lambda line, _: line.reason)),
    "ReqCPUFreq": Field(10, lambda line, _: line.requested_freq if line.is_step else "Unknown"),
    "ReqCPUFreqGov": Field(13, lambda line, _: line.requested_freq if line.is_step else "Unknown"),
    "ReqCPUFreqMax": Field(13, lambda line, _: line.requested_freq if line.is_step else "Unknown"),
    "ReqCPUFreqMin": Field(13, lambda line, _: line.requested_freq if line.is_step else "Unknown"),
    "ReqCPUS": Field(8, lambda line, _: str(_req_cpus(line)), _number),
    "ReqMem": Field(10, _job(lambda line, view: view.size(_mem_mib(line), 2))),
    "ReqNodes": Field(8, lambda line, _: str(line.nodes)),
    "ReqTRES": Field(10, _job(_req_tres)),
    "Reservation": Field(20, _job(lambda line, _: reservation(line.row))),
    "ReservationId": Field(8, _job(lambda line, _: _reservation_id(line.row)), _number),
    "Reserved": Field(10, _job(lambda line, view: full(_reserved_s(line, view))), _number),
    "ResvCPU": Field(10, _job(lambda line, view: full(_reserved_s(line, view) * line.row.cpus)), _number),
    "ResvCPURAW": Field(10, _job(lambda line, view: str(_reserved_s(line, view) * line.row.cpus)), _number),
    "Start": Field(19, _time(lambda line: line.start), Kind.DATE),
    "State": Field(10, lambda line, _: line.state_text),
    "Submit": Field(19, _time(lambda line: line.start if line.is_step else line.submit), Kind.DATE),
    "SubmitLine": Field(20, lambda line, view: line.submit_line if line.is_step else _given("submit_line")(line, view)),
    "Suspended": Field(10, lambda line, _: full(line.suspended_s), _number),
    "SystemComment": Field(15, _job(lambda line, _: told(line))),
    "SystemCPU": Field(10, _empty),
    "Timelimit": Field(10, _job(_timelimit)),
    "TimelimitRaw": Field(10, _job(_timelimit_raw)),
    "TotalCPU": Field(10, lambda line, _: cpu_time(line.cpu_s)),
    "TRESUsageInAve": Field(14, tres_in("Ave")),
    "TRESUsageInMax": Field(14, tres_in("Max")),
    "TRESUsageInMaxNode": Field(18, tres_place("Max", is_node=True)),
    "TRESUsageInMaxTask": Field(18, tres_place("Max", is_node=False)),
    "TRESUsageInMin": Field(14, tres_in("Min")),
    "TRESUsageInMinNode": Field(18, tres_place("Min", is_node=True)),
    "TRESUsageInMinTask": Field(18, tres_place("Min", is_node=False)),
    "TRESUsageInTot": Field(14, tres_in("Tot")),
    "TRESUsageOutAve": Field(15, tres_out(size_of(average_of, written_by))),
    "TRESUsageOutMax": Field(15, tres_out(size_of(most_of, written_by))),
    "TRESUsageOutMaxNode": Field(19, tres_out(node_of(written_by))),
    "TRESUsageOutMaxTask": Field(19, tres_out(task_of(written_by))),
    "TRESUsageOutMin": Field(15, _empty),
    "TRESUsageOutMinNode": Field(19, _empty),
    "TRESUsageOutMinTask": Field(19, _empty),
    "TRESUsageOutTot": Field(15, tres_out(size_of(total_of, written_by))),
    "UID": Field(6, _job(lambda line, _: str(line.record.status.uid)), _number),
    "User": Field(9, _job(lambda line, _: line.row.user)),
    "UserCPU": Field(10, _empty),
    "WCKey": Field(10, _empty),
    "WCKeyID": Field(10, _job(lambda *_: "0"), _number),
    "WorkDir": Field(20, _job(lambda line, _: line.row.work_dir)),
}
"""In the order of `sacct -e`."""

DEFAULT = ("JobID", "JobName", "Partition", "Account", "AllocCPUS", "State", "ExitCode")
BRIEF = ("JobID", "State", "ExitCode")
LONG = (
    "JobID",
    "JobIDRaw",
    "JobName",
    "Partition",
    "MaxVMSize",
    "MaxVMSizeNode",
    "MaxVMSizeTask",
    "AveVMSize",
    "MaxRSS",
    "MaxRSSNode",
    "MaxRSSTask",
    "AveRSS",
    "MaxPages",
    "MaxPagesNode",
    "MaxPagesTask",
    "AvePages",
    "MinCPU",
    "MinCPUNode",
    "MinCPUTask",
    "AveCPU",
    "NTasks",
    "AllocCPUS",
    "Elapsed",
    "State",
    "ExitCode",
    "AveCPUFreq",
    "ReqCPUFreqMin",
    "ReqCPUFreqMax",
    "ReqCPUFreqGov",
    "ReqMem",
    "ConsumedEnergy",
    "MaxDiskRead",
    "MaxDiskReadNode",
    "MaxDiskReadTask",
    "AveDiskRead",
    "MaxDiskWrite",
    "MaxDiskWriteNode",
    "MaxDiskWriteTask",
    "AveDiskWrite",
    "ReqTRES",
    "AllocTRES",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "TRESUsageInMaxNode",
    "TRESUsageInMaxTask",
    "TRESUsageInMin",
    "TRESUsageInMinNode",
    "TRESUsageInMinTask",
    "TRESUsageInTot",
    "TRESUsageOutMax",
    "TRESUsageOutMaxNode",
    "TRESUsageOutMaxTask",
    "TRESUsageOutAve",
    "TRESUsageOutTot",
)
"""-l"""


def exit_text(code: int, signal: int) -> str:
    """`3:0`; from 128 on a code stands without those 128, as sacct 22.05 prints it."""
    return f"{code - 128 if code >= 128 else code}:{signal}"
