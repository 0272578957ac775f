"""The site's configuration in force: read from ConfigMap hpcbatch-site whenever that changes.

A text with errors changes nothing; its errors are logged and shown on the ConfigMap. The last valid text is kept in
ConfigMap hpcbatch-site-in-force, for a start while the admin's text is bad; hpcbatch-queues shows users the queues.
What operators have made and changed of queues stands in ConfigMap hpcbatch-partitions, and goes over the admin's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from hpcbatch.api.informer import Workers, WorkQueue
from hpcbatch.api.names import (
    IN_FORCE_CONFIGMAP,
    PARTITIONS_CONFIGMAP,
    QUEUES_CONFIGMAP,
    QUEUES_KEY,
    SITE_CONFIGMAP,
    SITE_ERROR_ANNOTATION,
    SYSTEM_NAMESPACE,
)
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.queuelist import queues_to_json
from hpcbatch.api.resources import CONFIGMAPS, EVENTS
from hpcbatch.controller.account_source import AccountSource, of_configmap
from hpcbatch.controller.reservation_source import ReservationSource, next_change
from hpcbatch.errors import AlreadyExistsError, NotFoundError
from hpcbatch.model.node_features import properties
from hpcbatch.model.reservation import Reserved
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import FILE_KEY, TEMPLATE_KEY, Site, SiteFileError, read_site
from hpcbatch.site.partitions import with_partitions
from hpcbatch.site.reservations import with_reservations
from hpcbatch.site.server_settings import with_settings
from hpcbatch.units import rfc3339

_LOG = logging.getLogger(__name__)
_LOOK = "look"
_MAX_EVENT = 1024  # bytes of an Event's message
_MAX_ANNOTATION = 16_000  # characters; an object's annotations together may have 256 KiB


class _Texts(NamedTuple):
    """An admin's configuration as written. No text at all is valid too: all defaults."""

    site: str = ""
    template: str | None = None

    @classmethod
    def of(cls, configmap: Object | None) -> _Texts:
        data = (configmap or {}).get("data") or {}
        return cls(data.get(FILE_KEY, ""), data.get(TEMPLATE_KEY))

    def data(self) -> dict[str, str]:
        return {FILE_KEY: self.site} | ({} if self.template is None else {TEMPLATE_KEY: self.template})


