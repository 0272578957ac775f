"""An engine for one benchmark, what it takes of the machine, and jobs for it without starting a command for each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.timing import cpu_s
from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.port import Object
from hpcbatch.api.resources import VOLCANO_JOBS
from hpcbatch.client.submit import submit
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.model.spec import Submission

BIN = Path(sys.executable).parent
_SUBMITTERS = 4


@contextmanager
def engine(nodes: int = 3, cpus: int = 2, programs: Path = BIN) -> Iterator[tuple[dict[str, str], Path]]:
    """A fresh engine and an empty directory; yields the environment that leads to it. `programs` holds `hpcbatch`."""
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="hpcbatch-bench-") as scratch:
        state, work = Path(scratch) / "state", Path(scratch) / "work"
        work.mkdir()
        env = {
            **os.environ,
            "HPCBATCH_STATE_DIR": str(state),
            "KUBECONFIG": str(state / "kubeconfig"),
            "PATH": f"{programs}:{os.environ['PATH']}:/usr/sbin",
        }
        run([str(programs / "hpcbatch"), "up", "--nodes", str(nodes), "--cpus", str(cpus)], env=env)
        try:
            yield env, work
        finally:
            run([str(programs / "hpcbatch"), "down"], env=env)


def engine_memory_mib(env: Mapping[str, str]) -> float:
    """Proportional set size of the engine's processes, in MiB."""
    total = 0
    for pid in _processes(env):
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):  # a program of a pod that has ended meanwhile
            continue
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def engine_cpu_s(env: Mapping[str, str]) -> float:
    """CPU time since the engine's start: API server, controller, scheduler and agents, which are one process, without
    the pods.
    """
    return cpu_s(_pid(env))


def pods_cpu_s(env: Mapping[str, str]) -> float:
    """CPU time of the pod host and of all that ran and runs below it."""
    total = 0.0
    for pid in _processes(env)[1:]:
        with suppress(FileNotFoundError, ProcessLookupError):
            total += cpu_s(pid, with_children=True)
    return total


def _pid(env: Mapping[str, str]) -> int:
    return int((Path(env["HPCBATCH_STATE_DIR"]) / "pid").read_text())


def _processes(env: Mapping[str, str]) -> list[int]:
    """The engine's own and all below it."""
    found = [_pid(env)]
    for pid in found:
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(FileNotFoundError, ProcessLookupError):
                found += [int(word) for word in path.read_text().split()]
    return found


class Jobs:
    """Submits jobs as a program does that knows hpcbatch's modules."""

    def __init__(self, env: Mapping[str, str], work: Path) -> None:
        self.api, self.env, self._work = HttpApi(kubeconfig.load(env), response_timeout_s=60), env, work
        self.namespace = self.api.connection.namespace

    def submission(self, *options: str, script: str = "true") -> Submission:
        """What `qsub` would send; without output files."""
        return read_submission(
            ["-j", "oe", "-o", "/dev/null", *options, "job.pbs"],
            script=lambda path: (path, f"#!/bin/sh\n{script}\n".encode()),
            environ=self.env,
            cwd=str(self._work),
            host="login",
            user=self.env.get("USER", "root"),
            server=self.api.connection.cluster,
            now=datetime.now(UTC),
        ).submission

    def submit(self, submission: Submission) -> int:
        """Returns the job's number, when it is admitted."""
        return submit(self.api, self.namespace, submission).job_id

    def submit_many(self, submission: Submission, count: int) -> None:
        _many(lambda: self.submit(submission), count)

    def create_many(self, job: Object, count: int) -> None:
        """Volcano Jobs, past hpcbatch."""
        _many(lambda: self.api.create(VOLCANO_JOBS, job, self.namespace), count)


def _many(act: Callable[[], object], count: int) -> None:
    with ThreadPoolExecutor(_SUBMITTERS) as pool:
        for done in [pool.submit(act) for _ in range(count)]:
            done.result()


def bare_job(*command: str, pods: int = 1, cpus: int = 1) -> Object:
    """The Volcano Job that somebody would write by hand, for `true` or `command`. The API gives it its name."""
    container = {
        "name": "main",
        "image": "host",
        "command": list(command or ["true"]),
        "resources": {"requests": {"cpu": str(cpus)}},
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": VOLCANO_JOBS.api_version,
        "kind": VOLCANO_JOBS.kind,
        "metadata": {"generateName": "bare-"},
        "spec": {
            "minAvailable": pods,
            "schedulerName": "volcano",
            "tasks": [{"name": "t", "replicas": pods, "template": {"spec": pod}}],
        },
    }
