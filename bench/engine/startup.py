"""How long a user waits for each command, beside `kubectl get` on the same engine."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.engine.rig import BIN, engine
from bench.timing import Action, compare

ROUNDS = 21
_KUBECTL = "kubectl get batchjobs"
_OTHER = ", the other"
_COMMANDS = {
    "qstat": ["qstat"],
    "squeue": ["squeue"],
    "qsub": ["qsub", "-h", "true.pbs"],
    "sbatch": ["sbatch", "--hold", "true.pbs"],
    "qstat -f": ["qstat", "-f", "1"],
    "qstat -Q": ["qstat", "-Q"],
    "pbsnodes -a": ["pbsnodes", "-a"],
    "sinfo": ["sinfo"],
    "sacct": ["sacct"],
    "seff": ["seff", "1"],
    "scontrol show job": ["scontrol", "show", "job", "1"],
    "scontrol show node": ["scontrol", "show", "node"],
    "scontrol show config": ["scontrol", "show", "config"],
    "sacctmgr show assoc": ["sacctmgr", "show", "assoc"],
    "sshare": ["sshare"],
}


def main(beside: Path | None = None) -> None:
    """`beside` is the directory of another hpcbatch's programs: they take turns with ours, each on its own engine."""
    actions: dict[str, Action] = {}
    with ExitStack() as stack:
        for suffix, programs in [("", BIN)] if beside is None else [("", BIN), (_OTHER, beside)]:
            env, work = stack.enter_context(engine(programs=programs))
            (work / "true.pbs").write_text("#!/bin/sh\ntrue\n")
            run = partial(subprocess.run, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL)
            for _ in range(10):
                run([programs / "qsub", "-h", "true.pbs"])
            if not suffix:
                actions[_KUBECTL] = partial(run, [BIN / "kubectl", "get", "batchjobs"])
            for name, (command, *arguments) in _COMMANDS.items():
                actions[f"{name}{suffix}"] = partial(run, [programs / command, *arguments])
        times = compare(actions, ROUNDS)
    print(f"start-up, median of {ROUNDS}, whole process, some 10 to 60 waiting jobs:")
    for label, spent in times.items():
        other = times.get(f"{label}{_OTHER}")
        ratio = "" if other is None else f"   {spent / other:.3f} x the other"
        print(f"  {label:24} {spent * 1000:6.1f} ms   {spent / times[_KUBECTL]:.2f} x kubectl get{ratio}")
