"""The page for the queue: who is let in, what its forms do, and that no text of a job becomes more than text."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path

import pytest

from hpcbatch.api.names import QUEUES_CONFIGMAP, QUEUES_KEY, SYSTEM_NAMESPACE
from hpcbatch.api.queuelist import queues_to_json
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.priority import ShortJobs
from hpcbatch.model.record import ExecHost
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from tests.component.batchjobs import put_job, record_of
from tests.component.test_commands import Cluster, cluster, server
from tests.waiting import wait_for
from tests.web_client import Answer, WebPage, web_page

__all__ = ["cluster", "server"]


@contextmanager
def opened(cluster: Cluster, *options: str, is_entered: bool = True) -> Iterator[WebPage]:
    command = cluster.arguments("hpcbatch", "web", "--no-browser", *options)
    with web_page(command, cluster.environ, cluster.directory, is_entered=is_entered) as found:
        yield found


@pytest.fixture(scope="module")
def open_page(server: Cluster) -> Iterator[WebPage]:
    with opened(server) as found:
        yield found


@pytest.fixture
def page(cluster: Cluster, open_page: WebPage) -> WebPage:
    """Of the cluster with a running job 2, a queued 3, a finished 4, and a held one of Slurm, 5."""
    open_page.cookie or open_page.enter()
    return open_page


# Who is let in


def test_a_link_lets_in_one_browser(cluster: Cluster) -> None:
    with opened(cluster, is_entered=False) as page:
        link = page.links[0]
        assert page.request("HEAD", link).status == 403  # as programs look at links that somebody was sent
        entered = page.enter()
        cookie = entered.headers["set-cookie"]
        assert f"Path={page.prefix}" in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert f'content="0;url={page.prefix}jobs"' in entered.text
        assert page.get("jobs").status == 200
        again = page.request("GET", link)
        assert again.status == 403
        assert "set-cookie" not in again.headers
        assert page.links[-1] != link
        secret = link.partition("token=")[2]
        assert secret not in "".join(page.printed[2:])
        assert secret not in entered.text


def test_a_browser_gets_the_link_by_a_file_that_others_cannot_read(cluster: Cluster, tmp_path: Path) -> None:
    """Everybody on a machine sees the words of all commands."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nfile=${{1#file://}}\nstat -c %a "$file" >{seen}.new\necho "$1" >>{seen}.new\n')
    with browser.open("a") as script:
        script.write(f'cat "$file" >>{seen}.new\nmv {seen}.new {seen}\n')
    browser.chmod(0o755)
    environ = {**cluster.environ, "BROWSER": str(browser), "XDG_RUNTIME_DIR": str(tmp_path)}
    with web_page(cluster.arguments("hpcbatch", "web"), environ, tmp_path, is_entered=False) as page:
        wait_for("the browser", seen.exists)
        mode, address, text = seen.read_text().split("\n", 2)
        assert mode == "600"
        assert "token" not in address
        assert page.links[0].replace("&", "&amp;") in text
        assert page.request("GET", page.links[0]).status == 200
    assert [path.name for path in tmp_path.glob("hpcbatch-web-*")] == []


@pytest.mark.parametrize("cookie", ["", "hpcbatch-web=", "hpcbatch-web=guess", "hpcbatch-web=\x80"])
def test_without_the_cookie_nothing_is_shown(page: WebPage, cookie: str) -> None:
    for path in ("", "jobs", "jobs/2", "jobs?part=jobs", "nodes", "history", "jobs/2/output/0", "nosuch"):
        answer = page.request("GET", f"{page.prefix}{path}", headers={"Cookie": cookie})
        assert answer.status == 403, path
        assert "job2" not in answer.text
    answer = page.request("POST", f"{page.prefix}change", "action=delete&job=2&sure=yes", {"Cookie": cookie})
    assert answer.status == 403


