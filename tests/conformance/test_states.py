"""The states of a job in their order, as `kubectl get batchjobs --watch` shows them; none comes after a last one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

from tests.conformance.site import Site
from tests.conformance.volcano_site import Record

STARTED = ["Queued", "Running"]


def until_seen(site: Site, name: str) -> str:
    """A kubelet looks at its containers each second, and a busy machine takes its time: a job that ended before may
    never have been seen running.
    """
    return f"until [ -e {site.work}/{name} ]; do sleep 0.1; done\n"


@pytest.fixture
def record(site: Site) -> Iterator[Record]:
    path = f"/apis/hpcbatch.io/v1alpha1/namespaces/{site.namespace}/batchjobs"
    record = Record(site.admin_env or site.env, path)
    yield record
    record.stop()


def statuses(record: Record, job: str) -> list[dict[str, Any]]:
    """Of the job with this number, since it had one."""
    for name, last in record.all().items():
        if last.get("status", {}).get("jobId") == job:
            return [state["status"] for state in record.history(name) if "jobId" in state.get("status", {})]
    return []


def wait_last(record: Record, job: str) -> None:
    """The record has what `qstat` has shown already."""
    record.wait(f"the end of {job}", lambda: "endTime" in (statuses(record, job) or [{}])[-1])


@pytest.mark.slow
def test_states_come_in_order(site: Site, record: Record) -> None:
    good = site.qsub("-N", "good", "-j", "oe", stdin=until_seen(site, "good"))
    bad = site.qsub("-N", "bad", "-j", "oe", stdin=until_seen(site, "bad") + "exit 3\n")
    slurm = site.sbatch("-N", "2", "-o", "/dev/null", "--wrap", until_seen(site, "slurm"))
    stopped = site.qsub("-N", "stopped", "-j", "oe", stdin="sleep 600\n")
    released = site.qsub("-h", "-N", "released", "-j", "oe", stdin=until_seen(site, "released"))
    never = site.qsub("-h", "-N", "never", "-j", "oe", stdin="true\n")
    later = site.sbatch("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
    site.run("qrls", released)
    site.run("qdel", never)
    site.run("scancel", later)
    for job, name in ((good, "good"), (bad, "bad"), (slurm, "slurm"), (stopped, ""), (released, "released")):
        site.wait_state(job, "R")
        if name:
            site.script(name, "")
        else:
            site.run("qdel", job)
    expected = {
        good: [*STARTED, "Finished"],
        bad: [*STARTED, "Failed"],
        slurm: [*STARTED, "Finished"],
        stopped: [*STARTED, "Deleted"],
        released: ["Held", *STARTED, "Finished"],
        never: ["Held", "Deleted"],
        later: ["Waiting", "Deleted"],
    }
    for job in expected:
        site.wait_end(job)
        wait_last(record, job)
    seen = {job: [state for state, _ in groupby(s["state"] for s in statuses(record, job))] for job in expected}
    # A pod and its Volcano Job may end in the same look.
    assert {job: [state for state in states if state != "Exiting"] for job, states in seen.items()} == expected
    assert all("Exiting" not in states or states[-2] == "Exiting" for states in seen.values())
    for job in (good, bad, slurm, stopped, released):
        assert [s.get("runCount", 0) for s in statuses(record, job)][-1] == 1
        assert site.attributes(job)["run_count"] == 1
    for job in (never, later):
        assert "runCount" not in statuses(record, job)[-1]
        assert "startTime" not in statuses(record, job)[-1]


def test_times_follow_each_other(site: Site, record: Record) -> None:
    """And a number, a queue and an owner, once there, do not change."""
    job = site.sbatch("-o", "/dev/null", "--wrap", "sleep 1")
    site.wait_end(job)
    wait_last(record, job)
    seen = statuses(record, job)
    last = seen[-1]
    assert last["eligibleTime"] <= last["startTime"] < last["endTime"]
    for key in ("jobId", "queue", "owner", "startTime", "endTime", "exitCode"):
        assert len({status[key] for status in seen if key in status}) == 1, key
