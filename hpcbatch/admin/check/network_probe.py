"""Try it: whether the network plugin keeps the policies that keep users' pods apart."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.admin.check.probe import LIFETIME_S, Probe, exit_codes, how_it_ended, probe_security, temporary_namespace
from hpcbatch.api.port import Object
from hpcbatch.api.resources import NETWORK_POLICIES, PODS
from hpcbatch.errors import ApiError, ForbiddenError

_SAY = Reporter("network-policies")
_SUBJECT = "network policies"
_PORT = 2222
_START_S = 60.0
_CONNECT_S = 20
_BLOCKED_S = 15
"""How long a network plugin may take to put a policy into force."""
_NOT_BLOCKED = 9

_SERVE = """import socket
server = socket.create_server(("", int(__import__("sys").argv[1])), backlog=50)
while True:
    server.accept()[0].close()
"""
# argv: host, port, how many seconds, whether to wait for a connection ("open") or for none ("shut")
_CONNECT = """import socket, sys, time
host, port, limit, wanted = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
end, shut = time.monotonic() + limit, 0
while time.monotonic() < end:
    try:
        socket.create_connection((host, port), timeout=2).close()
        is_open, shut, said = True, 0, ""
    except OSError as error:
        is_open, shut, said = False, shut + 1, str(error)
    if wanted == "open" and is_open or wanted == "shut" and shut >= 2:
        sys.exit(0)
    time.sleep(0.5)
print("cannot connect to another pod: " + said)
sys.exit(9)
"""


def network_policies(cluster: Cluster) -> Iterable[Finding]:
    image = cluster.controller_image
    if image is None:
        yield _SAY.unknown(_SUBJECT, "no image to try them with: the controller's Deployment is not there")
        return
    with temporary_namespace(cluster) as probe:
        try:
            yield _try(probe, image)
        except ForbiddenError as error:
            if "cannot create resource" in error.message:
                raise
            yield _SAY.unknown(_SUBJECT, f"the pods to try them are refused: {one_line(error.message)}")
        except ApiError as error:
            yield _SAY.unknown(_SUBJECT, f"cannot be tried: {one_line(error.message)}")


def _try(probe: Probe, image: str) -> Finding:
    serve = _container("serve", image, _SERVE, [str(_PORT)])
    probe.create(PODS, _pod("server", [serve]))
    server = probe.wait_for_phase("server", ("Running",), _START_S)
    address = ((server or {}).get("status") or {}).get("podIP")
    if not address:
        why = one_line(how_it_ended(server or probe.pod("server")))
        return _SAY.unknown(_SUBJECT, f"a pod to try them does not run: {why}")
    target = [str(address), str(_PORT)]
    before = _container("before", image, _CONNECT, [*target, str(_CONNECT_S), "open"])
    after = _container("after", image, _CONNECT, [*target, str(_BLOCKED_S), "shut"])
    probe.create(PODS, _pod("client", [after], first=[before]))
    client = probe.wait_for_phase("client", ("Running",), _START_S + _CONNECT_S)
    if client is None or client["status"]["phase"] != "Running":
        why = one_line(how_it_ended(client or probe.pod("client")))
        if "cannot connect" in why:
            mend = "see the network plugin's own checks: MPI needs it"
            return _SAY.error(_SUBJECT, f"even without any policy a pod {why}", mend)
        return _SAY.unknown(_SUBJECT, f"a pod to try them does not run: {why}")
    probe.create(NETWORK_POLICIES, _deny_ingress())
    return judge_client(probe.wait_for_phase("client", (), _START_S))


def judge_client(client: Object | None) -> Finding:
    """`client` is the pod that tried to connect after the policy was made."""
    if client is not None and client["status"]["phase"] == "Succeeded":
        return _SAY.ok(_SUBJECT, "the network plugin enforces them")
    if client is not None and _NOT_BLOCKED in exit_codes(client):
        return _SAY.warning(
            _SUBJECT,
            "not enforced: users can reach the sshd ports of each other's jobs; only the jobs' keys protect them",
            "use a network plugin that enforces NetworkPolicy: Calico, Cilium, Antrea …",
        )
    return _SAY.unknown(_SUBJECT, f"the pod to try them ended without an answer: {one_line(how_it_ended(client))}")


def _deny_ingress() -> Object:
    return {
        "metadata": {"name": "deny-ingress"},
        "spec": {"podSelector": {"matchLabels": {"hpcbatch.io/check": "server"}}, "policyTypes": ["Ingress"]},
    }


def _pod(name: str, containers: list[Object], first: list[Object] | None = None) -> Object:
    security, _ = probe_security()
    return {
        "metadata": {"name": name, "labels": {"hpcbatch.io/check": name}},
        "spec": {
            "restartPolicy": "Never",
            "schedulerName": "volcano",
            "activeDeadlineSeconds": LIFETIME_S,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": security,
            "containers": containers,
            **({"initContainers": first} if first else {}),
        },
    }


def _container(name: str, image: str, program: str, arguments: list[str]) -> Object:
    _, security = probe_security()
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", program, *arguments],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security,
        "resources": {"requests": {"cpu": "1m"}},
    }