def test_the_page_of_another_process_takes_no_cookie_of_this(cluster: Cluster, page: WebPage) -> None:
    with opened(cluster) as other:
        mine, other.cookie = other.cookie, page.cookie
        assert other.get("jobs").status == 403
        token = page.get("jobs").form_token
        fields = [("token", token), ("action", "delete"), ("job", "2"), ("sure", "yes")]
        assert other.post(fields).status == 403
        other.cookie = mine
        assert other.post(fields).status == 403  # the browser's own cookie, and a form of somebody else's page
        assert other.get("jobs").status == 200
        assert other.prefix != page.prefix
        assert page.request("GET", other.links[-1]).status == 404
    assert record_of(cluster.registry, "pbs-2").status.state is JobState.RUNNING


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST:8080", 200),  # through a tunnel
        ("[::1]:{port}", 200),
        ("127.0.0.1", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:{port}", 421),
        ("", 421),
    ],
)
def test_other_host_names_are_refused(page: WebPage, host: str, status: int) -> None:
    headers = {"Cookie": page.cookie, "Host": host.format(port=page.port)}
    answer = page.request("GET", f"{page.prefix}jobs", headers=headers)
    assert answer.status == status
    assert ("job2" in answer.text) == (status == 200)


def test_it_listens_on_loopback_alone(page: WebPage) -> None:
    listening = subprocess.run(["ss", "-ltn"], capture_output=True, text=True, check=True).stdout
    found = [line.split()[3] for line in listening.splitlines() if line.split()[3].endswith(f":{page.port}")]
    assert found == [f"127.0.0.1:{page.port}"]


def test_every_answer_has_the_headers(page: WebPage) -> None:
    answers = [
        page.get("jobs"),
        page.get("jobs/2"),
        page.get("jobs/999"),
        page.get("static/style.css"),
        page.get("jobs", part="jobs"),
        page.request("GET", "/"),
        page.request("GET", f"{page.prefix}jobs"),
        page.request("DELETE", f"{page.prefix}jobs", headers={"Cookie": page.cookie}),
        page.post([("token", "x")]),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
    assert page.get("jobs").headers["cache-control"] == "no-store"


def test_no_page_has_a_script_or_style_in_it(page: WebPage) -> None:
    for path in ("jobs", "jobs/2", "nodes", "queues", "history"):
        text = page.get(path).text
        assert not re.search(r"<script(?![^>]*\ssrc=)[^>]*>", text), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), path


# What the pages show


def test_the_list(page: WebPage) -> None:
    words = page.get("jobs").words
    assert "1 running, 1 queued, 1 held" in words
    for text in (
        "2.pbs1 job2 alice default Running",
        "3.pbs1 job3",
        "Resources",
        "5 wrap alice default Held",
        "HeldByUser",
    ):
        assert text in words
    assert "job4" not in words
    assert "4.pbs1 job4" in page.get("jobs", state="ended").words


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"state": "running"}, [2]),
        ({"state": "held"}, [5]),
        ({"state": "all"}, [2, 3, 5, 4]),
        ({"q": "wrap"}, [5]),
        ({"q": "3.pbs1"}, [3]),
        ({"q": "3"}, [3]),
        ({"user": "me"}, [2, 3, 5]),
        ({"user": "nobody"}, []),
        ({"queue": "other"}, []),
        ({"sort": "-job"}, [5, 3, 2]),
        ({"sort": "state"}, [3, 5, 2]),
        ({"sort": "nonsense", "state": "nonsense", "page": "0x1"}, [2, 3, 5]),
        ({"page": "99"}, [2, 3, 5]),
    ],
)
def test_filter_and_order(page: WebPage, query: dict[str, str], shown: list[int]) -> None:
    text = page.get("jobs", **query).text
    assert [int(number) for number in re.findall(r'id="job-(\d+)"', text)] == shown


def test_the_sorted_column_says_so(page: WebPage) -> None:
    text = page.get("jobs", sort="-name").text
    assert len(re.findall("aria-sort", text)) == 1
    assert re.search(r'<th scope="col" role="columnheader" class="col-name" aria-sort="descending">', text)


