"""Volcano Jobs that are not hpcbatch's, on the same nodes: what they leave is used, and they keep what they have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conformance.site import Site
from tests.conformance.test_plan import QUIET, WIDE, reason, volcano_job
from tests.conformance.volcano_site import IMAGE, WORKER
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

_NAME = "of-others"
_THERE = ("-n", "default")


def made(count: int) -> dict[str, Any]:
    """A gang of `count` pods, each of which needs a node whole."""
    size = {"requests": {"cpu": "2"}}
    container = {"name": "main", "image": IMAGE, "command": ["sh", "-c", WORKER], "resources": size}
    template = {"spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1}}
    tasks = [{"name": "worker", "replicas": count, "template": template}]
    spec = {"schedulerName": "volcano", "minAvailable": count, "queue": "default", "tasks": tasks}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": _NAME}, "spec": spec}


@contextmanager
def job_of_others(site: Site, count: int) -> Iterator[None]:
    site.script("others.json", json.dumps(made(count)))
    site.kubectl(*_THERE, "create", "-f", "others.json")
    try:
        yield
    finally:
        site.kubectl(*_THERE, "delete", "jobs.batch.volcano.sh", _NAME, "--cascade=foreground", "--wait=true")


def running(site: Site) -> int:
    shown = site.kubectl(*_THERE, "get", "jobs.batch.volcano.sh", _NAME, "-o", "jsonpath={.status.running}").stdout
    return int(shown or 0)


def test_what_they_leave_is_used(site: Site) -> None:
    with job_of_others(site, 2):
        wait_for("its pods to run", lambda: running(site) == 2, 120)
        wide = site.qsub(*WIDE, "-l", "walltime=2:00", *QUIET, stdin="true\n")
        wait_for("the wide job's reason", lambda: reason(site, wide) == "PD Resources")
        narrow = site.qsub("-l", "select=1:ncpus=2,walltime=1:00", *QUIET, stdin="true\n")
        assert site.wait_end(narrow, 180)["Exit_status"] == 0
        assert (reason(site, wide), volcano_job(site, wide)) == ("PD Resources", "")
        assert running(site) == 2
    assert site.wait_end(wide, 180)["Exit_status"] == 0


def test_they_get_room_that_becomes_free(site: Site) -> None:
    first = site.qsub(*WIDE, "-l", "walltime=10:00", *QUIET, stdin=f"until [ -e {site.work}/go ]; do sleep 0.2; done\n")
    site.wait_state(first, "R")
    with job_of_others(site, 2):
        assert running(site) == 0
        (site.work / "go").touch()
        assert site.wait_end(first, 180)["Exit_status"] == 0
        wait_for("its pods to run", lambda: running(site) == 2, 120)
        narrow = site.qsub("-l", "select=1:ncpus=2,walltime=1:00", *QUIET, stdin="true\n")
        assert site.wait_end(narrow, 180)["Exit_status"] == 0
        assert running(site) == 2
