"""A heterogeneous job as Slurm shows it: each of its components as a job, `12+0`, `12+1` and so on.

Here they are one job with one number, which starts, is changed and ends as a whole.
"""

from __future__ import annotations

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.model.chunk import of_each_pod
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.step import StepRecord, TaskFigure
from hpcbatch.typed import Any

SIZE = "het_size"
"""The attribute that says how many components a job has: `3`; in the record of one of them `1/3`."""


def offset_of(components: str) -> int | None:
    """Of `1/3`; None for what is no component."""
    first, slash, _ = components.partition("/")
    return int(first) if slash else None


def offset_in(record: JobRecord) -> int | None:
    return offset_of(record.spec.attributes.get(SIZE, ""))


def components(record: JobRecord) -> list[JobRecord]:
    """A record for each component, in order; of another job, or of a component, itself."""
    count = 1 if offset_in(record) is not None else number(record.spec.attributes, SIZE) or 1
    parts = {chunk.component for chunk in record.layout}
    if count == 1 or parts != set(range(count)):
        return [record]
    return [_component(record, index, count) for index in range(count)]


def _component(record: JobRecord, index: int, count: int) -> JobRecord:
    given, status = record.spec.attributes, record.status
    prefix = f"het_{index}_"
    own = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    of_any = {name.split("_", 2)[2] for name in given if name.startswith("het_") and name != SIZE}
    common = {name: value for name, value in given.items() if not name.startswith("het_") and name not in of_any}
    owners = (chunk.component for chunk in of_each_pod(record.layout))
    places = [place for place, (_, owner) in enumerate(zip(status.hosts, owners, strict=False)) if owner == index]
    return replace(
        record,
        queue=own.get("partition", record.queue),
        spec=replace(
            record.spec,
            attributes={**common, **own, SIZE: f"{index}/{count}"},
            chunks=tuple(chunk for chunk in record.spec.chunks if chunk.component == index),
        ),
        status=replace(status, **_of_places(status, places, index), layout=_layout(status, index)),
    )


def _layout(status: JobStatus, index: int) -> tuple[Any, ...]:
    return tuple(chunk for chunk in status.layout if chunk.component == index)


def _of_places(status: JobStatus, places: list[int], index: int) -> dict[str, Any]:
    hosts = tuple(status.hosts[place] for place in places)
    pods = {host.pod for host in hosts}
    usage = tuple(one for one in status.usage if one.pod in pods)
    cpu = [one.cpu_s for one in usage if one.cpu_s is not None]
    rss = [one.max_rss_bytes for one in usage if one.max_rss_bytes is not None]
    is_first = index == 0
    return {
        "hosts": hosts,
        "usage": usage,
        # what only the sum is known of is told with the first
        "cpu_used_s": sum(cpu) if cpu else status.cpu_used_s if is_first and not status.usage else None,
        "max_rss_bytes": sum(rss) if rss else status.max_rss_bytes if is_first and not status.usage else None,
        "steps": tuple(_moved(step, places) for step in status.steps if any(place in step.hosts for place in places)),
    }


def _moved(step: StepRecord, places: list[int]) -> StepRecord:
    """A step as a component has it, whose first host is place 0."""
    to = {place: new for new, place in enumerate(places)}
    return replace(
        step,
        hosts=Indices.of(to[place] for place in places if place in step.hosts),
        max_rss_host=None if step.max_rss_host is None else to.get(step.max_rss_host),
        cpu_by_task=_moved_figure(step.cpu_by_task, to),
        least_cpu=_moved_figure(step.least_cpu, to),
        vm_by_task=_moved_figure(step.vm_by_task, to),
        read_by_task=_moved_figure(step.read_by_task, to),
        written_by_task=_moved_figure(step.written_by_task, to),
    )


def _moved_figure(figure: TaskFigure | None, to: dict[int, int]) -> TaskFigure | None:
    if figure is None or figure.host is None:
        return figure
    return replace(figure, host=to.get(figure.host))
