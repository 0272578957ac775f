"""What 100,000 ended jobs cost those who do not ask for them, and those who do: two engines, with and without them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.engine.rig import engine, engine_memory_mib
from bench.timing import compare
from hpcbatch.api.port import Object
from hpcbatch.history.databases import SqliteDatabase
from hpcbatch.history.store import HistoryStore

JOBS = 100_000
ROUNDS = 11
_AT_ONCE = 2000


def main() -> None:
    with engine() as (env, work), engine() as (full_env, full_work):
        for at, directory in ((env, work), (full_env, full_work)):
            _put_to_history(at, directory)
        began = time.monotonic()
        state = Path(full_env["HPCBATCH_STATE_DIR"])
        _fill(full_env, state)
        filled_s = time.monotonic() - began
        run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
        commands = {
            "qstat": ["qstat"],
            "squeue": ["squeue"],
            "qstat -B": ["qstat", "-B"],
            "qstat -x ID": ["qstat", "-x", "1"],
            "qstat -xf ID": ["qstat", "-xf", "1"],
            "scontrol show job ID": ["scontrol", "show", "job", "1"],
            "sacct -j ID": ["sacct", "-j", "1"],
            "hpcbatch report": ["hpcbatch", "report", "--by", "user,queue"],
        }
        actions = {}
        for name, argv in commands.items():
            actions[f"{name}, none"] = partial(run, argv, env=env, cwd=work)
            actions[f"{name}, all"] = partial(run, argv, env=full_env, cwd=full_work)
        times = compare(actions, ROUNDS)
        memory = engine_memory_mib(env), engine_memory_mib(full_env)
        whole_s = {}
        for command in (("qstat", "-x"), ("sacct", "-a"), ("hpcbatch", "accounting")):
            began = time.monotonic()
            run(command, env=full_env, cwd=full_work)
            whole_s[" ".join(command)] = time.monotonic() - began
        size = sum(path.stat().st_size for path in state.glob("history.db*"))
    print(
        f"{JOBS} ended jobs in the history ({filled_s:.0f} s to write, {size / JOBS:.0f} bytes each), "
        f"median of {ROUNDS}:"
    )
    print(f"  {'':24} {'none':>9} {'all':>9}")
    for name in commands:
        without, with_all = times[f"{name}, none"], times[f"{name}, all"]
        print(f"  {name:24} {without * 1000:6.0f} ms {with_all * 1000:6.0f} ms")
    print(f"  {'memory of the engine':24} {memory[0]:5.0f} MiB {memory[1]:5.0f} MiB")
    for name, seconds in whole_s.items():
        print(f"  {f'{name} of them all':33} {seconds:7.1f} s")


def _put_to_history(env: Mapping[str, str], work: Path) -> None:
    """One job that has ended and moved, number 1."""
    site = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nhistoryMovedAfter: 0\n"
    run = partial(subprocess.run, env=env, cwd=work, check=True, capture_output=True, text=True)
    run(
        ["kubectl", "-n", "hpcbatch-system", "create", "configmap", "hpcbatch-site", f"--from-literal=site.yaml={site}"]
    )
    (work / "true.sh").write_text("#!/bin/sh\n#SBATCH -o /dev/null\ntrue\n")
    run(["sbatch", "true.sh"])
    while not run(["kubectl", "get", "endedjobs", "-o", "name"]).stdout:
        time.sleep(0.1)


def _fill(env: Mapping[str, str], state: Path) -> None:
    """The database directly, with jobs like that one; while its engine is down."""
    listed = ["kubectl", "get", "endedjobs", "-o", "json"]
    pattern = json.loads(subprocess.run(listed, env=env, check=True, capture_output=True).stdout)["items"][0]
    subprocess.run(["hpcbatch", "down"], env=env, check=True, stdout=subprocess.DEVNULL)
    store = HistoryStore(SqliteDatabase(state / "history.db"))
    for first in range(2, JOBS + 1, _AT_ONCE):
        store.put(_like(pattern, number) for number in range(first, min(first + _AT_ONCE, JOBS + 1)))
    store.close()
    subprocess.run(["hpcbatch", "up"], env=env, check=True, stdout=subprocess.DEVNULL)


def _like(job: Object, number: int) -> Object:
    metadata = job["metadata"] | {"name": f"slurm-{number}", "uid": f"{number:032x}"}
    return job | {"metadata": metadata, "status": job["status"] | {"jobId": str(number)}}
