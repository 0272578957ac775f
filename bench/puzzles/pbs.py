"""A real OpenPBS on this machine, with virtual nodes: puzzles are put to it, one after the other.

Needs OpenPBS with its server's files made (pbs_postinstall), its daemons running as root, and a host that it may call
its own: `PBS_CONF_FILE`, `PBS_HOME` and PATH say where it is. Its configuration is that of the puzzles afterwards.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.puzzles.puzzles import CPUS, NODES, Puzzle

_SCHEDULER = """\
round_robin: False all
by_queue: False prime
by_queue: False non_prime
strict_ordering: True all
backfill_prime: False all
smp_cluster_dist: pack
sort_queues: True all
fair_share: False all
job_sort_key: "job_priority HIGH" all
resources: "ncpus, mem, arch, host, vnode"
dedicated_prefix: ded
nonprimetime_prefix: np_
primetime_prefix: p_
"""
_SERVER = (
    "scheduling = False",
    "job_history_enable = True",
    "flatuid = True",
    "acl_roots = root@*",
    "backfill_depth = 1",
)


class Pbs:
    def __init__(self, home: Path) -> None:
        self._home = home

    def version(self) -> str:
        return re.sub("^pbs_version = ", "OpenPBS ", _run("qstat", "--version").strip())

    def prepare(self) -> None:
        (self._home / "sched_priv/sched_config").write_text(_SCHEDULER)
        self._reread("sched_priv/sched.lock")
        found = re.search(r" Mom = (\S+)", _run("qmgr", "-c", "list node @default"))
        host = found[1] if found else _run("hostname").strip()
        vnodes = ["$configversion 2", f"{host}: resources_available.ncpus = 0"]
        vnodes += [f"n{number}: resources_available.ncpus = {CPUS}" for number in range(NODES)]
        with tempfile.NamedTemporaryFile("w", suffix=".vnodes") as file:
            file.write("\n".join([*vnodes, ""]))
            file.flush()
            _run("pbs_mom", "-s", "remove", "puzzles", check=False)
            _run("pbs_mom", "-s", "insert", "puzzles", file.name)
        self._reread("mom_priv/mom.lock")
        for line in (
            "scheduling = False",
            "job_history_enable = True",
            "flatuid = True",
            "acl_roots = root@*",
            "backfill_depth = 1",
        ):
            _run("qmgr", "-c", f"set server {line}")
        _run("qmgr", "-c", "set sched default throughput_mode = False", check=False)

    def _reread(self, lock: str) -> None:
        os.kill(int((self._home / lock).read_text()), signal.SIGHUP)

    def solve(self, puzzles: Sequence[Puzzle]) -> Iterator[tuple[Puzzle, list[tuple[float, float]]]]:
        """For each puzzle, by job: start and end, in seconds from the first start."""
        for puzzle in puzzles:
            _run("qmgr", "-c", "set server scheduling = False")
            limit = "unset queue workq max_run"
            if puzzle.max_running is not None:
                limit = f"set queue workq max_run = [o:PBS_ALL={puzzle.max_running}]"
            _run("qmgr", "-c", limit)
            jobs = []
            for job in puzzle.jobs:
                size = f"select={job.nodes}:ncpus={job.cpus},walltime=00:{job.limit_min:02}:00"
                place = "free" if job.cpus == CPUS else "vscatter"
                argv = ("-l", size, "-l", f"place={place}", "-p", str(job.priority), "-o", "/dev/null", "-j", "oe")
                jobs.append(_run("qsub", *argv, "--", "/bin/sleep", str(job.run_s)).strip())
            _run("qmgr", "-c", "set server scheduling = True")
            times = _wait(jobs)
            begin = min(start for start, _ in times)
            yield puzzle, [(start - begin, end - begin) for start, end in times]


def _wait(jobs: Sequence[str]) -> list[tuple[float, float]]:
    give_up = time.monotonic() + 900
    while time.monotonic() < give_up:
        shown = json.loads(_run("qstat", "-x", "-f", "-F", "json"))["Jobs"]
        if all(shown[job]["job_state"] == "F" for job in jobs):
            return [(_moment(shown[job]["stime"]), _moment(shown[job]["obittime"])) for job in jobs]
        time.sleep(3)
    raise SystemExit(f"not all of {jobs} have ended in a quarter of an hour")


def _moment(text: str) -> float:
    return time.mktime(time.strptime(text))


def _run(*argv: str, check: bool = True) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(argv)}: {done.stderr}")
    return done.stdout