def test_a_job(page: WebPage) -> None:
    words = page.get("jobs/3").words
    assert "Job 3.pbs1 job3" in words
    assert "is number 1 of 1 that wait in queue default" in words
    assert "1 × 2 CPUs" in words
    missing = page.get("jobs/999")
    assert missing.status == 404
    assert "there is no job 999" in missing.words


def test_a_part_comes_only_if_it_has_changed(cluster: Cluster, page: WebPage) -> None:
    text = page.get("jobs/3").text
    where = re.search(r'id="part-head" hx-get="([^"]+)"', text)
    assert where
    path = where[1].replace("&amp;", "&")
    unchanged = page.request("GET", path, headers={"Cookie": page.cookie})
    assert (unchanged.status, unchanged.body) == (204, b"")
    page.change("hold", 3)
    changed = page.request("GET", path, headers={"Cookie": page.cookie})
    assert changed.status == 200
    assert changed.text.startswith('<div id="part-head"')


# What the forms do


def state(cluster: Cluster, name: str) -> JobState:
    return record_of(cluster.registry, name).status.state


def test_hold_release_delete(cluster: Cluster, page: WebPage) -> None:
    held = page.follow(page.change("hold", 3))
    assert "Held: it starts after it has been released." in held.words
    assert state(cluster, "pbs-3") is JobState.HELD
    page.follow(page.change("release", 3, 5))
    assert (state(cluster, "pbs-3"), state(cluster, "pbs-5")) == (JobState.QUEUED, JobState.QUEUED)
    asked = page.change("delete", 2, 3, sure=False)
    assert asked.status == 200
    assert "These 2 jobs end for good" in asked.words
    assert state(cluster, "pbs-2") is JobState.RUNNING
    page.follow(page.change("delete", 2, 3))
    assert (state(cluster, "pbs-2"), state(cluster, "pbs-3")) == (JobState.DELETED, JobState.DELETED)


def test_one_that_cannot_be_changed_does_not_stop_the_others(cluster: Cluster, page: WebPage) -> None:
    answer = page.change("hold", 4, 999, 3)
    assert answer.status == 409
    assert "hold of job 4.pbs1: job 4 has finished" in answer.words
    assert "hold of job 999: there is no job 999" in answer.words
    assert "1 of 3 jobs are done" in answer.words
    assert state(cluster, "pbs-3") is JobState.HELD


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        ("", {}, 403),
        ("0" * 64, {}, 403),
        ("é", {}, 403),
        ("right", {"Origin": "https://evil.example"}, 403),
        ("right", {"Origin": "null"}, 403),
        ("right", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("right", {"Sec-Fetch-Site": "same-site"}, 403),
        ("right", {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}, 303),
    ],
)
def test_forms_of_others_change_nothing(
    cluster: Cluster, page: WebPage, token: str, headers: dict[str, str], status: int
) -> None:
    token = page.get("jobs").form_token if token == "right" else token
    sent = {name: value.format(port=page.port) for name, value in headers.items()}
    answer = page.post([("token", token), ("action", "hold"), ("job", "3")], sent)
    assert answer.status == status
    assert state(cluster, "pbs-3") is (JobState.HELD if status == 303 else JobState.QUEUED)


@pytest.mark.parametrize(
    "fields",
    [
        [("action", "hold")],
        [("action", "explode"), ("job", "3")],
        [("action", "hold"), ("job", "../3")],
        [("action", "hold"), ("job", "٣")],
        [("action", "hold"), *(("job", str(number)) for number in range(501))],
    ],
)
def test_forms_that_no_page_has(page: WebPage, fields: list[tuple[str, str]]) -> None:
    answer = page.post([("token", page.get("jobs").form_token), *fields])
    assert answer.status == 400
    assert "That did not work" in answer.words


def test_a_form_without_end_is_refused(page: WebPage) -> None:
    assert page.post([("token", "x" * (1 << 18))]).status == 413


