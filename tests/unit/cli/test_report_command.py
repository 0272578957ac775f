"""How `hpcbatch report` reads times and groups, and shows what was summed up."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import click
import pytest

from hpcbatch.cli import report
from hpcbatch.model.report import Use, Window

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SESSION: Any = SimpleNamespace(now=NOW, zone=UTC)
BIG = Use(("alice", "gpu"), 12, 1, 2, 3, 1234.5, 1000.25, 99.999, 61, 3661)
NONE = Use(("bob", ""), 1, 0, 0, 1, 0.0, 0.0, 0.0, None, None)
TOTAL = BIG._replace(key=(), jobs=13, deleted=4)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("90s", NOW - timedelta(seconds=90)),
        ("0m", NOW),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T12:30", datetime(2026, 11, 1, 12, 30, tzinfo=UTC)),
        ("2026-11-01T12:30:00+01:00", datetime(2026, 11, 1, 11, 30, tzinfo=UTC)),
    ],
)
def test_times(text: str, when: datetime) -> None:
    assert report._when(SESSION, text, "--since") == when


@pytest.mark.parametrize("text", ["", "7", "d", "-7d", "7 d", "yesterday", "2026-13-01", "999999999w", "999999999d"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected for example 7d"):
        report._when(SESSION, text, "--since")


def test_the_table() -> None:
    assert "".join(report._table(["user", "queue"], [BIG, NONE, TOTAL])) == (
        "User   Queue  Jobs  Running  Failed  Deleted  CPU hours  CPU used  Wall hours  Wait median  Wait 95%\n"
        "alice  gpu      12        1       2        3    1234.50   1000.25      100.00     00:01:01  01:01:01\n"
        "bob    -         1        0       0        1       0.00      0.00        0.00            -         -\n"
        "Total           13        1       2        4    1234.50   1000.25      100.00     00:01:01  01:01:01\n"
    )


def test_all_in_one() -> None:
    assert [line.split()[0] for line in report._table([], [TOTAL])] == ["Jobs", "13"]


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    report._print_csv(["user", "queue"], [BIG, NONE])
    assert capsys.readouterr().out.splitlines() == [
        "user,queue,jobs,running,failed,deleted,cpu_hours,cpu_used_hours,walltime_hours,wait_median_s,wait_95_s",
        "alice,gpu,12,1,2,3,1234.5,1000.25,99.999,61,3661",
        "bob,,1,0,0,1,0.0,0.0,0.0,,",
    ]
    report._print_json(["user", "queue"], Window(NOW - timedelta(days=1), NOW), [BIG, NONE], TOTAL)
    told = json.loads(capsys.readouterr().out)
    assert told["groups"][1]["wait_median_s"] is None
    assert (told["groups"][0]["queue"], told["total"]["jobs"], told["by"]) == ("gpu", 13, ["user", "queue"])
