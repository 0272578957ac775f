"""The nodes: a containerd and a kubelet each, with a cgroup, ports and directories of their own; one bridge."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

from tests.cluster import daemons, images, network_policies
from tests.cluster.control_plane import PKI, certificate, kubeconfig
from tests.cluster.state import (
    ADMIN_CONF,
    BRIDGE,
    BRIDGE_IP,
    CHECKOUT,
    COMPUTE_LABEL,
    CONTROLS,
    NAME,
    NODES,
    POD_NET,
    RUN,
    STATE,
    ClusterError,
    kubectl,
    run,
    wait_until,
)

CGROUPS = Path("/sys/fs/cgroup")
_CONTROL_TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


def ctr(socket: Path, *argv: str | Path) -> str:
    """containerd's own client, in the namespace of Kubernetes."""
    return run("ctr", "-a", socket, "-n", "k8s.io", *argv)


def socket_of(node: str) -> Path:
    return RUN / node / "containerd.sock"


def fill() -> None:
    """All images into each node's containerd, before it starts. They are imported once, by a containerd of its own,
    whose directory is kept with the images; the nodes have it with links for its files, which containerd never changes,
    and copies of its databases.
    """
    imported = images.folder() / "containerd"
    if not imported.exists():
        _import_all(imported)
    for node in (*NODES, *CONTROLS):
        root = _root(node)
        try:
            run("cp", "--archive", "--link", imported, root)
        except ClusterError:  # another file system
            shutil.rmtree(root, ignore_errors=True)
            run("cp", "--archive", imported, root)
            continue
        for database in root.rglob("*.db"):
            database.unlink()
            shutil.copy2(imported / database.relative_to(root), database)


def _import_all(imported: Path) -> None:
    root, state = _root("import"), RUN / "import"
    state.mkdir()
    socket, config = state / "containerd.sock", state / "config.toml"
    config.write_text(f"""\
version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]
root = "{root}"
state = "{state}"
[grpc]
  address = "{socket}"
""")
    daemons.start("containerd-import", "containerd", "-c", config)
    try:
        wait_until("containerd", lambda: ctr(socket, "version"))
        for image in images.IMPORTED:
            load_image(socket, image)
    finally:
        daemons.stop("containerd-import")
    partial = imported.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    run("mv", root, partial)
    partial.rename(imported)


def _root(node: str) -> Path:
    """containerd's directory."""
    return STATE / f"containerd-{node}"


