"""How far a WRF run is, in lines and on a terminal; and which jobs come after one."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from hpcbatch.cli.common import Session
from hpcbatch.cli.wrf.bar import BarView
from hpcbatch.cli.wrf.chain import dependents
from hpcbatch.cli.wrf.views import LinesView, State
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.record.batchjob import full_status_to_json
from hpcbatch.record.manifest import spec_to_json
from hpcbatch.wrf.log import DomainProgress, Progress
from hpcbatch.wrf.run import Program
from hpcbatch.wrf.verdict import Verdict

START = datetime(2024, 1, 15, 12)


def state(percent: float, **given: Any) -> State:
    time = START + timedelta(minutes=percent)
    domains = tuple(
        DomainProgress(domain=number, time=time, steps=30 * number, mean_s=1.19, median_s=0.4) for number in (1, 2)
    )
    found = Progress(program=Program.WRF, percent=percent, time=time, eta_s=55.0, domains=domains)
    return State(**{"job": "job 12 running", "progress": found, "quiet_s": 0.0, "verdict": None, **given})


def test_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    view = LinesView(Session({}))
    for percent in (0, 0.4, 1, 5, 9.9, 10, 11, 19, 50, 99, 100):
        view.show(state(percent))
    view.show(state(100, quiet_s=61.0))
    view.show(state(100, quiet_s=62.0))
    view.end(state(100, verdict=Verdict(True, "SUCCESS COMPLETE WRF")))
    lines = capsys.readouterr().out.splitlines()
    assert [re.search(r"(\d+) %", line)[1] for line in lines[:-2]] == ["0", "10", "50", "99", "100"]  # type: ignore[index]
    assert "no new line for 00:01:01" in lines[-2]
    assert lines[-1] == "success: SUCCESS COMPLETE WRF"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COLUMNS": "100", "LINES": "24", "TERM": "xterm-256color", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in re.sub(r"\x1b\[[?0-9;]*[A-Za-z]|\r", "", text).splitlines()]


@pytest.mark.usefixtures("terminal")
def test_a_bar_is_drawn_over_itself(capsys: pytest.CaptureFixture[str]) -> None:
    view = BarView()
    view.show(state(50))
    first = plain(capsys.readouterr().out)
    assert first[0] == "job 12 running  wrf.exe   50 %  2024-01-15_12:50:00  00:00:55 left"
    assert len(first[1]) == 40
    assert first[2:] == [
        "DOMAIN  TIME                 STEPS    MEAN  MEDIAN",
        "d01     2024-01-15_12:50:00     30  1.19 s   0.4 s",
        "d02     2024-01-15_12:50:00     60  1.19 s   0.4 s",
    ]
    view.show(state(60, quiet_s=90.0))
    view.end(state(60, verdict=Verdict(False, "no SUCCESS line\x1b[2J " + "long " * 30)))
    text = capsys.readouterr().out
    assert "\x1b[1A\x1b[2K" in text
    assert "no new line for 00:01:30" in text
    assert "\x1b[1;31mfailed" in text
    assert "\x1b[?25h" in text
    assert "\x1b[2J" not in text
    view.show(state(1))  # the next of a chain
    view.close()
    assert plain(capsys.readouterr().out)[0].startswith("job 12 running  wrf.exe    1 %")


@pytest.mark.usefixtures("terminal")
def test_before_there_is_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    view = BarView()
    view.show(state(0, progress=None, job="job 12 queued"))
    view.close()
    assert plain(capsys.readouterr().out)[0].startswith("job 12 queued  no log yet")


def job(number: int, *waits: tuple[DependencyKind, int], owner: str = "anna") -> dict[str, Any]:
    clauses = tuple(Clause(kind=kind, jobs=(JobRef(job_id=other),)) for kind, other in waits)
    dependency = Dependency(clauses=clauses) if clauses else None
    record = JobRecord(
        job_id=number,
        namespace="default",
        object_name=f"pbs-{number}",
        spec=JobSpec(dialect=Dialect.PBS, name="a", dependency=dependency),
        status=JobStatus(owner=owner),
        queue="default",
    )
    return {
        "metadata": {"name": record.object_name, "namespace": "default"},
        "spec": spec_to_json(record.spec),
        "status": full_status_to_json(record),
    }


def test_what_comes_after_a_job() -> None:
    from hpcbatch.record.batchjob import shown_record

    ok, anyway, not_ok = DependencyKind.AFTER_OK, DependencyKind.AFTER_ANY, DependencyKind.AFTER_NOT_OK
    objects = [
        job(1),
        job(4, (anyway, 1), (ok, 2)),
        job(2, (ok, 1)),
        job(3, (ok, 2)),
        job(5, (not_ok, 1)),
        job(6, (ok, 1), owner="bob"),
    ]
    assert dependents(objects, shown_record(objects[0])) == [2, 4]
    assert dependents(objects, shown_record(objects[2])) == [3, 4]
    assert dependents(objects, shown_record(objects[3])) == []
