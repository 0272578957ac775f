"""What a runner writes into its pod's log, and when the controller looks at it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller.live_usage import LiveUsage, between_looks_s, is_running, last_usage
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.record import HostUsage
from tests.waiting import wait_for

LINE = "hpcbatch: usage cpu_s=12 max_rss_bytes=4096\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", None),
        ("hpcbatch: signal 9 did not reach host x\n", None),
        (LINE, (12, 4096)),
        (LINE + "x\n2026-11-23T06:00:00Z stdout F hpcbatch: usage cpu_s=13 max_rss_bytes=8192\ny", (13, 8192)),
        ("ge cpu_s=1 max_rss_bytes=1\n", None),
        (LINE.replace("12", "9" * 13), None),
    ],
    ids=["nothing", "something else", "one", "the last one of several", "cut off", "no such figure"],
)
def test_last_line_counts(log: str, expected: tuple[int, int] | None) -> None:
    found = last_usage("p", log)
    assert found == (None if expected is None else HostUsage(pod="p", cpu_s=expected[0], max_rss_bytes=expected[1]))


def job(**status: Any) -> dict[str, Any]:
    running = {"state": "Running", "jobId": "7", "startTime": "2026-11-23T06:00:00Z"}
    return {"metadata": {"namespace": "ns", "name": "j"}, "spec": {}, "status": running | status}


def test_which_jobs_are_looked_at() -> None:
    assert is_running(job())
    assert not is_running(job(state="Suspended"))
    assert not is_running({"metadata": {}, "spec": {}})


def test_what_is_known_of_a_run_goes_with_it() -> None:
    logs = {"a": LINE, "b": ""}

    def read(pod: dict[str, Any]) -> str:
        if pod["metadata"]["name"] == "c":
            raise HpcBatchError("the kubelet does not answer")
        return logs[pod["metadata"]["name"]]

    woken = threading.Event()
    pods = [{"metadata": {"name": name}} for name in "abc"]
    usage = LiveUsage(read, lambda _: pods, lambda key: woken.set())
    usage.on_batchjob(WatchEvent("ADDED", job()))
    usage.thread.start()
    try:
        assert woken.wait(60)
        assert usage.of(job()) == (HostUsage(pod="a", cpu_s=12, max_rss_bytes=4096),)
        assert usage.of(job(startTime="2026-11-23T07:00:00Z")) == (), "another run"
        usage.on_batchjob(WatchEvent("MODIFIED", job(state="Finished")))
        wait_for("it to be forgotten", lambda: usage.of(job()) == ())
    finally:
        usage.stop()
        usage.thread.join(10)


@pytest.mark.parametrize(("pods", "pause_s"), [(0, 2), (1, 2), (10, 2), (50, 10), (10_000, 60)])
def test_the_more_pods_run_the_less_often_each_is_looked_at(pods: int, pause_s: float) -> None:
    assert between_looks_s(pods) == pause_s
