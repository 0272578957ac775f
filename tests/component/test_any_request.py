"""Whatever a client sends, it gets an answer or a Status that says what is wrong: never an internal error."""

import json
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
from hpcbatch.errors import ApiError


def new_registry() -> Registry:
    registry = Registry(Store(":memory:"))
    registry.install_builtin()
    return registry


KINDS = new_registry().kinds()
FIELDS = sorted({entry.partition(":")[0] for text in TYPES.values() for entry in text.split()})
META = ["name", "labels", "annotations", "finalizers", "ownerReferences", "uid", "resourceVersion", "generateName"]
CUSTOM = ["tasks", "minAvailable", "queue", "policies", "template", "chunks", "dialect", "weight", "versions", "names"]
SCALARS = st.none() | st.booleans() | st.integers(-1, 5) | st.sampled_from(["", "a", "x/y", "1", "Always", 0.5, "é"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELDS, *META, *CUSTOM]), inner, max_size=4)
    ),
    max_leaves=15,
)
METADATA = st.fixed_dictionaries({"name": st.just("x")}) | st.dictionaries(st.sampled_from(META), VALUES, max_size=3)
CONTENT_TYPES = [
    "", "application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf",
]  # fmt: skip
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
        ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "dryRun", "fieldValidation", "watch",
         "force", "propagationPolicy", "gracePeriodSeconds", "resourceVersionMatch", "container"]
    ),
    st.sampled_from(["", "a", "1", "0", "-1", "true", "All", "Strict", "Orphan", "metadata.name=x", "a in (b"]),
    max_size=2,
).map(lambda query: {"fieldManager": "me", **query})  # fmt: skip


SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "str": st.sampled_from(["", "a", "Always", "ClusterIP", "Running", "default"]), "int": st.integers(-1, 5),
    "bool": st.booleans(), "num": st.just(0.5), "time": st.sampled_from(["2026-11-21T10:00:00Z", "bad"]),
    "bytes": st.sampled_from(["YQ==", "%"]), "ios": st.sampled_from([80, "http"]),
    "qty": st.sampled_from(["1", "1Gi", "x", "-1"]), "any": VALUES,
}  # fmt: skip


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
    how = draw(st.sampled_from(["any", "shaped", "typed", "typed"]))
    if how == "typed" and not kind.custom:
        body = draw(typed(resource.kind)) or {}
        if isinstance(body, dict):
            body |= {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": draw(METADATA)}
    elif how != "any":
        body = {
            "apiVersion": resource.api_version, "kind": resource.kind, "metadata": draw(METADATA),
            **draw(st.dictionaries(st.sampled_from(["spec", "status", "data", *FIELDS]), VALUES, max_size=3)),
        }  # fmt: skip
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
            "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"},
            **BODIES.get(resource.plural, {}),
        }  # fmt: skip
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


BODIES: dict[str, dict[str, Any]] = {
    "pods": {"spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}},
    "batchjobs": {"spec": {"dialect": "pbs", "name": "n", "chunks": [{"count": 1, "cpus": 1, "ranks": 1}]}},
    "events": {"involvedObject": {"namespace": "default"}},
}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
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
            assert 400 <= error.code < 500 or error.code in {501, 504} or not error.reason, error.message
            assert error.message
            assert "\n" not in error.message
            assert registry.store.revision == before
        else:
            if isinstance(answer, Answer):
                json.dumps(answer.value, allow_nan=False)
    for kind in registry.kinds():  # whatever was stored can be shown
        table(kind, registry.select(kind, None)[0], utc_now(), metadata={})
