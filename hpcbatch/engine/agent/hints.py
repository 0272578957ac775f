"""What the runner would find out anew in each pod by starting programs: all pods have this machine's."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping


def runner_hints(path: str) -> Mapping[str, str]:
    """Variables for runner/script/master.sh. `path` is the pods' PATH."""
    try:
        command = ["setsid", "--fork", "--wait", "true"]
        done = subprocess.run(
            command, env={"PATH": path}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {} if done.returncode else {"HPCBATCH_HAS_SETSID": "wait"}
