"""The whole cluster up, and down again without a trace."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster import control_plane, daemons, guide, images, install, login, network_policies, nodes, volcano
from tests.cluster.nodes import CGROUPS, kill_containers
from tests.cluster.state import ADMIN_CONF, BRIDGE, CONTROLS, HOME, NAME, NODES, RUN, STATE, ClusterError, run


def up() -> None:
    if os.getuid():
        raise ClusterError("needs root: it makes a bridge, cgroups and mounts")
    if is_up():
        raise ClusterError(f"is up already, in {STATE}; `make cluster-down` ends it")
    install_packages()
    down()  # what a machine's crash, or a kill in the midst of this, has left
    STATE.mkdir(parents=True, exist_ok=True)
    RUN.mkdir(exist_ok=True)
    HOME.mkdir(exist_ok=True)
    step("programs", control_plane.link_programs)
    step("images", images.keep)
    step("images into the nodes", nodes.fill)
    step("control plane", control_plane.start)
    step("nodes", nodes.start)
    step("kubelets", nodes.start_kubelets)
    step("network policies", nodes.enforce_policies)
    step("Volcano", volcano.start)
    step("hpcbatch, by docs/install.md", install.install)
    print(f"export KUBECONFIG={ADMIN_CONF}")


def is_up() -> bool:
    """Whether any of its processes runs."""
    return any(daemons.is_alive(name) for name in daemons.names())


def upgrade() -> None:
    """hpcbatch as it is in the checkout now, on the cluster that is up."""
    step("images", images.keep)
    step("images into the nodes", load_images)
    step("hpcbatch, by docs/install.md", lambda: guide.run("Upgrade"))
    step("login node", login.make)


def step(what: str, do: Callable[[], object]) -> None:
    begin = time.monotonic()
    do()
    print(f"{what}: {time.monotonic() - begin:.1f} s", flush=True)


def load_images() -> None:
    for image in images.IMPORTED:
        for node in NODES if image in images.JOBS else (*NODES, *CONTROLS):
            nodes.load_image(nodes.socket_of(node), image)


def install_packages() -> None:
    missing = control_plane.missing_packages()
    if not missing:
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    print(f"installing {' '.join(missing)}", flush=True)
    run("apt-get", "update", "-qq", env=env, limit_s=300)
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, env=env, limit_s=600)


def down() -> None:
    """Processes, mounts, networks, bridge, firewall, cgroups, files: nothing stays but the build cache."""
    for name in daemons.names():
        if name.startswith("kubelet"):
            daemons.kill(name, signal.SIGKILL)
    for node in (*NODES, *CONTROLS):
        kill_containers(node)
    for name in daemons.names():
        daemons.kill(name, signal.SIGKILL)
    for mount in sorted(_mounts(), reverse=True):
        run("umount", "--lazy", mount, check=False)
    if left := _mounts():  # what lies below them must not be deleted
        raise ClusterError(f"still mounted: {' '.join(left)}")
    # a pod's namespace goes with its mount, but whoever has copied the machine's mounts keeps it, and so its link
    for link in nodes.pod_links():
        run("ip", "link", "delete", link, check=False)
    if left := nodes.pod_links():
        raise ClusterError(f"still there: {' '.join(left)}")
    run("ip", "link", "delete", BRIDGE, check=False)
    if shutil.which("nft"):
        run("nft", "delete", "table", "inet", network_policies.TABLE, check=False)
    for hierarchy in (CGROUPS, *CGROUPS.iterdir()):
        if (hierarchy / NAME).is_dir():
            _remove_cgroup(hierarchy / NAME)
    _remove_traces()
    for folder in (RUN, STATE):
        shutil.rmtree(folder, ignore_errors=True)
    if left := [str(folder) for folder in (RUN, STATE) if folder.exists()]:
        raise ClusterError(f"cannot remove {', '.join(left)}")


def _remove_traces() -> None:
    """What containerd and kubelet leave in places that cannot be set."""
    for link in Path("/var/log/containers").glob("*"):
        if link.is_symlink() and str(link.readlink()).startswith(str(STATE)):
            link.unlink()
    results = Path("/var/lib/cni/results")
    for result in results.glob(f"{NAME}-*-eth0"):
        sandbox = result.name.removeprefix(f"{NAME}-").removesuffix("-eth0")
        result.unlink()
        (results / f"cni-loopback-{sandbox}-lo").unlink(missing_ok=True)
    Path("/var/lib/kubelet/device-plugins/kubelet.sock").unlink(missing_ok=True)
    Path("/var/lib/kubelet/device-plugins/DEPRECATION").unlink(missing_ok=True)
    for folder in map(
        Path,
        (
            "/var/log/containers",
            "/var/lib/cni/results",
            "/var/lib/cni",
            "/var/lib/kubelet/device-plugins",
            "/var/lib/kubelet",
        ),
    ):
        try:
            folder.rmdir()
        except OSError:
            continue  # not there, or somebody else's


def _mounts() -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    points = [line.split()[1] for line in lines]
    return [point for point in points if point.startswith((f"{STATE}/", f"{RUN}/"))]


def _remove_cgroup(folder: Path) -> None:
    for child in folder.iterdir():
        if child.is_dir():
            _remove_cgroup(child)
    for _ in range(50):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.1)  # its processes are dying
    raise ClusterError(f"cannot remove the cgroup {folder}")
