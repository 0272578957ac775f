"""A real Prometheus on a loopback port, and promtool."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from tests.cluster.binaries import PROMETHEUS, build
from tests.component.test_controller_process import Site, site
from tests.waiting import wait_for

__all__ = ["Site", "site"]

CHECKOUT = Path(__file__).parents[2]
ALERTS = CHECKOUT / "deploy/chart/metrics/alerts.yaml"
DASHBOARD = CHECKOUT / "deploy/chart/metrics/dashboard.json"


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with prometheus and promtool."""
    return build(PROMETHEUS)


class Prometheus:
    """What it answers. Source: Prometheus, HTTP API v1."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _answer(self, path: str, **query: str) -> Any:
        """Fails with Prometheus' own words where it refuses."""
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/{path}?{urlencode(query)}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from None

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """The labels and the value of each series."""
        found = self._answer("query", query=expression)["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    def rules(self) -> dict[str, dict[str, Any]]:
        groups = self._answer("rules")["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def alerts(self) -> dict[str, str]:
        """The state of each that is not inactive."""
        return {each["labels"]["alertname"]: each["state"] for each in self._answer("alerts")["alerts"]}


@contextmanager
def prometheus(programs: Path, directory: Path, targets: Sequence[int]) -> Iterator[Prometheus]:
    """One that scrapes these ports and has the chart's alerts, until the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory.mkdir()
    scrape = {
        "job_name": "hpcbatch",
        "static_configs": [{"targets": [f"127.0.0.1:{target}" for target in targets]}],
    }
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [scrape],
    }
    (directory / "prometheus.yml").write_text(yaml.safe_dump(settings))
    options = {"config.file": directory / "prometheus.yml", "storage.tsdb.path": directory / "data"}
    argv = [str(programs / "prometheus"), *(f"--{name}={value}" for name, value in options.items())]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen([*argv, f"--web.listen-address=127.0.0.1:{port}"], stderr=log, stdout=log)
    try:
        found = Prometheus(port)
        wait_for("Prometheus", lambda: found.is_ready() or process.poll() is not None)
        assert process.poll() is None, (directory / "log").read_text()
        yield found
    finally:
        process.terminate()
        process.wait(60)
