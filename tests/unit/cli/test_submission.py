"""What qsub and sbatch print of options that have no effect, and --strict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.cli.common import EndedError
from hpcbatch.cli.submission import check_strict, tell_ignored
from hpcbatch.model.spec import JobSpec, Submission
from tests.unit.dialects.pbs.submit_parts import submit as qsub
from tests.unit.dialects.slurm.submit_parts import submit as sbatch

IGNORED = ("--cpu-freq=high: the clock of the CPUs is the node's", "--switches=1: there is no such choice")


def _submission(*ignored: str, is_strict: bool) -> Submission:
    spec = JobSpec(dialect="slurm", name="job", ignored=ignored, is_strict=is_strict)
    return Submission(spec=spec, script=b"#!/bin/sh\n", environment={})


def test_one_line_names_all_that_is_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    tell_ignored((*IGNORED, "feature fast: any node is", IGNORED[0]), "sbatch", "hpcbatch explain 12")
    said = "sbatch: ignored here: --cpu-freq=high, --switches=1, feature fast (hpcbatch explain 12 says why)\n"
    assert capsys.readouterr() == ("", said)


def test_nothing_is_said_where_nothing_is_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    tell_ignored((), "qsub", "hpcbatch explain 12")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("command", "start"), [("sbatch", "sbatch: error: --strict: "), ("qsub", "qsub: --strict: ")])
def test_strict_refuses_all_at_once(command: str, start: str) -> None:
    with pytest.raises(EndedError) as ended:
        check_strict(_submission(*IGNORED, is_strict=True), command)
    assert (ended.value.text, ended.value.code) == ("\n".join(start + text for text in IGNORED), 1)


@pytest.mark.parametrize("submission", [_submission(*IGNORED, is_strict=False), _submission(is_strict=True)])
def test_strict_lets_others_pass(submission: Submission) -> None:
    check_strict(submission, "sbatch")


def test_strict_goes_along_with_the_job() -> None:
    assert sbatch("--strict").submission.spec.is_strict
    assert not sbatch().submission.spec.is_strict
    found = qsub("--strict", "job").submission.spec
    plain = qsub("job").submission.spec
    assert found == replace(plain, is_strict=True)
