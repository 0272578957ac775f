"""The accounts in force, on the engine's registry."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from hpcbatch.api.account_text import accounts_to_json
from hpcbatch.api.names import (
    ACCOUNTS_CONFIGMAP,
    ACCOUNTS_IN_FORCE_CONFIGMAP,
    ACCOUNTS_KEY,
    SITE_ERROR_ANNOTATION,
    SYSTEM_NAMESPACE,
)
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.client.accounts import change_accounts, read_accounts
from hpcbatch.controller.account_source import AccountSource
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import NotFoundError
from hpcbatch.model.account_change import AccountChange, Action, Entity
from hpcbatch.model.accounts import Accounts, first_accounts
from hpcbatch.policy.account_changes import changed
from tests.waiting import wait_for


@contextmanager
def running(registry: Registry) -> Any:
    source = AccountSource(registry)
    source.start()
    try:
        wait_for("the ConfigMap", lambda: found(registry, ACCOUNTS_CONFIGMAP))
        yield source
    finally:
        source.stop()


def found(registry: Registry, name: str) -> dict[str, Any]:
    try:
        return registry.get(CONFIGMAPS, name, SYSTEM_NAMESPACE)
    except NotFoundError:
        return {}


def with_account(name: str, accounts: Accounts) -> Accounts:
    return changed(accounts, AccountChange(action=Action.ADD, entity=Entity.ACCOUNT, names=(name,))).accounts


def write(registry: Registry, text: str) -> None:
    registry.patch(CONFIGMAPS, ACCOUNTS_CONFIGMAP, {"data": {ACCOUNTS_KEY: text}}, SYSTEM_NAMESPACE)


def told(registry: Registry) -> str:
    notes = found(registry, ACCOUNTS_CONFIGMAP)["metadata"].get("annotations") or {}
    return str(notes.get(SITE_ERROR_ANNOTATION, ""))


def test_what_operators_write_takes_effect(registry: Registry) -> None:
    with running(registry) as source:
        assert source.in_force == first_accounts()
        change_accounts(registry, lambda accounts: with_account("phys", accounts))
        wait_for("the account", lambda: "phys" in source.in_force.accounts)
        assert read_accounts(registry) == source.in_force


def test_a_bad_text_changes_nothing_and_a_start_uses_the_last_good_one(registry: Registry) -> None:
    good = accounts_to_json(with_account("phys", first_accounts()))
    with running(registry) as source:
        write(registry, good)
        wait_for("the account", lambda: "phys" in source.in_force.accounts)
        wait_for("the copy", lambda: found(registry, ACCOUNTS_IN_FORCE_CONFIGMAP))
        write(registry, "{")
        wait_for("the annotation", lambda: told(registry).startswith("accounts: "))
        assert "phys" in source.in_force.accounts
    with running(registry) as source:
        wait_for("the one from before", lambda: "phys" in source.in_force.accounts)
        write(registry, good)
        wait_for("no annotation", lambda: not told(registry))


class Rival:
    """An API at which another operator is faster once."""

    def __init__(self, api: Registry) -> None:
        self._api, self._is_first = api, True

    def patch(self, *args: Any, **more: Any) -> Any:
        if self._is_first:
            self._is_first = False
            change_accounts(self._api, lambda accounts: with_account("chem", accounts))
        return self._api.patch(*args, **more)

    def get(self, *args: Any) -> Any:
        return self._api.get(*args)


def test_two_operators_at_once(registry: Registry) -> None:
    with running(registry):
        api: Any = Rival(registry)
        made = change_accounts(api, lambda accounts: with_account("phys", accounts))
        assert sorted(made.accounts) == ["chem", "phys", "root"]
        assert read_accounts(registry) == made