# Hostile texts

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "{{ 7*1191 }}{% include 'base.html' %}",
    "' autofocus onfocus=alert(1) '",
    "</title></textarea></pre><svg/onload=alert(1)>",
    "&lt;b&gt; &amp; &#x3C;",
    "%s%n{0}${7*1191}",
    "Ωμέγα 降水 مطر",
]


def is_text_only(answer: Answer, text: str) -> bool:
    """Whether the text stands in the page, and nowhere as a tag."""
    return text in answer.words.replace("  ", " ") or " ".join(text.split()) in answer.words


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_jobs_stay_texts(cluster: Cluster, page: WebPage, text: str) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    spec = JobSpec(
        dialect=Dialect.SLURM,
        name=text,
        chunks=(Chunk(cpus=2),),
        server="pbs1",
        account=text,
        script_path=f"/tmp/{text}",
    )
    put_job(
        cluster.registry,
        7,
        JobState.RUNNING,
        spec=spec,
        start_time=now - timedelta(minutes=1),
        message=text,
        hosts=(ExecHost(node="node-0", pod="p", cpus=2),),
    )
    put_job(cluster.registry, 8, JobState.QUEUED, spec=spec, reason=Reason.RESOURCES, message=text)
    for answer in (page.get("jobs"), page.get("jobs/7"), page.get("jobs/8"), page.change("delete", 7, 8, sure=False)):
        assert answer.status == 200
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert "<svg/onload" not in answer.text
        assert not re.search(r"<[^>]*\son(error|load|focus)\s*=", re.sub(r'"[^"]*"', '""', answer.text))
        assert "8337" not in answer.words or "7*1191" in answer.words
    found = page.get("jobs", q=text, user=text, queue=text, sort=text).text
    assert "<script>alert" not in found
    assert "<img" not in found


def test_why_a_job_is_not_due(cluster: Cluster, page: WebPage) -> None:
    site = SiteConfig(short_first=ShortJobs(walltime_s=30, delay_s=1800))
    listed = {"metadata": {"name": QUEUES_CONFIGMAP}, "data": {QUEUES_KEY: queues_to_json(site)}}
    cluster.registry.create(CONFIGMAPS, listed, SYSTEM_NAMESPACE)
    assert "It is not due yet: jobs of at most 00:00:30 go before it" in page.get("jobs/3").words


def test_addresses_that_lead_nowhere(page: WebPage) -> None:
    for path in (
        "jobs/../../etc/passwd",
        "static/../server.py",
        "static/%2e%2e/server.py",
        "static//etc/passwd",
        "jobs/2/pictures/0123456789abcdef0123",
        "jobs/2/output/0",
        "jobs/99999999999999999999",
        "%00",
        "jobs/2%0d%0aX:y",
    ):
        answer = page.get(path)
        assert answer.status == 404, path
        assert "Traceback" not in answer.text


def test_an_api_that_does_not_answer_is_one_line(cluster: Cluster) -> None:
    with opened(cluster) as page:
        kubeconfig = cluster.directory / "kubeconfig"
        text = kubeconfig.read_text()
        try:
            kubeconfig.write_text(re.sub(r"https://127\.0\.0\.1:\d+", "https://127.0.0.1:1", text))
            with opened(cluster) as other:
                answer = other.get("jobs")
                assert answer.status == 502
                assert "nothing answers at https://127.0.0.1:1" in answer.words
                part = other.get("jobs", part="jobs")
                assert (part.status, part.text.count("role=")) == (200, 1)
                assert "nothing answers" in part.words
                assert "every 5s" in part.text
        finally:
            kubeconfig.write_text(text)
        assert page.get("jobs").status == 200


def test_a_taken_port_is_one_line(cluster: Cluster, page: WebPage) -> None:
    out, err, code = cluster.run("hpcbatch", "web", "--no-browser", "--port", str(page.port))
    assert (out, code) == ("", 1)
    assert err == f"hpcbatch: port {page.port} of this machine cannot be had: Address already in use\n"


