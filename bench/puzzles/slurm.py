"""A real Slurm on this machine, with nodes that there are not: puzzles are put to it, several at a time.

Needs slurmctld, slurmd and slurm-client (Debian's packages, made for several slurmd on a host), and root. No munge, no
database.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.puzzles.puzzles import CPUS, NODES, Puzzle

_PORT = 17_000
_CONF = """\
ClusterName=puzzles
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_resolution=1,batch_sched_delay=0,sched_min_interval=0,bf_continue
PriorityType=priority/basic
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
KillWait=5
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/d-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d-%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d-%n.log
"""


class Slurm:
    def __init__(self, folder: Path, at_once: int) -> None:
        self._at_once = at_once
        self._env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def version(self) -> str:
        return self._run("sinfo", "--version").strip()

    def _run(self, *argv: str, stdin: str = "") -> str:
        done = subprocess.run(
            argv, env=self._env, input=stdin, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(argv)}: {done.stderr}")
        return done.stdout

    def solve(self, puzzles: Sequence[Puzzle]) -> Iterator[tuple[Puzzle, list[tuple[float, float]]]]:
        """For each puzzle that Slurm can be given, by job: start and end, in seconds from the first start."""
        some = [puzzle for puzzle in puzzles if puzzle.max_running is None]  # which needs a database
        for first in range(0, len(some), self._at_once):
            group = some[first : first + self._at_once]
            numbers = [self._submit(puzzle, f"p{place}") for place, puzzle in enumerate(group)]
            for place in range(len(group)):
                self._run("scontrol", "update", f"PartitionName=p{place}", "State=UP")
            for puzzle, jobs in zip(group, numbers, strict=True):
                times = self._wait(jobs)
                begin = min(start for start, _ in times)
                yield puzzle, [(start - begin, end - begin) for start, end in times]

    def _submit(self, puzzle: Puzzle, partition: str) -> list[str]:
        self._run("scontrol", "update", f"PartitionName={partition}", "State=DOWN")
        found = []
        for job in puzzle.jobs:
            size = (f"-N{job.nodes}", f"--ntasks-per-node={job.cpus}", f"-t{job.limit_min}")
            where = ("-p", partition, "-o", "/dev/null", "-D", "/", f"--priority={1000 + job.priority}")
            found.append(self._run("sbatch", "--parsable", *size, *where, "--wrap", f"sleep {job.run_s}").strip())
        return found

    def _wait(self, jobs: Sequence[str]) -> list[tuple[float, float]]:
        give_up = time.monotonic() + 900
        while time.monotonic() < give_up:
            shown = {job: self._run("scontrol", "-o", "show", "job", job) for job in jobs}
            if all(" JobState=COMPLETED " in text for text in shown.values()):
                return [(_moment(text, "StartTime"), _moment(text, "EndTime")) for text in shown.values()]
            time.sleep(5)
        raise SystemExit(f"not all of {jobs} have ended in a quarter of an hour")


def _moment(text: str, name: str) -> float:
    found = re.search(rf" {name}=(\S+)", text)
    assert found, text
    return time.mktime(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S"))


@contextmanager
def slurm(folder: Path, at_once: int) -> Iterator[Slurm]:
    host = socket.gethostname().partition(".")[0]
    lines = [_CONF.format(host=host, folder=folder, port=_PORT)]
    names = [f"n{number}" for number in range(at_once * NODES)]
    for number, name in enumerate(names):
        lines.append(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={_PORT + 1 + number} CPUs={CPUS} "
            f"Boards=1 SocketsPerBoard=1 CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN\n"
        )
    for place in range(at_once):
        own = ",".join(names[place * NODES : (place + 1) * NODES])
        lines.append(f"PartitionName=p{place} Nodes={own} MaxTime=INFINITE State=UP\n")
    (folder / "ctld").mkdir(parents=True, exist_ok=True)
    (folder / "slurm.conf").write_text("".join(lines))
    found = Slurm(folder, at_once)
    conf = str(folder / "slurm.conf")
    daemons = [subprocess.Popen(["slurmctld", "-D", "-c", "-f", conf], stderr=subprocess.DEVNULL)]
    try:
        for name in names:
            (folder / f"d-{name}").mkdir(exist_ok=True)
            argv = ["slurmd", "-D", "-N", name, "-f", conf]
            daemons.append(subprocess.Popen(argv, stderr=subprocess.DEVNULL))
        give_up = time.monotonic() + 120
        while found._run("sinfo", "-h", "-N", "-o", "%T").split() != ["idle"] * len(names):
            if time.monotonic() > give_up:
                raise SystemExit(f"the nodes do not come up: see {folder}")
            time.sleep(1)
        yield found
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)
