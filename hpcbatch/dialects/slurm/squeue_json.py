"""A job as `squeue --json` shows it. Source: openapi/v0.0.38 of Slurm 22.05.8, and what was recorded."""

from __future__ import annotations

import re
from collections.abc import Callable

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.array_records import ShownJob
from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.dialects.slurm.data import epoch
from hpcbatch.dialects.slurm.dependency import format_dependency
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.memory import MIB, size
from hpcbatch.dialects.slurm.output import shown_input
from hpcbatch.dialects.slurm.placement_values import format_licenses
from hpcbatch.model.array import shown_number
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import Sharing
from hpcbatch.record.rows import row_of
from hpcbatch.typed import Any

_TASK = re.compile(r"ArrayTaskId=(\S+)")
_NOWHERE = (
    "admin_comment",
    "batch_features",
    "burst_buffer",
    "burst_buffer_state",
    "cluster_features",
    "container",
    "federation_origin",
    "federation_siblings_active",
    "federation_siblings_viable",
    "het_job_id_set",
    "mcs_label",
    "memory_per_tres",
    "prefer",
    "resv_name",
    "tres_bind",
    "tres_freq",
    "wckey",
)
_NULL = (
    "core_spec",
    "thread_spec",
    "cpu_frequency_minimum",
    "cpu_frequency_maximum",
    "cpu_frequency_governor",
    "profile",
)
_ZERO = (
    "association_id",
    "delay_boot",
    "derived_exit_code",
    "het_job_id",
    "het_job_offset",
    "max_cpus",
    "max_nodes",
    "preempt_time",
    "pre_sus_time",
    "resize_time",
    "sockets_per_board",
    "suspend_time",
    "tasks_per_board",
)
_FALSE = ("contiguous", "reboot")
"""What no job here has, as a real job has it that never asked for it."""


