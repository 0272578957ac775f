"""`mpirun hostname` over N pods, from `qsub` to the job's end, beside the same mpirun over N plain sshds without us."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.engine.mpirun_job import SYSTEM_PATH, by_hand, time_job
from bench.engine.rig import engine
from tests.waiting import wait_for

SIZES = (4, 16, 50, 100)
_SSHD = """\
HostKey {keys}/key
AuthorizedKeysFile {keys}/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
MaxStartups 1000
"""


def main(most: int = SIZES[-1]) -> None:
    mpirun = shutil.which("mpirun", path=SYSTEM_PATH)
    if mpirun is None:
        raise SystemExit("launch: no mpirun in /usr/bin: expected Debian's package openmpi-bin")
    print("`mpirun hostname`, a rank on each of N hosts, seconds:")
    print(
        f"  {'N':>4} {'job':>7} {'to the script':>14} {'mpirun':>7}   {'sshds':>6} {'mpirun':>7}   job, mpirun × theirs"
    )
    with engine(nodes=max(size for size in SIZES if size <= most), cpus=1) as (env, work):
        for size in SIZES:
            if size <= most:
                whole_s, before_s, ours_s = _job(size, mpirun, env, work)
                start_s, plain_s = _plain(size, mpirun, work)
                print(
                    f"  {size:4} {whole_s:7.1f} {before_s:14.1f} {ours_s:7.1f}   {start_s:6.1f} {plain_s:7.1f}   "
                    f"{whole_s / (start_s + plain_s):.2f} x, {ours_s / plain_s:.2f} x",
                    flush=True,
                )


def _job(size: int, mpirun: str, env: Mapping[str, str], work: Path) -> tuple[float, float, float]:
    """Seconds from qsub's start to the job's end, to its script's start, and of the mpirun in it."""
    select = f"select={size}:ncpus=1:mem=512mb"
    done = time_job([mpirun, "hostname"], f"launch-{size}", "-l", select, env=env, work=work)
    hosts = set(re.findall(r"^job-.*", done.output, re.MULTILINE))
    if len(hosts) != size:
        raise SystemExit(f"launch: the job ran on {len(hosts)} pods, expected {size}:\n{done.output}")
    return done.whole_s, done.before_s, done.mpirun_s


def _plain(size: int, mpirun: str, work: Path) -> tuple[float, float]:
    """Seconds until all sshds listen, and of mpirun over them."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        keys = Path(folder)
        subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", keys / "key"], check=True)
        (keys / "config").write_text(_SSHD.format(keys=keys))
        port, hosts = _free_port(), [f"127.0.0.{number}" for number in range(2, size + 2)]
        agent = (
            f"ssh -F none -p {port} -i {keys / 'key'} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            "-o LogLevel=ERROR"
        )
        began = time.perf_counter()
        with _sshds(keys / "config", hosts, port):
            start_s = time.perf_counter() - began
            argv = [mpirun, "--mca", "plm_rsh_agent", agent, "--host", ",".join(hosts), "hostname"]
            text, plain_s = by_hand(argv, f"launch-{size}", work)
    if len(text.split()) != size:
        raise SystemExit(f"launch: mpirun over {size} sshds printed {len(text.split())} names:\n{text}")
    return start_s, plain_s


@contextmanager
def _sshds(config: Path, hosts: Sequence[str], port: int) -> Iterator[None]:
    """Plain ones, each at its own address of loopback; yields when all of them listen."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise SystemExit("launch: no sshd: expected the package openssh-server")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    argv = [program, "-D", "-f", str(config), "-p", str(port), "-o"]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for host in hosts:
            # daemons of Open MPI that take each other's files for their own end with a segmentation fault
            own = config.with_name(host)
            own.mkdir()
            options = [f"ListenAddress={host}", "-o", f"SetEnv=TMPDIR={own}"]
            running.append(subprocess.Popen([*argv, *options], stderr=subprocess.DEVNULL))
        for host in hosts:
            wait_for(f"sshd at {host}", lambda host=host: _listens(host, port), 60, every_s=0.02)  # type: ignore[misc]
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def _listens(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((host, port), timeout=5):
        return True
    return False


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])
