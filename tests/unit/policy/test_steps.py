"""Steps of srun in the record of a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, JobStatus
from hpcbatch.model.state import JobState
from hpcbatch.model.step import MAX_STEPS, StepRecord, TaskFigure
from hpcbatch.policy.observed import PodView
from hpcbatch.policy.statuses import NOTHING_USED
from hpcbatch.policy.steps import newest, with_steps
from hpcbatch.volcano.report import RunReport
from hpcbatch.volcano.step_report import StepReport, parse_words

START = datetime(2026, 11, 25, 12, tzinfo=UTC)
NOW = START + timedelta(hours=1)
AT = int(START.timestamp())
STATUS = JobStatus(
    state=JobState.RUNNING,
    start_time=START,
    hosts=(ExecHost(node="n0", pod="p0", cpus=2), ExecHost(node="n1", pod="p1", cpus=2)),
    cpu_used_s=100,
    max_rss_bytes=10**9,
)
PODS = tuple(PodView(index=at, name=f"p{at}", node=f"n{at}", cpus=2, phase="Running") for at in range(2))


def seen(status: JobStatus, live: dict[str, StepReport], pods: tuple[PodView, ...] = PODS) -> JobStatus:
    return replace(status, **with_steps(status, live, pods, NOW))


def words(steps: str, spent: str = "") -> StepReport:
    return parse_words(steps, spent)


def test_a_step_s_life() -> None:
    first = seen(STATUS, {"p0": words(f"1 0:{AT + 5}:::2:4:0-1:block:a", "0:300:8:1"), "p1": words("", "0:200:16:0")})
    (step,) = first.steps
    assert (step.end_time, step.cpu_s, step.max_rss_bytes, step.max_rss_host, step.max_rss_task) == (
        None, 5, 16384, 1, 0,
    )  # fmt: skip
    over = seen(first, {"p0": words(f"1 0:{AT + 5}:{AT + 9}:3:2:4:0-1:block:a", "0:400:8:1")})
    (step,) = over.steps
    assert (step.start_time, step.end_time) == (START + timedelta(seconds=5), START + timedelta(seconds=9))
    assert (step.exit_code, step.exit_signal, step.cpu_s, step.max_rss_bytes) == (3, None, 5, 16384), "no figure falls"
    assert seen(over, {"p0": words(f"1 0:{AT}:::2:4:0-1:block:b")}) == over, "an end is final"
    assert seen(over, {}) == over


def test_the_last_word_is_in_the_termination_message() -> None:
    report = RunReport(exit_code=0, steps=words(f"70 69:{AT + 5}:{AT + 6}:137:1:1:0:cyclic:b", "69:100:4:0"))
    ended = (replace(PODS[0], report=report), PODS[1])
    status = seen(STATUS, {"p0": words(f"1 0:{AT + 5}:::1:1:0:block:a", "0:100:8:0")}, ended)
    assert [(step.number, step.exit_signal, step.cpu_s) for step in status.steps] == [(0, None, 1), (69, 9, 1)]
    assert status.step_count == 70


@pytest.mark.parametrize("number", [1, 2])
def test_only_the_first_pod_says_which_steps_there_are(number: int) -> None:
    assert seen(STATUS, {"p1": words(f"{number} 0:{AT}:::1:1:0:block:a", "0:1:1:0 5:1:1:0")}) == STATUS


def test_what_a_step_uses_is_at_most_what_its_job_does() -> None:
    (step,) = seen(STATUS, {"p0": words(f"1 0:{AT}:::1:1:0:block:a", f"0:{10**12}:{10**12}:0")}).steps
    assert (step.cpu_s, step.max_rss_bytes) == (100, 10**9)


@pytest.mark.parametrize(("start", "end"), [(0, 9999999999), (9999999999, 0)])
def test_times_lie_within_the_run(start: int, end: int) -> None:
    (step,) = seen(STATUS, {"p0": words(f"1 0:{start}:{end}:0:1:1:0:block:a")}).steps
    assert step.end_time is not None and START <= step.start_time <= step.end_time <= NOW


def test_which_steps_are_kept() -> None:
    def step(number: int, *, runs: bool = False) -> StepRecord:
        return StepRecord(number=number, start_time=START, end_time=None if runs else NOW, hosts=Indices())

    many = [step(number, runs=number in {0, 7}) for number in range(200)]
    kept = newest(many)
    assert len(kept) == MAX_STEPS
    assert [one.number for one in kept] == [0, 7, *range(200 - MAX_STEPS + 2, 200)]
    assert newest(many[:5]) == tuple(many[:5])


def test_another_run_has_none_of_them() -> None:
    status = seen(STATUS, {"p0": words(f"1 0:{AT}:::1:1:0:block:a")})
    assert status.steps and status.step_count
    again = replace(status, **NOTHING_USED)
    assert (again.steps, again.step_count) == ((), 0)


TAIL = "{tasks}:40:90:{busy}:10:{lazy}:500:300:{vm}:64:60:{reads}:9:8:{writes}"


def test_what_each_task_has_used() -> None:
    """It is known once all tasks have been seen, and a shorter word, or one after a restart, takes nothing away."""
    start = f"1 0:{AT}:::3:3:0-1:block:a:0:srun,a:77"
    first = "0:300:30:0:" + TAIL.format(tasks=2, busy=1, lazy=0, vm=0, reads=1, writes=0)
    one = seen(STATUS, {"p0": words(start, first)})
    assert one.steps[0].rss_total_bytes is None and one.steps[0].srun_pid == 77
    other = "0:200:50:2:1:50:500:2:500:2:900:900:2:1:1:2:70:70:2"
    both = seen(one, {"p0": words(start, first), "p1": words("", other)})
    step = both.steps[0]
    assert step.rss_total_bytes == 90 * 1024
    assert step.least_cpu == TaskFigure(most=0, host=0, task=0)
    assert step.cpu_by_task == TaskFigure(total=5, most=5, host=1, task=2)
    assert step.vm_by_task == TaskFigure(total=1400 * 1024, most=900 * 1024, host=1, task=2)
    assert step.read_by_task == TaskFigure(total=65 * 1024, most=60 * 1024, host=0, task=1)
    assert step.written_by_task == TaskFigure(total=79 * 1024, most=70 * 1024, host=1, task=2)
    assert seen(both, {"p0": words(start, "0:300:30:0"), "p1": words("", other)}) == both
    report = RunReport(exit_code=0, steps=words(start, "0:310:30:0"))
    ended = (replace(PODS[0], report=report), PODS[1])
    assert seen(one, {"p0": words(start, first), "p1": words("", other)}, ended).steps[0].rss_total_bytes == 90 * 1024
    less = seen(both, {"p0": words(start, first), "p1": words("", "0:200:50:2:1:5:5:2:5:2:9:9:2:1:1:2:7:7:2")})
    assert less.steps[0].written_by_task == TaskFigure(total=79 * 1024, most=70 * 1024, host=1, task=2)


@pytest.mark.parametrize("word", ["0:1:1:0:1:2", "0:1:1:0:" + ":".join(["1"] * 16), "0:1:1:0:" + ":".join("x" * 15)])
def test_words_that_are_none(word: str) -> None:
    assert words("", word).spent == ()
