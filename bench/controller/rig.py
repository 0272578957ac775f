"""The controller as a process by itself: the embedded API server is in this one, with played nodes and pods."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.controller.played import PlacesAtOnce
from bench.timing import cpu_s
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, NODES, SECRETS
from hpcbatch.client.submit import submission_secret
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import DEFAULT_HISTORY, Change, Store
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from hpcbatch.engine.volcano.admission import register_volcano_admission
from hpcbatch.model.spec import Submission
from hpcbatch.record.manifest import to_manifest
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.waiting import wait_for

HPCBATCH = str(Path(sys.executable).parent / "hpcbatch")
SITE = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nserverName: here\nimage: img:1\n"
USERS = tuple(f"user{number:02}" for number in range(20))
_TOKEN = "bench"
_CPUS, _MEMORY, _PODS = 64, "256Gi", 110
_BATCHJOB_KEY = (BATCHJOBS.group, BATCHJOBS.plural)
_GROUP = 1000
_LIMIT_S = 3600


class ControllerProcess:
    """`hpcbatch controller`."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str) -> None:
        argv = [HPCBATCH, "controller", "--health-port", "0", *options]
        env = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(log.parent)}
        self.log, self.process = log, subprocess.Popen(argv, env=env, stderr=log.open("ab"))

    @property
    def cpu_s(self) -> float:
        return cpu_s(self.process.pid)

    def memory_mib(self, what: str = "VmRSS") -> float:
        """Resident memory; `VmHWM`: the most that it has been."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


def furnished(
    nodes: Iterable[str], *, cpus: int = _CPUS, more_of_site: str = "", remembered: int = DEFAULT_HISTORY
) -> Registry:
    """An embedded API with these nodes, the users' namespaces and the site's configuration."""
    registry = Registry(Store(":memory:", history=remembered))
    register_volcano_admission(registry)
    registry.install_builtin()
    for name in nodes:
        registry.create(NODES, node(name, cpus))
    for namespace in namespaces():
        registry.create(NAMESPACES, namespace)
    config = {"metadata": {"name": "hpcbatch-site"}, "data": {"site.yaml": SITE + more_of_site}}
    registry.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", **config}, SYSTEM_NAMESPACE)
    return registry


def put_job(registry: Registry, user: str, name: str, submission: Submission) -> None:
    """Returns before it is admitted."""
    registry.create(SECRETS, submission_secret(name, submission), user)
    registry.create(BATCHJOBS, to_manifest(submission.spec, name=name, submission_secret=name), user)


class Rig:
    def __init__(
        self,
        directory: Path,
        nodes: int,
        *,
        more_of_site: str = "",
        run_s: float = 1.0,
        remembered: int = DEFAULT_HISTORY,
    ) -> None:
        """`remembered`: so many changes a watch may lag behind, before it has to list anew."""
        self.directory, self.kubeconfig = directory, directory / "kubeconfig"
        self.kubeconfigs = str(self.kubeconfig)  # all users are one
        names = [f"node-{number:05}" for number in range(nodes)]
        self.registry = furnished(names, more_of_site=more_of_site, remembered=remembered)
        self._certificate = ensure_certificate(directory)
        self.server = self._made_server()
        self._port = self.server.start()
        write_kubeconfig(
            self.kubeconfig,
            server=f"https://127.0.0.1:{self._port}",
            cluster="here",
            ca_file=self._certificate.cert_file,
            token=_TOKEN,
            namespace=USERS[0],
        )
        self.volcano = PlacesAtOnce(self.registry, names, run_s)
        self.volcano.start()
        self._count = self._controllers = 0
        self.began = time.strftime("%H%M%S")

    def stop(self) -> None:
        self.volcano.stop()
        self.server.stop()

    def _made_server(self, port: int = 0) -> ApiServer:
        return ApiServer(
            self.registry,
            port=port,
            cert_file=self._certificate.cert_file,
            key_file=self._certificate.key_file,
            token=_TOKEN,
            log_source=lambda *_: None,
        )

    def restart_server(self) -> None:
        """All connections break; what is stored stays."""
        self.server.stop()
        self.server = self._made_server(self._port)
        self.server.start()

    @contextmanager
    def controller(self, *options: str) -> Iterator[ControllerProcess]:
        """Ready to act."""
        self._controllers += 1
        log = self.directory / f"controller-{self._controllers}.log"
        running = ControllerProcess(self.kubeconfig, log, "--no-leader-elect", *options)
        try:
            wait_for("a controller that acts", lambda: "acting," in log.read_text(), 300)
            yield running
        finally:
            if running.process.poll() is None:
                running.stop()

    # Jobs

    def create(self, count: int, *options: str, users: Sequence[str] = USERS) -> list[str]:
        """Jobs of these users in turn, put into the API; returns before they are admitted."""
        submission, names = made_submission(*options), []
        for _ in range(count):
            self._count += 1
            user, name = users[self._count % len(users)], f"pbs-{self.began}-{self._count}"
            put_job(self.registry, user, name, submission)
            names.append(name)
        return names

    def records(self) -> Sequence[Object]:
        return self.registry.store.items(_BATCHJOB_KEY)

    def wait_cleaned(self, count: int, limit_s: float = _LIMIT_S) -> None:
        """Until that many records are those of ended jobs, and nothing else of these jobs is left."""
        wait_for(
            f"{count} ended jobs",
            lambda: sum(bool(obj.get("status", {}).get("cleaned")) for obj in self.records()) >= count,
            limit_s,
            every_s=0.2,
        )

    def wait_ended(self, count: int, limit_s: float = _LIMIT_S) -> None:
        """Until that many jobs were placed since the rig began, and no record is that of a job that has not ended."""

        def is_over() -> bool:
            return len(self.volcano.placed) >= count and all(obj["status"].get("cleaned") for obj in self.records())

        wait_for(f"the end of {count} jobs", is_over, limit_s, every_s=0.2)

    def fill(self, count: int) -> None:
        """`count` more records of ended jobs, like one that is there. No controller may be running."""
        like = next(obj for obj in self.records() if obj.get("status", {}).get("cleaned"))
        counter = self.registry.get(CONFIGMAPS, "job-numbers", SYSTEM_NAMESPACE)
        first = int(counter["data"]["last"]) + 1
        for begin in range(0, count, _GROUP):
            made = [ended_like(like, first + number) for number in range(begin, min(count, begin + _GROUP))]
            self.registry.store.write(
                [Change(_BATCHJOB_KEY, obj["metadata"]["namespace"], obj["metadata"]["name"], obj) for obj in made]
            )
        last = {"data": {"last": str(first + count - 1)}}
        self.registry.patch(CONFIGMAPS, "job-numbers", last, SYSTEM_NAMESPACE)


@contextmanager
def rig(nodes: int, **options: Any) -> Iterator[Rig]:
    with tempfile.TemporaryDirectory(prefix="hpcbatch-bench-") as directory:
        running = Rig(Path(directory), nodes, **options)
        try:
            yield running
        finally:
            running.stop()


def made_submission(*options: str) -> Submission:
    """What `qsub` would send."""
    return read_submission(
        [*options, "job.pbs"],
        script=lambda path: (path, b"#!/bin/sh\ntrue\n"),
        environ={"HOME": "/home/user", "PATH": "/usr/bin:/bin", "USER": "user", "LANG": "C.UTF-8", "SHELL": "/bin/sh"},
        cwd="/home/user/run",
        host="login",
        user="user",
        server="here",
        now=datetime.now(UTC),
    ).submission


def namespaces() -> list[Object]:
    """Of the users."""
    facts = [
        (user, {USER: user, UID: str(2000 + number), GID: "2000", HOME: f"/home/{user}"})
        for number, user in enumerate(USERS)
    ]
    return [{"metadata": {"name": user, "annotations": notes}} for user, notes in facts]


def node(name: str, cpus: int = _CPUS) -> Object:
    room = {"cpu": str(cpus), "memory": _MEMORY, "pods": str(_PODS), "ephemeral-storage": "500Gi"}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def ended_like(like: Object, number: int) -> Object:
    """The record of another job like it, with that number."""
    obj = copy.deepcopy(like)
    name = f"pbs-filled-{number}"
    obj["metadata"] |= {"name": name, "uid": f"00000000-0000-4000-8000-{number:012}", "namespace": USERS[number % 20]}
    obj["spec"]["submissionSecret"] = name
    obj["status"] |= {"jobId": str(number), "owner": USERS[number % 20]}
    return obj
