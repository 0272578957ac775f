"""`sacct --json` and `--yaml`: the shape of Slurm 22.05's dbv0.0.38. Source: openapi/dbv0.0.38, parse.c.

The exit codes are those of the jobs; the real plugin of that version told 0 for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hpcbatch.dialects.slurm.data import document, epoch
from hpcbatch.dialects.slurm.sacct_fields import reservation, told
from hpcbatch.dialects.slurm.sacct_line import MIB, Line
from hpcbatch.dialects.slurm.states import LONG
from hpcbatch.typed import Any

_TRES = {"cpu": 1, "mem": 2, "energy": 3, "node": 4, "billing": 5}
"""The ids that slurmdbd gives to these."""
_SIGNALS = {1: "Hangup", 2: "Interrupt", 6: "Aborted", 9: "Killed", 11: "Segmentation fault", 15: "Terminated"}


def format_json(lines: Iterable[Line], group_name: Callable[[int], str] = str, *, as_yaml: bool = False) -> str:
    """All jobs with their steps, which stand behind them in `lines`; a step without its job is left out."""
    groups: list[tuple[Line, list[Line]]] = []
    for line in lines:
        if not line.is_step:
            groups.append((line, []))
        elif groups and groups[-1][0].job_id_raw == line.job_id_raw:
            groups[-1][1].append(line)
    jobs = [_job(job, steps, group_name) for job, steps in groups]
    return document("openapi/dbv0.0.38", "Slurm OpenAPI DB v0.0.38", "jobs", jobs, as_yaml=as_yaml)


def _job(line: Line, steps: Sequence[Line], group_name: Callable[[int], str]) -> dict[str, Any]:
    record, row, status = line.record, line.row, line.record.status
    given = record.spec.attributes
    array = row.array_id or (record.job_id if record.spec.array is not None else 0)
    members = line.job_id.partition("_")[2] if row.array_id is None else ""
    deleter = status.deleted_by.partition("@")[0] or status.owner
    return {
        "account": row.account or None,
        "comment": {"administrator": None, "job": given.get("comment"), "system": told(line) or None},
        "allocation_nodes": line.allocated_nodes,
        "array": {
            "job_id": array,
            "limits": {"max": {"running": {"tasks": row.array_limit or 0}}},
            "task": members.strip("[]") or None,
            "task_id": row.array_index,
        },
        "association": None,
        "cluster": record.spec.server,
        "constraints": row.features,
        "container": None,
        "derived_exit_code": _exit(0, 0),
        "time": _time(line)
        | {
            "eligible": epoch(line.eligible),
            "submission": epoch(line.submit),
            "limit": None if row.walltime_s is None else -(-row.walltime_s // 60),
        },
        "exit_code": _exit(line.exit_code, line.exit_signal),
        "flags": ["STARTED_ON_SCHEDULE"] if line.allocated_nodes else [],
        "group": group_name(status.gid) or str(status.gid),
        "het": {"job_id": 0, "job_offset": None},
        "job_id": int(line.job_id_raw),
        "name": line.name,
        "mcs": {"label": ""},
        "nodes": line.node_list,
        "partition": ",".join((row.queue, *row.other_queues)),
        "priority": line.priority,
        "qos": row.qos or "normal",
        "required": {"CPUs": row.cpus, "memory": -(-(row.mem_bytes or 0) // MIB)},
        "kill_request_user": deleter if " by " in line.state_text else None,
        "reservation": {"id": 0, "name": reservation(row) or 0},
        "state": {"current": LONG[line.state], "reason": line.reason},
        "steps": [_step(step) for step in steps],
        "tres": {
            "allocated": _tres(line, row.cpus, row.nodes) if line.allocated_nodes else [],
            "requested": _tres(line, row.cpus, row.nodes),
        },
        "user": row.user,
        "wckey": {"wckey": "", "flags": []},
        "working_directory": row.work_dir,
    }


def _step(line: Line) -> dict[str, Any]:
    return {
        "time": _time(line),
        "exit_code": _exit(line.exit_code, line.exit_signal),
        "nodes": {"count": line.nodes, "range": line.node_list},
        "tasks": {"count": line.tasks},
        "pid": None,
        "CPU": {"requested_frequency": {"min": 0, "max": 0}, "governor": []},
        "kill_request_user": line.cancelled_by or None,
        "state": LONG[line.state],
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": 0}},
        "step": {
            "job_id": int(line.job_id_raw),
            "het": {"component": None},
            "id": int(line.step) if line.step.isdigit() else line.step,
            "name": line.name,
        },
        "task": {"distribution": line.layout},
        "tres": {
            "requested": {
                "max": _used(line, max, with_place=True),
                "min": _used(line, min, with_place=True),
                "average": _used(line, lambda numbers: sum(numbers) // len(numbers)),
                "total": _used(line, sum),
            },
            "consumed": {"max": [], "min": [], "average": [], "total": []},
            "allocated": [_one("cpu", line.cpus), _one("node", line.nodes)],
        },
    }


def _time(line: Line) -> dict[str, Any]:
    used = {"seconds": line.cpu_s or 0, "microseconds": 0}
    nothing = {"seconds": 0, "microseconds": 0}
    return {
        "elapsed": line.elapsed_s,
        "end": epoch(line.end),
        "start": epoch(line.start),
        "suspended": line.suspended_s,
        "system": nothing,
        "total": used,
        "user": nothing,
    }


def _exit(code: int, signal: int) -> dict[str, Any]:
    if signal:
        name = _SIGNALS.get(signal, str(signal))
        return {"status": "SIGNALED", "signal": {"signal_id": signal, "name": name}}
    return {"status": "ERROR" if code else "SUCCESS", "return_code": code}


def _tres(line: Line, cpus: int, nodes: int) -> list[dict[str, Any]]:
    mem = -(-(line.row.mem_bytes or 0) // MIB)
    found = [_one("cpu", cpus), *([_one("mem", mem)] if mem else []), _one("node", nodes), _one("billing", cpus)]
    amounts: dict[str, int] = {}
    for chunk in line.record.status.layout or line.record.spec.chunks:
        for name, amount in chunk.resources:
            amounts[name] = amounts.get(name, 0) + chunk.count * amount
    return found + [{"type": "gres", "name": name, "id": 1000, "count": count} for name, count in amounts.items()]


def _one(name: str, count: int) -> dict[str, Any]:
    return {"type": name, "name": None, "id": _TRES[name], "count": count}


def _used(line: Line, pick: Callable[[list[int]], int], *, with_place: bool = False) -> list[dict[str, Any]]:
    """Of a step's hosts; milliseconds of CPU time, and bytes."""
    found = []
    for name, pairs, factor in (("cpu", line.cpu_by_host, 1000), ("mem", line.rss_bytes, 1)):
        if not pairs:
            continue
        count = pick([amount for _, amount in pairs])
        entry = _one(name, count * factor)
        if with_place:
            at = next(at for at, (_, amount) in enumerate(pairs) if amount == count)
            is_known = name == "mem" and line.rss_task is not None
            entry |= {"node": pairs[at][0], "task": line.rss_task if is_known else at}
        found.append(entry)
    return found
