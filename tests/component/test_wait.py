"""Waiting for a job's end over an API server that goes away and comes back, and for one whose record has moved."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from hpcbatch.history.databases import SqliteDatabase
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.batchjob import full_status_to_json, record_from
from tests.component.batchjobs import NS, Answering
from tests.waiting import wait_for

BIN = Path(sys.executable).parent


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = Store(":memory:")
        self.registry = Registry(self.store)
        self.registry.install_builtin()
        self.history = HistoryStore(SqliteDatabase(directory / "history.db"))
        self.certificate = ensure_certificate(directory)
        self.port = 0
        self.start()
        url = f"https://127.0.0.1:{self.port}"
        write_kubeconfig(
            directory / "kubeconfig", server=url, cluster="here", ca_file=self.certificate.cert_file, token="t"
        )

    def start(self) -> None:
        self.server = ApiServer(
            self.registry,
            port=self.port,
            cert_file=self.certificate.cert_file,
            key_file=self.certificate.key_file,
            token="t",
            history=self.history,
        )
        self.port = self.server.start()

    def stop(self) -> None:
        self.server.stop()

    def waiting(self, *argv: str) -> subprocess.Popen[str]:
        """A command that has submitted a job and waits."""
        config = str(self.directory / "kubeconfig")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "KUBECONFIG": config}
        process = subprocess.Popen(
            [BIN / argv[0], *argv[1:]],
            env=env,
            cwd=self.directory,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for("the job", lambda: self.job() is not None)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def job(self) -> Object | None:
        admitted = [job for job in self.registry.list(BATCHJOBS, NS).items if "jobId" in job.get("status", {})]
        return admitted[0] if admitted else None

    def end(self, **status: Any) -> Object:
        """The job ends so."""
        job = self.job()
        assert job is not None
        record = record_from(job)
        now = datetime.now(UTC)
        given: dict[str, Any] = {"start_time": now, "end_time": now, "run_count": 1} | status
        ended = full_status_to_json(replace(record, status=replace(record.status, **given)))
        return self.registry.replace(BATCHJOBS, job | {"status": ended}, NS, subresource="status")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    with Answering(cluster.registry):
        yield cluster
    cluster.stop()
    cluster.history.close()
    cluster.store.close()


FAILED = {"state": JobState.FAILED, "reason": Reason.NON_ZERO_EXIT, "exit_code": 7}
COMMANDS: list[tuple[list[str], str]] = [
    (["qsub", "-W", "block=true", "--", "/bin/true"], "; waiting on\n"),
    (["sbatch", "--wait", "--wrap=true"], "sbatch: error: Currently unable to load job state information, retrying:"),
]


@pytest.mark.parametrize(("argv", "said"), COMMANDS, ids=["qsub", "sbatch"])
def test_the_api_server_goes_away(cluster: Cluster, argv: list[str], said: str) -> None:
    process = cluster.waiting(*argv)
    for _ in range(2):
        cluster.stop()
        cluster.start()
    cluster.stop()
    cluster.end(**FAILED)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    cluster.start()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 7
    assert said in err
    assert len(err.splitlines()) <= 3  # one for each time that it was away


@pytest.mark.parametrize("argv", [argv for argv, _ in COMMANDS], ids=["qsub", "sbatch"])
def test_the_record_has_moved_to_the_history(cluster: Cluster, argv: list[str]) -> None:
    process = cluster.waiting(*argv)
    cluster.stop()
    ended = cluster.end(**FAILED)
    cluster.history.put([ended])
    cluster.registry.delete(BATCHJOBS, ended["metadata"]["name"], NS)
    cluster.start()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 7, err


GONE: list[tuple[list[str], int, Callable[[str], bool]]] = [
    (COMMANDS[0][0], 3, lambda err: err == "qsub: Unknown Job Id 1.here\n"),
    (COMMANDS[1][0], 1, lambda err: err == "sbatch: error: Job 1 no longer found and exit code not found\n"),
]


@pytest.mark.parametrize(("argv", "code", "is_said"), GONE, ids=["qsub", "sbatch"])
def test_the_record_is_gone(cluster: Cluster, argv: list[str], code: int, is_said: Callable[[str], bool]) -> None:
    process = cluster.waiting(*argv)
    job = cluster.job()
    assert job is not None
    cluster.registry.delete(BATCHJOBS, job["metadata"]["name"], NS)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert is_said(err), err
