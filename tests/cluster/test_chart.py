"""The Helm chart: what it makes is what `kubectl apply -k deploy/` makes, and it installs, upgrades and goes back under
its users. docs/helm.md has the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import controllers, database, guide
from tests.cluster.binaries import HELM, build
from tests.cluster.conftest import Admin
from tests.cluster.install import SITE
from tests.cluster.state import CHECKOUT
from tests.conformance.site import Site

PAGE = CHECKOUT / "docs/helm.md"
CHART = str(CHECKOUT / "deploy/chart")


@pytest.fixture(scope="module")
def helm(admin: Admin) -> Admin:
    """Who has helm too."""
    return Admin({**admin.env, "PATH": f"{build(HELM)}:{admin.env['PATH']}"})


def render(helm: Admin, *options: str) -> list[dict[str, Any]]:
    shown = helm.run("helm", "template", "hpcbatch", CHART, "--namespace", "hpcbatch-system", *options).stdout
    return [each for each in yaml.safe_load_all(shown) if each]


def named(objects: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


def kustomized(helm: Admin, folder: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(helm.kubectl("kustomize", str(CHECKOUT / folder)).stdout))


def test_the_chart_has_no_fault(helm: Admin) -> None:
    linted = helm.run("helm", "lint", "--strict", CHART).stdout
    assert "0 chart(s) failed" in linted


WITH_HISTORY = ("--set", "history.existingSecret=hpcbatch-history,history.enabled=true")


WITHOUT_VOLCANO = ("--set", "scheduler=none")


@pytest.mark.parametrize(
    ("options", "folders"),
    [
        ((), ["deploy"]),
        (WITH_HISTORY, ["deploy", "deploy/history"]),
        (WITHOUT_VOLCANO, ["deploy", "deploy/without-volcano"]),
    ],
)
def test_it_makes_what_kubectl_makes(helm: Admin, options: tuple[str, ...], folders: list[str]) -> None:
    ours = named(render(helm, *options))
    theirs = named([each for folder in folders for each in kustomized(helm, folder)])
    del theirs["Namespace", "", "hpcbatch-system"]
    assert ours == theirs


def test_values_of_the_controllers(helm: Admin) -> None:
    pairs = "replicas=3,image.repository=r.site/h,image.tag=v9,nodeSelector.kind=service,imagePullSecrets[0].name=key"
    made = named(render(helm, "--set", pairs))["Deployment", "hpcbatch-system", "hpcbatch-controller"]["spec"]
    pod = made["template"]["spec"]
    assert made["replicas"] == 3
    assert pod["containers"][0]["image"] == "r.site/h:v9"
    assert (pod["nodeSelector"], pod["imagePullSecrets"]) == ({"kind": "service"}, [{"name": "key"}])


def test_values_of_rights(helm: Admin) -> None:
    pairs = "usersSeeAllJobs=false,networkPolicy.enabled=false,operators[0].kind=Group,operators[0].name=ops"
    made = named(render(helm, "--set", pairs))
    assert ("ClusterRoleBinding", "", "hpcbatch-viewers") not in made
    assert not [key for key in made if key[0] == "NetworkPolicy"]
    (subject,) = made["ClusterRoleBinding", "", "hpcbatch-operators"]["subjects"]
    assert subject == {"kind": "Group", "name": "ops", "apiGroup": "rbac.authorization.k8s.io"}


def test_the_scheduler_stands_in_the_site_too(helm: Admin) -> None:
    made = named(render(helm, "--set", "scheduler=kueue,site.serverName=x"))
    site = yaml.safe_load(made["ConfigMap", "hpcbatch-system", "hpcbatch-site"]["data"]["site.yaml"])
    assert (site["scheduler"], site["serverName"]) == ("kueue", "x")
    made = named(render(helm, "--set", "site.serverName=x"))
    assert "scheduler" not in yaml.safe_load(made["ConfigMap", "hpcbatch-system", "hpcbatch-site"]["data"]["site.yaml"])


def test_a_database_of_its_own(helm: Admin) -> None:
    """Kubernetes takes all of it, and pods of that form may run in the namespace."""
    objects = render(helm, "--set", "history.enabled=true,history.postgresql.storageClassName=fast")
    made = named(objects)
    space, name = "hpcbatch-system", "hpcbatch-database"
    password = made["Secret", space, name]["stringData"]["password"]
    assert len(password) == 32
    assert made["Secret", space, "hpcbatch-history"]["stringData"]["dsn"].endswith(f" password={password}")
    database = [made[kind, space, name] for kind in ("Service", "NetworkPolicy", "StatefulSet", "Secret")]
    done = helm.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump_all(database))
    assert "would violate PodSecurity" not in done.stderr


def test_metrics_for_others(helm: Admin) -> None:
    pairs = ",".join(f"metrics.{each}.enabled=true" for each in ("serviceMonitor", "rules", "dashboard"))
    made = named(render(helm, "--set", pairs))
    space = "hpcbatch-system"
    (endpoint,) = made["ServiceMonitor", space, "hpcbatch"]["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "path": "/metrics", "interval": "30s"}
    assert made["PrometheusRule", space, "hpcbatch"]["spec"] == yaml.safe_load(
        (CHECKOUT / "deploy/chart/metrics/alerts.yaml").read_text()
    )
    shown = json.loads(made["ConfigMap", space, "hpcbatch-dashboard"]["data"]["hpcbatch.json"])
    assert shown["title"] == "hpcbatch"


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("replica=3", "replica"),
        ("replicas=0", "replicas"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("operators[0].kind=Team,operators[0].name=x", "operators"),
        ("scheduler=yunikorn", "scheduler"),
        ("site.scheduler=none", "scheduler is volcano, and site.scheduler is none: leave site.scheduler out"),
    ],
)
def test_wrong_values_are_refused(helm: Admin, pair: str, said: str) -> None:
    done = helm.run("helm", "template", "x", CHART, "-n", "hpcbatch-system", "--set", pair, check=False)
    assert done.returncode == 1
    assert said in done.stderr


def test_another_namespace_is_refused(helm: Admin) -> None:
    done = helm.run("helm", "template", "x", CHART, "-n", "elsewhere", check=False)
    assert done.returncode == 1
    assert "hpcbatch runs in the namespace hpcbatch-system, not in elsewhere" in done.stderr


@pytest.fixture
def values(helm: Admin, tmp_path: Path) -> Iterator[Path]:
    """Those of this site. Afterwards hpcbatch is again as docs/install.md has it."""
    site = yaml.safe_load(SITE.read_text())
    del site["apiVersion"], site["kind"]
    secret = helm.kubectl("-n", "hpcbatch-system", "get", "secret", "hpcbatch-history", "--ignore-not-found").stdout
    path = tmp_path / "values.yaml"
    path.write_text(
        yaml.safe_dump({"site": site, "history": {"enabled": bool(secret), "existingSecret": "hpcbatch-history"}})
    )
    yield path
    if helm.run("helm", "-n", "hpcbatch-system", "list", "-q").stdout.strip():
        run(helm, "Uninstall by Helm")
    for section in ("Install", "Configure the site"):
        guide.run(section, SITE=str(SITE))
    database.apply()
    controllers.wait_for_leader()


def run(helm: Admin, section: str, **variables: str) -> None:
    guide.run(section, page=PAGE, PATH=helm.env["PATH"], **variables)


def test_it_takes_over_upgrades_goes_back_and_leaves(helm: Admin, alice: Site, values: Path) -> None:
    """Jobs that run and wait know nothing of it, and the records stay."""
    running = alice.sbatch("-N", "2", "-o", "running", "--wrap", "sleep 30; echo ran")
    alice.wait_state(running, "R")
    held = alice.sbatch("--hold", "-o", "held", "--wrap", "echo held")
    run(helm, "Take over an installation by kubectl", VALUES=str(values))
    changed = yaml.safe_load(values.read_text())
    values.write_text(yaml.safe_dump({**changed, "podAnnotations": {"site/release": "2"}}))
    run(helm, "Upgrade by Helm", VALUES=str(values))
    during = alice.sbatch("-o", "/dev/null", "--wrap", "true")
    run(helm, "Back to the release before")
    controllers.wait_for_leader()
    alice.run("scontrol", "release", held)
    for job in (running, held, during):
        assert alice.wait_end(job, 120)["Exit_status"] == 0
    assert alice.attributes(running)["run_count"] == 1
    run(helm, "Uninstall by Helm")
    assert not controllers.pods()
    assert "batchjobs.hpcbatch.io" in helm.kubectl("get", "crd", "-o", "name").stdout
    run(helm, "Install by Helm", VALUES=str(values))
    controllers.wait_for_leader()
    assert alice.state(held) == "F"
    assert int(alice.sbatch("-o", "/dev/null", "--wrap", "true")) > int(during)
