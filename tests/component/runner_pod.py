"""A directory that stands in for /hpcbatch of a job's first pod, filled from the objects that the cluster would get."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.dialects.registry import door
from hpcbatch.engine.podhost.container import reset_signals
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles, PlacedJob
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano.job_names import pods
from hpcbatch.volcano.report import RunReport, parse_report
from hpcbatch.volcano.translate import manifests, runner_configmap
from tests.thoroughness import IS_FULL

ALL_SHELLS = ("dash", "bash", "busybox")
SHELLS = ALL_SHELLS if IS_FULL else [next(filter(shutil.which, ALL_SHELLS), "dash")]
"""Those in which the runner's scripts are tried."""
JOB_ID = 12


@cache
def shell_path(name: str, directory: Path) -> str | None:
    """A program called `sh` that is this shell; None if this machine has it not."""
    found = shutil.which(name)
    if found is None:
        return None
    link = directory / name / "sh"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(found)
    return str(link)


def shell_or_skip(name: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = shell_path(name, tmp_path_factory.getbasetemp() / "shells")
    if path is None:
        pytest.skip(f"NOT TESTED: {name} is not installed here")
    return path


POD_UID = "0fb96bf7-9f3e-4a8c-9a53-6f9c3d1f5b11"


@dataclass
class RunnerPod:
    root: Path
    shell: str = "/bin/sh"
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    """What the container runtime gives."""

    @property
    def log(self) -> Path:
        return self.root / "termination-log"

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def err(self) -> Path:
        return self.root / "err"

    def prepare(
        self,
        script: bytes | str,
        *,
        dialect: Dialect = Dialect.SLURM,
        submitted: Mapping[str, str] | bytes = b"",
        variables: Mapping[str, str] | None = None,
        output: OutputFiles | None = None,
        site: SiteConfig | None = None,
        nodefile: str = "",
        export_none: bool = False,
        knows_shell: bool = True,
        is_host: bool = False,
        **spec: Any,
    ) -> None:
        """`is_host`: this machine has the pod's name, so that an mpirun starts its ranks here."""
        spec.setdefault("work_dir", str(self.root))
        asked = JobSpec(dialect=dialect, name="test", **spec)
        job = PlacedJob(
            job_id=JOB_ID,
            spec=asked,
            queue="default",
            pods=pods(JOB_ID, asked.chunks),
            owner="alice",
            uid=os.getuid(),
            gid=os.getgid(),
            home=str(self.root),
            cluster="test",
        )
        setup = replace(
            door(dialect).run_setup(job),
            environment=variables or {},
            nodefile=nodefile,
            output=output or OutputFiles(stdout=str(self.out), stderr=str(self.err)),
        )
        conf, _ = manifests(
            job,
            setup,
            site or SiteConfig(kill_delay_s=2),
            submission_secret="none",
            namespace="default",
            owner=None,
            export_none=export_none,
        )
        if not knows_shell:  # with the site's accounts, which root has none in
            conf["data"]["job.sh"] += "knows_shell=no\n"
        if is_host:
            named = {name: text.replace(job.pods[0].host, socket.gethostname()) for name, text in conf["data"].items()}
            conf["data"] = named
        if not isinstance(submitted, bytes):
            submitted = b"\0".join(os.fsencode(f"{name}={value}") for name, value in submitted.items())
        files: dict[str, Mapping[str, str | bytes]] = {
            "runner": runner_configmap("default")["data"],
            "job": {"script": script, "environment": submitted},
            "job/conf": conf["data"],
            "run": {},
        }
        for directory, content in files.items():
            (self.root / directory).mkdir()
            for name, text in content.items():
                (self.root / directory / name).write_bytes(text.encode() if isinstance(text, str) else text)

    def start(self, role: str = "master", **more: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.shell, str(self.root / "runner/run.sh"), role],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={
                **self.environment,
                "HPCBATCH_ROOT": str(self.root),
                "HPCBATCH_TERMINATION_LOG": str(self.log),
                "HPCBATCH_SH": self.shell,
                "HPCBATCH_POD_UID": POD_UID,
            },
            preexec_fn=reset_signals,  # noqa: PLW1509 - it takes no lock that a thread might hold
            **more,
        )

    def run(self, script: bytes | str, *, limit_s: float = 60, **asked: Any) -> tuple[int, RunReport]:
        """Prepare, run to the end; gives the runner's own exit code and its report."""
        self.prepare(script, **asked)
        return self.finish(self.start(), limit_s)

    def finish(self, process: subprocess.Popen[bytes], limit_s: float = 60) -> tuple[int, RunReport]:
        try:
            _, noise = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            _, noise = process.communicate()
            raise AssertionError(f"the runner did not end: {noise!r}") from None
        report = parse_report(self.log.read_text()) if self.log.exists() else None
        assert report is not None, f"no report: {noise!r}"
        return process.returncode, report
