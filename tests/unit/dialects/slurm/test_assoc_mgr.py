"""scontrol show assoc_mgr: all that was recorded of a database with one account and one user."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from hpcbatch.dialects.slurm.assoc_mgr import Counted, format_state, read_words
from hpcbatch.dialects.slurm.associations import accounts_of, directory, directory_of
from hpcbatch.dialects.slurm.scontrol_command import read_command
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Qos, first_accounts
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.limit_use import in_use
from tests.unit.dialects.slurm.jobs import NOW, ROWS
from tests.unit.dialects.slurm.test_sacctmgr import jobs
from tests.unit.dialects.slurm.transcripts import Case, cases, check

UIDS = {"root": 0, "tester": 1001}
FOUND = directory(jobs(("tester", "phys")))


def answer(argv: tuple[str, ...]) -> str:
    command = read_command(argv, {})
    return format_state(FOUND, read_words(command.words), "real", UIDS.get, one_line=command.one_line)


@pytest.mark.parametrize("case", cases("assoc_mgr.txt"))
def test_recorded(case: Case) -> None:
    """But for the numbers that slurmdbd had given away before."""
    stdout = masked(case.stdout)
    check(case._replace(stdout=stdout), lambda argv: masked(answer(argv)))


def masked(text: str) -> str:
    return re.sub(r"\b(ID|Lft)=\d+", r"\1=N", text)


ROW = ROWS[0]._replace(user="tester", account="phys", state=JobState.RUNNING, reason=Reason.NONE, end_time=None)
START = NOW - timedelta(hours=2)
RUNS = ROW._replace(start_time=START, walltime_s=10800, cpus=4, nodes=2, mem_bytes=2**30, resources="gpu=2")
WAITS = ROW._replace(job_id=99, state=JobState.QUEUED, start_time=None, array_indices="1-5", array_pending="2-5")
ENDED = RUNS._replace(job_id=98, state=JobState.FINISHED, end_time=START + timedelta(hours=1), qos="high")
LIMITED = Qos(
    number=7,
    name="high",
    limits=Limits({"MaxJobsPerUser": 9, "GrpWall": 500}, {"MaxTRESPerAccount": {"cpu": 8, "gres/gpu": 4}}),
)


def section(text: str, head: str) -> list[str]:
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(head))
    rest = (at for at, line in enumerate(lines) if at > first and not line.startswith("    "))
    return [line.strip() for line in lines[first : next(rest, None)]]


def test_what_jobs_use() -> None:
    """The job that runs, one that has ended after an hour, and four members of an array that wait."""
    set_up = first_accounts()
    set_up = replace(set_up, qos={**set_up.qos, "high": LIMITED})
    rows = [RUNS, WAITS, ENDED, RUNS._replace(job_id=97, qos="high", account="")]
    accounts = accounts_of(rows, set_up)
    counted = Counted(in_use(accounts, rows, NOW, 0.0))
    text = format_state(directory_of(accounts), read_words([]), "real", UIDS.get, counted)
    others = "energy=N(0),node=N({}),billing=N({}),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N({})"
    for head in ("ClusterName=real Account=root UserName= ", "ClusterName=real Account=phys UserName=tester"):
        lines = section(text, head)
        assert lines[4:9] == [
            "GrpJobs=N(1) GrpJobsAccrue=N(0)",
            "GrpSubmitJobs=N(5) GrpWall=N(180.00)",
            f"GrpTRES=cpu=N(4),mem=N(1024),{others.format(2, 4, 2)}",
            f"GrpTRESMins=cpu=N(720),mem=N(184320),{others.format(360, 720, 360)}",
            f"GrpTRESRunMins=cpu=N(240),mem=N(61440),{others.format(120, 240, 120)}",
        ]
    lines = section(text, "QOS=high(7)")
    assert lines[1:3] == [
        "UsageRaw=14400.000000",
        "GrpJobs=N(1) GrpJobsAccrue=N(0) GrpSubmitJobs=N(1) GrpWall=500(60.00)",
    ]
    assert lines[-5:-1] == [
        "No Accounts",
        "User Limits",
        "1001",
        "MaxJobsPU=9(1) MaxJobsAccruePU=N(0) MaxSubmitJobsPU=N(1)",
    ]
    lines = section(text, "QOS=normal(1)")
    assert lines[-8:-6] == ["Account Limits", "phys"]
    counted = Counted(in_use(accounts, [RUNS._replace(qos="high")], NOW, 0.0))
    text = format_state(directory_of(accounts), read_words([]), "real", UIDS.get, counted, one_line=True)
    used = f"MaxTRESPA=cpu=8(4),mem=N(1024),{others.format(2, 4, 2).replace('gpu=N', 'gpu=4')}"
    assert f"Account Limits= phys={{MaxJobsPA=N(1) MaxJobsAccruePA=N(0) MaxSubmitJobsPA=N(1) {used}}} User" in text
