"""What the runner would find out anew in each pod by starting programs: all pods have this machine's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence


def runner_hints(path: str) -> Mapping[str, str]:
    """Variables for runner/script/master.sh and become.sh. `path` is the pods' PATH."""
    hints = {"HPCBATCH_HAS_SETSID": "wait"} if _works(["setsid", "--fork", "--wait", "true"], path) else {}
    env = shutil.which("env", path=path)
    if env is not None and _works([env, "-S", "-i --default-signal=INT,QUIT -- a=${PATH}", "true"], path):
        hints["HPCBATCH_ENV"] = env
    return hints


def _works(command: Sequence[str], path: str) -> bool:
    try:
        done = subprocess.run(
            command, env={"PATH": path}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
