"""What qsub and sbatch print of options that have no effect, and --strict."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from hpcbatch.cli import submission as submissions
from hpcbatch.cli.common import EndedError
from hpcbatch.cli.submission import check_strict, tell_ignored, told_if_slow
from hpcbatch.model.spec import JobSpec, Submission
from tests.unit.dialects.pbs.submit_parts import submit as qsub
from tests.unit.dialects.slurm.submit_parts import submit as sbatch
from tests.waiting import wait_for

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


@pytest.mark.parametrize(
    ("dialect", "command", "said"),
    [
        ("pbs", "qsub", "qsub: the server has not answered yet, still waiting\n"),
        ("slurm", "sbatch", "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"),
        ("slurm", "salloc", "salloc: error: Slurm temporarily unable to accept job, sleeping and retrying\n"),
        ("lsf", "bsub", "LSF is processing your request. Please wait ...\n"),
    ],
)
def test_who_waits_long_is_told_once(
    dialect: str, command: str, said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "QUIET_S", 0.0)
    heard: list[str] = []

    def is_told() -> bool:
        heard.append(capfd.readouterr().err)
        return "".join(heard) == said

    with told_if_slow(dialect, command):
        wait_for("the line", is_told)


def test_who_need_not_wait_is_told_nothing(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "QUIET_S", 60.0)
    before = threading.active_count()
    with told_if_slow("pbs", "qsub"):
        pass
    wait_for("the end of its thread", lambda: threading.active_count() <= before)
    assert capfd.readouterr() == ("", "")