def job(shown: ShownJob, group_name: Callable[[int], str] = str) -> dict[str, Any]:
    record, row = shown.record, row_of(shown.record)
    spec, status, given = record.spec, record.status, record.spec.attributes
    code, signal = states.exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    member = _TASK.search(shown.in_array)
    task = member[1] if member is not None else ""
    hosts = tuple(dict.fromkeys(row.hosts))
    begin = states.expected_start(row)
    per_node_mb, per_cpu_mb = number(given, "mem_per_node_mb"), number(given, "mem_per_cpu_mb")
    started = status.start_time is not None
    tasks = sum(chunk.count * chunk.ranks for chunk in status.layout or spec.chunks)
    dependency = format_dependency(row.dependency, status.state) if row.dependency else ""
    asked_tres = _tres(row)
    return {
        **dict.fromkeys(_NOWHERE, ""),
        **dict.fromkeys(_NULL),
        **dict.fromkeys(_ZERO, 0),
        **dict.fromkeys(_FALSE, False),
        "account": row.account,
        "accrue_time": epoch(status.eligible_time),
        "array_job_id": (row.array_id or record.job_id) if member is not None else 0,
        "array_task_id": int(task) if task.isdecimal() else None,
        "array_max_tasks": row.array_limit or 0,
        "array_task_string": "" if task.isdecimal() else task,
        "batch_flag": spec.interactive is None,
        "batch_host": hosts[0] if hosts else "",
        "flags": _flags(spec.attributes, started=started),
        "cluster": spec.server,
        "command": " ".join((spec.script_path, *spec.script_args)) if spec.script_path else "",
        "comment": given.get("comment", ""),
        "cores_per_socket": number(given, "cores_per_socket"),
        "billable_tres": float(row.cpus) if started else None,
        "cpus_per_task": per_task if (per_task := number(given, "cpus_per_task")) != 1 else None,
        "cpus_per_tres": f"gres:gpu:{given['cpus_per_gpu']}" if "cpus_per_gpu" in given else "",
        "deadline": epoch(spec.deadline),
        "dependency": dependency,
        "eligible_time": epoch(status.eligible_time or begin),
        "end_time": epoch(states.expected_end(row)),
        "excluded_nodes": compress(spec.excluded_hosts),
        "exit_code": code << 8 | signal,
        "features": given.get("constraint", ""),
        "gres_detail": [],
        "group_id": status.gid,
        "group_name": group_name(status.gid),
        "job_id": shown_number(record.job_id, spec.member_of),
        **({"job_resources": _resources(record, row)} if hosts else {}),
        "job_state": states.long(status.state, status.reason),
        "last_sched_evaluation": epoch(status.start_time or status.submit_time),
        "licenses": format_licenses(spec),
        "name": spec.name,
        "nodes": compress(hosts),
        "nice": spec.nice or None,
        "tasks_per_core": number(given, "ntasks_per_core"),
        "tasks_per_node": number(given, "ntasks_per_node") or 0,
        "tasks_per_socket": number(given, "ntasks_per_socket"),
        "cpus": row.cpus,
        "node_count": row.nodes,
        "tasks": tasks,
        "partition": ",".join(dict.fromkeys((record.queue, *(() if started else spec.other_queues)))),
        "memory_per_node": None if per_cpu_mb is not None else per_node_mb,
        "memory_per_cpu": per_cpu_mb,
        "minimum_cpus_per_node": number(given, "mincpus") or 1,
        "minimum_tmp_disk_per_node": number(given, "tmp_mb") or 0,
        **({} if status.preempted is None else {"preempt_time": epoch(status.preempted.time)}),
        "priority": states.priority_of(row),
        "qos": row.qos or "normal",
        "required_nodes": compress(spec.required_hosts),
        "requeue": spec.rerunnable,
        "restart_cnt": states.restarts(status.state, status.run_count),
        "shared": "none" if spec.sharing is Sharing.EXCLUSIVE else None,
        "show_flags": ["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"],
        "sockets_per_node": number(given, "sockets_per_node"),
        "start_time": epoch(begin),
        "state_description": states.state_description(status.state, status.message),
        "state_reason": states.shown_reason(status.state, status.reason, status.message),
        "standard_error": "" if spec.stderr is None else spec.stderr.path or "",
        "standard_input": shown_input(record),
        "standard_output": spec.stdout.path or "",
        "submit_time": epoch(status.submit_time),
        "system_comment": states.system_comment(status.state, status.reason, status.message),
        "time_limit": None if row.walltime_s is None else -(-row.walltime_s // 60),
        "time_minimum": -(-(spec.min_walltime_s or 0) // 60),
        "threads_per_core": number(given, "threads_per_core"),
        "tres_per_job": row.tres_per_job,
        "tres_per_node": row.tres_per_node,
        "tres_per_socket": given.get("tres_per_socket", ""),
        "tres_per_task": row.tres_per_task,
        "tres_req_str": asked_tres,
        "tres_alloc_str": asked_tres if started else "",
        "user_id": status.uid,
        "user_name": row.user,
        "current_working_directory": row.work_dir,
    }


def _flags(given: object, *, started: bool) -> list[str]:
    names = given if isinstance(given, dict) else {}
    has_mem = "mem_per_node_mb" in names or "mem_per_cpu_mb" in names
    return ["JOB_WAS_RUNNING"] * started + ["JOB_CPUS_SET"] * ("cpus_per_task" in names) + ["JOB_MEM_SET"] * has_mem


def _tres(row: JobRow) -> str:
    memory = f"mem={size(-(-row.mem_bytes // MIB))}," if row.mem_bytes else ""
    return f"cpu={row.cpus},{memory}node={row.nodes},billing={row.cpus}"


def _resources(record: JobRecord, row: JobRow) -> dict[str, Any]:
    """Which of a node's cores they are is not known."""
    cpus: dict[str, int] = {}
    for host, count in zip(row.hosts, row.cpus_per_host, strict=True):
        cpus[host] = cpus.get(host, 0) + count
    memory = -(-(row.mem_bytes or 0) // MIB) // max(len(row.hosts), 1)
    return {
        "nodes": compress(tuple(cpus)),
        "allocated_cores": row.cpus,
        "allocated_hosts": len(cpus),
        "allocated_nodes": [
            {
                "sockets": {},
                "nodename": host,
                "cpus_used": count,
                "memory_used": 0,
                "memory_allocated": memory * sum(each.node == host for each in record.status.hosts),
            }
            for host, count in cpus.items()
        ],
    }
