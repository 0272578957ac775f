"""`hpcbatch web` as a user of the rig: its pages show the user's jobs, and its forms change them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for
from tests.web_client import WebPage, web_page


@pytest.fixture
def page(site: Site) -> Iterator[WebPage]:
    with web_page(site.command("hpcbatch", "web", "--no-browser"), site.env, site.work) as found:
        yield found


def test_jobs_are_shown_held_released_and_deleted(site: Site, page: WebPage) -> None:
    pbs = site.qsub("-h", "-N", "from-pbs", "-o", "/dev/null", "-j", "oe", stdin="sleep 600\n")
    slurm = site.sbatch("-H", "-J", "from-slurm", "-o", "/dev/null", "--wrap", "sleep 600")
    words = page.get("jobs", user="me").words
    assert re.search(rf"\b{pbs}\.\S+ from-pbs \S+ \S+ Held", words)
    assert re.search(rf"\b{slurm} from-slurm \S+ \S+ Held", words)
    done = page.follow(page.change("release", pbs))
    assert "Released from your hold" in done.words
    site.wait_state(pbs, "R")
    assert f"Job {pbs}" in page.get(f"jobs/{pbs}").words
    page.change("delete", pbs, slurm)
    for job in (pbs, slurm):
        site.wait_end(job)
    assert "Deleted" in page.get(f"jobs/{slurm}").words


def test_a_waiting_job_says_why_as_the_command_does(site: Site, page: WebPage) -> None:
    job = site.qsub("-h", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    why = site.run("hpcbatch", "why", job).stdout.strip()
    assert why
    assert why in page.get(f"jobs/{job}").words


def test_output_grows(site: Site, page: WebPage) -> None:
    script = site.script(
        "talk", "#!/bin/sh\n#SBATCH -J talk\necho '<one>'; until [ -e go ]; do sleep 0.1; done; echo two\n"
    )
    job = site.sbatch("-o", "out", "-t", "5", script)
    wait_for("the first line", lambda: "<one>" in page.get(f"jobs/{job}").words)
    assert "two" not in re.sub(r"[^\n]*echo two[^\n]*", "", page.get(f"jobs/{job}").words).split("Where it runs")[0]
    (site.work / "go").touch()
    site.wait_end(job)
    words = page.get(f"jobs/{job}").words
    assert "<one> two" in words
    assert page.get(f"jobs/{job}/output/0").body == b"<one>\ntwo\n"
    options = " ".join(site.run("hpcbatch", "explain", job).stdout.split())
    for text in re.findall(r"the name of the job|honoured", options):
        assert text in words


def test_nodes_queues_and_history(site: Site, page: WebPage) -> None:
    job = site.sbatch("-o", "/dev/null", "-t", "5", "--wrap", "sleep 600")
    site.wait_state(job, "R")
    node = site.run("squeue", "-h", "-j", job, "-o", "%N").stdout.strip()
    nodes = page.get("nodes")
    assert nodes.status == 200
    assert f'id="on-{node}-{job}"' in nodes.text
    assert "default" in page.get("queues").words
    history = page.get("history", span="30", by="queue")
    assert history.status == 200
    assert history.text.count("<svg") == 4
