"""Mails and controllers that are killed: nothing is sent twice, and what waits for the mail server is not lost."""

from __future__ import annotations

import signal
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES
from hpcbatch.client.submit import submit
from hpcbatch.controller import decisions
from hpcbatch.controller.controller import Controller
from hpcbatch.history.databases import SqliteDatabase
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.mail import MailConfig
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.test_controller_process import SITE, Site
from tests.component.volcano_cluster import NS, running
from tests.mail_server import MailServer
from tests.waiting import wait_for

COUNT = 12
REPORT = "exit_code=0\nwalltime_s=1\n"
SPEC = JobSpec(
    dialect=Dialect.SLURM,
    name="j",
    chunks=(Chunk(count=1, cpus=1, ranks=1),),
    server="here",
    mail_points="END",
    mail_users=("a@b",),
)
"""Asks for a mail at its end."""


@pytest.fixture
def port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def site(tmp_path: Path, port: int) -> Iterator[Site]:
    site = Site(tmp_path)
    text = f'{SITE}mail: {{smtp: "127.0.0.1:{port}", from: adm@here}}\n'
    site.registry.patch(CONFIGMAPS, "hpcbatch-site", {"data": {"site.yaml": text}}, SYSTEM_NAMESPACE)
    yield site
    site.stop()


def run_jobs(site: Site) -> None:
    """Some jobs that ask for a mail at their end, which comes at once."""
    for _ in range(COUNT):
        submit(site.registry, NS, Submission(spec=SPEC, script=b"#!/bin/sh\n", environment={}), timeout_s=30)
    wait_for("all pods", lambda: len(site.cluster.kubelet.started) == COUNT)
    site.wait_running(COUNT)
    for pod in site.cluster.kubelet.started:
        site.cluster.kubelet.end(pod, 0, REPORT)
    wait_for("the ends", lambda: all("endTime" in job["status"] for job in site.jobs()), 40)


@pytest.mark.slow
def test_the_next_controller_sends_what_waits(site: Site, port: int) -> None:
    leader, other = site.pair()
    run_jobs(site)
    wait_for("a try", lambda: "hpcbatch_mails_waiting 1.0\n" in leader.page("/metrics")[1])
    leader.signal(signal.SIGKILL)
    with MailServer(port=port) as server:
        wait_for("the mails", lambda: len(server.mails) >= COUNT, 60)
        wait_for("the count", lambda: f"hpcbatch_mails_sent_total {COUNT}.0\n" in other.page("/metrics")[1])
        assert max(Counter(mail.subject for mail in server.mails).values()) == 1


@pytest.mark.slow
def test_controllers_killed_in_the_midst_of_sending(site: Site, port: int) -> None:
    """A mail may be lost with each kill, and none comes twice."""
    kills = 3
    with MailServer(port=port) as server:
        server.refusals["RCPT"].extend(["450 later"] * 4)
        for number in range(kills):
            site.controller()
            if number == 0:
                run_jobs(site)

            def has_some(number: int = number) -> bool:
                return len(server.mails) > 2 * number

            wait_for("some mails", has_some, 40)
            site.controllers[-1].signal(signal.SIGKILL)
            site.controllers[-1].wait()
        site.controller()

        def are_settled() -> bool:
            return all("end" in job["status"].get("mailed", ()) for job in site.jobs())

        wait_for("all mails to be settled", are_settled, 60)
        wait_for("what was begun", lambda: len(server.mails) >= COUNT - kills)
        assert max(Counter(str(mail.message["Message-ID"]) for mail in server.mails).values()) == 1


def test_a_record_does_not_move_before_its_mail_is_sent(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "_WAITING_LOOK_S", 0.2)
    history = HistoryStore(SqliteDatabase(tmp_path / "history.db"))
    mail = MailConfig(smtp_host="127.0.0.1", smtp_port=port)
    with running(4) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        site = SiteConfig(mail=mail, history_moved_after_s=0)
        controller = Controller(cluster.registry, site, history)
        controller.start()
        try:
            submit(cluster.registry, NS, Submission(spec=SPEC, script=b"", environment={}), timeout_s=30)
            wait_for("its pod", lambda: cluster.kubelet.started)
            cluster.kubelet.end(cluster.kubelet.started[0], 0, REPORT)
            wait_for("a try", lambda: controller.mailer.waiting)
            wait_for("its end", lambda: cluster.registry.list(BATCHJOBS, NS).items[0]["status"].get("cleaned"))
            with MailServer(port=port) as server:
                assert history.by_number(1) is None
                wait_for("the mail", lambda: server.mails)
                moved = wait_for("the move", lambda: history.by_number(1))
            assert moved["status"]["mailed"] == ["end"]
            wait_for("the BatchJob to go", lambda: not cluster.registry.list(BATCHJOBS, NS).items)
        finally:
            controller.stop()
            history.close()
