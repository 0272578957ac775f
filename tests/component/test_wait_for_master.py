"""The script by which a pytorch worker waits for its master, run as the init container runs it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from hpcbatch.volcano.plugins.pytorch import PytorchPlugin

HOST = "127.0.0.1"


def script(port: int, seconds: int) -> str:
    def task(name: str) -> dict[str, object]:
        return {"name": name, "replicas": 1, "template": {"spec": {"hostname": "127.0", "subdomain": "0.1"}}}

    job = {"metadata": {"name": "m"}, "spec": {"tasks": [task("master"), task("worker")]}}
    pod = {
        "metadata": {"name": "m-worker-0", "annotations": {"volcano.sh/task-spec": "worker"}},
        "spec": {"containers": []},
    }
    arguments = [f"--port={port}", "--wait-master-enabled", f"--wait-master-timeout={seconds}"]
    text: str = PytorchPlugin(arguments).on_pod_create(pod, job)["spec"]["initContainers"][0]["command"][2]
    return text


def run(text: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh")
    assert shell is not None
    return subprocess.run(
        [shell, "-c", text], env={"PATH": path}, capture_output=True, text=True, timeout=90, check=False
    )


def test_until_the_master_listens() -> None:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port = listener.getsockname()[1]
        later = threading.Timer(0.5, listener.listen)
        later.start()
        done = run(script(port, 60))
        later.join()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"waiting for {HOST}:{port}\n", "")


def test_a_master_that_never_listens() -> None:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        port = bound.getsockname()[1]
        done = run(script(port, 1))
    assert (done.returncode, done.stderr) == (1, f"{HOST}:{port} did not answer within 1 s\n")


@pytest.mark.parametrize("tool", ["", "nc"])
def test_what_it_needs(tool: str, tmp_path: Path) -> None:
    """A small program takes the place of nc: as in busybox and Alpine, there may be one without any bash."""
    if tool:
        (tmp_path / tool).write_text('#!/bin/sh\n[ "$*" = "-z 127.0.0.1 5" ]\n')
        (tmp_path / tool).chmod(0o755)
    done = run(script(5, 0), path=str(tmp_path))
    if tool:
        assert done.returncode == 0, done.stderr
    else:
        assert (done.returncode, done.stderr) == (
            1,
            "neither nc nor bash is here, one of which is needed to see whether 127.0.0.1:5 answers\n",
        )
