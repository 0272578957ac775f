"""ssh between pods: a worker of a job on this machine's loopback, and the first pod that waits for hosts in vain."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from tests.component.runner_pod import RunnerPod
from tests.waiting import wait_for

ODD = {
    b"QUOTES": b'it\'s "so" `id` $HOME \\',
    b"LINES": b"one\n two\n\n",
    b"BYTES": bytes(range(1, 255)),
    b"BASH_FUNC_greet%%": b"() {  echo hello\n}",
    b"PATH": b"/usr/bin:/bin:/somewhere else",
    b"LONG": b"x" * 120_000,
    **{f"MANY_{n}".encode(): b"y" * n for n in range(300)},
}


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    if shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("NOT TESTED: sshd is not installed here")
    keys = tmp_path / "ssh"
    keys.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-m", "PEM", "-N", "", "-f", str(keys / "id_rsa")], check=True)
    shutil.copy(keys / "id_rsa.pub", keys / "authorized_keys")
    return RunnerPod(tmp_path, shell)


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def ssh(pod: RunnerPod, *command: str, env: dict[bytes, bytes] | None = None, stdin: bytes = b"") -> tuple[int, bytes]:
    """Run the job's own ssh, as a script would, towards loopback under a host name of the job."""
    argv = [str(pod.root / "run/job/bin/ssh"), "-o", "HostName=127.0.0.1", "job-12-mpiworker-0", *command]
    done = subprocess.run(argv, env=env or {}, input=stdin, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout if done.returncode != 255 else done.stderr


@pytest.fixture
def worker(pod: RunnerPod) -> Iterator[subprocess.Popen[bytes]]:
    pod.prepare("", dialect=Dialect.SLURM, chunks=(Chunk(count=2, cpus=3),), site=SiteConfig(ssh_port=free_port()))
    process = pod.start("worker")
    client = pod.root / "run/job/bin/ssh"
    try:
        wait_for("the worker's sshd", lambda: os.access(client, os.X_OK) and ssh(pod, "true")[0] == 0)
        yield process
    finally:
        process.terminate()
        process.wait(60)


def test_worker(pod: RunnerPod, worker: subprocess.Popen[bytes]) -> None:
    dump = f"{sys.executable} -c \"import sys; sys.stdout.buffer.write(open('/proc/self/environ', 'rb').read())\""
    code, answer = ssh(pod, dump, env={**ODD, b"HOSTNAME": b"other", b"SLURMD_NODENAME": b"other"})
    assert code == 0, answer
    found = dict(entry.split(b"=", 1) for entry in answer.rstrip(b"\0").split(b"\0"))
    assert {name: found.get(name) for name in ODD} == ODD
    assert found[b"HOSTNAME"] == found[b"SLURMD_NODENAME"] == socket.gethostname().encode()
    assert not [name for name in found if name.startswith((b"HPCBATCH_", b"SSH_"))]

    assert ssh(pod, "exit 7", env={b"A": b"b"})[0] == 7
    assert ssh(pod, "cat; echo \"$A\" 'c d'", env={b"A": b"b"}, stdin=b"in\n") == (0, b"in\nb c d\n")
    assert ssh(pod, "ulimit -S -s; ulimit -H -s")[1].split()[0::2] == ssh(pod, "ulimit -H -s")[1].split()

    worker.terminate()
    assert worker.wait(60) == 0, "a worker that is stopped has not failed"


def test_only_the_job_s_own_key_is_let_in(
    pod: RunnerPod, worker: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    config = (pod.root / "run/job/ssh_config").read_text()
    (pod.root / "run/job/ssh_config").write_text(config.replace(str(pod.root / "run/job/id"), str(other)))
    code, answer = ssh(pod, "true")
    assert code == 255
    assert b"Permission denied (publickey)" in answer


def test_host_with_another_key_is_not_trusted(pod: RunnerPod, worker: subprocess.Popen[bytes]) -> None:
    (pod.root / "run/job/known_hosts").write_text("* ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7\n")
    assert ssh(pod, "true")[0] == 255


def test_first_pod_names_the_hosts_that_do_not_answer(pod: RunnerPod) -> None:
    site = SiteConfig(ssh_port=free_port(), start_timeout_s=1, image_pull_timeout_s=0)
    code, report = pod.run("#!/bin/sh\ntouch ran\n", chunks=(Chunk(count=20),), site=site)
    assert (code, report.exit_code, report.reason) == (1, None, Reason.LAUNCH_FAILED)
    assert re.search(r"host job-12-mpi\w+-\d+ did not answer ssh within 1 s: ssh: Could not resolve", report.message)
    assert report.message.count("did not answer") == 3, "of twenty"
    assert report.message in pod.err.read_text()
    assert not (pod.root / "ran").exists()


def test_worker_whose_port_is_taken(pod: RunnerPod) -> None:
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        pod.prepare("", chunks=(Chunk(count=2),), site=SiteConfig(ssh_port=server.getsockname()[1]))
        code, report = pod.finish(pod.start("worker"))
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)
    assert f"sshd on {socket.gethostname()} has ended: " in report.message


@pytest.fixture
def bare(pod: RunnerPod) -> RunnerPod:
    """A pod whose image has no ssh and no bash, by mounts that only its processes see; the site has brought ssh."""
    if Path(pod.shell).resolve().name == "bash":
        pytest.skip("an image without bash has no sh that is bash")
    tools = pod.root / "tools"
    script = Path(__file__).parents[2] / "deploy/ssh-tools.sh"
    subprocess.run(["sh", str(script), str(tools)], check=True)
    (pod.root / "passwd").write_text(Path("/etc/passwd").read_text().replace("/bin/bash", "/bin/sh"))
    (pod.root / "empty").mkdir()
    mounts = [f"{pod.root}/passwd /etc/passwd", f"{pod.root}/empty /usr/lib/openssh"]
    for directory in ("/usr/sbin", "/usr/bin"):
        kept, real = pod.root / f"kept{directory}", pod.root / f"real{directory}"
        kept.mkdir(parents=True)
        real.mkdir(parents=True)
        for path in Path(directory).iterdir():
            if path.name not in {"sshd", "ssh", "scp", "sftp", "bash", "modulecmd"}:
                (kept / path.name).symlink_to(real / path.name)
        mounts += [f"{directory} {real}", f"{kept} {directory}"]
    inside = f'{" && ".join(f"mount --bind {mount}" for mount in mounts)} && exec {pod.shell} "$@"'
    (pod.root / "sh").write_text(
        f'#!/bin/sh\n[ -x /usr/bin/bash ] || exec {pod.shell} "$@"\nexec unshare -m sh -c \'{inside}\' sh "$@"\n'
    )
    (pod.root / "sh").chmod(0o755)
    if subprocess.run([str(pod.root / "sh"), "-c", "! [ -x /usr/bin/bash ]"], check=False).returncode:
        pytest.skip("NOT TESTED: a mount namespace cannot be made here")
    pod.shell = str(pod.root / "sh")
    return pod


def test_an_image_without_ssh_and_bash(bare: RunnerPod) -> None:
    site = SiteConfig(ssh_port=free_port(), ssh_tools=str(bare.root / "tools"))
    bare.prepare("", dialect=Dialect.SLURM, chunks=(Chunk(count=2, cpus=3),), site=site)
    process = bare.start("worker")
    client = bare.root / "run/job/bin/ssh"
    try:
        wait_for("the worker's sshd", lambda: os.access(client, os.X_OK) and ssh(bare, "true")[0] == 0)
        shown = 'echo "$COLOUR"; cat /proc/$(cut -d " " -f 4 /proc/$PPID/stat)/comm; test -x /bin/bash || exit 3'
        assert ssh(bare, shown, env={b"COLOUR": b"deep blue"}) == (3, b"deep blue\nsshd\n")
        (bare.root / "sent").write_text("some text")
        copied = subprocess.run(
            [
                str(bare.root / "run/job/bin/scp"),
                "-q",
                "-o",
                "HostName=127.0.0.1",
                str(bare.root / "sent"),
                f"job-12-mpiworker-0:{bare.root}/received",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={},
        )
        assert (copied.returncode, copied.stderr) == (0, "")
        assert (bare.root / "received").read_text() == "some text"
    finally:
        process.terminate()
        process.wait(60)


def test_an_image_without_bash_runs_scripts(bare: RunnerPod) -> None:
    script = "echo $0; command -v bash; module load x; srun -n2 --mpi=none echo task\n"
    code, report = bare.run(script, dialect=Dialect.SLURM, chunks=(Chunk(count=1, cpus=2, ranks=2),), knows_shell=False)
    assert code == 0, (report, bare.err.read_text())
    lines = bare.out.read_text().splitlines()
    assert lines[0].endswith("/slurm_script") and lines[1:] == ["task", "task"]
    assert bare.err.read_text().startswith("module: hpcbatch: x: not in this site's table")


def test_without_ssh_tools_it_is_said_what_is_missing(bare: RunnerPod) -> None:
    bare.prepare("", dialect=Dialect.SLURM, chunks=(Chunk(count=2),), site=SiteConfig(ssh_port=free_port()))
    code, report = bare.finish(bare.start("worker"))
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)
    assert report.message == (
        "this image has no sshd, which a job of several pods needs (package openssh-server, or the site's sshTools)"
    )