class SiteSource:
    """Keeps `in_force` current. `defaults` are the values of missing keys; in its own thread it calls `prepare` before
    a new configuration takes effect, and `on_change` afterwards; `on_reserved` with the names of reservations that are
    in force otherwise than before, `on_reservation` with each event of one.
    """

    def __init__(
        self,
        api: Api,
        defaults: SiteConfig,
        *,
        prepare: Callable[[SiteConfig], None] = lambda _: None,
        on_change: Callable[[], None] = lambda: None,
        on_reservation: Callable[[WatchEvent], None] = lambda _: None,
        on_reserved: Callable[[frozenset[str]], None] = lambda _: None,
    ) -> None:
        self._api, self._defaults, self._prepare, self._on_change = api, defaults, prepare, on_change
        self._on_reserved = on_reserved
        self._in_force: Site | None = None
        self._of_admin: Site | None = None
        self._entries: dict[str, str] = {}
        self._made_partitions = False  # and the cache does not show it yet
        self._features: frozenset[str] = frozenset()
        self._settings = ServerSettings()
        self._reserved: Mapping[str, Reserved] = {}
        self._unreserved = defaults
        """The configuration in force without reservations."""
        self._are_on: frozenset[str] = frozenset()
        self._wanted_features: frozenset[str] = frozenset()
        self._texts_in_force = _Texts()
        self._tried: tuple[_Texts, tuple[str, ...]] | None = None
        self._written: dict[str, Mapping[str, str]] = {}
        # of a version of the ConfigMap, which the cache may still show after that: what an Event and the annotation say
        self._event: tuple[str, str | None] | None = None
        self._annotation: tuple[str, str | None] | None = None
        self.is_in_force = threading.Event()
        """Set once a configuration is in force, and accounts are."""
        self._queue: WorkQueue[str] = WorkQueue()
        self.informer = of_configmap(api, SITE_CONFIGMAP, lambda: self._queue.add(_LOOK))
        self.partitions = of_configmap(api, PARTITIONS_CONFIGMAP, lambda: self._queue.add(_LOOK))
        self._workers = Workers(self._queue, self._look, name="site")

        def accounts_changed() -> None:
            if self.accounts.in_force.server_settings != self._settings:
                self._queue.add(_LOOK)
            on_change()

        self.accounts = AccountSource(api, accounts_changed)

        def changed(event: WatchEvent) -> None:
            self._queue.add(_LOOK)
            on_reservation(event)

        self.reservations = ReservationSource(api, changed)

    @property
    def in_force(self) -> Site:
        """Raises AssertionError before `is_in_force`."""
        if self._in_force is None:
            raise AssertionError("no site configuration is in force yet")
        return self._in_force

    def set_features(self, features: frozenset[str]) -> None:
        """Features that nodes have by operators' labels."""
        if features != self._wanted_features:
            self._wanted_features = features
            self._queue.add(_LOOK)

    def start(self) -> None:
        self.informer.start()
        self.partitions.start()
        self.reservations.informer.start()
        self._queue.add(_LOOK)  # without a ConfigMap no event comes
        self._workers.start()
        self.accounts.start()

    def stop(self) -> None:
        self.informer.stop()
        self.partitions.stop()
        self.reservations.informer.stop()
        self._workers.stop()
        self.accounts.stop()

    def _look(self, _key: str) -> None:
        of_reservations = self.reservations.synced
        needed = self.informer.synced, self.partitions.synced, self.accounts.is_in_force, of_reservations
        while not all(each.wait(timeout=0.2) for each in needed):
            if self._queue.stopped:
                return
        configmap = self.informer.get(SYSTEM_NAMESPACE, SITE_CONFIGMAP)
        made = self.partitions.get(SYSTEM_NAMESPACE, PARTITIONS_CONFIGMAP)
        now, reserved = datetime.now(UTC), self.reservations.in_force()
        self._take_changes(dict((made or {}).get("data") or {}), self._wanted_features, reserved, now)
        if (left_s := next_change(reserved, now)) is not None:
            self._queue.add_after(_LOOK, max(0.0, left_s))
        problems = self._try(_Texts.of(configmap))
        if problems and self._in_force is None:
            self._take_kept()
        if self._in_force is not None:
            if made is None and not self._made_partitions:
                self._make_partitions()
            self._made_partitions = made is None
            # in this order: a reader of the second may rely on the first
            self._keep(QUEUES_CONFIGMAP, {QUEUES_KEY: queues_to_json(self._in_force.config, next(iter(problems), ""))})
            self._keep(IN_FORCE_CONFIGMAP, self._texts_in_force.data())
        if configmap is not None:
            self._report(configmap, problems)

    def _try(self, texts: _Texts) -> tuple[str, ...]:
        """Put `texts` in force if they are valid and new; else return the errors."""
        if self._tried is not None and self._tried[0] == texts:
            return self._tried[1]
        problems: tuple[str, ...] = ()
        try:
            site = read_site(texts.site, defaults=self._defaults, template=texts.template)
        except SiteFileError as error:
            problems = tuple(str(problem) for problem in error.problems)
            for problem in problems:
                _LOG.warning("ConfigMap %s/%s: %s", SYSTEM_NAMESPACE, SITE_CONFIGMAP, problem)
            _LOG.warning(
                "the site configuration is not in order: %s",
                "the one before stays in force" if self._in_force else "looking for the last one that was",
            )
        else:
            self._put_in_force(site, texts)
        self._tried = texts, problems
        return problems

    def _take_changes(
        self, entries: dict[str, str], features: frozenset[str], reserved: Mapping[str, Reserved], now: datetime
    ) -> None:
        are_on = frozenset(name for name, each in reserved.items() if each.is_on(now))
        settings = self.accounts.in_force.server_settings
        is_as_before = (entries, features, settings) == (self._entries, self._features, self._settings)
        names = reserved.keys() | self._reserved.keys()
        changed = {name for name in names if reserved.get(name) != self._reserved.get(name)} | (are_on ^ self._are_on)
        self._entries, self._features, self._reserved, self._are_on = entries, features, reserved, are_on
        self._settings = settings
        if self._in_force is not None and self._of_admin is not None:
            if not is_as_before:
                self._put_in_force(self._of_admin, self._texts_in_force)
            elif changed:  # most jobs have nothing to do with it
                self._in_force = replace(self._of_admin, config=with_reservations(self._unreserved, reserved, now))
        if changed:
            self._on_reserved(frozenset(changed))

    def _put_in_force(self, of_admin: Site, texts: _Texts) -> None:
        merged = with_partitions(of_admin.config, self._entries)
        for problem in merged.problems:
            _LOG.warning("ConfigMap %s/%s: %s", SYSTEM_NAMESPACE, PARTITIONS_CONFIGMAP, problem)
        known = {**properties(self._features), **merged.site.node_properties}
        config = replace(merged.site, node_features=self._features, node_properties=known)
        config = with_settings(config, self._settings)
        self._unreserved = config
        site = replace(of_admin, config=with_reservations(config, self._reserved, datetime.now(UTC)))
        self._prepare(site.config)
        self._of_admin, self._in_force, self._texts_in_force = of_admin, site, texts
        self.is_in_force.set()
        _LOG.info(
            "site configuration in force: %d queues, server name %s", len(site.config.queues), site.config.server_name
        )
        self._on_change()

    def _take_kept(self) -> None:
        """At a start with a bad text: use the one in force before."""
        try:
            texts = _Texts.of(self._api.get(CONFIGMAPS, IN_FORCE_CONFIGMAP, SYSTEM_NAMESPACE))
            site = read_site(texts.site, defaults=self._defaults, template=texts.template)
        except NotFoundError:
            _LOG.error(
                "no site configuration has been in force yet: no job is started before ConfigMap %s is mended",
                SITE_CONFIGMAP,
            )
        except SiteFileError as error:  # another version of hpcbatch wrote it
            _LOG.error(
                "ConfigMap %s cannot be used: %s: no job is started before ConfigMap %s is mended",
                IN_FORCE_CONFIGMAP,
                error,
                SITE_CONFIGMAP,
            )
        else:
            self._put_in_force(site, texts)

    def _keep(self, name: str, data: Mapping[str, str]) -> None:
        if self._written.get(name) == data:
            return
        try:
            found = self._api.get(CONFIGMAPS, name, SYSTEM_NAMESPACE)
        except NotFoundError:
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}
            self._api.create(CONFIGMAPS, made, SYSTEM_NAMESPACE)
        else:
            if found.get("data") != data:
                self._api.replace(CONFIGMAPS, found | {"data": dict(data)}, SYSTEM_NAMESPACE)
        self._written[name] = dict(data)

    def _make_partitions(self) -> None:
        """Operators may write this ConfigMap, and make none."""
        empty = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PARTITIONS_CONFIGMAP}}
        try:
            self._api.create(CONFIGMAPS, empty, SYSTEM_NAMESPACE)
        except AlreadyExistsError:
            pass

    def _report(self, configmap: Object, problems: tuple[str, ...]) -> None:
        """Write annotation and Event of the ConfigMap, if they have changed."""
        current = (configmap["metadata"].get("annotations") or {}).get(SITE_ERROR_ANNOTATION)
        text = "\n".join(problems)[:_MAX_ANNOTATION] or None
        version = configmap["metadata"]["resourceVersion"]
        report = version, text
        if current == text or self._annotation == report:
            return
        if text is not None and self._event != report:
            self._api.create(EVENTS, _event(configmap, text), SYSTEM_NAMESPACE)
            self._event = report
        # these errors belong to this version: a newer one is looked at next
        metadata = {"resourceVersion": version, "annotations": {SITE_ERROR_ANNOTATION: text}}
        self._api.patch(CONFIGMAPS, SITE_CONFIGMAP, {"metadata": metadata}, SYSTEM_NAMESPACE)
        self._annotation = report


def _event(configmap: Object, message: str) -> Object:
    now, metadata = rfc3339(datetime.now(UTC)), configmap["metadata"]
    cut = (
        message
        if len(message.encode()) <= _MAX_EVENT
        else message.encode()[: _MAX_EVENT - 3].decode(errors="ignore") + "…"
    )
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{SITE_CONFIGMAP}.{time.time_ns():x}"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": SITE_CONFIGMAP,
            "namespace": SYSTEM_NAMESPACE,
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
        "type": "Warning",
        "reason": "BadSiteConfiguration",
        "message": cut,
        "source": {"component": "hpcbatch"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
