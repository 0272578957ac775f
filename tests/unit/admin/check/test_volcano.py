"""Volcano: CRDs, versions, webhooks, leases, queues."""

from datetime import UTC, datetime

import pytest

from hpcbatch.admin.check import crds, queues, volcano, webhooks
from hpcbatch.admin.check.finding import Level
from hpcbatch.api.port import Object
from hpcbatch.api.resources import VOLCANO_JOBS
from hpcbatch.errors import ApiError, ForbiddenError, InvalidError
from hpcbatch.record.crd import SCHEMA_ANNOTATION, SCHEMA_VERSION

NOW = datetime(2026, 11, 21, 15, 0, 0, tzinfo=UTC)


def crd(*, version: str = "v1alpha1", established: str = "True", note: str | None = str(SCHEMA_VERSION)) -> Object:
    return {
        "metadata": {"annotations": {} if note is None else {SCHEMA_ANNOTATION: note}},
        "spec": {"versions": [{"name": version, "served": True}]},
        "status": {"conditions": [{"type": "Established", "status": established}]},
    }


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        pytest.param(crd(), "", id="good"),
        pytest.param(None, "not there", id="missing"),
        pytest.param(crd(version="v1"), "serves v1, but not v1alpha1", id="other version"),
        pytest.param(crd(established="False"), "not established yet", id="new"),
        pytest.param({"metadata": {}, "spec": {"versions": []}}, "serves no version, but not v1alpha1", id="empty"),
    ],
)
def test_crd(found: Object | None, fault: str) -> None:
    assert crds.fault_of(found, VOLCANO_JOBS) == fault


@pytest.mark.parametrize(
    ("found", "level", "words"),
    [
        pytest.param(crd(), Level.OK, "established", id="same"),
        pytest.param(None, Level.ERROR, "hpcbatch is not installed", id="missing"),
        pytest.param(crd(note="1"), Level.ERROR, "it is too old", id="older"),
        pytest.param(crd(note=None), Level.ERROR, "it is too old", id="before it had a number"),
        pytest.param(crd(note=str(SCHEMA_VERSION + 1)), Level.ERROR, "older than the cluster's", id="newer"),
    ],
)
def test_our_crd(found: Object | None, level: Level, words: str) -> None:
    finding = crds.judge_ours(found)
    assert finding.level is level
    assert words in finding.seen
    assert (finding.mend != "") == (level is Level.ERROR)


def deployment(image: str, *args: str, available: int = 1) -> Object:
    """As Volcano's chart 1.14 makes it."""
    name = image.rpartition("/")[2].partition(":")[0].replace("vc-", "volcano-")
    return {
        "metadata": {"name": name, "namespace": "volcano-system"},
        "spec": {"template": {"spec": {"containers": [{"name": name, "image": image, "args": list(args)}]}}},
        "status": {"availableReplicas": available} if available else {},
    }


@pytest.mark.parametrize(
    ("image", "levels", "seen"),
    [
        ("docker.io/volcanosh/vc-scheduler:v1.14.0", [Level.OK], "1.14"),
        ("registry:5000/vc-controller-manager:v1.10.2-rc.1", [Level.OK], "1.10"),
        ("volcanosh/vc-webhook-manager:v1.9.0", [Level.ERROR], "1.9, older than 1.10"),
        ("volcanosh/vc-scheduler:latest", [], ""),
        ("volcanosh/vc-scheduler@sha256:00ff", [Level.UNKNOWN], "has no version for a tag"),
        ("nginx:1.27", [Level.UNKNOWN], "not known: no Deployment runs its images"),
    ],
)
def test_version(image: str, levels: list[Level], seen: str) -> None:
    findings = list(volcano.judge_deployments([deployment(image)]))
    if image.endswith(":latest"):
        assert findings[0].level is Level.UNKNOWN
        return
    assert [f.level for f in findings] == levels
    assert seen in findings[0].seen


def test_a_deployment_without_pods() -> None:
    findings = list(volcano.judge_deployments([deployment("volcanosh/vc-scheduler:v1.14.0", available=0)]))
    assert findings[0].level is Level.ERROR
    assert findings[0].mend == "kubectl -n volcano-system describe deployment volcano-scheduler"


@pytest.mark.parametrize(
    ("args", "is_right"),
    [
        ((), True),
        (("--scheduler-name=volcano",), True),
        (("--scheduler-name=a", "--scheduler-name=volcano"), True),
        (("--scheduler-name=other",), False),
    ],
)
def test_scheduler_name(args: tuple[str, ...], is_right: bool) -> None:
    findings = list(volcano.judge_deployments([deployment("volcanosh/vc-scheduler:v1.14.0", *args)]))
    assert (findings[-1].level is Level.OK) == is_right


@pytest.mark.parametrize(
    ("renewed", "level"),
    [("2026-11-21T14:59:58.000000Z", Level.OK), ("2026-11-21T14:50:00.000000Z", Level.ERROR), ("", Level.UNKNOWN)],
)
def test_leases(renewed: str, level: Level) -> None:
    lease = {"spec": {"renewTime": renewed, "leaseDurationSeconds": 15}}
    findings = list(volcano.judge_leases({"volcano": lease, "vc-controller-manager": lease}, NOW))
    assert [f.level for f in findings] == [level, level]
    assert {f.check for f in findings} == {"volcano-controllers", "volcano-scheduler"}


@pytest.mark.parametrize(
    ("pod", "looked"),
    [
        ({"spec": {}, "status": {"phase": "Pending"}}, False),
        ({"spec": {"nodeName": "n"}}, True),
        ({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}}, True),
    ],
)
def test_is_looked_at(pod: Object, looked: bool) -> None:
    assert volcano.is_looked_at(pod) is looked


