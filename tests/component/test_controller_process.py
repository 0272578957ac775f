"""`hpcbatch controller` as processes of their own, two at once, on an API server: killed, paused, and asked to go."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, LEASES, NAMESPACES, PODS
from hpcbatch.client.submit import Submitted, submit
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from hpcbatch.errors import UnreachableError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.api_server import TOKEN
from tests.component.volcano_cluster import NS, Cluster
from tests.waiting import wait_for

LEASE_S = 4
HPCBATCH = str(Path(sys.executable).parent / "hpcbatch")
SITE = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nserverName: here\nimage: img:1\n"


class Running:
    """One controller's process."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str) -> None:
        self.port = _free_port()
        self.log = log
        argv = [
            HPCBATCH,
            "controller",
            "--health-port",
            str(self.port),
            "--lease-duration",
            str(LEASE_S),
            "--renew-deadline",
            "2.5",
            "--retry-period",
            "0.3",
            *options,
        ]
        env = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(log.parent)}
        self.process = subprocess.Popen(argv, env=env, stderr=log.open("ab"), stdout=subprocess.DEVNULL)

    def page(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    @property
    def leads(self) -> bool:
        return "\nhpcbatch_leader 1.0\n" in self.page("/metrics")[1]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(timeout=60)

    def said(self) -> str:
        return self.log.read_text()


class Site:
    def __init__(self, directory: Path, config: str = SITE) -> None:
        self.cluster = Cluster(16, 16, store=Store(str(directory / "store.db")))
        self.registry = self.cluster.registry
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        self.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        site = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "hpcbatch-site"},
            "data": {"site.yaml": config},
        }
        self.registry.create(CONFIGMAPS, site, SYSTEM_NAMESPACE)
        certificate = ensure_certificate(directory)
        self.server = ApiServer(
            self.registry,
            cert_file=certificate.cert_file,
            key_file=certificate.key_file,
            token=TOKEN,
            log_source=lambda *_: None,
        )
        self.directory, self.kubeconfig = directory, directory / "kubeconfig"
        self.url, self.ca_file = f"https://127.0.0.1:{self.server.start()}", certificate.ca_file
        self.write_kubeconfig(TOKEN)
        self.cluster.start()
        self.controllers: list[Running] = []

    def write_kubeconfig(self, token: str) -> None:
        write_kubeconfig(
            self.kubeconfig, server=self.url, cluster="here", ca_file=self.ca_file, token=token, namespace=NS
        )

    def stop(self) -> None:
        for one in self.controllers:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
        self.cluster.stop()
        self.server.stop()

    def controller(self, *options: str) -> Running:
        one = Running(self.kubeconfig, self.directory / f"controller-{len(self.controllers)}.log", *options)
        self.controllers.append(one)
        return one

    def pair(self) -> tuple[Running, Running]:
        """The one that leads and the one that stands by."""
        first, second = self.controller(), self.controller()
        leader = wait_for("a leader", lambda: next((one for one in (first, second) if one.leads), None))
        other = second if leader is first else first
        wait_for("both to be ready", lambda: leader.page("/readyz")[0] == other.page("/readyz")[0] == 200)
        return leader, other

    def submit(self, timeout_s: float = 30, **fields: Any) -> str:
        return self.submitted(timeout_s, **fields).object_name

    def submitted(self, timeout_s: float = 30, **fields: Any) -> Submitted:
        spec = JobSpec(
            dialect=Dialect.PBS, name="j", chunks=(Chunk(count=1, cpus=1, ranks=1),), server="here", rerunnable=False
        )
        submission = Submission(spec=replace(spec, **fields), script=b"#!/bin/sh\n", environment={})
        return submit(self.registry, NS, submission, timeout_s=timeout_s)

    def submit_many(self, count: int) -> tuple[list[threading.Thread], list[str]]:
        names: list[str] = []
        threads = [threading.Thread(target=lambda: names.append(self.submit())) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads, names

    def jobs(self) -> list[Object]:
        return list(self.registry.list(BATCHJOBS, NS).items)

    def wait_running(self, count: int) -> None:
        def states() -> bool:
            return [job.get("status", {}).get("state") for job in self.jobs()] == ["Running"] * count

        wait_for(f"{count} running jobs", states, 40)

    def check(self, count: int) -> None:
        """All jobs are there, each with a number of its own and started once."""
        numbers = [job["status"]["jobId"] for job in self.jobs()]
        assert len(set(numbers)) == count
        started = self.cluster.kubelet.started
        assert sorted(started) == sorted(f"job-{number}-mpimaster-0" for number in numbers)
        assert len(self.registry.list(PODS, NS).items) == count

    def lease(self) -> Object:
        return dict(self.registry.get(LEASES, "hpcbatch-controller", SYSTEM_NAMESPACE)["spec"])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.stop()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_a_killed_leader_is_followed(site: Site) -> None:
    leader, other = site.pair()
    threads, names = site.submit_many(12)
    wait_for("the first jobs to be admitted", lambda: len(names) >= 3)
    leader.signal(signal.SIGKILL)
    later, more = site.submit_many(4)
    for thread in (*threads, *later):
        thread.join(40)
    assert (len(names), len(more)) == (12, 4)
    assert other.leads
    site.wait_running(16)
    site.check(16)


def test_a_paused_leader_does_nothing_more(site: Site) -> None:
    leader, other = site.pair()
    threads, names = site.submit_many(8)
    wait_for("the first jobs to be admitted", lambda: len(names) >= 2)
    leader.signal(signal.SIGSTOP)
    wait_for("the other to lead", lambda: other.leads)
    leader.signal(signal.SIGCONT)
    assert leader.wait() == 1
    assert "lost the lease" in leader.said()
    for thread in threads:
        thread.join(40)
    site.wait_running(8)
    site.check(8)
    assert site.lease()["leaseTransitions"] == 1


def test_a_leader_that_is_asked_to_go_hands_over_at_once(site: Site) -> None:
    leader, other = site.pair()
    site.submit()
    leader.signal(signal.SIGTERM)
    assert leader.wait() == 0
    assert "gave the lease back" in leader.said()
    wait_for("the other to lead", lambda: other.leads)
    site.submit()
    site.wait_running(2)
    site.check(2)


def test_one_that_stands_by_goes_quietly(site: Site) -> None:
    leader, other = site.pair()
    other.signal(signal.SIGTERM)
    assert other.wait() == 0
    assert leader.leads
    assert site.lease()["leaseTransitions"] == 0


def test_pages_and_log(site: Site) -> None:
    leader, other = site.pair()
    site.submit()
    site.wait_running(1)
    assert leader.page("/livez") == other.page("/livez") == (200, "ok\n")
    assert other.page("/elsewhere")[0] == 404
    text = leader.page("/metrics")[1]
    assert 'hpcbatch_jobs{state="Running"} 1' in text
    assert 'hpcbatch_jobs{state="Queued"} 0' in text
    assert 'hpcbatch_api_requests_total{code="200",resource="jobs",verb="create"} 1' in text
    assert "\nhpcbatch_leader 0.0\n" in other.page("/metrics")[1]
    for line in (leader.said() + other.said()).splitlines():
        assert line.startswith("time=20"), "one line for each record"


@pytest.mark.slow
def test_renewed_credentials_are_taken_up(site: Site) -> None:
    controller = site.controller()
    wait_for("it to lead", lambda: controller.leads)
    site.submit()
    site.server._token = b"renewed"
    site.write_kubeconfig("renewed")
    with pytest.raises(UnreachableError):
        site.submit(timeout_s=3)
    assert controller.wait() == 0, "it ends, to be started anew"
    assert "the credentials were renewed" in controller.said()
    assert "gave the lease back" in controller.said()
    again = site.controller()
    wait_for("it to lead", lambda: again.leads)
    site.submit()