def test_what_a_job_has_drawn(cluster: Cluster, page: WebPage) -> None:
    """A forecast's page is a job's: it runs nothing, and is no page of ours to the browser."""
    folder = cluster.directory / "run"
    (folder / "maps").mkdir(parents=True, exist_ok=True)
    (folder / "maps/rain_d01_2024-01-15_000000.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (folder / "maps/false.png").write_text("<script>alert(1)</script>")
    (folder / "maps/forecast.html").write_text("<!doctype html><script>alert(1)</script>")
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
    for number, uid in ((7, os.getuid()), (8, os.getuid() + 1)):
        spec = JobSpec(dialect=Dialect.SLURM, name="wrf", chunks=(Chunk(),), server="pbs1", submit_dir=str(folder))
        put_job(cluster.registry, number, JobState.RUNNING, spec=spec, start_time=start, uid=uid)
    shown = page.get("jobs/7")
    kept = dict(
        re.findall(r'href="\S+/(jobs/7/pictures/[0-9a-f]{20})">(?:<img[^>]*><span><bdi>)?([\w.-]+|All)', shown.text)
    )
    named = {name: path for path, name in kept.items()}
    picture = page.get(named["rain_d01_2024-01-15_000000.png"])
    assert (picture.status, picture.headers["content-type"]) == (200, "image/png")
    forecast = page.get(named["All"])
    assert forecast.status == 200
    assert forecast.headers["content-security-policy"].startswith("sandbox; default-src 'none'; ")
    assert page.get(named["false.png"]).status == 404
    other = page.get("jobs/8")  # of another user
    assert "pictures" not in other.text
    assert page.get(named["All"].replace("jobs/7", "jobs/8")).status == 404
    assert page.request("GET", f"{page.prefix}{named['All']}").status == 403


def test_how_far_a_forecast_is(cluster: Cluster, page: WebPage) -> None:
    """By the log of rank 0, which is read on where it was read to; a log of another job is none."""
    folder = cluster.directory / "wrf"
    folder.mkdir(exist_ok=True)
    (folder / "namelist.input").write_text(
        "&time_control\n start_year=2024, start_month=1, start_day=15, start_hour=0,\n"
        " end_year=2024, end_month=1, end_day=15, end_hour=10,\n/\n&domains\n max_dom=1,\n/\n"
    )
    log = folder / "rsl.error.0000"
    log.write_text(
        "taskid: 0 hostname: job-7-mpimaster-0\n WRF V4.5.2 MODEL\n"
        "Timing for main: time 2024-01-15_01:00:00 on domain   1:    0.50000 elapsed seconds\n"
    )
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
    for number in (7, 8):
        spec = JobSpec(dialect=Dialect.SLURM, name="wrf", chunks=(Chunk(),), server="pbs1", submit_dir=str(folder))
        put_job(cluster.registry, number, JobState.RUNNING, spec=spec, start_time=start, uid=os.getuid(), run_count=2)
    assert "Simulated 10 % 10 %" in page.get("jobs/7").words
    with log.open("a") as file:
        file.write("Timing for main: time 2024-01-15_05:00:00 on domain   1:    0.50000 elapsed seconds\n")
    words = page.get("jobs/7").words
    assert "wrf.exe, at 2024-01-15 05:00:00" in words
    assert "Simulated 50 % 50 %" in words
    assert "Simulated" not in page.get("jobs/8").words


def test_it_ends_well_while_the_api_says_nothing(cluster: Cluster) -> None:
    """A thread waits for an API that takes connections and says nothing."""
    kubeconfig = cluster.directory / "kubeconfig"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        text = kubeconfig.read_text()
        try:
            address = f"https://127.0.0.1:{silent.getsockname()[1]}"
            kubeconfig.write_text(re.sub(r"https://127\.0\.0\.1:\d+", address, text))
            with opened(cluster) as page:
                threading.Thread(target=swallowed, args=(page,), daemon=True).start()
                wait_for("a request to the API", lambda: select.select([silent], [], [], 0)[0])
                assert page.stop() == 0
        finally:
            kubeconfig.write_text(text)


def swallowed(page: WebPage) -> None:
    with suppress(OSError, HTTPException):
        page.get("jobs")
