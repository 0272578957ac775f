"""What `Rig` is, with a real kube-apiserver and etcd, hpcbatch as deploy/ installs it, and users who are themselves."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.controller.played import PlacesAtOnce
from bench.controller.rig import SITE, USERS, namespaces, node
from bench.timing import cpu_s
from hpcbatch.admin.user_names import kubernetes_user
from hpcbatch.admin.user_objects import controller_binding, role_binding
from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, NODES, ROLE_BINDINGS
from tests.cluster.binaries import KUBERNETES
from tests.kube_api import ADMIN, KubeApi, kube_api, process, program
from tests.waiting import wait_for

_ROOT = Path(__file__).parents[2]
_CONTROLLER, _WORKLOAD = "controller", "workload"
_TOKENS = (
    (_CONTROLLER, f"system:serviceaccount:{SYSTEM_NAMESPACE}:hpcbatch-controller", "system:serviceaccounts"),
    (_WORKLOAD, "played-cluster", "system:masters"),
    *((user, kubernetes_user(user), "hpcbatch:users") for user in USERS),
)
_REST_S, _AT_REST = 2.0, 0.1  # of one core
_OPEN = json.dumps({"status": {"state": "Open"}})


class KubernetesRig:
    """Volcano and the nodes are played, and what a job leaves is collected by the real garbage collector."""

    def __init__(self, api: KubeApi, nodes: int, cpus: int, *, more_of_site: str, run_s: float) -> None:
        self.directory, self._kube = api.directory, api
        self.kubeconfigs = f"{api.directory}/{{user}}.conf"
        for token, _, _ in _TOKENS:
            api.kubeconfig(token)
        self.kubeconfig = Path(self.kubeconfigs.format(user=_CONTROLLER))
        self.api = HttpApi(kubeconfig.load({"KUBECONFIG": str(api.kubeconfig(_WORKLOAD))}), response_timeout_s=60)
        self._install(nodes, cpus, SITE + more_of_site)
        self.volcano = PlacesAtOnce(self.api, [f"node-{number}" for number in range(nodes)], run_s)
        self.volcano.start()

    def _install(self, nodes: int, cpus: int, site: str) -> None:
        kubectl = self._kube.kubectl
        for path in (_ROOT / "hpcbatch/engine/registry/crd").glob("*.volcano.sh.yaml"):
            kubectl("apply", "--server-side", "-f", path)
        kubectl("apply", "--server-side", "-k", _ROOT / "deploy")
        kubectl("wait", "--for=condition=Established", "crd", "--all")
        kubectl("apply", "-f", _ROOT / "deploy/without-volcano/default-queue.yaml")
        kubectl("patch", "queues.scheduling.volcano.sh/default", "--subresource=status", "--type=merge", "-p", _OPEN)
        for namespace in namespaces():
            user = namespace["metadata"]["name"]
            self.api.create(NAMESPACES, namespace)
            for binding in (role_binding(user), controller_binding()):
                self.api.create(ROLE_BINDINGS, binding, user)
        for number in range(nodes):
            made = node(f"node-{number}", cpus)
            self.api.create(NODES, made)
            self.api.patch(NODES, made["metadata"]["name"], {"status": made["status"]}, subresource="status")
        config = {"metadata": {"name": "hpcbatch-site"}, "data": {"site.yaml": site}}
        self.api.create(CONFIGMAPS, config, SYSTEM_NAMESPACE)
        wait_for("an API server that has nothing to do", self._is_at_rest, 120, every_s=0)

    def _is_at_rest(self) -> bool:
        """It describes each new kind to its clients for some seconds."""
        before_s, began = sum(self.cpu_s_by_program().values()), time.monotonic()
        time.sleep(_REST_S)
        return sum(self.cpu_s_by_program().values()) - before_s < _AT_REST * (time.monotonic() - began)

    def records(self) -> Sequence[Object]:
        return self.api.list(BATCHJOBS).items

    def cpu_s_by_program(self) -> dict[str, float]:
        """Of what runs below this process: etcd, API server, garbage collector, controllers that are alive."""
        pids = [pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]
        spent: dict[str, float] = {}
        for pid in pids:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            spent[name] = spent.get(name, 0.0) + cpu_s(int(pid))
        return spent

    def etcd_mib(self) -> float:
        """Size of its file."""
        return sum(path.stat().st_size for path in (self.directory / "etcd/member/snap").glob("db")) / 2**20

    def stop(self) -> None:
        self.volcano.stop()


@contextmanager
def kubernetes_rig(nodes: int, cpus: int, *, more_of_site: str = "", run_s: float = 1.0) -> Iterator[KubernetesRig]:
    """Needs the programs of `make programs`."""
    with tempfile.TemporaryDirectory(prefix="hpcbatch-bench-") as directory:
        # nobody makes accounts of pods, or says that a node is ready
        options = ("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",)
        with kube_api(Path(directory), _TOKENS, options=options) as api, _garbage_collector(api):
            running = KubernetesRig(api, nodes, cpus, more_of_site=more_of_site, run_s=run_s)
            try:
                yield running
            finally:
                running.stop()


def _garbage_collector(api: KubeApi) -> AbstractContextManager[object]:
    return process(
        api.directory / "garbage-collector.log",
        program(KUBERNETES, "kube-controller-manager"),
        *("--kubeconfig", api.kubeconfig(ADMIN), "--controllers", "garbage-collector-controller"),
        *("--leader-elect=false", "--secure-port", "0", "--kube-api-qps", "500", "--kube-api-burst", "500"),
    )
