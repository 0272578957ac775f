"""The accounts in force: read from ConfigMap hpcbatch-accounts, which operators write, whenever that changes.

A text with errors changes nothing: the error is logged and shown on the ConfigMap. The last valid text is kept in
ConfigMap hpcbatch-accounts-in-force, for a start while the other is bad.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hpcbatch.api.account_text import accounts_from_json
from hpcbatch.api.informer import Informer, Workers, WorkQueue
from hpcbatch.api.names import (
    ACCOUNTS_CONFIGMAP,
    ACCOUNTS_IN_FORCE_CONFIGMAP,
    ACCOUNTS_KEY,
    SITE_ERROR_ANNOTATION,
    SYSTEM_NAMESPACE,
)
from hpcbatch.api.port import Api
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.errors import AlreadyExistsError, ConflictError, HpcBatchError, NotFoundError
from hpcbatch.model.accounts import Accounts, first_accounts

_LOG = logging.getLogger(__name__)
_LOOK = "look"


def of_configmap(api: Api, name: str, look: Callable[[], None]) -> Informer:
    """Follows one ConfigMap of hpcbatch's namespace."""
    return Informer(api, CONFIGMAPS, SYSTEM_NAMESPACE, fields=f"metadata.name={name}", on_event=lambda _: look())


class AccountSource:
    """Keeps `in_force` current. In its own thread it calls `on_change` when that has changed."""

    def __init__(self, api: Api, on_change: Callable[[], None] = lambda: None) -> None:
        self._api, self._on_change = api, on_change
        self._in_force = first_accounts()
        self._text: str | None = None
        self._tried: tuple[str, str] | None = None
        self.is_in_force = threading.Event()
        """Set once the ConfigMap has been looked at: before that `in_force` may lack limits."""
        self._queue: WorkQueue[str] = WorkQueue()
        self.informer = of_configmap(api, ACCOUNTS_CONFIGMAP, lambda: self._queue.add(_LOOK))
        self._workers = Workers(self._queue, self._look, name="accounts")

    @property
    def in_force(self) -> Accounts:
        return self._in_force

    def start(self) -> None:
        self.informer.start()
        self._queue.add(_LOOK)  # without a ConfigMap no event comes
        self._workers.start()

    def stop(self) -> None:
        self.informer.stop()
        self._workers.stop()

    def _look(self, _key: str) -> None:
        while not self.informer.synced.wait(timeout=0.2):
            if self._queue.stopped:
                return
        found = self.informer.get(SYSTEM_NAMESPACE, ACCOUNTS_CONFIGMAP)
        if found is None:
            self._make(ACCOUNTS_CONFIGMAP, "")  # operators may write this one, and make none
            self.is_in_force.set()
            return
        text = str((found.get("data") or {}).get(ACCOUNTS_KEY, ""))
        problem = self._try(text)
        if problem and self._text is None:
            self._take_kept()
        self.is_in_force.set()
        current = (found["metadata"].get("annotations") or {}).get(SITE_ERROR_ANNOTATION, "")
        if current != problem:
            version = found["metadata"]["resourceVersion"]
            metadata = {"resourceVersion": version, "annotations": {SITE_ERROR_ANNOTATION: problem or None}}
            try:
                self._api.patch(CONFIGMAPS, ACCOUNTS_CONFIGMAP, {"metadata": metadata}, SYSTEM_NAMESPACE)
            except ConflictError:
                return  # a newer one is looked at next

    def _try(self, text: str) -> str:
        """Put the accounts of `text` in force, or return what is wrong with it."""
        if self._tried is not None and self._tried[0] == text:
            return self._tried[1]
        try:
            accounts = accounts_from_json(text)
        except HpcBatchError as error:
            problem = str(error)
            _LOG.warning(
                "ConfigMap %s/%s: %s; the last valid one counts", SYSTEM_NAMESPACE, ACCOUNTS_CONFIGMAP, problem
            )
        else:
            problem = ""
            self._put_in_force(accounts, text)
            self._keep(text)
        self._tried = text, problem
        return problem

    def _put_in_force(self, accounts: Accounts, text: str) -> None:
        is_new = accounts != self._in_force
        self._in_force, self._text = accounts, text
        if is_new:
            _LOG.info("accounts in force: %d, associations: %d", len(accounts.accounts), len(accounts.associations))
            self._on_change()

    def _take_kept(self) -> None:
        """At a start with a bad text: use the one in force before."""
        try:
            kept = self._api.get(CONFIGMAPS, ACCOUNTS_IN_FORCE_CONFIGMAP, SYSTEM_NAMESPACE)
            text = str((kept.get("data") or {}).get(ACCOUNTS_KEY, ""))
            self._put_in_force(accounts_from_json(text), text)
        except NotFoundError:
            return  # none was ever in force: those of the beginning are
        except HpcBatchError as error:  # another version of hpcbatch wrote it
            _LOG.error("ConfigMap %s cannot be used: %s", ACCOUNTS_IN_FORCE_CONFIGMAP, error)

    def _keep(self, text: str) -> None:
        try:
            found = self._api.get(CONFIGMAPS, ACCOUNTS_IN_FORCE_CONFIGMAP, SYSTEM_NAMESPACE)
        except NotFoundError:
            if text:
                self._make(ACCOUNTS_IN_FORCE_CONFIGMAP, text)
            return
        if (found.get("data") or {}).get(ACCOUNTS_KEY, "") != text:
            self._api.replace(CONFIGMAPS, found | {"data": {ACCOUNTS_KEY: text}}, SYSTEM_NAMESPACE)

    def _make(self, name: str, text: str) -> None:
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {ACCOUNTS_KEY: text}}
        try:
            self._api.create(CONFIGMAPS, made, SYSTEM_NAMESPACE)
        except AlreadyExistsError:
            self._queue.add(_LOOK)
