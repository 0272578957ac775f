"""Names of users and of their namespaces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.admin.user_names import check_namespace_name, check_user_name, default_namespace
from hpcbatch.errors import HpcBatchError

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
USERS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,30}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda name: not name.isdigit()
)


@pytest.mark.parametrize("name", ["a", "alice", "J.Smith", "wrf_ops", "x" * 32, "7of9"])
def test_names_of_users(name: str) -> None:
    assert check_user_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-x", "x-", "_x", "1000", "a b", "a/b", "a:b", "x" * 33, "é", "a\n", "x,y", "../x", "a;b"]
)
def test_what_nobody_is_called(name: str) -> None:
    with pytest.raises(HpcBatchError, match="is no name for a user"):
        check_user_name(name)


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("alice", "hpcbatch-user-alice"),
        ("system", "hpcbatch-user-system"),
        ("J.Smith", "hpcbatch-user-j-smith-15304291"),
    ],
)
def test_a_users_namespace(name: str, namespace: str) -> None:
    assert default_namespace(name) == namespace


@given(st.sets(USERS, min_size=2, max_size=8))
def test_two_users_never_meet_in_a_namespace(names: set[str]) -> None:
    found = {default_namespace(check_user_name(name)) for name in names}
    assert len(found) == len(names)
    for namespace in found:
        assert DNS_LABEL.fullmatch(namespace)
        assert check_namespace_name(namespace) == namespace


@pytest.mark.parametrize("name", ["wrf", "hpcbatch-user-x", "hpc"])
def test_namespaces_that_users_may_have(name: str) -> None:
    assert check_namespace_name(name) == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("default", "belongs to the system"),
        ("kube-system", "belongs to the system"),
        ("volcano-system", "belongs to the system"),
        ("hpcbatch-system", "belongs to the system"),
        ("A", "is no name"),
        ("a.b", "is no name"),
        ("", "is no name"),
        ("a" * 64, "is no name"),
    ],
)
def test_namespaces_that_users_may_not_have(name: str, text: str) -> None:
    with pytest.raises(HpcBatchError, match=text):
        check_namespace_name(name)
