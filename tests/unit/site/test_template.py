"""A template of the site's own: what the controller goes by must come out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbatch.model.site import Launcher, SiteConfig
from hpcbatch.site.file import TEMPLATE_KEY, SiteFileError, read_site

BUILTIN = (Path(__file__).parents[3] / "templates/volcano/job.yaml.j2").read_text()


def fault(template: str) -> str:
    with pytest.raises(SiteFileError) as raised:
        read_site("", defaults=SiteConfig(), template=template)
    problem, *_ = raised.value.problems
    assert problem.file == TEMPLATE_KEY
    return problem.message


@pytest.mark.parametrize("launcher", Launcher)
def test_the_one_that_comes_with_hpcbatch(launcher: Launcher) -> None:
    site = read_site("", defaults=SiteConfig(launcher=launcher, mounts_passwd=True), template=BUILTIN)
    assert site.loader is not None
    assert read_site("", defaults=SiteConfig(launcher=launcher)).loader is None


_LABELS = "labels: {{ pod_labels | tojson }}"
_QUOTA = 'labels: {{ dict(pod_labels, **{"quota.scheduling.koordinator.sh/name": queue}) | tojson }}'
_REPLICAS = "replicas: {{ task.replicas }}"
_NUMA = 'topologyPolicy: {{ "single-numa-node" if queue == "default" else "none" }}'
_RESOURCES = "resources: {{ task.resources | tojson }}"
_LIMITS = 'limits=dict(task.resources.get("limits", {}), cpu=task.resources.requests.cpu)'


@pytest.mark.parametrize(
    "changes",
    [
        {"enableServiceLinks: false": "enableServiceLinks: false\n        priority: 7"},
        {_LABELS: _QUOTA},
        {
            _REPLICAS: f"{_REPLICAS}\n    {_NUMA}",
            _RESOURCES: f"resources: {{{{ dict(task.resources, {_LIMITS}) | tojson }}}}",
        },
    ],
    ids=["a priority", "a quota of Koordinator", "CPUs of one NUMA node"],
)
def test_a_site_may_add_to_it(changes: dict[str, str]) -> None:
    changed = BUILTIN
    for old, new in changes.items():
        assert changed.count(old) == 1
        changed = changed.replace(old, new)
    assert read_site("", defaults=SiteConfig(), template=changed).loader is not None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (BUILTIN, "", "gives no object"),
        (BUILTIN, "{{ nosuch }}", "'nosuch' is undefined"),
        (BUILTIN, "{{ 1 / 0 }}", "ZeroDivisionError"),
        (BUILTIN, "{% if %}", "volcano/job.yaml.j2:1: "),
        (BUILTIN, "a: [", "gives no YAML"),
        (BUILTIN, "{{ ''.__class__.__mro__ }}", "unsafe"),
        (BUILTIN, "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}", "expected a Job of batch.volcano.sh"),
        ("name: {{ name | tojson }}", "name: other", "metadata: expected `name:"),
        ("labels: {{ pod_labels | tojson }}", "labels: {}", "labels: expected `labels`"),
        ("replicas: {{ task.replicas }}", "replicas: 7", "spec.tasks: expected a task for each"),
        ("restartPolicy: Never", "restartPolicy: Sometimes", "Volcano would refuse it"),
        ("event: PodEvicted", "event: PodBored", "Volcano would refuse it"),
    ],
)
def test_faults(old: str, new: str, expected: str) -> None:
    template = BUILTIN.replace(old, new)
    assert template != BUILTIN
    assert expected in fault(template)


def test_only_jobs_of_several_pods_show_it() -> None:
    template = BUILTIN.replace("{% if dns_searches %}", "{% if dns_searches %}\n        nosuch: {{ nosuch }}")
    message = fault(template)
    assert message.startswith("for a job of three pods: ")
    assert "'nosuch' is undefined" in message
