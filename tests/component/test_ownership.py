"""Who owns whom, after any sequence of writes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.registry.ownership import OwnerIndex, Place
from hpcbatch.engine.registry.store import Change, Store

PODS = ("", "pods")
NAMES = "abcd"


def pod(name: str, owners: list[str], version: int) -> dict[str, Any]:
    references = [{"uid": f"uid-{owner}"} for owner in owners]
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    return {"metadata": meta | ({"ownerReferences": references} if references else {}), "version": version}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES), st.none() | st.lists(st.sampled_from(NAMES[:2]), max_size=2), st.integers(0, 1)
        ),
        max_size=12,
    )
)
def test_dependents_are_those_that_name_their_owner(writes: list[tuple[str, list[str] | None, int]]) -> None:
    store = Store(":memory:")
    index = OwnerIndex(store)
    held: dict[str, list[str]] = {}
    for name, owners, version in writes:
        if owners is not None:
            store.write([Change(PODS, "ns", name, pod(name, owners, version))])
            held[name] = owners
        elif name in held:
            store.write([Change(PODS, "ns", name, None)])
            del held[name]
        for known in (index, OwnerIndex(store)):
            for owner in NAMES:
                expected = [Place(PODS, "ns", each) for each in sorted(held) if owner in held[each]]
                assert known.dependents(f"uid-{owner}") == expected
            named = {owner for each in held.values() for owner in each} - held.keys()
            assert sorted(known.owners_without_object()) == sorted(f"uid-{owner}" for owner in named)
    store.close()
