"""The real cluster's firewall: what NetworkPolicies come to, as nftables' text."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest

from tests.cluster.network_policies import Rules, selects


def pod(name: str, address: str, namespace: str = "a", **labels: str) -> dict[str, Any]:
    ports = [{"name": "web", "containerPort": 8080}]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "c", "ports": ports}]},
        "status": {"phase": "Running", "podIP": address},
    }


def policy(namespace: str = "a", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": namespace}, "spec": {"podSelector": {}, **spec}}


PODS: list[dict[str, Any]] = [
    pod("one", "10.0.0.1", app="x"),
    pod("two", "10.0.0.2"),
    pod("other", "10.0.0.3", "b", app="x"),
]
NAMESPACES: list[dict[str, Any]] = [
    {"metadata": {"name": "a"}},
    {"metadata": {"name": "b", "labels": {"who": "reader"}}},
]


def allowed(rules: str, chain: str) -> list[str] | None:
    found = re.search(rf"chain {re.escape(chain)} {{\n(.*?)\n  }}", rules, re.DOTALL)
    if found is None:
        return None
    *lines, last = (line.strip() for line in found[1].splitlines())
    assert last == "drop"
    return lines


@pytest.mark.parametrize(
    ("ingress", "lines"),
    [
        ([], []),
        ([{}], ["meta nfproto ipv4 return"]),
        ([{"from": [{"podSelector": {}}]}], ["ip saddr { 10.0.0.1, 10.0.0.2 } return"]),
        ([{"from": [{"podSelector": {"matchLabels": {"app": "x"}}}]}], ["ip saddr { 10.0.0.1 } return"]),
        ([{"from": [{"namespaceSelector": {"matchLabels": {"who": "reader"}}}]}], ["ip saddr { 10.0.0.3 } return"]),
        ([{"from": [{"namespaceSelector": {"matchLabels": {"who": "nobody"}}}]}], []),
        (
            [{"from": [{"ipBlock": {"cidr": "1.2.3.0/30", "except": ["1.2.3.0/31"]}}], "ports": [{"port": 22}]}],
            ["ip saddr { 1.2.3.2/31 } tcp dport 22 return"],
        ),
        (
            [{"ports": [{"port": 22}, {"port": 100, "endPort": 200, "protocol": "UDP"}, {"port": "web"}]}],
            ["tcp dport 22 return", "udp dport 100-200 return", "tcp dport 8080 return"],
        ),
        ([{"ports": [{"protocol": "UDP"}]}], ["meta l4proto udp return"]),
    ],
)
def test_ingress(ingress: list[Any], lines: list[str]) -> None:
    text = Rules(PODS, NAMESPACES, [policy(ingress=ingress)]).text()
    assert allowed(text, "ingress-10.0.0.1") == allowed(text, "ingress-10.0.0.2") == lines
    assert allowed(text, "ingress-10.0.0.3") is None  # of a namespace without policies
    assert allowed(text, "egress-10.0.0.1") is None


def test_egress_and_types() -> None:
    text = Rules(PODS, NAMESPACES, [policy(policyTypes=["Egress"], egress=[{"to": [{"podSelector": {}}]}])]).text()
    assert allowed(text, "egress-10.0.0.1") == ["ip daddr { 10.0.0.1, 10.0.0.2 } return"]
    assert allowed(text, "ingress-10.0.0.1") is None


def test_pods_without_an_address_and_those_that_have_ended() -> None:
    ended = pod("two", "10.0.0.2")
    ended["status"]["phase"] = "Succeeded"
    text = Rules([PODS[0], ended], NAMESPACES, [policy(ingress=[{"from": [{"podSelector": {}}]}])]).text()
    assert "10.0.0.2" not in text


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["x"], True),
        ("In", ["y"], False),
        ("NotIn", ["y"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_expressions(operator: str, values: list[str], matches: bool) -> None:
    assert (
        selects({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]}, {"app": "x"}) is matches
    )


@pytest.mark.skipif(not shutil.which("nft"), reason="needs nftables")
def test_nft_can_read_it() -> None:
    rules = [{"from": [{"podSelector": {}}], "ports": [{"port": 22}, {"port": "web"}]}, {}]
    text = Rules(PODS, NAMESPACES, [policy(ingress=rules), policy("b", policyTypes=["Egress"])]).text()
    done = subprocess.run(
        ["unshare", "-rn", "nft", "-c", "-f", "-"], input=text, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
