"""What becomes of the accounts by operators' requests."""

from __future__ import annotations

import pytest

from hpcbatch.model.account_change import (
    AccountChange,
    AccountChangeError,
    Action,
    Entity,
    NameEdit,
    Problem,
    Setting,
)
from hpcbatch.model.accounts import Accounts, first_accounts
from hpcbatch.policy.account_changes import Changed, changed

ADD, MODIFY, DELETE = Action.ADD, Action.MODIFY, Action.DELETE


def do(
    accounts: Accounts,
    action: Action,
    entity: Entity,
    *names: str,
    of: tuple[str, ...] = (),
    users: tuple[str, ...] = (),
    active: frozenset[tuple[str, str]] = frozenset(),
    **settings: Setting,
) -> Changed:
    change = AccountChange(action=action, entity=entity, names=names, accounts=of, users=users, settings=settings)
    return changed(accounts, change, active)


def site() -> Accounts:
    """root: phys (alice, bob) with theory (alice) below, chem (carol); a QOS high."""
    accounts = first_accounts()
    accounts = do(accounts, ADD, Entity.QOS, "high", Priority=10).accounts
    accounts = do(accounts, ADD, Entity.ACCOUNT, "phys", "chem").accounts
    accounts = do(accounts, ADD, Entity.ACCOUNT, "theory", parent="phys").accounts
    accounts = do(accounts, ADD, Entity.USER, "alice", "bob", of=("phys",)).accounts
    accounts = do(accounts, ADD, Entity.USER, "alice", of=("theory",)).accounts
    return do(accounts, ADD, Entity.USER, "carol", of=("chem",), MaxJobs=2).accounts


def test_the_first_account_of_a_user_is_the_default() -> None:
    assert site().default_accounts == {"root": "root", "alice": "phys", "bob": "phys", "carol": "chem"}
    accounts = do(site(), MODIFY, Entity.USER, "alice", defaultAccount="theory").accounts
    assert accounts.default_accounts["alice"] == "theory"


def test_numbers_are_not_given_twice() -> None:
    before = site()
    newest = max(one.number for one in before.associations)
    without = do(before, DELETE, Entity.USER, "carol").accounts
    (added,) = do(without, ADD, Entity.USER, "dora", of=("chem",)).associations
    assert added.number == newest + 1


def test_what_is_there_is_not_added_again() -> None:
    assert do(site(), ADD, Entity.ACCOUNT, "phys").is_empty
    assert do(site(), ADD, Entity.USER, "bob", of=("phys",)).is_empty
    assert do(site(), ADD, Entity.QOS, "high").is_empty


def test_limits_are_set_and_taken_away() -> None:
    accounts = do(site(), MODIFY, Entity.ACCOUNT, "phys", GrpTRES={"cpu": 8, "node": 2}, MaxJobs=3).accounts
    assert accounts.of_account("phys").limits.amounts("GrpTRES") == {"cpu": 8, "node": 2}
    accounts = do(accounts, MODIFY, Entity.ACCOUNT, "phys", GrpTRES={"cpu": None}, MaxJobs=None).accounts
    limits = accounts.of_account("phys").limits
    assert (limits.amounts("GrpTRES"), limits.count("MaxJobs")) == ({"node": 2}, None)


def test_a_user_in_an_account_is_chosen_by_both() -> None:
    result = do(site(), MODIFY, Entity.ACCOUNT, "phys", users=("bob",), MaxJobs=1)
    assert [(one.account, one.user, one.limits.count("MaxJobs")) for one in result.associations] == [("phys", "bob", 1)]


def test_qualities_of_service_are_added_to_what_is_inherited() -> None:
    result = do(site(), MODIFY, Entity.USER, "bob", qos=NameEdit("+", ("high",)), defaultQos="high")
    assert [(one.qos, one.default_qos) for one in result.associations] == [(("normal", "high"), "high")]
    result = do(result.accounts, MODIFY, Entity.USER, "bob", qos=NameEdit("-", ("normal",)))
    assert result.associations[0].qos == ("high",)
    result = do(result.accounts, MODIFY, Entity.USER, "bob", qos=NameEdit("=", ()))
    assert result.associations[0].qos is None


def test_an_account_goes_with_all_below_it() -> None:
    accounts = do(site(), DELETE, Entity.ACCOUNT, "phys").accounts
    assert sorted(accounts.accounts) == ["chem", "root"]
    assert sorted(accounts.default_accounts) == ["carol", "root"]


@pytest.mark.parametrize(
    ("action", "entity", "names", "more", "problem"),
    [
        (ADD, Entity.ACCOUNT, ("x",), {"parent": "nosuch"}, Problem.UNKNOWN_PARENT),
        (ADD, Entity.USER, ("x",), {}, Problem.NO_ACCOUNT),
        (ADD, Entity.USER, ("x",), {"of": ("nosuch",)}, Problem.UNKNOWN_ACCOUNT),
        (ADD, Entity.ACCOUNT, ("x",), {"qos": NameEdit("=", ("nosuch",))}, Problem.UNKNOWN_QOS),
        (MODIFY, Entity.ACCOUNT, ("phys",), {"parent": "theory"}, Problem.ABOVE_ITSELF),
        (MODIFY, Entity.USER, ("bob",), {"defaultAccount": "chem"}, Problem.UNKNOWN_ACCOUNT),
        (DELETE, Entity.ACCOUNT, ("root",), {}, Problem.ROOT_STAYS),
        (DELETE, Entity.USER, ("alice",), {"of": ("phys",)}, Problem.DEFAULT_ACCOUNT),
        (DELETE, Entity.ACCOUNT, ("chem",), {"active": frozenset({("chem", "carol")})}, Problem.JOBS),
        (DELETE, Entity.QOS, ("normal",), {}, Problem.DEFAULT_QOS),
    ],
)
def test_what_is_not_possible(
    action: Action, entity: Entity, names: tuple[str, ...], more: dict[str, object], problem: Problem
) -> None:
    with pytest.raises(AccountChangeError) as error:
        do(site(), action, entity, *names, **more)  # type: ignore[arg-type]
    assert error.value.problem is problem


def test_coordinators() -> None:
    accounts = do(site(), ADD, Entity.COORDINATOR, "bob", of=("phys",)).accounts
    assert accounts.accounts["phys"].coordinators == ("bob",)
    assert do(accounts, ADD, Entity.COORDINATOR, "bob", of=("phys",)).is_empty
    assert do(accounts, DELETE, Entity.COORDINATOR, "bob").accounts.accounts["phys"].coordinators == ()
