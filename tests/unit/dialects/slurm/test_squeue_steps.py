"""squeue -s and -i: as recorded, for the steps that are known."""

from __future__ import annotations

from datetime import UTC

import pytest

from hpcbatch.dialects.slurm.columns import complaint
from hpcbatch.dialects.slurm.errors import SlurmUsageError, describe
from hpcbatch.dialects.slurm.squeue import format_queue
from hpcbatch.dialects.slurm.squeue_options import read_options
from hpcbatch.dialects.slurm.squeue_steps import _NAMES, LETTERS, columns_of, format_steps
from hpcbatch.record.rows import row_of
from tests.unit.dialects.slurm.jobs import NOW, QUEUE
from tests.unit.dialects.slurm.test_scontrol_show import MEMBER, WIDE

ROWS = [row_of(job) for job in (*QUEUE, MEMBER, WIDE)]
HEAD = "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"


def show(*argv: str) -> str:
    return format_steps(ROWS, {}, read_options(argv, {}, "tester"), NOW, UTC)


def test_listing() -> None:
    assert show("-s") == (
        f"{HEAD}"
        "        7.batch    batch     debug   tester      0:02 n1\n"
        "       7.extern   extern     debug   tester      0:02 n[1-2]\n"
        "      9_4.batch    batch     debug   tester      0:02 vm\n"
        "       85.batch    batch     debug   tester      0:02 vm\n"
        "       86.batch    batch     debug   tester      0:02 vm\n"
    )
    assert show("-s", "-l").startswith(f"Sat Nov 21 02:50:06 2026\n{HEAD}")


@pytest.mark.parametrize(
    ("argv", "steps"),
    [
        (["-s7.batch"], "7.batch"),
        (["-s", "9_4.batch,85.batch"], "9_4.batch 85.batch"),
        (["--steps=99.0"], ""),
        (["-s", "-j", "7"], "7.batch 7.extern"),
        (["-s", "-j", "9"], "9_4.batch"),
        (["-s", "-u", "nosuch"], ""),
        (["-s", "-u", "tester", "-p", "long"], ""),
        (["-s", "-w", "n2"], "7.extern"),
        (["-s", "-t", "PD", "-n", "x", "-j", "85"], "85.batch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_selection(argv: list[str], steps: str) -> None:
    assert show("-h", "-o", "%i", *argv).split() == steps.split()


@pytest.mark.parametrize("text", ["7", "abc", "x.0"])
def test_no_step(text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_options(["-s", text], {}, "tester")
    assert describe(error.value, "squeue") == (f"squeue: error: Invalid job_step id: {text}.??", 1)


def test_formats() -> None:
    assert show("-s", "-j", "85", "-o", "%i %j %P %u %M %N %A %b|%S|%U|%l").splitlines() == [
        "STEPID NAME PARTITION USER TIME NODELIST TASKS TRES_PER_JOB|START_TIME|UID|TIME_LIMIT",
        "85.batch batch debug tester 0:02 vm 1 (null)|2026-11-21T02:50:04|1002|UNLIMITED",
    ]
    assert show("-s", "-j", "85", "-O", "stepid,stepname,stepstate,username").splitlines() == [
        "STEPID              NAME                STATE               USER                ",
        "85.batch            batch               RUNNING             tester              ",
    ]
    options = read_options(["-s", "-o", "%i %t"], {}, "tester")
    words = complaint(columns_of(options), "squeue: error: Invalid job step")
    assert words == "squeue: error: Invalid job step format specification: t"
    for letter, (heading, _) in LETTERS.items():
        assert show("-s", "-j", "7", "-o", f"%{letter}").splitlines()[0] == heading
    assert show("-s", "-O", ",".join(_NAMES)).count("\n") == 6


@pytest.mark.parametrize("text", ["0", "x", "-1"])
def test_no_seconds(text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_options(["-i", text], {}, "tester")
    assert error.value.text == f"squeue: error: --iterate={text}\n"


def test_again_and_again_has_the_time_above() -> None:
    options = read_options(["-i", "5"], {}, "tester")
    assert options.every_s == 5
    assert format_queue([], options, NOW, UTC).startswith("Sat Nov 21 02:50:06 2026\n             JOBID")
    assert format_queue([], read_options(["-h", "-i5"], {}, "tester"), NOW, UTC) == ""


def test_reservations_and_clusters() -> None:
    assert format_queue(ROWS, read_options(["-h", "-R", "x"], {}, "tester"), NOW, UTC) == ""
    assert read_options(["-M", "a,b"], {}, "tester").clusters == "a,b"
    assert read_options(["--json", "--yaml"], {}, "tester").data == "yaml"
