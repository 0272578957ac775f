"""The network plugin's other half: NetworkPolicies, put into force by nftables on the bridge that joins all pods.

The plugins that do this elsewhere (kube-router, kube-network-policies) are not to be had as Go modules, and the
reference plugin `bridge` knows no policies. `python -m tests.cluster.network_policies CONFIG` follows pods, namespaces
and policies, and writes one table anew whenever they change. As in Kubernetes, what the node itself sends (kubelet's
probes, the API server) always gets through.
"""

from __future__ import annotations

import ipaddress
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hpcbatch.api.client import HttpApi
from hpcbatch.api.informer import Informer
from hpcbatch.api.kubeconfig import load
from hpcbatch.api.port import Object
from hpcbatch.api.resources import NAMESPACES, NETWORK_POLICIES, PODS

TABLE = "hpcbatch-cluster"
_COALESCE_S = 0.05


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """A LabelSelector; {} selects everything."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for term in selector.get("matchExpressions") or []:
        value, values = labels.get(term["key"]), term.get("values") or []
        holds = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[term["operator"]]
        if not holds:
            return False
    return True


def _labels(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _address(pod: Object) -> str:
    """Of a pod's own network; "" while it has none, or none any more."""
    is_over = pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    return "" if is_over or pod["spec"].get("hostNetwork") else str(pod.get("status", {}).get("podIP") or "")


class Rules:
    """What one state of the cluster comes to. Values in, nftables' text out."""

    def __init__(self, pods: Iterable[Object], namespaces: Iterable[Object], policies: Iterable[Object]) -> None:
        self._pods = sorted((pod for pod in pods if _address(pod)), key=_address)
        self._namespaces = {space["metadata"]["name"]: space for space in namespaces}
        self._policies = sorted(policies, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"]))

    def text(self) -> str:
        """The whole table; nft swaps it in one step."""
        chains: list[str] = []
        jumps: dict[str, list[str]] = {"saddr": [], "daddr": []}
        for pod in self._pods:
            for side, end, key in (("Egress", "saddr", "egress"), ("Ingress", "daddr", "ingress")):
                mine = [policy for policy in self._policies if _isolates(policy, pod, side)]
                if not mine:
                    continue
                name = f"{key}-{_address(pod)}"
                jumps[end].append(f"{_address(pod)} : jump {name}")
                allowed = [
                    f"    {line} return"
                    for policy in mine
                    for rule in policy["spec"].get(key) or []
                    for line in self._allows(policy, rule, pod, side)
                ]
                chains.append("\n".join([f"  chain {name} {{", *dict.fromkeys(allowed), "    drop", "  }"]))
        maps = [f"    ip {end} vmap {{ {', '.join(lines)} }}" for end, lines in jumps.items() if lines]
        forward = [
            "  chain forward {",
            "    type filter hook forward priority 0; policy accept;",
            "    ct state established,related accept",
            *maps,
            "  }",
        ]
        return "\n".join(
            [
                f"table inet {TABLE} {{}}",
                f"delete table inet {TABLE}",
                f"table inet {TABLE} {{",
                *chains,
                *forward,
                "}",
                "",
            ]
        )

    def _allows(self, policy: Object, rule: Mapping[str, Any], pod: Object, side: str) -> Iterable[str]:
        is_in = side == "Ingress"
        peers = rule.get("from" if is_in else "to") or []
        ports = rule.get("ports") or []
        hosts = [host for peer in peers for host in self._hosts(policy, peer)]
        who = f"ip {'saddr' if is_in else 'daddr'} {{ {', '.join(hosts)} }} " if hosts else ""
        if peers and not hosts:
            return
        if not ports:
            yield who.strip() or "meta nfproto ipv4"
        targets = [pod] if is_in else self._pods
        for port in ports:
            protocol = str(port.get("protocol", "TCP")).lower()
            number = port.get("port")
            if number is None:
                yield f"{who}meta l4proto {protocol}"
            elif isinstance(number, int):
                yield (
                    f"{who}{protocol} dport {number}-{port['endPort']}"
                    if "endPort" in port
                    else f"{who}{protocol} dport {number}"
                )
            else:
                for target in targets:
                    for found in _named_ports(target, number, protocol):
                        to = "" if is_in else f"ip daddr {_address(target)} "
                        yield f"{who}{to}{protocol} dport {found}"

    def _hosts(self, policy: Object, peer: Mapping[str, Any]) -> Iterable[str]:
        if block := peer.get("ipBlock"):
            networks = [ipaddress.ip_network(block["cidr"])]
            for hole in map(ipaddress.ip_network, block.get("except") or []):
                networks = [part for one in networks for part in _without(one, hole)]
            return [str(network) for network in networks if network.version == 4]
        spaces, chosen = peer.get("namespaceSelector"), peer.get("podSelector") or {}
        return [
            _address(pod)
            for pod in self._pods
            if selects(chosen, _labels(pod)) and self._is_in(pod["metadata"]["namespace"], spaces, policy)
        ]

    def _is_in(self, namespace: str, spaces: Mapping[str, Any] | None, policy: Object) -> bool:
        if spaces is None:
            return bool(namespace == policy["metadata"]["namespace"])
        space = self._namespaces.get(namespace)
        return space is not None and selects(spaces, _labels(space))


def _without(network: Any, hole: Any) -> Sequence[Any]:
    if not network.overlaps(hole):
        return [network]
    return list(network.address_exclude(hole)) if hole.subnet_of(network) else []


def _isolates(policy: Object, pod: Object, side: str) -> bool:
    spec, meta = policy["spec"], pod["metadata"]
    kinds = spec.get("policyTypes") or ["Ingress", *(["Egress"] if "egress" in spec else [])]
    return (
        side in kinds
        and policy["metadata"]["namespace"] == meta["namespace"]
        and selects(spec.get("podSelector") or {}, _labels(pod))
    )


def _named_ports(pod: Object, name: str, protocol: str) -> list[int]:
    return [
        port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or []
        if port.get("name") == name and str(port.get("protocol", "TCP")).lower() == protocol
    ]


def follow(config: str) -> None:
    """Until it is killed; the table stays in force then."""
    api, changed = HttpApi(load({"KUBECONFIG": config})), threading.Event()
    pods, namespaces, policies = (
        Informer(api, kind, on_event=lambda _event: changed.set()) for kind in (PODS, NAMESPACES, NETWORK_POLICIES)
    )
    for informer in (pods, namespaces, policies):
        informer.start()
    for informer in (pods, namespaces, policies):
        informer.synced.wait()
    last = ""
    changed.set()
    while changed.wait():
        time.sleep(_COALESCE_S)
        changed.clear()
        text = Rules(pods.items(), namespaces.items(), policies.items()).text()
        if text != last:
            subprocess.run(["nft", "-f", "-"], input=text, text=True, check=True)
            last = text


if __name__ == "__main__":
    follow(sys.argv[1])
