import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api import resources
from hpcbatch.engine.registry.kinds import BUILTIN
from hpcbatch.engine.registry.selectors import named, parse_labels, selector
from hpcbatch.errors import ApiError

KINDS = {kind.resource: kind for kind in BUILTIN}
PODS = KINDS[resources.PODS]


def pod(labels: dict[str, str] | None = None, **fields: object) -> dict[str, object]:
    meta: dict[str, object] = {"name": "p", "namespace": "ns"}
    if labels is not None:
        meta["labels"] = labels
    return {"metadata": meta, "spec": fields.get("spec", {}), "status": fields.get("status", {})}


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("app", {"app": ""}, True),
        ("app", {}, False),
        ("!app", {}, True),
        ("!app", {"app": "x"}, False),
        ("app=p", {"app": "p"}, True),
        ("app==p", {"app": "p"}, True),
        ("app = p", {"app": "p"}, True),
        ("app=p", {"app": "q"}, False),
        ("app=", {"app": ""}, True),
        ("app!=p", {}, True),
        ("app!=p", {"app": "p"}, False),
        ("app in (p,p2)", {"app": "p2"}, True),
        ("app in (p,p2)", {}, False),
        ("app in (p,)", {"app": ""}, True),
        ("app notin (p)", {}, True),
        ("app notin (p)", {"app": "p"}, False),
        ("a=1,b!=2", {"a": "1", "b": "3"}, True),
        ("a=1,b!=2", {"a": "1", "b": "2"}, False),
        ("app in (p , q), x", {"app": "q", "x": "1"}, True),
        ("n gt 3", {"n": "4"}, True),
        ("n>3", {"n": "3"}, False),
        ("n lt 3", {"n": "x"}, False),
        ("volcano.sh/job-name=a", {"volcano.sh/job-name": "a"}, True),
    ],
)
def test_labels(text: str, labels: dict[str, str], matches: bool) -> None:
    predicate = selector(PODS, text, "")
    assert predicate is not None
    assert predicate(pod(labels)) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b=c", "unable to parse requirement: found '=', expected: ',' or 'end of string'"),
        ("a in p", "unable to parse requirement: found 'p' expected: '('"),
        ("a in (p", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a,", "unable to parse requirement: found '', expected: identifier after ','"),
        ("=a", "unable to parse requirement: found '=', expected: !, identifier, or 'end of string'"),
        ("n>x", "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer, found 'x'"),
    ],
)
def test_bad_labels(text: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_labels(text)
    assert (caught.value.code, caught.value.message) == (400, message)


@given(st.text(alphabet="ab=!,() innotgl<>.-/_1", max_size=25))
def test_any_text_is_a_selector_or_a_400(text: str) -> None:
    try:
        predicate = selector(PODS, text, "")
    except ApiError as error:
        assert error.code == 400
    else:
        assert predicate is None or predicate(pod({"a": "b"})) in (True, False)


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"]), max_size=3)


@given(LABELS, st.sampled_from("abc"), st.lists(st.sampled_from(["", "1", "2"]), min_size=1, max_size=3))
def test_notin_is_the_opposite_of_in(labels: dict[str, str], key: str, values: list[str]) -> None:
    inside, outside = (
        parse_labels(f"{key} in ({','.join(values)})")[0],
        parse_labels(f"{key} notin ({','.join(values)})")[0],
    )
    assert inside.matches(labels) is not outside.matches(labels)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=p", True),
        ("metadata.name=p,metadata.name=p", True),
        ("metadata.name=q", False),
        ("metadata.namespace!=ns", False),
        ("spec.nodeName=", True),
        ("spec.nodeName=n", False),
        ("spec.nodeName!=n", True),
        ("status.phase==Running", True),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("status.phase!=Succeeded,status.phase!=Running", False),
        ("status.phase=Running,status.phase!=Failed", True),
        ("status.phase=Running,status.phase=Failed", False),
        ("status.phase=Running,status.phase!=Running", False),
        ("status.phase=Running,metadata.name!=p", False),
        ("spec.hostNetwork=false", True),
    ],
)
def test_fields(text: str, matches: bool) -> None:
    predicate = selector(PODS, "", text)
    assert predicate is not None
    assert predicate(pod(status={"phase": "Running"})) is matches


@pytest.mark.parametrize(
    ("resource", "text", "message"),
    [
        (resources.PODS, "spec.tasks=1", "field label not supported: spec.tasks"),
        (
            resources.CONFIGMAPS,
            "data=1",
            '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (resources.PODS, "x", "invalid selector: 'x'; can't understand 'x'"),
    ],
)
def test_bad_fields(resource: resources.Resource, text: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        selector(KINDS[resource], "", text)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_event_source_is_the_component() -> None:
    event = {"metadata": {"name": "e"}, "source": {"component": "kubelet"}}
    predicate = selector(KINDS[resources.EVENTS], "", "source=kubelet")
    assert predicate is not None
    assert predicate(event)


def test_named() -> None:
    assert named("status.phase=x,metadata.name=p") == "p"
    assert named("metadata.name!=p") == ""
