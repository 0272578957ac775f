"""The chart's controllers of a second shard, as helm renders them. What else it makes: tests/cluster/test_chart.py."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.binaries import HELM
from tests.kube_api import program

CHART = Path(__file__).parents[2] / "deploy/chart"
MAIN, WEST, SPACE = "hpcbatch-controller", "hpcbatch-controller-west", "hpcbatch-system"
QUEUES = ("--set", "site.queues[0].name=far,site.queues[0].shard=west")

pytestmark = pytest.mark.skipif(not program(HELM, "helm").exists(), reason="no helm here: make cluster builds it")


def helm(*options: str) -> subprocess.CompletedProcess[str]:
    argv = [str(program(HELM, "helm")), "template", "hpcbatch", str(CHART), "--namespace", SPACE, *options]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def rendered(*options: str) -> dict[tuple[str, str], dict[str, Any]]:
    done = helm(*options)
    assert done.returncode == 0, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout) if each}


def covers(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_a_shard_has_controllers_and_a_lease_of_its_own() -> None:
    plain, made = rendered(), rendered("--set", "shards[0]=west", *QUEUES)
    more = made.keys() - plain.keys() - {("ConfigMap", "hpcbatch-site")}
    assert more == {(kind, WEST) for kind in ("Deployment", "PodDisruptionBudget", "Role", "RoleBinding")}
    assert {key: made[key] for key in plain} == plain, "those without a shard stay as they are"
    pod = made["Deployment", WEST]["spec"]["template"]
    usual = plain["Deployment", MAIN]["spec"]["template"]
    (container,), (other,) = pod["spec"]["containers"], usual["spec"]["containers"]
    assert container["args"] == [*other["args"], "--shard=west"]
    assert pod["spec"]["serviceAccountName"] == MAIN
    (rule,) = made["Role", WEST]["rules"]
    assert rule["resourceNames"] == [WEST]
    assert made["RoleBinding", WEST]["roleRef"]["name"] == WEST


def test_nothing_takes_controllers_of_one_shard_for_those_of_another() -> None:
    made = rendered("--set", "shards[0]=west,history.enabled=true,metrics.serviceMonitor.enabled=true")
    labels = {name: made["Deployment", name]["spec"]["template"]["metadata"]["labels"] for name in (MAIN, WEST)}
    for kind in ("Deployment", "PodDisruptionBudget"):
        for name in (MAIN, WEST):
            selector = made[kind, name]["spec"]["selector"]["matchLabels"]
            assert [each for each in labels if covers(selector, labels[each])] == [name]
    for service, name in (("hpcbatch-metrics", MAIN), ("hpcbatch-metrics-west", WEST)):
        assert covers(made["Service", service]["spec"]["selector"], labels[name])
    (rule,) = made["NetworkPolicy", "hpcbatch-database"]["spec"]["ingress"]
    allowed = [each["podSelector"]["matchLabels"] for each in rule["from"]]
    assert all(any(covers(selector, each) for selector in allowed) for each in labels.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (QUEUES, "site.queues: far is in the shard west, which no controller has: shards must name it"),
        (("--set", "shards[0]=West"), "shards"),
        (("--set", "shards[0]=a,shards[1]=a"), "shards"),
    ],
)
def test_wrong_shards_are_refused(options: tuple[str, ...], said: str) -> None:
    done = helm(*options)
    assert done.returncode == 1
    assert said in done.stderr
