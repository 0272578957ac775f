import pytest

from hpcbatch.engine.server.request import ResourcePath, negotiate, parse_path, watch_options, write_options
from hpcbatch.errors import ApiError

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


@pytest.mark.parametrize(
    ("path", "parsed"),
    [
        ("/api/v1/pods", ResourcePath("", "v1", "pods")),
        ("/api/v1/namespaces/ns/pods", ResourcePath("", "v1", "pods", "ns")),
        ("/api/v1/namespaces/ns/pods/p", ResourcePath("", "v1", "pods", "ns", "p")),
        ("/api/v1/namespaces/ns/pods/p/log", ResourcePath("", "v1", "pods", "ns", "p", "log")),
        ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/ns", ResourcePath("", "v1", "namespaces", None, "ns")),
        ("/api/v1/namespaces/ns/status", ResourcePath("", "v1", "namespaces", None, "ns", "status")),
        ("/apis/hpcbatch.io/v1alpha1/batchjobs", ResourcePath("hpcbatch.io", "v1alpha1", "batchjobs")),
        ("/apis/a.b/v1/namespaces/n/jobs/x/status", ResourcePath("a.b", "v1", "jobs", "n", "x", "status")),
        ("/api/v1/nodes/a%2Fb", ResourcePath("", "v1", "nodes", None, "a/b")),
        ("/api/v1", None),
        ("/apis/a.b/v1", None),
        ("/version", None),
        ("/api/v1//pods", None),
        ("/api/v1/namespaces/n/pods/p/log/x", None),
    ],
)
def test_paths(path: str, parsed: ResourcePath | None) -> None:
    assert parse_path(path) == parsed


@pytest.mark.parametrize(
    ("header", "form", "aggregated"),
    [
        ("", "object", ""),
        ("*/*", "object", ""),
        ("application/json, */*", "object", ""),
        (TABLE, "table", ""),
        (AGGREGATED, "object", "v2"),
        ("application/vnd.kubernetes.protobuf,application/json", "object", ""),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "partial", ""),
        ("application/yaml", "yaml", ""),
        ("text/html;q=0.9, */*;q=0.1", "object", ""),
    ],
)
def test_negotiation(header: str, form: str, aggregated: str) -> None:
    accepted = negotiate(header)
    assert (accepted.form, accepted.aggregated) == (form, aggregated)


@pytest.mark.parametrize(
    "header", ["application/json;as=Table;v=v9;g=meta.k8s.io", "application/vnd.kubernetes.protobuf", "text/html"]
)
def test_what_is_not_offered(header: str) -> None:
    with pytest.raises(ApiError) as caught:
        negotiate(header)
    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({"dryRun": "Foo"}, 422, 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Foo"]'),
        ({"fieldValidation": "Foo"}, 422, 'fieldValidation: Unsupported value: "Foo"'),
    ],
)
def test_bad_write_options(query: dict[str, str], code: int, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        write_options(query, "CreateOptions")
    assert caught.value.code == code
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": "NotOlderThan"}, 422),
        ({"timeoutSeconds": "x"}, 400),
        ({"resourceVersion": "abc"}, 400),
    ],
)
def test_bad_watch_options(query: dict[str, str], code: int) -> None:
    with pytest.raises(ApiError) as caught:
        watch_options(query)
    assert caught.value.code == code


def test_streaming_list() -> None:
    options = watch_options(
        {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "resourceVersion": "5",
            "timeoutSeconds": "7",
        }
    )
    assert (options.since, options.bookmarks, options.timeout_s, options.initial_events) == (None, True, 7.0, True)
