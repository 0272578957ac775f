"""sattach: whose step, and why not."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sattach import StepId, read_sattach, refusal
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState

GONE = "Could not get job step info: Invalid job id specified"


def record(interactive: Interactive | None, state: JobState = JobState.RUNNING) -> JobRecord:
    spec = JobSpec(dialect=Dialect.SLURM, name="x", interactive=interactive)
    status = JobStatus(state=state)
    return JobRecord(job_id=12, namespace="u", object_name="slurm-12", spec=spec, status=status, queue="debug")


def test_the_step() -> None:
    assert read_sattach(["-Q", "12.0"]) == StepId(12, 0, quiet=True)


@pytest.mark.parametrize(
    ("argv", "kind", "text"),
    [
        ([], SlurmUsageError, "No job step requested"),
        (["12"], SlurmUsageError, 'Invalid job step id "12"'),
        (["12.batch"], SlurmUsageError, 'Invalid job step id "12.batch"'),
        (["-l", "12.0"], NotSupportedError, "--label"),
        (["--version"], SlurmAnswer, ""),
        (["--help"], SlurmAnswer, ""),
    ],
)
def test_refused_words(argv: list[str], kind: type[HpcBatchError], text: str) -> None:
    with pytest.raises(kind) as caught:
        read_sattach(argv)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("step", "found", "is_terminal", "text"),
    [
        (0, None, True, GONE),
        (1, record(Interactive.TERMINAL), True, GONE),
        (0, record(Interactive.TERMINAL, JobState.FINISHED), True, GONE),
        (0, record(None), True, "only what srun has started"),
        (0, record(Interactive.SESSION), True, "only what srun has started"),
        (0, record(Interactive.ALLOCATION), True, "only what srun has started"),
        (0, record(Interactive.TERMINAL), False, "must be a terminal"),
        (0, record(Interactive.TERMINAL), True, ""),
        (0, record(Interactive.STREAMS), False, ""),
    ],
)
def test_what_can_be_attached_to(step: int, found: JobRecord | None, is_terminal: bool, text: str) -> None:
    said = refusal(StepId(12, step, quiet=False), found, is_terminal=is_terminal)
    assert (text in said) if text else said == ""
