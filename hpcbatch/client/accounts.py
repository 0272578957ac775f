"""The site's accounts: read by everybody, written by operators."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.api.names import ACCOUNTS_CONFIGMAP, ACCOUNTS_KEY, SYSTEM_NAMESPACE
from hpcbatch.api.port import Api
from hpcbatch.api.resources import ACCESS_REVIEWS, CONFIGMAPS
from hpcbatch.errors import ConflictError, ForbiddenError, NotFoundError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.accounts import Accounts

_TRIES = 10


def read_accounts(api: Api) -> Accounts:
    """Those that the controller has in force or is about to; what there is at the beginning where none can be read."""
    from hpcbatch.api.account_text import accounts_from_json

    try:
        found = api.get(CONFIGMAPS, ACCOUNTS_CONFIGMAP, SYSTEM_NAMESPACE)
    except (NotFoundError, ForbiddenError):
        return accounts_from_json("")
    return accounts_from_json((found.get("data") or {}).get(ACCOUNTS_KEY, ""))


def change_accounts(api: Api, change: Callable[[Accounts], Accounts]) -> Accounts:
    """Write what `change` makes of the accounts; it is called again if another operator was faster. Returns what was
    written. Raises ForbiddenError for users who are no operators, NotFoundError before the controller has run.
    """
    from hpcbatch.api.account_text import accounts_from_json, accounts_to_json

    for tries_left in reversed(range(_TRIES)):
        found = api.get(CONFIGMAPS, ACCOUNTS_CONFIGMAP, SYSTEM_NAMESPACE)
        changed = change(accounts_from_json((found.get("data") or {}).get(ACCOUNTS_KEY, "")))
        data = {**(found.get("data") or {}), ACCOUNTS_KEY: accounts_to_json(changed)}
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        try:
            api.patch(CONFIGMAPS, ACCOUNTS_CONFIGMAP, {"metadata": version, "data": data}, SYSTEM_NAMESPACE)
        except ConflictError:
            if not tries_left:
                raise
        else:
            return changed
    raise AssertionError("the last try raises")


def may_change_accounts(api: Api) -> bool:
    """Whether this user may write the accounts: Slurm's administrator."""
    attributes = {
        "resource": CONFIGMAPS.plural,
        "verb": "patch",
        "name": ACCOUNTS_CONFIGMAP,
        "namespace": SYSTEM_NAMESPACE,
    }
    review = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    return bool(api.create(ACCESS_REVIEWS, review)["status"].get("allowed"))
