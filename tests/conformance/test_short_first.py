"""Short jobs go before a wide one that is due, which starts by its bound all the same."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.conformance.site import Site
from tests.conformance.site_file import configure, configured, published, set_line
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

QUIET = ("-o", "/dev/null", "-j", "oe")
WIDE = ("-l", "select=3:ncpus=2", "-l", "place=scatter")
DELAY_S = 45


@pytest.fixture
def short_first(site: Site) -> Iterator[Site]:
    """The site with this order; a job of 5 s counts 15 s and `killDelay` more, so that they go first for 15 s."""
    before = configured(site)
    set_line(site, f"shortFirst: {{walltime: 5s, delay: {DELAY_S}s}}")
    wait_for("it is in force", lambda: "shortDelaySeconds" in json.dumps(published(site)))
    yield site
    configure(site, before)
    wait_for("it is no more", lambda: "shortDelaySeconds" not in json.dumps(published(site)))


def due(site: Site, job: str) -> str:
    items = json.loads(site.kubectl("get", "batchjobs", "-o", "json").stdout)["items"]
    found = next(item["status"] for item in items if item.get("status", {}).get("jobId") == job)
    return str(found.get("dueSince", ""))


def seconds(time_text: str) -> float:
    return datetime.fromisoformat(time_text).timestamp()


def short(site: Site) -> str:
    script = f"echo short >>{site.work}/order\nsleep 3\n"
    return site.qsub("-l", "select=1:ncpus=1,walltime=5", *QUIET, stdin=script)


@pytest.mark.slow
def test_a_wide_job_among_short_ones_starts_by_its_bound(short_first: Site) -> None:
    site = short_first
    rest = site.qsub(*WIDE, "-l", "walltime=20:00", *QUIET, stdin="sleep 600\n")
    site.wait_state(rest, "R")
    wide = site.qsub(*WIDE, "-l", "walltime=2:00", *QUIET, stdin=f"echo wide >>{site.work}/order\n")
    wait_for("the wide job's reason", lambda: "Resources" in site.run("squeue", "-h", "-j", wide, "-o", "%r").stdout)
    assert "It is not due yet: jobs of at most 00:00:05 go before it" in site.run("hpcbatch", "why", wide).stdout
    first = [short(site) for _ in range(3)]
    site.run("qdel", rest)
    while site.state(wide) == "Q":
        told = due(site, wide)
        assert not told or time.time() < seconds(told) + DELAY_S + 30, site.run("hpcbatch", "why", wide).stdout
        short(site)
    for job in (*first, wide):
        assert site.wait_end(job)["Exit_status"] == 0
    order = site.read("order").split()
    assert order[:3] == ["short"] * 3
    assert "wide" in order
    assert due(site, wide)
