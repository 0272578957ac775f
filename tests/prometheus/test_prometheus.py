"""The controllers' metrics, the alerts and the dashboard's queries, in a real Prometheus."""

from __future__ import annotations

import json
import signal
import subprocess
from functools import partial
from pathlib import Path

from tests.prometheus.conftest import ALERTS, DASHBOARD, Site, prometheus
from tests.waiting import wait_for

EXPRESSIONS = sorted(
    {target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", ())}
)
WITHOUT_ANSWER = {each for each in EXPRESSIONS if "hpcbatch_history_" in each or "code=~" in each}
"""There are no calls that fail here, and there is no history."""


def promtool(programs: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [programs / "promtool", *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_alerts_fire_when_they_should(programs: Path) -> None:
    assert "SUCCESS" in promtool(programs, "test", "rules", str(Path(__file__).parent / "alerts.yaml"))


def test_the_rules_have_no_fault(programs: Path) -> None:
    assert "SUCCESS: 5 rules found" in promtool(programs, "check", "rules", "--lint=all", "--lint-fatal", str(ALERTS))


def test_a_controller_that_goes_is_noticed(programs: Path, site: Site, tmp_path: Path) -> None:
    """Prometheus takes what the controllers say, answers what the dashboard asks, and gives the alarm."""
    leader, other = site.pair()
    site.submit()
    site.wait_running(1)
    assert promtool(programs, "check", "metrics", stdin=leader.page("/metrics")[1]) == ""
    with prometheus(programs, tmp_path / "prometheus", [leader.port, other.port]) as found:
        wait_for("both controllers", lambda: len(found.query("hpcbatch_leader")) == 2)
        wait_for("a rule's result", lambda: found.rules()["HpcbatchNoLeader"]["lastEvaluation"][:2] == "20")
        for expression in EXPRESSIONS:
            if expression in WITHOUT_ANSWER:
                found.query(expression)
            else:
                wait_for(expression, partial(found.query, expression))
        assert found.query('sum(hpcbatch_jobs{state="Running"})')[0][1] == 1
        assert found.query("sum(hpcbatch_leader)")[0][1] == 1
        assert {rule["health"] for rule in found.rules().values()} == {"ok"}
        assert found.alerts() == {}
        for each in (leader, other):
            each.signal(signal.SIGKILL)
        wait_for("the alert to fire", lambda: found.alerts().get("HpcbatchNoLeader") == "firing", 150)
        assert found.alerts() == {"HpcbatchNoLeader": "firing"}