def configuration(policy: str = "Fail", group: str = "batch.volcano.sh", operation: str = "CREATE") -> Object:
    """As Volcano 1.14.1 has it."""
    rule = {"apiGroups": [group], "apiVersions": ["v1alpha1"], "operations": [operation], "resources": ["jobs"]}
    hook = {"name": "validatejob.volcano.sh", "failurePolicy": policy, "rules": [rule], "sideEffects": "NoneOnDryRun"}
    return {"metadata": {"name": "volcano-admission-service-jobs-validate"}, "webhooks": [hook]}


@pytest.mark.parametrize(
    ("found", "level"),
    [
        ([configuration()], Level.OK),
        ([configuration("Ignore")], Level.WARNING),
        ([configuration(group="*")], Level.OK),
        ([configuration(group="flow.volcano.sh")], Level.ERROR),
        ([configuration(operation="DELETE")], Level.ERROR),
        ([], Level.ERROR),
    ],
)
def test_webhook_configuration(found: list[Object], level: Level) -> None:
    findings = list(webhooks.judge_configurations(found, "validating", "validatingwebhookconfigurations"))
    assert [f.level for f in findings] == [level]


MUTATED = {"spec": {"queue": "default", "maxRetry": 3, "minAvailable": 1, "tasks": [{"minAvailable": 1}]}}
DOWN = ApiError(
    500,
    "InternalError",
    'Internal error occurred: failed calling webhook "mutatejob.volcano.sh": failed to call webhook: Post '
    '"https://127.0.0.1:8443/jobs/mutate?timeout=10s": dial tcp 127.0.0.1:8443: connect: connection refused',
)
DENIED = ApiError(
    400,
    "",
    "admission webhook \"validatejob.volcano.sh\" denied the request: job 'minAvailable' should not be greater than "
    "total replicas in tasks;",
)
CLOSED = ApiError(
    400,
    "",
    'admission webhook "validatejob.volcano.sh" denied the request: can only submit job to queue with state `Open`, '
    "queue `default` status is `Closed`",
)


@pytest.mark.parametrize(
    ("answer", "error", "level"),
    [
        pytest.param(MUTATED, None, Level.OK, id="filled in"),
        pytest.param({"spec": {"tasks": [{}]}}, None, Level.ERROR, id="not called"),
        pytest.param(None, DOWN, Level.ERROR, id="down"),
        pytest.param(None, CLOSED, Level.OK, id="the queue is closed"),
        pytest.param(None, ApiError(400, "", "... does not support dry run"), Level.UNKNOWN, id="no dry run"),
        pytest.param(None, InvalidError(422, "Invalid", "no"), Level.ERROR, id="refused"),
    ],
)
def test_mutating(answer: Object | None, error: ApiError | None, level: Level) -> None:
    assert webhooks.judge_good(answer, error).level is level


@pytest.mark.parametrize(
    ("answer", "error", "level"),
    [
        pytest.param(None, DENIED, Level.OK, id="refused as it should"),
        pytest.param(MUTATED, None, Level.ERROR, id="accepted"),
        pytest.param(None, DOWN, Level.ERROR, id="down"),
    ],
)
def test_validating(answer: Object | None, error: ApiError | None, level: Level) -> None:
    assert webhooks.judge_bad(answer, error).level is level


def test_a_webhook_that_may_be_left_out_and_is_down() -> None:
    assert webhooks.judge_good({"spec": {"tasks": [{}]}}, None, is_optional=True).level is Level.WARNING
    assert webhooks.judge_bad(MUTATED, None, is_optional=True).level is Level.WARNING


def test_what_the_admin_may_not_do_is_no_webhook() -> None:
    forbidden = ForbiddenError(403, "Forbidden", 'jobs.batch.volcano.sh is forbidden: User "x" cannot create resource')
    with pytest.raises(ForbiddenError):
        webhooks.judge_good(None, forbidden)


def queue(state: str | None) -> Object:
    return {"status": {} if state is None else {"state": state}}


def test_queues() -> None:
    found = {"default": queue("Open"), "gpu": queue("Closed"), "new": queue(None)}
    wanted = dict.fromkeys(["default", "gpu", "new", "gone"], "jobs")
    findings = {f.subject.split()[-1]: f for f in queues.judge_queues(found, wanted)}
    assert [findings[name].level for name in wanted] == [Level.OK, Level.ERROR, Level.ERROR, Level.ERROR]
    assert findings["gpu"].mend == "vcctl queue operate --name gpu --action open"
    assert findings["gone"].mend == "vcctl queue create --name gone"


def test_queues_without_volcano_are_open_until_they_are_closed() -> None:
    found = {"new": queue(None), "shut": queue("Closing")}
    wanted = dict.fromkeys([*found, "missing"], "a queue of the site")
    findings = {f.subject.split()[-1]: f for f in queues.judge_queues(found, wanted, has_volcano=False)}
    assert {name: finding.level for name, finding in findings.items()} == {
        "new": Level.OK,
        "shut": Level.ERROR,
        "missing": Level.ERROR,
    }


@pytest.mark.parametrize(
    ("image", "level"),
    [("x/vc-controller-manager:v1.14.1", Level.ERROR), ("x/vc-scheduler:v1.14.1", Level.OK), ("x/y:1", Level.OK)],
)
def test_volcano_where_hpcbatch_makes_the_pods(image: str, level: Level) -> None:
    (finding,) = volcano.judge_absence([deployment(image)], "none")
    assert finding.level is level
