"""Where the cluster lives, and how its parts are called."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

STATE = Path(os.environ.get("HPCBATCH_CLUSTER_DIR", "/var/lib/hpcbatch-cluster"))
"""Everything that `make cluster` makes, but for sockets, a bridge and cgroups; `make cluster-down` removes it."""
RUN = Path("/run/hpcbatch-cluster")
"""Sockets: their paths may not be longer than 107 bytes."""
NAME = "hpcbatch-cluster"
"""Of the cgroups."""
SERVER = "rig"
"""What the site's configuration calls it: the part behind the dot of PBS ids."""
BRIDGE, BRIDGE_IP, POD_NET = "hpcbatch0", "10.244.0.1", "10.244.0.0/16"
API_IP, SERVICE_NET = "10.96.0.1", "10.96.0.0/16"
"""The API server listens where pods look for it: the first Service address, on the bridge. No kube-proxy is needed."""
API = f"https://{API_IP}:443"
NODES = ("node-0", "node-1", "node-2")
COMPUTE_LABEL = "volcano.sh/role=compute"
"""On all nodes that jobs may use."""
CONTROLS = ("control-0", "control-1")
"""Nodes for what is not a job, so that jobs have the others whole."""
HOME = STATE / "home"
"""The users' homes: the storage that login node and pods share, at the same path in all of them."""
ADMIN_CONF = STATE / "admin.conf"
CHECKOUT = Path(__file__).resolve().parents[2]


class ClusterError(Exception):
    """One line on why the cluster cannot be had."""


def run(
    *argv: str | Path, stdin: str = "", check: bool = True, env: Mapping[str, str] | None = None, limit_s: float = 120
) -> str:
    """Standard output of a command. Raises ClusterError with its last words if it fails."""
    done = subprocess.run(
        [str(word) for word in argv], input=stdin, capture_output=True, text=True, timeout=limit_s, env=env, check=False
    )
    if check and done.returncode:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ClusterError(f"{' '.join(map(str, argv))[:200]}: exit {done.returncode}: {words}")
    return done.stdout


def admin_environment() -> dict[str, str]:
    """For commands of the admin: kubectl, hpcbatch and the others are found, and lead to the cluster."""
    programs = f"{STATE / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "KUBECONFIG": str(ADMIN_CONF), "PATH": programs}


def kubectl(*argv: str | Path, stdin: str = "", check: bool = True, limit_s: float = 120) -> str:
    """As the cluster's admin."""
    return run(STATE / "bin/kubectl", "--kubeconfig", ADMIN_CONF, *argv, stdin=stdin, check=check, limit_s=limit_s)


def wait_until(what: str, reached: Callable[[], object], limit_s: float = 120) -> None:
    """Poll until `reached()` is true and raises nothing."""
    give_up = time.monotonic() + limit_s
    said = ""
    while time.monotonic() < give_up:
        try:
            if reached():
                return
        except (ClusterError, OSError, subprocess.SubprocessError) as error:
            said = f": {error}"
        time.sleep(0.2)
    raise ClusterError(f"{what}: not reached in {limit_s:.0f} s{said}")


def wait_for_definitions(*names: str) -> None:
    """Until these, `crd/…`, are in force. `kubectl wait` fails for one that has no status yet."""
    condition = ("wait", "--for=condition=Established", "--timeout=10s")
    wait_until(", ".join(names), lambda: kubectl(*condition, *names))
