"""Whatever a client sends, it gets an answer or a Status that says what is wrong: never an internal error."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbatch.engine.registry.collector import utc_now
from hpcbatch.engine.registry.core_types import TYPES
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.request import ResourcePath, negotiate
from hpcbatch.engine.server.tables import table
from hpcbatch.engine.server.verbs import Answer, Request, Verbs
from hpcbatch.engine.volcano.admission import register_volcano_admission
from hpcbatch.errors import ApiError
from tests.thoroughness import examples


def new_registry() -> Registry:
    registry = Registry(Store(":memory:"))
    register_volcano_admission(registry)
    registry.install_builtin()
    return registry


KINDS = new_registry().kinds()
FIELDS = sorted({entry.partition(":")[0] for text in TYPES.values() for entry in text.split()})
META = ["name", "labels", "annotations", "finalizers", "ownerReferences", "uid", "resourceVersion", "generateName"]
CUSTOM = ["tasks", "minAvailable", "queue", "policies", "template", "chunks", "dialect", "weight", "versions", "names"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-1, 5)
    | st.sampled_from(["", "a", "x/y", "1", "Always", 0.5, "é", "\ud800", "\0", 10**30, -(10**4000), 1e300, "9" * 5000])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELDS, *META, *CUSTOM]), inner, max_size=4)
    ),
    max_leaves=15,
)
METADATA = st.fixed_dictionaries({"name": st.just("x")}) | st.dictionaries(st.sampled_from(META), VALUES, max_size=3)
CONTENT_TYPES = [
    "",
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
]
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
            "path": st.sampled_from(
                ["", "/", "/spec", "/metadata/labels", "/metadata/name", "/spec/containers/0", "/x/y"]
            ),
            "value": VALUES,
            "from": st.just("/metadata"),
        }
    ),
    max_size=2,
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "labelSelector",
            "fieldSelector",
            "limit",
            "continue",
            "resourceVersion",
            "dryRun",
            "fieldValidation",
            "watch",
            "force",
            "propagationPolicy",
            "gracePeriodSeconds",
            "resourceVersionMatch",
            "container",
            "timeoutSeconds",
            "includeObject",
            "orphanDependents",
            "sendInitialEvents",
            "allowWatchBookmarks",
        ]
    ),
    st.sampled_from(
        [
            "",
            "a",
            "1",
            "0",
            "-1",
            "true",
            "All",
            "Strict",
            "Orphan",
            "metadata.name=x",
            "a in (b",
            "9" * 5000,
            "9" * 400,
            "a gt " + "9" * 5000,
            "a>" + "9" * 5000,
            "eyJ2IjoxfQ",
            "Exact",
            "NotOlderThan",
            "\ud800",
            "\0",
            "٣",
        ]
    ),
    max_size=2,
).map(lambda query: {"fieldManager": "me", **query})


SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "str": st.sampled_from(["", "a", "Always", "ClusterIP", "Running", "default"]),
    "int": st.integers(-1, 5),
    "bool": st.booleans(),
    "num": st.just(0.5),
    "time": st.sampled_from(["2026-11-21T10:00:00Z", "bad"]),
    "bytes": st.sampled_from(["YQ==", "%"]),
    "ios": st.sampled_from([80, "http"]),
    "qty": st.sampled_from(["1", "1Gi", "x", "-1"]),
    "any": VALUES,
    "schemaOrBool": st.booleans() | VALUES,
}


@st.composite
def typed(draw: st.DrawFn, word: str, depth: int = 0) -> Any:
    """A value of a core type that is right in most places, so that it gets past the first checks."""
    if draw(st.integers(0, 40)) == 0:
        return draw(SCALARS)
    if word[0] == "[":
        return [draw(typed(word[1:-1], depth + 1)) for _ in range(draw(st.integers(0, 2)))] if depth < 7 else []
    if word[0] == "{":
        return {key: draw(typed(word[1:-1], depth + 1)) for key in draw(st.lists(st.sampled_from("ab"), unique=True))}
    if word not in TYPES:
        return draw(SIMPLE[word])
    fields = dict(entry.split(":", 1) for entry in TYPES[word].split())
    wanted = draw(st.lists(st.sampled_from(sorted(fields)), max_size=5, unique=True)) if depth < 7 else []
    wanted += [field for field in ("name", "containers", "image", "spec") if field in fields]
    return {field: draw(typed(fields[field], depth + 1)) for field in wanted}


DELETE_OPTIONS = ["propagationPolicy", "gracePeriodSeconds", "preconditions", "dryRun", "orphanDependents", "kind"]
GOOD_METADATA: dict[str, Any] = {
    "name": "x",
    "labels": {"a": "b"},
    "annotations": {"volcano.sh/hierarchy": "root/a", "c": "d"},
    "finalizers": ["a.b/c"],
    "uid": "u",
    "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {}}],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "v"}],
    "creationTimestamp": "2026-11-21T10:00:00Z",
    "generateName": "g-",
    "generation": 1,
}


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*above, key)
        yield from places(item, (*above, key))


@st.composite
def nearly(draw: st.DrawFn, good: Any) -> Any:
    """A good body in which a few places hold something else, or nothing."""
    body = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(body))
        if not found:
            break
        *above, last = draw(st.sampled_from(found))
        inner = body
        for key in above:
            inner = inner[key]
        what = draw(st.sampled_from(["replace", "remove", "add"]))
        if what == "remove":
            del inner[last]
        elif what == "add" and isinstance(inner[last], dict):
            inner[last][draw(st.sampled_from([*FIELDS, *CUSTOM, *WORDS]))] = draw(VALUES)
        else:
            inner[last] = draw(VALUES)
    return body


@st.composite
def requests(draw: st.DrawFn) -> Request:
    kind = draw(st.sampled_from(KINDS))
    resource = kind.resource
    method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "POST", "PUT", "PATCH"]))
    astray = draw(st.integers(0, 5)) == 0  # most requests are well addressed, or they would not get far
    namespace = draw(st.sampled_from(["nosuch", None])) if astray else "default"
    namespace = namespace if resource.namespaced else None
    name = "" if method == "POST" else "x"
    if astray:
        name = draw(st.sampled_from(["x", "nosuch", ""]))
    subs = [sub.name for sub in kind.subresources]
    below = draw(st.sampled_from(["", "", *subs, "scale"])) if name else ""
    if method == "POST" and not astray and kind.resource.plural == "pods" and draw(st.booleans()):
        name, below = "x", draw(st.sampled_from(["binding", "eviction"]))
    form = draw(
        st.sampled_from(CONTENT_TYPES if astray else CONTENT_TYPES[3:7] if method == "PATCH" else CONTENT_TYPES[:3])
    )
    body: Any = draw(VALUES)
    how = draw(st.sampled_from(["any", "shaped", "typed", "nearly", "nearly"]))
    if method == "DELETE" or below == "eviction":
        options = {key: draw(VALUES) for key in draw(st.lists(st.sampled_from(DELETE_OPTIONS), max_size=2))}
        body = {"deleteOptions": options} if below == "eviction" else options
    elif below == "binding" and how == "nearly":
        body = draw(nearly({"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "n"}}))
    elif how == "nearly":
        good = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": GOOD_METADATA}
        body = draw(nearly({**good, **copy.deepcopy(BODIES.get(resource.plural, {}))}))
    elif how == "typed" and not kind.custom:
        body = draw(typed(resource.kind)) or {}
        if isinstance(body, dict):
            body |= {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": draw(METADATA)}
    elif how != "any":
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": draw(METADATA),
            **draw(st.dictionaries(st.sampled_from(["spec", "status", "data", *FIELDS]), VALUES, max_size=3)),
        }
    if form == "application/json-patch+json" and draw(st.booleans()):
        body = draw(OPERATIONS)
    return Request(
        method,
        ResourcePath(resource.group, resource.version, resource.plural, namespace, name, below),
        draw(QUERIES),
        negotiate(draw(st.sampled_from(["", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"]))),
        form,
        json.dumps(body).encode() if draw(st.integers(0, 20)) else draw(st.binary(max_size=20)),
    )


def an_object_of_each_kind(registry: Registry) -> None:
    for kind in KINDS:
        resource = kind.resource
        if resource.plural == "customresourcedefinitions":
            continue
        body: dict[str, Any] = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "x"},
            **BODIES.get(resource.plural, {}),
        }
        registry.create(resource, body, "default" if resource.namespaced else None)


def with_current_version(registry: Registry, request: Request) -> Request:
    """A PUT of a custom resource gets nowhere without it."""
    path = request.path
    try:
        body = json.loads(request.content)
        key = (path.group, path.plural)
        present = registry.store.get(key, path.namespace or "", path.name)
        if request.method == "PUT" and present is not None and isinstance(body["metadata"], dict):
            body["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"]
            return replace(request, content=json.dumps(body).encode())
    except (ValueError, TypeError, KeyError):
        pass  # no object at all: that is asked as it is
    return request


CONTAINER = {
    "name": "c",
    "image": "i",
    "command": ["a"],
    "env": [{"name": "E", "value": "v"}],
    "ports": [{"containerPort": 1, "name": "p"}],
    "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}
POD_SPEC = {"containers": [CONTAINER], "nodeName": "n", "volumes": [{"name": "v", "emptyDir": {}}]}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["a"],
            "x-kubernetes-validations": [{"rule": "true"}],
            "properties": {
                "a": {"type": "string", "enum": ["x"], "default": "x", "pattern": "x+"},
                "b": {
                    "type": "array",
                    "items": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 5},
                    "x-kubernetes-list-type": "set",
                },
                "c": {"type": "object", "additionalProperties": {"type": "string"}},
                "d": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
COLUMN = {"name": "A", "type": "string", "jsonPath": ".spec.a", "priority": 1}
WORDS = [
    "type",
    "properties",
    "items",
    "additionalProperties",
    "enum",
    "default",
    "required",
    "allOf",
    "not",
    "nullable",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "pattern",
    "format",
    "multipleOf",
]
BODIES: dict[str, dict[str, Any]] = {
    "pods": {"spec": POD_SPEC},
    "batchjobs": {"spec": {"dialect": "pbs", "name": "n", "chunks": [{"count": 1, "cpus": 1, "ranks": 1}]}},
    "reservations": {
        "spec": {
            "dialect": "pbs",
            "start": "2031-01-01T00:00:00Z",
            "end": "2031-01-01T01:00:00Z",
            "chunks": [{"count": 1, "cpus": 1, "ranks": 1}],
        }
    },
    "events": {"involvedObject": {"namespace": "default"}},
    "customresourcedefinitions": {
        "spec": {
            "group": "y.io",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "X", "shortNames": ["xx"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [COLUMN],
                    "selectableFields": [{"jsonPath": ".spec.a"}],
                },
            ],
        },
    },
    "jobs": {
        "spec": {
            "minAvailable": 1,
            "queue": "default",
            "schedulerName": "volcano",
            "maxRetry": 3,
            "priorityClassName": "",
            "plugins": {"svc": [], "ssh": ["--no-root"], "env": [], "mpi": ["--master=t"]},
            "ttlSecondsAfterFinished": 5,
            "networkTopology": {"mode": "hard"},
            "policies": [
                {"event": "PodFailed", "action": "RestartJob", "timeout": "5s"},
                {"exitCode": 3, "action": "AbortJob"},
            ],
            "tasks": [
                {
                    "name": "t",
                    "replicas": 1,
                    "minAvailable": 1,
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
                    "policies": [{"events": ["PodEvicted"], "action": "RestartTask"}],
                    "dependsOn": {"name": ["worker"]},
                    "topologyPolicy": "best-effort",
                    "partitionPolicy": {"totalPartitions": 1, "partitionSize": 1},
                },
                {"name": "worker", "replicas": 1, "template": {"spec": POD_SPEC}},
            ],
        },
    },
    "queues": {
        "spec": {
            "weight": 1,
            "capability": {"cpu": "1"},
            "deserved": {"cpu": "1"},
            "guarantee": {"resource": {"cpu": "1"}},
            "parent": "root",
            "reclaimable": True,
        },
    },
    "podgroups": {"spec": {"minMember": 1, "queue": "default", "minResources": {"cpu": "1"}}},
    "commands": {"action": "AbortJob", "target": {"apiVersion": "v1", "kind": "Job", "name": "x", "uid": "u"}},
    "services": {"spec": {"ports": [{"port": 1, "targetPort": "p"}], "selector": {"a": "b"}, "clusterIP": "None"}},
    "secrets": {"data": {"a": "YQ=="}, "stringData": {"b": "c"}, "type": "Opaque"},
    "configmaps": {"data": {"a": "b"}, "binaryData": {"c": "YQ=="}},
    "nodes": {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "status": {"capacity": {"cpu": "1"}}},
    "leases": {"spec": {"holderIdentity": "a", "renewTime": "2026-11-21T10:00:00.000000Z"}},
    "networkpolicies": {
        "spec": {"podSelector": {"matchLabels": {"a": "b"}}, "ingress": [{"from": [{"podSelector": {}}]}]},
    },
    "priorityclasses": {"value": 5, "globalDefault": False},
}


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(requests(), min_size=1, max_size=6))
def test_any_requests(asked: list[Request]) -> None:
    registry = new_registry()
    an_object_of_each_kind(registry)
    verbs = Verbs(registry, utc_now)
    for request in asked:
        before = registry.store.revision
        try:
            answer = verbs.handle(with_current_version(registry, request))
        except ApiError as error:
            is_volcanos = "add operation does not apply" in error.message  # to a Job without a spec, in its own words
            assert 400 <= error.code < 500 or error.code in {501, 504} or not error.reason or is_volcanos, error.message
            assert error.message
            assert "\n" not in error.message or error.message.startswith("admission webhook")  # in Volcano's words
            assert registry.store.revision == before
        else:
            if isinstance(answer, Answer):
                json.dumps(answer.value, allow_nan=False)
    for kind in registry.kinds():  # whatever was stored can be shown
        table(kind, registry.select(kind, None)[0], utc_now(), metadata={})
