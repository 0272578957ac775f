"""The order of the checks, what an answer of the API server becomes, and that the documentation has each check."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from hpcbatch.admin.check import job_pods
from hpcbatch.admin.check.cluster import Cluster, Options
from hpcbatch.admin.check.finding import Finding, Level, forbidden_words
from hpcbatch.admin.check.run import CHECKS, LEFT_OVERS, exit_code, run
from hpcbatch.api.client import HttpApi
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.port import Object, ObjectList
from hpcbatch.api.resources import Resource
from hpcbatch.errors import ApiError, ForbiddenError, UnreachableError
from hpcbatch.model.site import SiteConfig, Volume
from hpcbatch.site.identity import Identity

DOC = Path(__file__).parents[4] / "docs/check.md"


def forbidden(resource: Resource, verb: str, namespace: str | None = None) -> ForbiddenError:
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    return ForbiddenError(
        403,
        "Forbidden",
        f'{resource.plural} is forbidden: User "eve" cannot {verb} resource "{resource.plural}" in API group '
        f'"{resource.group}" {where}',
    )


class Nobody:
    """The API of a real cluster as somebody sees it who may do nothing."""

    # nothing listens there, so no connection is made for the clock
    connection = Connection(server="https://127.0.0.1:1")

    def version(self) -> Object:
        return {"gitVersion": "v1.34.1", "major": "1", "minor": "34"}

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        raise forbidden(resource, "get", namespace)

    def list(self, resource: Resource, namespace: str | None = None, **_: str) -> ObjectList:
        raise forbidden(resource, "list", namespace)

    def create(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, dry_run: bool = False
    ) -> Object:
        raise forbidden(resource, "create", namespace)

    def delete(self, resource: Resource, name: str, namespace: str | None = None, **_: object) -> None:
        raise forbidden(resource, "delete", namespace)


def findings_as_nobody(monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Finding]:
    monkeypatch.setattr("hpcbatch.admin.check.server._date_header", lambda _: None)
    return list(run(Cluster(cast(HttpApi, Nobody()), Options(**options))))


@pytest.mark.parametrize("probes", [True, False])
def test_whoever_may_do_nothing_gets_a_line_for_each_check(monkeypatch: pytest.MonkeyPatch, probes: bool) -> None:
    findings = findings_as_nobody(monkeypatch, probes=probes)
    assert {f.check for f in findings} >= {check.name for check in CHECKS}
    assert {f.level for f in findings} <= {Level.OK, Level.UNKNOWN, Level.SKIPPED}
    told = {f.check: f.seen for f in findings if f.seen.startswith("you may not")}
    assert told["nodes"] == "you may not read nodes at the cluster scope"
    assert told["hpcbatch-controller"] == 'you may not read deployments in the namespace "hpcbatch-system"'
    assert exit_code(findings) == 0


def test_without_probes_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def create(self: Nobody, resource: Resource, obj: Mapping[str, Any], *_: Any, dry_run: bool = False) -> Object:
        if not dry_run:
            made.append(resource.kind)
        raise forbidden(resource, "create")

    monkeypatch.setattr(Nobody, "create", create)
    findings_as_nobody(monkeypatch, probes=False)
    assert set(made) <= {"SubjectAccessReview"}


def test_a_server_that_is_gone_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise UnreachableError("nothing answers")

    monkeypatch.setattr(Nobody, "list", gone)
    with pytest.raises(UnreachableError):
        findings_as_nobody(monkeypatch)


def test_an_error_of_the_server_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ApiError(500, "InternalError", "etcdserver:\n request timed out")

    monkeypatch.setattr(Nobody, "list", broken)
    seen = {f.check: f for f in findings_as_nobody(monkeypatch)}
    assert seen["nodes"].level is Level.UNKNOWN
    assert seen["nodes"].seen == "the API server answers: etcdserver: request timed out"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            'pods is forbidden: User "eve" cannot list resource "pods" in API group "" at the cluster scope',
            "you may not read pods at the cluster scope",
        ),
        (
            'leases.coordination.k8s.io "x" is forbidden: User "eve" cannot get resource "leases" in API group '
            '"coordination.k8s.io" in the namespace "hpcbatch-system"',
            'you may not read leases in the namespace "hpcbatch-system"',
        ),
        (
            'namespaces is forbidden: User "" cannot create resource "namespaces" in API group "" at the cluster scope',
            "you may not create namespaces at the cluster scope",
        ),
        ("not on Sundays", "refused: not on Sundays"),
    ],
)
def test_forbidden_words(message: str, words: str) -> None:
    assert forbidden_words(ForbiddenError(403, "Forbidden", message)) == words


def test_each_check_that_is_needed_is_there_before() -> None:
    before: set[str] = set()
    of_two = {"volcano-scheduler"}  # told by the check of the controllers
    for check in CHECKS:
        assert set(check.needs) <= before | of_two, check.name
        before.add(check.name)


# A pod as the user's job would have it


ALICE = Identity(user="alice", uid=1000, gid=1000, home="/home/alice")
SITE = SiteConfig(
    image="r/i:1",
    mounts_passwd=True,
    volumes=(Volume(name="home", mount_path="/home", source={"persistentVolumeClaim": {"claimName": "home"}}),),
)


def test_the_sample_pod_has_what_admission_looks_at() -> None:
    pod = job_pods.sample_pod("ns", ALICE, SITE, None)
    assert pod["kind"] == "Pod"
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["spec"]["securityContext"]["runAsUser"] == 1000
    assert pod["spec"]["securityContext"]["sysctls"] == [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]
    assert {"persistentVolumeClaim": {"claimName": "home"}}.items() <= {
        key: value for volume in pod["spec"]["volumes"] for key, value in volume.items() if key != "name"
    }.items()
    json.dumps(pod)


@pytest.mark.parametrize(
    ("error", "level", "words"),
    [
        pytest.param(
            ForbiddenError(
                403,
                "Forbidden",
                'pods "hpcbatch-check" is forbidden: violates PodSecurity "restricted:latest": restricted volume types '
                '(volume "home" uses restricted volume type "hostPath")',
            ),
            Level.ERROR,
            "refused by Pod Security",
            id="Pod Security",
        ),
        pytest.param(
            ApiError(400, "", 'admission webhook "validate.kyverno.svc-fail" denied the request: sysctls not allowed'),
            Level.ERROR,
            "refused for the sysctl",
            id="Kyverno",
        ),
        pytest.param(
            ForbiddenError(403, "Forbidden", 'pods "hpcbatch-check" is forbidden: exceeded quota: q, requested: a'),
            Level.WARNING,
            "the quota is used up",
            id="quota",
        ),
        pytest.param(ApiError(500, "", "boom"), Level.ERROR, "refused: boom", id="else"),
    ],
)
def test_refusal(error: ApiError, level: Level, words: str) -> None:
    finding = job_pods.judge_refusal(error, "pods", "ns")
    assert finding.level is level
    assert words in finding.seen


# Documentation


def test_the_documentation_has_a_heading_for_each_check() -> None:
    headings = [line[3:].strip("` ") for line in DOC.read_text().splitlines() if line.startswith("## ")]
    checks = {check.name for check in CHECKS} | {"volcano-scheduler", LEFT_OVERS.check}
    assert checks <= set(headings)
    assert len(headings) == len(set(headings))
