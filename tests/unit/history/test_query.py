from datetime import UTC, datetime

import pytest

from hpcbatch.api.history import selector
from hpcbatch.errors import InvalidError
from hpcbatch.history.query import Query, read_query

WHEN = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("namespace", "text", "query"),
    [
        (None, "", Query()),
        ("a", "", Query(namespace="a")),
        (None, "metadata.namespace=a", Query(namespace="a")),
        ("a", "metadata.namespace=a,metadata.name=x", Query(namespace="a", names=("x",))),
        (None, "status.jobId=12", Query(numbers=(12,))),
        (None, "status.jobId==12|13", Query(numbers=(12, 13))),
        (None, "status.jobId=1|2,status.jobId=2|3", Query(numbers=(2,))),
        (None, "spec.memberOf.arrayId=7", Query(array_numbers=(7,))),
        (None, "spec.memberOf.arrayId=", Query(no_members=True)),
        (None, "status.owner=alice|bob", Query(owners=("alice", "bob"))),
        (None, "status.queue=q,spec.name=n", Query(queues=("q",), job_names=("n",))),
        (None, "status.state=Failed", Query(states=("Failed",))),
        (None, "status.state!=Failed,status.state!=Timeout", Query(other_states=("Failed", "Timeout"))),
        (None, "endedAfter=2026-11-01T12:00:00Z", Query(ended_after=WHEN)),
        (None, "endedBefore=2026-11-01T13:00:00+01:00", Query(ended_before=WHEN)),
        (None, "startedBefore=2026-11-01T12:00:00.000000+00:00", Query(began_before=WHEN)),
    ],
)
def test_selectors(namespace: str | None, text: str, query: Query) -> None:
    assert read_query(namespace, text) == query


@pytest.mark.parametrize(
    ("namespace", "text"), [("a", "metadata.namespace=b"), (None, "status.jobId=1,status.jobId=2")]
)
def test_what_nothing_can_be(namespace: str | None, text: str) -> None:
    assert read_query(namespace, text) is None


@pytest.mark.parametrize(
    "text",
    [
        "status.jobId",
        "status.jobId=",
        "status.jobId=x",
        "status.jobId=-1",
        "status.jobId=²",
        "status.jobId=99999999999999999999",
        "status.color=red",
        "status.owner!=alice",
        "endedAfter=soon",
        "endedAfter=2026-11-01T12:00:00Z|2026-11-02T12:00:00Z",
        "metadata.namespace=a|b",
    ],
)
def test_bad_selectors(text: str) -> None:
    with pytest.raises(InvalidError) as raised:
        read_query(None, text)
    assert raised.value.code == 400


def test_a_clients_selector_is_read_back() -> None:
    text = selector(numbers=[3, 4], owners=["alice"], fields="metadata.name=x", since=WHEN, until=WHEN)
    assert text is not None
    assert read_query(None, text) == Query(
        names=("x",), numbers=(3, 4), owners=("alice",), ended_after=WHEN, began_before=WHEN
    )


@pytest.mark.parametrize("owner", ["a,b", "a|b", "a=b", "", "a!"])
def test_no_user_has_such_a_name(owner: str) -> None:
    assert selector(owners=[owner]) is None