def start() -> None:
    (STATE / "cni").mkdir()
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(RUN / "addresses"),
            "ranges": [[{"subnet": POD_NET, "rangeStart": "10.244.1.1"}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    network = {"cniVersion": "1.0.0", "name": NAME, "plugins": [bridge, {"type": "loopback"}]}
    (STATE / "cni" / "10-bridge.conflist").write_text(json.dumps(network))
    for number, node in enumerate((*NODES, *CONTROLS)):
        _start(number, node)
    for node in (*NODES, *CONTROLS):
        wait_until(f"containerd of {node}", partial(ctr, socket_of(node), "version"))


def start_kubelets() -> None:
    for node in (*NODES, *CONTROLS):
        daemons.start(
            f"kubelet-{node}",
            STATE / "bin/kubelet",
            "--config",
            STATE / f"{node}.yaml",
            "--kubeconfig",
            STATE / f"{node}.conf",
            "--root-dir",
            STATE / f"kubelet-{node}",
            "--hostname-override",
            node,
            "--cert-dir",
            PKI / node,
            "--node-ip",
            BRIDGE_IP,
        )
    for node in (*NODES, *CONTROLS):
        _wait_for_kubelet(node)

    kubectl("label", "node", *CONTROLS, "node-role.kubernetes.io/control-plane=")
    kubectl("label", "node", *NODES, COMPUTE_LABEL)


def _wait_for_kubelet(node: str) -> None:
    """Until the node is ready. A kubelet that has ended is started again, as systemd does it on real nodes, and so is
    one that has not made it in a minute; its last words are shown.
    """
    name = f"kubelet-{node}"

    def is_ready() -> bool:
        if not daemons.is_alive(name):
            print(f"{name} has ended, and is started again: {daemons.last_words(name)}", flush=True)
            daemons.restart(name)
        return "True" in kubectl("get", "node", node, "-o", _READY)

    try:
        wait_until(f"node {node}", is_ready, 60)
    except ClusterError as error:
        print(f"{name} is killed, and started again: {error}: {daemons.last_words(name)}", flush=True)
        daemons.kill(name)
        try:
            wait_until(f"node {node}", is_ready)
        except ClusterError as again:
            raise ClusterError(f"{again}: {daemons.last_words(name)}") from None


def enforce_policies() -> None:
    """Frames between ports of one bridge pass the firewall only if the bridge is told so."""
    Path("/proc/sys/net/bridge/bridge-nf-call-iptables").write_text("1")
    daemons.start(
        "network-policies",
        sys.executable,
        "-m",
        "tests.cluster.network_policies",
        ADMIN_CONF,
        env={"PYTHONPATH": str(CHECKOUT)},
    )
    wait_until("the firewall's table", lambda: network_policies.TABLE in run("nft", "list", "tables"))


_READY = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"


def _start(number: int, node: str) -> None:
    (RUN / node).mkdir(parents=True)
    certificate(node, f"/O=system:nodes/CN=system:node:{node}", f"DNS:{node}")
    kubeconfig(node, STATE / f"{node}.conf")
    (STATE / f"{node}.toml").write_text(f"""\
version = 2
root = "{_root(node)}"
state = "{RUN}/{node}/containerd"
[grpc]
  address = "{RUN}/{node}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  stream_server_port = "0"
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{STATE}/cni"
""")
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(PKI / "ca.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "port": 10250 + 10 * number,
        "healthzPort": 10248 + 10 * number,
        "clusterDNS": [BRIDGE_IP],
        "clusterDomain": "cluster.local",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{NAME}/{node}",
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,  # they would stay when the cluster is gone
        "failCgroupV1": False,
        "containerRuntimeEndpoint": f"unix://{RUN}/{node}/containerd.sock",
        "maxPods": 250,
        "volumePluginDir": f"{STATE}/volumeplugins-{node}",
        "podLogsDir": f"{STATE}/podlogs-{node}",
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi"},  # a full disk of the tester's is not what is tested
        "nodeStatusUpdateFrequency": "4s",
        "registerWithTaints": [_CONTROL_TAINT] if node in CONTROLS else [],
    }
    (STATE / f"{node}.yaml").write_text(json.dumps(kubelet))
    _make_cgroups(node)
    daemons.start(f"containerd-{node}", "containerd", "-c", STATE / f"{node}.toml")


def _make_cgroups(node: str) -> None:
    """Kubelets that share a machine need a cgroup root each, made beforehand; under v1 with its CPUs filled in."""
    if (CGROUPS / "cgroup.controllers").exists():
        for folder in (CGROUPS, CGROUPS / NAME):
            folder.mkdir(exist_ok=True)
            wanted = " ".join(f"+{name}" for name in (folder / "cgroup.controllers").read_text().split())
            (folder / "cgroup.subtree_control").write_text(wanted)
        (CGROUPS / NAME / node).mkdir()
        return
    for hierarchy in CGROUPS.iterdir():
        if hierarchy.is_dir() and not hierarchy.is_symlink():
            try:
                (hierarchy / NAME / node).mkdir(parents=True, exist_ok=True)
            except OSError:
                continue  # one that is read-only here is none of the kubelet's
    cpuset = CGROUPS / "cpuset"
    for name in ("cpuset.cpus", "cpuset.mems"):
        value = (cpuset / name).read_text()
        for folder in (cpuset / NAME, cpuset / NAME / node):
            (folder / name).write_text(value)


def load_image(socket: Path, name: str) -> None:
    """Into a containerd, which knows no registry."""
    ctr(socket, "image", "import", images.archive(name))
    if name not in ctr(socket, "image", "ls", "-q"):
        raise ClusterError(f"{images.archive(name)} holds no image {name}")


def pod_links() -> list[str]:
    """The host's ends of the pods' networks."""
    found = json.loads(run("ip", "-j", "link", "show", "master", BRIDGE, check=False) or "[]")
    return [link["ifname"] for link in found]


def crash(node: str) -> None:
    """As if the power went: kubelet, containerd and all containers of the node are killed at once."""
    daemons.kill(f"kubelet-{node}")
    daemons.kill(f"containerd-{node}")
    kill_containers(node)


def boot(node: str) -> None:
    """A crashed node comes back."""
    daemons.restart(f"containerd-{node}")
    wait_until(f"containerd of {node}", lambda: ctr(socket_of(node), "version"))
    daemons.restart(f"kubelet-{node}")
    _wait_for_kubelet(node)


def kill_containers(node: str) -> None:
    """Every process in the node's pods, and the shims above them."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            groups = (process / "cgroup").read_text()
            words = (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        is_shim = b"containerd-shim" in words and f"{RUN}/{node}/".encode() in words
        if f"/{NAME}/{node}/" in groups or is_shim:
            daemons.send(int(process.name), signal.SIGKILL)
