"""The text of many jobs is that of each, whatever they have alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.qstat_alike import FullTexts
from hpcbatch.dialects.pbs.qstat_full import Attributes, format_full, full_attributes
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.model.state import JobState
from tests.job_values import specs, statuses

from .jobs import NOW, RUNNING_HOST, STARTED, VARIABLES, record

Shown = tuple[JobRecord, Mapping[str, str] | None]


def attributes(job: JobRecord, environment: Mapping[str, str] | None) -> Attributes:
    return full_attributes(job, environment, NOW, UTC)


def texts_and_made(jobs: Sequence[Shown], *, wide: bool = False) -> tuple[list[str], int]:
    """And for how many all was made."""
    made: list[JobRecord] = []
    texts = FullTexts(wide=wide)

    def make(job: JobRecord, environment: Mapping[str, str] | None) -> Attributes:
        made.append(job)
        return attributes(job, environment)

    return [texts.of(f"Job Id: {j.job_id}", j, known, partial(make, j, known)) for j, known in jobs], len(made)


@given(specs(), statuses(), st.booleans())
def test_every_job_has_its_own_text(spec: JobSpec, status: JobStatus, wide: bool) -> None:
    first = JobRecord(job_id=99, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    other = replace(first, status=replace(status, message="other"))
    records = [
        first,
        replace(first, job_id=100),
        other,
        replace(first, queue="other"),
        replace(first, job_id=101),
        first,
    ]
    jobs: list[Shown] = [(each, known) for known in (None, VARIABLES, {**VARIABLES, "T": "1"}) for each in records]
    found, _ = texts_and_made(jobs, wide=wide)
    assert found == [format_full(f"Job Id: {j.job_id}", attributes(j, known), wide=wide) for j, known in jobs]


PRIVATE = {"sandbox": "PRIVATE"}
TAGGED = replace(record(9).spec, stdout=Output(path=f"/scratch/{'long' * 20}/out"))


@pytest.mark.parametrize(
    "job",
    [
        record(9),
        replace(record(9), spec=TAGGED),
        record(9, state=JobState.RUNNING, hosts=RUNNING_HOST, start_time=STARTED, shown=PRIVATE, home="/home/tester"),
    ],
    ids=["queued", "long-path", "private-directory"],
)
def test_of_jobs_that_differ_in_number_only_two_are_made(job: JobRecord) -> None:
    jobs: list[Shown] = [(replace(job, job_id=number), VARIABLES) for number in (9, 10, 100_000)]
    found, made = texts_and_made(jobs)
    assert made == 2
    assert found == [format_full(f"Job Id: {each.job_id}", attributes(each, VARIABLES)) for each, _ in jobs]
    assert f"sleeper.e{100_000}" in found[-1]
