"""What one job, and one command, asks of the API server: counted from its audit log while nobody else works."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping

from tests.cluster import audit
from tests.cluster.audit import Request
from tests.conformance.site import Site
from tests.waiting import wait_for


def of_job(*options: str, site: Site) -> Counter[Request]:
    """From `qsub` until only the record is left."""
    _run(site, *options)  # the first job of a controller in a namespace brings the runner there
    place = audit.mark()
    _run(site, *options)
    return audit.requests_since(place, site.env["USER"], site.namespace)


def of_command(*argv: str, site: Site) -> Counter[Request]:
    place = audit.mark()
    site.run(*argv)
    return audit.requests_since(place, site.env["USER"], site.namespace)


def _run(site: Site, *options: str) -> None:
    # asked as the admin, whose requests are not in the log
    job = int(site.qsub(*options, "-j", "oe", "-o", "/dev/null", stdin="#!/bin/sh\ntrue\n"))
    wait_for(f"the end of job {job}", lambda: _is_cleaned(site, job), 120)


def _is_cleaned(site: Site, job: int) -> bool:
    found = json.loads(site.kubectl("get", "batchjobs", "-o", "json").stdout)["items"]
    record = next(obj for obj in found if obj.get("status", {}).get("jobId") == str(job))
    assert record["status"]["state"] in {"Queued", "Running", "Exiting", "Finished"}, record["status"]
    return bool(record["status"].get("cleaned"))


COSTS: Mapping[str, Callable[[Site], Counter[Request]]] = {
    "a job of one pod": lambda site: of_job("-l", "select=1:ncpus=1", site=site),
    "a job of three pods": lambda site: of_job("-l", "select=3:ncpus=1", "-l", "place=scatter", site=site),
    "qstat": lambda site: of_command("qstat", site=site),
}
