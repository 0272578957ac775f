"""The variables of many jobs, for `qstat -f`: the same whether Secrets may be listed, read, or neither."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import SECRETS, Resource
from hpcbatch.client import listing
from hpcbatch.errors import ForbiddenError, GoneError

COUNT = 120


def forbidden() -> ForbiddenError:
    return ForbiddenError(403, "Forbidden", "no")


class Secrets:
    """An API with nothing but Secrets, of a few variables each."""

    def __init__(self, *, may_list: bool = True, may_get: bool = True, lost_after: int | None = None) -> None:
        self.may_list, self.may_get, self.lost_after = may_list, may_get, lost_after
        self.requests = 0
        self.objects = {f"s{number}": secret(f"s{number}", number % 3) for number in range(COUNT)}

    def list_with(self, resource: Resource, namespace: str | None = None, *, query: Mapping[str, str]) -> Object:
        self.requests += 1
        assert resource is SECRETS
        assert query["fieldSelector"] == "type=hpcbatch.io/submission"
        if not self.may_list:
            raise forbidden()
        first = int(query.get("continue") or 0)
        if self.lost_after is not None and first >= self.lost_after:
            raise GoneError(410, "Expired", "too old")
        items = list(self.objects.values())[first : first + 50]
        return {"items": items, "metadata": {"continue": str(first + 50) if first + 50 < len(self.objects) else ""}}

    def get_many(self, resource: Resource, names: Sequence[str], namespace: str) -> Iterator[Object | None]:
        assert namespace == "ns"
        for name in names:
            self.requests += 1
            if not self.may_get:
                raise forbidden()
            yield self.objects.get(name)


def secret(name: str, kind: int) -> Object:
    text = base64.b64encode(b"A=%d\0B=x y" % kind).decode()
    return {"metadata": {"name": name}, "data": {"environment": text, "script": "QQ=="}}


def job(number: int, state: str = "Queued") -> Object:
    meta = {"name": f"j{number}", "namespace": "ns"}
    return {"metadata": meta, "spec": {"submissionSecret": f"s{number}"}, "status": {"jobId": "1", "state": state}}


def expected(numbers: range) -> dict[str, Any]:
    return {f"j{number}": {"A": str(number % 3), "B": "x y"} for number in numbers}


@pytest.mark.parametrize(
    ("api", "requests"),
    [
        (Secrets(), 3),
        (Secrets(may_list=False), 1 + COUNT),
        (Secrets(lost_after=100), 3 + 20),
    ],
    ids=["listed", "read", "list-lost"],
)
def test_of_many_jobs(api: Any, requests: int) -> None:
    assert listing.environments_of(api, map(job, range(COUNT))) == expected(range(COUNT))
    assert api.requests == requests


def test_of_few_jobs_nothing_is_listed() -> None:
    api: Any = Secrets(may_list=False)
    assert listing.environments_of(api, map(job, range(10))) == expected(range(10))
    assert api.requests == 10


def test_of_forbidden_ones_nothing_is_known_and_nothing_requested_again() -> None:
    api: Any = Secrets(may_list=False, may_get=False)
    assert listing.environments_of(api, map(job, range(COUNT))) == {}
    assert api.requests == 2
    assert listing.environments_of(api, map(job, range(COUNT))) == {}
    assert api.requests == 2


def test_ended_jobs_have_none_and_gone_secrets_are_none() -> None:
    api: Any = Secrets()
    del api.objects["s1"]
    jobs = [job(0), job(1), job(2, "Finished")]
    assert listing.environments_of(api, jobs) == expected(range(1)) | {"j1": None}
