"""A trace through accasim, a simulator of others (PyPI), which has first come first served and what it calls EASY."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench.policy.measures import Starts
from bench.policy.trace import Trace

_RUN = Path(__file__).with_name("run_accasim.py")


def accasim(trace: Trace, python: Path, way: str) -> Starts:
    """`python`: one that has accasim. `way`: fcfs or easy."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.swf"
        file.write_text("; UnixStartTime: 0\n" + "".join(_line(trace, at) for at in range(len(trace.jobs))))
        run = shutil.copy(_RUN, folder)  # beside which it writes
        argv = [str(python.absolute()), run, str(file), str(trace.processors), way]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"accasim: {done.stderr}")
        (schedule,) = (Path(folder) / "results").glob("sched-*")
        return dict(_start(line) for line in schedule.read_text().splitlines())


def _line(trace: Trace, at: int) -> str:
    """In the Standard Workload Format; memory, which accasim divides by, is 1 KiB."""
    job = trace.jobs[at]
    size = f"{job.processors} -1 1 {job.processors} {job.requested_s} 1"
    return f"{at + 1} {job.submit_s} -1 {job.run_s} {size} 1 1 1 1 1 1 -1 -1\n"


def _start(line: str) -> tuple[int, float]:
    """`number;user;queued__nodes__start;end;…`"""
    head, _, tail = line.split("__")
    start = datetime.fromisoformat(tail.partition(";")[0]).replace(tzinfo=UTC)
    return int(head.partition(";")[0]) - 1, start.timestamp()
