"""etcd, kube-apiserver, kube-controller-manager, CoreDNS; and the certificates by which all parts know each other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests import postgres
from tests.cluster import daemons
from tests.cluster.binaries import CLUSTER, build
from tests.cluster.certificates import self_signed, signed
from tests.cluster.front_proxy import front_proxy, front_proxy_options
from tests.cluster.state import ADMIN_CONF, API, API_IP, BRIDGE, BRIDGE_IP, SERVICE_NET, STATE, kubectl, run, wait_until

PKI = STATE / "pki"
AUDIT_LOG = STATE / "log" / "audit.log"
"""One JSON line for each request of hpcbatch's own service accounts and users: what a job costs is counted here."""


def link_programs() -> None:
    """STATE/bin: every program of the cluster."""
    (STATE / "bin").mkdir(parents=True, exist_ok=True)
    for module in CLUSTER:
        folder = build(module)
        for name in module.programs:
            link = STATE / "bin" / name
            link.unlink(missing_ok=True)
            link.symlink_to(folder / name)


def certificate(name: str, subject: str, names: str) -> None:
    signed(PKI, name, subject, authority="ca", names=names)


def kubeconfig(name: str, path: Path) -> None:
    """A kubeconfig with the certificate called `name`."""
    user = {"client-certificate": str(PKI / f"{name}.crt"), "client-key": str(PKI / f"{name}.key")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rig", "cluster": {"server": API, "certificate-authority": str(PKI / "ca.crt")}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": name}}],
        "current-context": "rig",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=1))


def make_certificates() -> None:
    PKI.mkdir(mode=0o700)
    self_signed(PKI / "ca.key", PKI / "ca.crt", "/CN=ca")
    certificate("server", "/CN=server", f"DNS:kubernetes,DNS:kubernetes.default.svc,IP:{API_IP},IP:127.0.0.1")
    certificate("admin", "/O=system:masters/CN=admin", "DNS:admin")
    for name in ("controller-manager", "scheduler"):
        certificate(name, f"/CN=system:kube-{name}", f"DNS:{name}")
        kubeconfig(name, STATE / f"{name}.conf")
    run("openssl", "genrsa", "-out", PKI / "sa.key", "2048")
    front_proxy(PKI)
    kubeconfig("admin", ADMIN_CONF)


def make_bridge() -> None:
    # with an address of its own: else it takes that of a pod, and when that goes, the others lose the API for seconds
    run("ip", "link", "add", BRIDGE, "address", "02:68:70:63:62:00", "type", "bridge")
    run("ip", "addr", "add", f"{BRIDGE_IP}/16", "dev", BRIDGE)
    run("ip", "addr", "add", f"{API_IP}/32", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:hpcbatch-system", "hpcbatch:users"]}
- {level: None}
"""


def start() -> None:
    """Certificates, the bridge with the API's address, and the processes in the order of their needs."""
    make_certificates()
    make_bridge()
    (STATE / "audit.yaml").write_text(_AUDIT_POLICY)
    programs = STATE / "bin"
    daemons.start(
        "etcd",
        programs / "etcd",
        "--data-dir",
        STATE / "etcd",
        "--listen-client-urls",
        "http://127.0.0.1:2379",
        "--advertise-client-urls",
        "http://127.0.0.1:2379",
        "--listen-peer-urls",
        "http://127.0.0.1:2380",
        "--unsafe-no-fsync",
    )
    daemons.start(
        "kube-apiserver",
        programs / "kube-apiserver",
        "--etcd-servers",
        "http://127.0.0.1:2379",
        "--bind-address",
        API_IP,
        "--secure-port",
        "443",
        "--advertise-address",
        API_IP,
        "--endpoint-reconciler-type",
        "none",
        "--client-ca-file",
        PKI / "ca.crt",
        "--tls-cert-file",
        PKI / "server.crt",
        "--tls-private-key-file",
        PKI / "server.key",
        "--cert-dir",
        PKI,
        "--authorization-mode",
        "Node,RBAC",
        "--enable-admission-plugins",
        "NodeRestriction",
        "--service-cluster-ip-range",
        SERVICE_NET,
        "--service-account-issuer",
        "https://kubernetes.default.svc",
        "--service-account-key-file",
        PKI / "sa.key",
        "--service-account-signing-key-file",
        PKI / "sa.key",
        "--allow-privileged=true",
        "--kubelet-preferred-address-types",
        "InternalIP",
        "--kubelet-client-certificate",
        PKI / "admin.crt",
        "--kubelet-client-key",
        PKI / "admin.key",
        "--audit-policy-file",
        STATE / "audit.yaml",
        "--audit-log-path",
        AUDIT_LOG,
        *front_proxy_options(PKI),
    )
    wait_until("the API server", lambda: kubectl("get", "--raw", "/readyz"))
    daemons.start(
        "kube-controller-manager",
        programs / "kube-controller-manager",
        "--kubeconfig",
        STATE / "controller-manager.conf",
        "--service-account-private-key-file",
        PKI / "sa.key",
        "--root-ca-file",
        PKI / "ca.crt",
        "--cluster-signing-cert-file",
        PKI / "ca.crt",
        "--cluster-signing-key-file",
        PKI / "ca.key",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--controllers",
        "*,-nodeipam,-cloud-node-lifecycle",
        # a node that is gone is noticed sooner than after 50 s, so that tests need not wait for it
        "--node-monitor-grace-period",
        "12s",
        "--node-monitor-period",
        "2s",
    )
    daemons.start(
        "kube-scheduler",
        programs / "kube-scheduler",
        "--kubeconfig",
        STATE / "scheduler.conf",
        "--leader-elect=false",
        "--authentication-kubeconfig",
        STATE / "scheduler.conf",
        "--authorization-kubeconfig",
        STATE / "scheduler.conf",
    )
    services = f"kubernetes cluster.local {{\n kubeconfig {ADMIN_CONF}\n ttl 0\n}}"
    (STATE / "Corefile").write_text(f"cluster.local:53 {{\n bind {BRIDGE_IP}\n {services}\n errors\n}}\n")
    daemons.start("coredns", programs / "coredns", "-conf", STATE / "Corefile")


def missing_packages() -> list[str]:
    """Debian's packages of which a program is not here."""
    needs = {
        "containerd": "containerd",
        "runc": "runc",
        "ctr": "containerd",
        "buildah": "buildah",
        "gcc": "gcc",
        "mmdebstrap": "mmdebstrap",
        "openssl": "openssl",
        "ip": "iproute2",
        "mount": "util-linux",
        "nft": "nftables",
    }
    missing = {package for program, package in needs.items() if not shutil.which(program)}
    if postgres.programs() is None:
        missing.add("postgresql")
    if not Path("/usr/lib/cni/bridge").exists():
        missing.add("containernetworking-plugins")
    if not list(Path("/usr/lib").glob("*/libc.a")):
        missing.add("libc6-dev")
    return sorted(missing)
