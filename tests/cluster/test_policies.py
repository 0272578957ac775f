"""What deploy/ lets a user do, and what not, asked of a real API server in a namespace of the test's own."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.cluster.conftest import Admin
from tests.cluster.images import CONTROLLER
from tests.waiting import wait_for

GROUP = "hpcbatch:users"


@dataclass(frozen=True)
class Person:
    """A user as the API server sees him: `kubectl --as`."""

    admin: Admin
    name: str

    @property
    def namespace(self) -> str:
        return f"try-d-{self.name}"

    def kubectl(self, *argv: str, stdin: str = "") -> str:
        """What it says, on both outputs, whether it succeeds or not."""
        who = ("--as", f"hpcbatch:{self.name}", "--as-group", GROUP, "-n", self.namespace)
        done = self.admin.kubectl(*who, *argv, stdin=stdin, check=False)
        return done.stdout + done.stderr

    def create(self, obj: Any) -> str:
        return self.kubectl("create", "-f", "-", stdin=json.dumps(obj))

    def can(self, verb: str, what: str, *more: str) -> bool:
        return self.kubectl("auth", "can-i", verb, what, *more).splitlines()[-1] == "yes"


@pytest.fixture(scope="module")
def person(admin: Admin) -> Iterator[Person]:
    person = Person(admin, f"p{secrets.token_hex(3)}")
    words = ("hpcbatch", "user", "add", person.name, "--namespace", person.namespace)
    admin.run(*words, "--uid", "7100", "--gid", "7100", "--force")
    yield person
    admin.kubectl("delete", "namespace", person.namespace, "--wait=false")


def submission(name: str, **more: Any) -> Any:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "hpcbatch.io/submission",
        "immutable": True,
        "stringData": {"script": "#!/bin/sh\nsleep 60\n", "environment": ""},
        **more,
    }


def batchjob(name: str, **metadata: Any) -> Any:
    spec = {
        "dialect": "pbs",
        "name": "j",
        "chunks": [{"count": 1, "cpus": 1, "ranks": 1}],
        "submissionSecret": name,
        "stdout": {"path": "/dev/null"},
        "stderr": {"path": "/dev/null"},
        "hold": True,
    }
    return {
        "apiVersion": "hpcbatch.io/v1alpha1",
        "kind": "BatchJob",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": "0-0"}
TOKEN = {"annotations": {"kubernetes.io/service-account.name": "default"}}
NOTE = {"annotations": {"hpcbatch.io/anything": "x"}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"type": "Opaque"}, "immutable Secrets of type"),
        ({"immutable": False}, "immutable Secrets of type"),
        ({"type": "kubernetes.io/service-account-token", "metadata": TOKEN}, "immutable Secrets of type"),
        ({"metadata": {"ownerReferences": [OWNER]}}, "has no ownerReferences"),
        ({"metadata": {"finalizers": ["x.y/z"]}}, "has no ownerReferences"),
        ({"metadata": NOTE}, "begin with hpcbatch.io/"),
        ({"metadata": {"labels": {"hpcbatch.io/job-id": "1"}}}, "begin with hpcbatch.io/"),
    ],
)
def test_secrets_that_are_no_submissions(person: Person, change: Any, says: str) -> None:
    answer = person.create(submission("s", **change))
    assert "denied request" in answer, answer
    assert says in answer


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"ownerReferences": [OWNER]}, "no ownerReferences"),
        ({"finalizers": ["x.y/z"]}, "no ownerReferences"),
        (NOTE, "not for users"),
    ],
)
def test_jobs_with_forged_metadata(person: Person, metadata: Any, says: str) -> None:
    answer = person.create(batchjob("forged", **metadata))
    assert "denied request" in answer, answer
    assert says in answer


def test_the_life_of_a_job(person: Person) -> None:
    """Submitted by hand, as qsub does it, and held; then all that is not allowed to be done to it."""
    name = f"pbs-{secrets.token_hex(4)}"
    assert "created" in person.create(submission(name))
    assert "deleted" in person.kubectl("delete", "secret", name), "a submission that came to nothing is taken back"
    assert "created" in person.create(submission(name))
    assert "created" in person.create(batchjob(name))
    person.kubectl("wait", "batchjob", name, "--for=jsonpath={.status.state}=Held", "--timeout=60s")
    assert person.kubectl("get", "batchjob", name, "-o", "jsonpath={.status.state}") == "Held"
    status = json.dumps({"status": {"uid": 0}})
    assert "forbidden" in person.kubectl(
        "patch", "batchjob", name, "--subresource=status", "--type=merge", "-p", status
    )
    for change in ({"metadata": NOTE}, {"metadata": {"finalizers": ["x.y/z"]}}):
        assert "denied" in person.kubectl("patch", "batchjob", name, "--type=merge", "-p", json.dumps(change))
    for spec in ({"submissionSecret": "another"}, {"server": "x"}, {"name": "another"}, {"stdout": None}):
        answer = person.kubectl("patch", "batchjob", name, "--type=merge", "-p", json.dumps({"spec": spec}))
        assert "invalid" in answer.lower(), answer
    assert "stays" in person.kubectl("delete", "batchjob", name)
    assert "stay until it has ended" in person.kubectl("delete", "secret", name)
    wish = json.dumps({"spec": {"deleteRequested": True}})
    assert "patched" in person.kubectl("patch", "batchjob", name, "--type=merge", "-p", wish)
    person.kubectl("wait", "batchjob", name, "--for=jsonpath={.status.state}=Deleted", "--timeout=60s")
    assert "stays" in person.kubectl("delete", "batchjob", name), "its usage is told from it"


ADMINS = [
    (spec, "who may change all jobs")
    for spec in (
        {"adminHolds": "s"},
        {"suspended": True},
        {"suspendedRun": 1},
        {"alteration": {"id": "1", "fields": {"nice": -5}}},
        {"alteration": {"id": "1", "fields": {"priority": 1024}}},
        {"alteration": {"id": "1", "fields": {"fixedPriority": 5}}},
    )
]
"""At submission and later."""
FIRST = [({"nice": -5}, ADMINS[0][1]), ({"fixedPriority": 5}, ADMINS[0][1])]
"""At submission; later the schema forbids it, to everybody."""
MEMBER = {"memberOf": {"arrayId": 1, "arrayName": "a", "index": 0}}


@pytest.mark.parametrize(("spec", "says"), [*ADMINS, *FIRST, (MEMBER, "makes the members of arrays")])
def test_what_a_user_may_not_submit(person: Person, spec: Any, says: str) -> None:
    job = batchjob("forged")
    answer = person.create({**job, "spec": {**job["spec"], **spec}})
    assert "denied request" in answer, answer
    assert says in answer


def test_what_a_user_may_not_ask_for_later(person: Person) -> None:
    """What else is asked of a job, and that a running one gets no more time, is in conformance/test_changes.py."""
    name = f"pbs-{secrets.token_hex(4)}"
    assert "created" in person.create(submission(name))
    assert "created" in person.create(batchjob(name))
    patch = ("patch", "batchjob", name, "--type=merge", "-p")
    for spec, says in ADMINS:
        assert says in person.kubectl(*patch, json.dumps({"spec": spec}))
    for request in ({"rerunRequest": {"id": "1"}}, {"alteration": {"id": "1", "fields": {"walltimeSeconds": 9}}}):
        assert "patched" in person.kubectl(*patch, json.dumps({"spec": request}))
    assert "invalid" in person.kubectl(*patch, json.dumps({"spec": {"alteration": {"fields": {"name": 5}}}})).lower()
    person.kubectl(*patch, json.dumps({"spec": {"deleteRequested": True}}))


def test_members_of_an_array(person: Person) -> None:
    """The controller makes them, under an ownerReference that stays; their user may hold and end them."""
    forged = batchjob("forged")
    forged["spec"]["memberOf"] = {"arrayId": 1, "arrayName": "x", "index": 1}
    assert "makes the members of arrays" in person.create(forged)
    name = f"pbs-{secrets.token_hex(4)}"
    assert "created" in person.create(submission(name))
    array = batchjob(name)
    array["spec"] |= {"hold": False, "array": {"indices": "1-2"}}
    assert "created" in person.create(array)
    member = f"{name}-1"
    state = ("get", "batchjob", member, "-o", "jsonpath={.status.state}")
    wait_for("the first member", lambda: person.kubectl(*state) in {"Queued", "Running"}, 60, every_s=0.5)
    for change, says in (
        ({"spec": {"hold": True}}, "patched"),
        ({"metadata": {"ownerReferences": None}}, "denied"),
        ({"spec": {"memberOf": {"index": 2}}}, "invalid"),
    ):
        answer = person.kubectl("patch", "batchjob", member, "--type=merge", "-p", json.dumps(change))
        assert says in answer.lower(), answer
    assert "stays" in person.kubectl("delete", "batchjob", member)
    wish = json.dumps({"spec": {"deleteRequested": True}})
    assert "patched" in person.kubectl("patch", "batchjob", name, "--type=merge", "-p", wish)
    person.kubectl("wait", "batchjob", name, "--for=jsonpath={.status.state}=Deleted", "--timeout=90s")


@pytest.mark.parametrize("change", [{"immutable": None}, {"metadata": {"ownerReferences": None}}])
def test_what_was_submitted_stays(person: Person, change: Any) -> None:
    name = f"pbs-{secrets.token_hex(4)}"
    assert "created" in person.create(submission(name))
    answer = person.kubectl("patch", "secret", name, "--type=merge", "-p", json.dumps(change))
    assert "cannot patch" in answer, answer
    person.kubectl("delete", "secret", name)


@pytest.mark.parametrize(
    ("verb", "what"),
    [
        *[
            ("create", kind)
            for kind in (
                "pods",
                "configmaps",
                "jobs.batch.volcano.sh",
                "commands.bus.volcano.sh",
                "roles",
                "rolebindings",
                "serviceaccounts",
                "persistentvolumeclaims",
                "deployments",
                "jobs.batch",
                "networkpolicies",
                "events",
            )
        ],
        *[("list", kind) for kind in ("secrets", "pods", "configmaps")],
        *[(verb, "secrets") for verb in ("update", "patch", "deletecollection")],
        *[("patch", kind) for kind in ("namespaces", "resourcequotas")],
        *[("delete", kind) for kind in ("namespaces", "resourcequotas", "networkpolicies", "rolebindings")],
    ],
)
def test_rights_that_a_user_has_not(person: Person, verb: str, what: str) -> None:
    assert not person.can(verb, what)


@pytest.fixture
def other_pod(person: Person) -> Iterator[str]:
    """One in the person's namespace that is no job's."""
    name = f"pod-{secrets.token_hex(3)}"
    security = {
        "runAsNonRoot": True,
        "runAsUser": 7100,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": CONTROLLER, "command": ["sleep", "600"], "securityContext": security}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    person.admin.kubectl("-n", person.namespace, "create", "-f", "-", stdin=json.dumps(pod))
    yield name
    person.admin.kubectl("-n", person.namespace, "delete", "pod", name, "--wait=false")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("exec", "{other}", "--", "id"), "of the first pod of a job, and no other"),
        (("attach", "{other}"), "of the first pod of a job, and no other"),
        (("exec", "job-1-mpiworker-0", "--", "id"), "of the first pod of a job, and no other"),
        (("exec", "job-1-mpimaster-0", "-c", "other", "--", "id"), "of the first pod of a job, and no other"),
        (("exec", "job-1-mpimaster-0", "--", "id"), "start its steps, by srun, and nothing else"),
        (("exec", "job-1-mpimaster-0", "--", "/bin/sh", "-c", "id", "x"), "start its steps, by srun, and nothing else"),
    ],
)
def test_the_way_into_pods(person: Person, other_pod: str, words: tuple[str, ...], says: str) -> None:
    """What is let through is in conformance/test_interactive.py and its neighbours. kubectl itself reads the pod first,
    which a user may not: so the request is made as its WebSocket begins.
    """
    verb, pod, *rest = (word.format(other=other_pod) for word in words)
    query = [("container", rest[rest.index("-c") + 1])] if rest[:1] == ["-c"] else []
    query += [("command", word) for word in (rest[rest.index("--") + 1 :] if "--" in rest else [])]
    path = f"/api/v1/namespaces/{person.namespace}/pods/{pod}/{verb}?{urlencode([*query, ('stdout', 'true')])}"
    answer = person.kubectl("create", "--raw", path, "-f", "/dev/null")
    assert says in answer, answer


@pytest.mark.parametrize("what", ["pods/portforward", "pods/ephemeralcontainers", "pods/proxy", "pods/log"])
def test_no_other_way_into_pods(person: Person, what: str) -> None:
    assert not person.can("create", what)
    assert not person.can("get", what)


@pytest.mark.parametrize("verb", ["get", "create", "delete"])
@pytest.mark.parametrize("namespace", ["default", "hpcbatch-system", "kube-system"])
def test_others_secrets(person: Person, verb: str, namespace: str) -> None:
    assert not person.can(verb, "secrets", "-n", namespace)


@pytest.mark.parametrize("namespace", ["default", "kube-system", "volcano-system"])
def test_the_controller_is_a_stranger_elsewhere(admin: Admin, namespace: str) -> None:
    who = ("--as", "system:serviceaccount:hpcbatch-system:hpcbatch-controller", "-n", namespace, "auth", "can-i")
    for verb, what in [
        ("get", "secrets"),
        ("list", "secrets"),
        ("get", "configmaps"),
        ("create", "pods"),
        ("delete", "pods"),
        ("create", "jobs.batch.volcano.sh"),
        ("create", "batchjobs"),
        ("update", "batchjobs"),
        ("create", "rolebindings"),
    ]:
        assert admin.kubectl(*who, verb, what, check=False).stdout.strip() == "no", (verb, what)


@pytest.mark.parametrize("what", ["crd/batchjobs.hpcbatch.io", "namespace/hpcbatch-system"])
def test_records_are_not_deleted_by_accident(admin: Admin, what: str) -> None:
    done = admin.kubectl("delete", what, "--dry-run=server", check=False)
    assert done.returncode
    assert "delete-records=yes" in done.stderr


@pytest.fixture(scope="module")
def operator(admin: Admin) -> Iterator[str]:
    """The name of one who is bound to the ClusterRole of operators."""
    name = f"op-{secrets.token_hex(3)}"
    admin.kubectl("create", "clusterrolebinding", name, "--clusterrole=hpcbatch-operator", f"--user={name}")
    yield name
    admin.kubectl("delete", "clusterrolebinding", name)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": {"unschedulable": True}}, "patched"),
        ({"metadata": {"annotations": {"hpcbatch.io/node-marks": "down"}}}, "patched"),
        ({"metadata": {"labels": {"features.hpcbatch.io/fast": "active"}}}, "patched"),
        ({"metadata": {"labels": {"resources.hpcbatch.io/vis": "True"}}}, "patched"),
        ({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "nothing of a node's spec but unschedulable"),
        ({"metadata": {"labels": {"kubernetes.io/hostname": "x"}}}, "begin with features.hpcbatch.io/ or"),
        ({"metadata": {"annotations": {"volumes.kubernetes.io/x": "y"}}}, "begin with hpcbatch.io/node-"),
        ({"metadata": {"finalizers": ["x.y/z"]}}, "no finalizers of nodes"),
    ],
)
def test_what_operators_change_of_nodes(admin: Admin, operator: str, change: Any, says: str) -> None:
    node = admin.kubectl("get", "nodes", "-o", "name").stdout.splitlines()[-1]
    words = ("--as", operator, "patch", node, "--type=merge", "--dry-run=server", "-p", json.dumps(change))
    done = admin.kubectl(*words, check=False)
    assert says in done.stdout + done.stderr
