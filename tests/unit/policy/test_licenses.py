"""Who may hold licences next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.licenses import Claim, claim_of, obstacle, waits_for_licenses

SITE = SiteConfig(licenses={"a": 4, "b": 1})


def lacks(name: str, required: int, available: int, total: int) -> str:
    return f"Insufficient amount of resource: {name} (R: {required} A: {available} T: {total})"


@pytest.mark.parametrize(
    ("amounts", "holding", "waiting", "expected"),
    [
        ({"a": 4}, [], [], ""),
        ({"a": 2}, [Claim(1, {"a": 2})], [], ""),
        ({"a": 3}, [Claim(1, {"a": 2})], [], lacks("a", 3, 2, 4)),
        ({"a": 1}, [Claim(1, {"a": 2}), Claim(2, {"a": 2, "b": 1})], [], lacks("a", 1, 0, 4)),
        ({"a": 1, "b": 1}, [Claim(2, {"b": 1})], [], lacks("b", 1, 0, 1)),
        ({"a": 4}, [Claim(9, {"a": 4})], [], ""),
        ({"gone": 1}, [], [], lacks("gone", 1, 0, 0)),
        # nobody is overtaken
        ({"a": 1}, [Claim(1, {"a": 2})], [Claim(3, {"a": 3})], lacks("a", 1, 2, 4)),
        ({"b": 1}, [Claim(1, {"a": 2})], [Claim(3, {"a": 3})], ""),
        ({"a": 1}, [], [Claim(10, {"a": 3})], ""),
        ({"a": 1}, [], [Claim(10, {"a": 3}, weight=1)], lacks("a", 1, 4, 4)),
        ({"a": 1}, [], [Claim(3, {"a": 3}, weight=-1)], ""),
        ({"a": 1}, [], [Claim(3, {"a": 5})], ""),
        ({"a": 1}, [], [Claim(9, {"a": 1})], ""),
    ],
)
def test_obstacle(amounts: dict[str, int], holding: list[Claim], waiting: list[Claim], expected: str) -> None:
    assert obstacle(Claim(9, amounts), SITE, holding, waiting) == expected


def batchjob(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    return {"spec": spec or {}, "status": {"jobId": "7", "state": "Queued", "licenses": {"a": 1}, **status}}


@pytest.mark.parametrize(
    ("obj", "claim"),
    [
        (batchjob(), Claim(7, {"a": 1})),
        (batchjob(summary={"priority": 9, "nice": 4}), Claim(7, {"a": 1}, 5)),
        (batchjob(summary={"priority": 2**32}), Claim(7, {"a": 1}, 1023)),
        (batchjob(state="Running"), Claim(7, {"a": 1})),
        (batchjob(state="Finished"), None),
        (batchjob(licenses={}), None),
        (batchjob(spec={"array": {}}), None),
        ({"spec": {}}, None),
    ],
)
def test_claims(obj: dict[str, Any], claim: Claim | None) -> None:
    assert claim_of(obj) == claim


def test_which_jobs_wait_for_licences() -> None:
    assert waits_for_licenses(batchjob(reason="Licenses"))
    assert not waits_for_licenses(batchjob(reason="Resources"))
    assert not waits_for_licenses(batchjob(reason="Licenses", state="Held"))
    assert not waits_for_licenses({"spec": {}})


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(-2, 2)), max_size=12), st.randoms())
def test_never_more_than_there_are_and_everyone_gets_some(jobs: list[tuple[int, int]], random: Any) -> None:
    """Jobs look in any order, and end in any order."""
    claims = [Claim(number, {"a": amount}, weight) for number, (amount, weight) in enumerate(jobs, 1)]
    waiting, holding, served = list(claims), list[Claim](), 0
    for _ in range(1000):
        random.shuffle(waiting)
        for claim in list(waiting):
            if not obstacle(claim, SITE, holding, waiting):
                waiting.remove(claim)
                holding.append(claim)
                served += 1
            assert sum(each.amounts["a"] for each in holding) <= 4
        if not waiting:
            break
        assert holding, "somebody can always go on"
        holding.pop(random.randrange(len(holding)))
    assert served == len(claims)
