"""What an association has from those above it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.account_tree import association_for, in_order, inherited
from hpcbatch.model.accounts import Account, Accounts, Association, first_accounts


def accounts() -> Accounts:
    """root > phys > theory > alice."""
    begun = first_accounts()
    phys = Limits({"MaxJobs": 5, "GrpJobs": 9}, {"MaxTRESPerJob": {"cpu": 8, "node": 2}})
    alice = Limits({"MaxSubmitJobs": 3}, {"MaxTRESPerJob": {"cpu": 4}})
    return replace(
        begun,
        accounts={**begun.accounts, "phys": Account(name="phys"), "theory": Account(name="theory", parent="phys")},
        associations=(
            *begun.associations,
            Association(number=3, account="phys", limits=phys, default_qos="normal"),
            Association(number=4, account="theory"),
            Association(number=5, account="theory", user="alice", limits=alice),
            Association(number=6, account="theory", user="alice", partition="big"),
        ),
    )


def test_limits_of_a_user_are_inherited_and_those_of_groups_are_not() -> None:
    alice = association_for(accounts(), "alice", "theory", "small")
    assert alice is not None
    whole = inherited(accounts(), alice)
    assert whole.limits.counts == {"MaxSubmitJobs": 3, "MaxJobs": 5}
    assert whole.limits.amounts("MaxTRESPerJob") == {"cpu": 4, "node": 2}
    assert (whole.qos, whole.default_qos) == (("normal",), "normal")


def test_a_partition_has_an_association_of_its_own() -> None:
    found = association_for(accounts(), "alice", "theory", "big")
    assert found is not None
    assert found.number == 6
    assert association_for(accounts(), "bob", "theory") is None


def test_order_of_the_tree() -> None:
    found = [(leaf.association.number, leaf.depth) for leaf in in_order(accounts())]
    assert found == [(1, 0), (2, 1), (3, 1), (4, 2), (5, 3), (6, 3)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"accounts": {"root": Account(name="root", parent=""), "a": Account(name="a", parent="a")}},
        {"accounts": {}},
        {"associations": ()},
        {"qos": {}},
    ],
    ids=["above itself", "no root", "no associations", "no QOS"],
)
def test_what_hangs_in_the_air_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(HpcBatchError):
        replace(first_accounts(), **wrong)  # type: ignore[arg-type]
