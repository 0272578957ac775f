"""The fields of squeue that a job's row does not hold: they are read from the whole record.

Source: print.c of squeue 22.05.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.dialects.slurm.clock import short
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.memory import size
from hpcbatch.dialects.slurm.output import shown_input, shown_paths
from hpcbatch.dialects.slurm.squeue_format import View
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import Sharing
from hpcbatch.typed import NamedTuple


class Detail(NamedTuple):
    record: JobRecord
    view: View
    group_name: Callable[[int], str]
    """"" for a number that this machine knows no name of."""

    def given(self, attribute: str, none: str = "(null)") -> str:
        return self.record.spec.attributes.get(attribute) or none

    def number(self, attribute: str, none: str) -> str:
        found = number(self.record.spec.attributes, attribute)
        return none if found is None else str(found)


def _group(detail: Detail) -> str:
    gid = detail.record.status.gid
    return "N/A" if gid is None else detail.group_name(gid) or str(gid)


def _group_id(detail: Detail) -> str:
    gid = detail.record.status.gid
    return "N/A" if gid is None else str(gid)


def _sharing(detail: Detail) -> str:
    if detail.record.spec.sharing is Sharing.EXCLUSIVE:
        return "NO"
    return "YES" if "oversubscribe" in detail.record.spec.attributes else "OK"


def _command(detail: Detail) -> str:
    spec = detail.record.spec
    return " ".join((spec.script_path, *spec.script_args)) if spec.script_path else "(null)"


def _tasks(detail: Detail) -> str:
    layout = detail.record.status.layout or detail.record.spec.chunks
    return str(sum(chunk.count * chunk.ranks for chunk in layout))


def _cpus_per_task(detail: Detail) -> str:
    found = detail.number("cpus_per_task", "N/A")
    return "N/A" if found == "1" else found


def _is_batch(detail: Detail) -> bool:
    return detail.record.spec.interactive is None


def _stderr(detail: Detail) -> str:
    return shown_paths(detail.record)[1] if _is_batch(detail) else "N/A"


def _stdin(detail: Detail) -> str:
    return shown_input(detail.record) if _is_batch(detail) else "(null)"


def _preempt_time(detail: Detail) -> str:
    preempted = detail.record.status.preempted
    return detail.view.stamp(None if preempted is None else preempted.time)


def _shape(detail: Detail) -> str:
    return ":".join(detail.number(name, "*") for name in ("sockets_per_node", "cores_per_socket", "threads_per_core"))


def _tres(name: str, attribute: str) -> Callable[[Detail], str]:
    def value(detail: Detail) -> str:
        found = detail.given(attribute, "")
        return f"{name}{found}" if found else "N/A"

    return value


VALUES: dict[str, Callable[[Detail], str]] = {
    "d": lambda detail: size(number(detail.record.spec.attributes, "tmp_mb") or 0, detail.view.convert),
    "g": _group,
    "G": _group_id,
    "h": _sharing,
    "H": lambda detail: detail.number("sockets_per_node", "*"),
    "I": lambda detail: detail.number("cores_per_socket", "*"),
    "J": lambda detail: detail.number("threads_per_core", "*"),
    "k": lambda detail: detail.given("comment"),
    "n": lambda detail: compress(detail.record.spec.required_hosts),
    "o": _command,
    "x": lambda detail: compress(detail.record.spec.excluded_hosts),
    "z": _shape,
    "batchflag": lambda detail: str(int(_is_batch(detail))),
    "cpus-per-task": _cpus_per_task,
    "cpus-per-tres": _tres("gres:gpu:", "cpus_per_gpu"),
    "deadline": lambda detail: detail.view.stamp(detail.record.spec.deadline),
    "mintime": lambda detail: short(detail.record.spec.min_walltime_s or 0),
    "ntpercore": lambda detail: detail.number("ntasks_per_core", "N/A"),
    "ntpernode": lambda detail: detail.number("ntasks_per_node", "0"),
    "ntpersocket": lambda detail: detail.number("ntasks_per_socket", "N/A"),
    "numtasks": _tasks,
    "preempttime": _preempt_time,
    "stderr": _stderr,
    "stdin": _stdin,
    "stdout": lambda detail: shown_paths(detail.record)[0],
    "tres-per-socket": _tres("", "tres_per_socket"),
}
"""Of all of squeue_format.DETAILED."""


def values(
    records: Iterable[JobRecord], view: View, group_name: Callable[[int], str]
) -> Callable[[JobRow, str], str | None]:
    """View.detail, from the records of the jobs that are listed."""
    known = {
        (record.namespace, record.object_name, record.spec.attributes.get("het_size", "")): record for record in records
    }

    def value(row: JobRow, name: str) -> str | None:
        record = known.get((row.namespace, row.object_name, row.components))
        return None if record is None else VALUES[name](Detail(record, view, group_name))

    return value
