"""The course of what a job uses, from the samples that this process has taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hpcbatch.units import hms
from hpcbatch.web.charts import Chart, binary_step_of, line
from hpcbatch.web.page import size
from hpcbatch.web.samples import Sample


def cpus_chart(samples: Sequence[Sample], cpus: int) -> Chart:
    """CPUs in use between one report and the next."""
    start = samples[0].when
    points = []
    for before, after in pairwise(samples):
        seconds = (after.when - before.when).total_seconds()
        busy = max(0.0, (after.cpu_s - before.cpu_s) / seconds) if seconds > 0 else 0.0
        points += [((before.when - start).total_seconds(), busy), ((after.when - start).total_seconds(), busy)]
    return line(
        "CPUs in use",
        points,
        name="CPUs in use",
        limit=float(cpus),
        label=lambda seconds: hms(round(seconds)),
        write=lambda amount: f"{amount:.3g}",
    )


def memory_chart(samples: Sequence[Sample], asked: int | None) -> Chart | None:
    """The peak of memory so far; None where it was never measured."""
    start = samples[0].when
    points = [
        ((one.when - start).total_seconds(), float(one.rss_bytes)) for one in samples if one.rss_bytes is not None
    ]
    if not points:
        return None
    return line(
        "Memory, the peak so far",
        points,
        name="memory",
        limit=None if asked is None else float(asked),
        label=lambda seconds: hms(round(seconds)),
        write=lambda amount: size(round(amount)),
        step_for=binary_step_of,
    )
