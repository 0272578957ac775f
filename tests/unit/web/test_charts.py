"""Charts as SVG: well-formed whatever goes in, and readable by who does not see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState
from hpcbatch.web.charts import Series, bars, binary_step_of, counting_step_of, line, share, step_of, time_step_of
from hpcbatch.web.samples import Sample, Samples
from hpcbatch.web.usage_chart import cpus_chart, memory_chart

START = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
AMOUNTS = st.floats(min_value=0, max_value=1e15, allow_nan=False)


@pytest.mark.parametrize(
    ("most", "step"), [(0, 1), (1, 0.25), (4, 1), (7, 2), (9, 2.5), (100, 25), (1e9, 2.5e8), (0.3, 0.1)]
)
def test_steps_are_round(most: float, step: float) -> None:
    assert step_of(most) == pytest.approx(step)


def test_other_steps() -> None:
    assert (counting_step_of(2), counting_step_of(9)) == (1, 3)
    assert (time_step_of(1), time_step_of(3600), time_step_of(100 * 86400)) == (1, 900, 25 * 86400)
    assert binary_step_of(8 * 2**30) == 2 * 2**30


@given(values=st.lists(AMOUNTS, max_size=100), label=st.text(max_size=20))
def test_bars_are_well_formed(values: list[float], label: str) -> None:
    clean = "".join(char for char in label if char.isprintable())
    chart = bars("T & <t>", [clean] * len(values), [Series("<a>", "done", values), Series("b", "failed", values)], str)
    root = ElementTree.fromstring(chart.svg)
    assert root.get("role") == "img"
    assert (root.get("aria-label") or "").startswith("T & <t>. ")
    assert len(root.findall("rect")) == 2 * sum(value > 0 for value in values)
    assert len(chart.rows) == len(values)
    for rect in root.findall("rect"):
        assert float(rect.get("height") or -1) >= 0


@given(points=st.lists(st.tuples(st.floats(0, 1e7), AMOUNTS), min_size=2, max_size=50), limit=st.none() | AMOUNTS)
def test_lines_are_well_formed(points: list[tuple[float, float]], limit: float | None) -> None:
    chart = line("T", sorted(points), name="x", limit=limit, label=str, write=str)
    root = ElementTree.fromstring(chart.svg)
    assert [path.get("class") for path in root.findall("path")].count("course") == 1


def test_a_share_says_what_it_shows() -> None:
    text = share([(0.5, "part-1", 'job "1" of <x>', "/jobs/1"), (0.9, "part-2", "job 2", "")], "0 free")
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == 'job "1" of <x>, job 2, 0 free'
    widths = [float(rect.get("width") or 0) for rect in root.iter("rect")][1:]
    assert sum(widths) <= 200


def status(cpu_s: int, state: JobState = JobState.RUNNING, **more: object) -> JobStatus:
    return JobStatus(state=state, start_time=START, cpu_used_s=cpu_s, run_count=1, **more)  # type: ignore[arg-type]


def test_samples_are_the_reports_that_differ() -> None:
    samples = Samples()
    for seconds, cpu_s in ((10, 20), (12, 20), (20, 40), (20, 41), (5, 50)):
        samples.note(1, status(cpu_s), START + timedelta(seconds=seconds))
    samples.note(1, status(60, JobState.FINISHED, end_time=START + timedelta(seconds=30)), START + timedelta(hours=1))
    samples.note(2, JobStatus(), START)
    found = [((one.when - START).total_seconds(), one.cpu_s) for one in samples.of(1, 1)]
    assert found == [(0, 0), (10, 20), (20, 40), (30, 60)]
    assert samples.of(2, 0) == []
    assert samples.of(1, 2) == []


def test_many_samples_are_thinned_out() -> None:
    samples = Samples()
    for number in range(1, 2000):
        samples.note(1, status(number), START + timedelta(seconds=number))
    found = samples.of(1, 1)
    assert len(found) <= 241
    assert (found[0].cpu_s, found[-1].cpu_s) == (0, 1999)
    for job in range(2, 700):
        samples.note(job, status(1), START + timedelta(seconds=1))
    assert samples.of(1, 1) == []


def test_usage_charts() -> None:
    course = [Sample(START + timedelta(seconds=10 * n), 20 * n, n << 20) for n in range(4)]
    cpus, memory = cpus_chart(course, 4), memory_chart(course, None)
    assert cpus.rows[-1] == ("00:00:30", ["2"])
    assert "asked for: 4" in cpus.svg
    assert memory is not None
    assert memory.rows[-1] == ("00:00:30", ["3 MiB"])
    assert "asked for" not in memory.svg
    assert memory_chart([one._replace(rss_bytes=None) for one in course], None) is None
