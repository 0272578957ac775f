"""The site's configuration in force, on the engine's registry: what changes when, and what is told where."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from hpcbatch.api.names import (
    IN_FORCE_CONFIGMAP,
    QUEUES_CONFIGMAP,
    QUEUES_KEY,
    SITE_CONFIGMAP,
    SITE_ERROR_ANNOTATION,
    SYSTEM_NAMESPACE,
)
from hpcbatch.api.port import Object
from hpcbatch.api.queuelist import queues_from_json
from hpcbatch.api.resources import CONFIGMAPS, EVENTS
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import NotFoundError, UnreachableError
from hpcbatch.model.queue_switches import Switches
from hpcbatch.model.site import SiteConfig
from tests.waiting import wait_for

HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"
DEFAULTS = SiteConfig(server_name="here")


@contextmanager
def running(registry: Registry, defaults: SiteConfig = DEFAULTS, on_change: Callable[[], None] = lambda: None) -> Any:
    source = SiteSource(registry, defaults, on_change=on_change)
    source.start()
    try:
        yield source
    finally:
        source.stop()


def put(registry: Registry, body: str, **more: str) -> None:
    data = {"site.yaml": HEAD + body, **more}
    try:
        found = registry.get(CONFIGMAPS, SITE_CONFIGMAP, SYSTEM_NAMESPACE)
    except NotFoundError:
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SITE_CONFIGMAP}, "data": data}
        registry.create(CONFIGMAPS, made, SYSTEM_NAMESPACE)
    else:
        registry.replace(CONFIGMAPS, found | {"data": data}, SYSTEM_NAMESPACE)


def data(registry: Registry, name: str) -> dict[str, str]:
    try:
        return dict(registry.get(CONFIGMAPS, name, SYSTEM_NAMESPACE).get("data") or {})
    except NotFoundError:
        return {}


def told(registry: Registry) -> str:
    metadata = registry.get(CONFIGMAPS, SITE_CONFIGMAP, SYSTEM_NAMESPACE)["metadata"]
    return str((metadata.get("annotations") or {}).get(SITE_ERROR_ANNOTATION, ""))


def events(registry: Registry) -> list[Object]:
    return [
        event for event in registry.list(EVENTS, SYSTEM_NAMESPACE).items if event["reason"] == "BadSiteConfiguration"
    ]


def wait_kept(registry: Registry, body: str) -> None:
    wait_for("the text that is in force", lambda: data(registry, IN_FORCE_CONFIGMAP).get("site.yaml") == HEAD + body)


def test_nothing_written_means_defaults(registry: Registry) -> None:
    with running(registry) as source:
        assert source.is_in_force.wait(60)
        assert source.in_force.config == DEFAULTS
        wait_for("what users may read", lambda: data(registry, QUEUES_CONFIGMAP))
    assert queues_from_json(data(registry, QUEUES_CONFIGMAP)[QUEUES_KEY], {"default": Switches()})[0].is_default


def test_a_change_takes_effect_and_so_does_its_removal(registry: Registry) -> None:
    changes = threading.Semaphore(0)
    with running(registry, on_change=changes.release) as source:
        assert changes.acquire(timeout=60)
        put(registry, "queues: [{name: workq, volcanoQueue: default, default: true, maxWalltime: 1h}]")
        assert changes.acquire(timeout=60)
        assert source.in_force.config.default_queue == "workq"
        assert source.in_force.config.server_name == "here"
        wait_kept(registry, "queues: [{name: workq, volcanoQueue: default, default: true, maxWalltime: 1h}]")
        (row,) = queues_from_json(data(registry, QUEUES_CONFIGMAP)[QUEUES_KEY], {"default": Switches()})
        assert (row.name, row.max_walltime_s, row.is_open) == ("workq", 3600, True)
        registry.delete(CONFIGMAPS, SITE_CONFIGMAP, SYSTEM_NAMESPACE)
        assert changes.acquire(timeout=60)
        assert source.in_force.config == DEFAULTS
        assert not changes.acquire(blocking=False)


def test_a_bad_text_changes_nothing_and_is_told_once(registry: Registry) -> None:
    put(registry, "killDelay: 3")
    with running(registry) as source:
        wait_kept(registry, "killDelay: 3")
        put(registry, "killDelay: x\nsshPort: y")
        wait_for("the annotation", lambda: told(registry))
        assert source.in_force.config.kill_delay_s == 3
        assert [line.split(": ")[:2] for line in told(registry).splitlines()] == [
            ["site.yaml:3:12", "killDelay"],
            ["site.yaml:4:10", "sshPort"],
        ]
        (event,) = events(registry)
        assert event["type"] == "Warning"
        assert event["involvedObject"]["name"] == SITE_CONFIGMAP
        assert event["message"] == told(registry)
        version = registry.get(CONFIGMAPS, SITE_CONFIGMAP, SYSTEM_NAMESPACE)["metadata"]["resourceVersion"]
        put(registry, "killDelay: 4")
        wait_for("no annotation", lambda: not told(registry))
        assert source.in_force.config.kill_delay_s == 4
        assert int(version) > 0
        assert data(registry, IN_FORCE_CONFIGMAP)["site.yaml"] == HEAD + "killDelay: 4"


class Writes:
    """An API that notes what is written."""

    def __init__(self, api: Registry) -> None:
        self._api, self.done = api, list[str]()

    def create(self, resource: Any, obj: Any, namespace: str | None = None) -> Object:
        self.done.append(f"create {obj['metadata']['name'].partition('.')[0]}")
        return self._api.create(resource, obj, namespace)

    def replace(self, resource: Any, obj: Any, namespace: str | None = None, *, subresource: str = "") -> Object:
        self.done.append(f"replace {obj['metadata']['name']}")
        return self._api.replace(resource, obj, namespace, subresource=subresource)

    def patch(
        self, resource: Any, name: str, patch: Any, namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        self.done.append(f"patch {name}")
        return self._api.patch(resource, name, patch, namespace, subresource=subresource)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)


class LostReply(Writes):
    """Its first patch is made, but the reply is lost; nothing is seen of it before it is tried again."""

    def __init__(self, api: Registry) -> None:
        super().__init__(api)
        self._is_tried_again = threading.Event()

    def patch(self, *args: Any, **more: Any) -> Object:
        is_first = f"patch {SITE_CONFIGMAP}" not in self.done
        if not is_first:
            self._is_tried_again.set()
        patched = super().patch(*args, **more)
        if is_first:
            raise UnreachableError("the reply is lost")
        return patched

    def watch(self, *args: Any, **more: Any) -> Any:
        self._is_tried_again.wait(60)
        return self._api.watch(*args, **more)


def test_an_error_is_one_event_though_a_reply_is_lost(registry: Registry) -> None:
    put(registry, "killDelay: x")
    api: Any = LostReply(registry)
    with running(api):
        wait_for("the second try", lambda: api.done.count("patch hpcbatch-site") > 1)
        put(registry, "killDelay: 5")
        wait_kept(registry, "killDelay: 5")
    assert api.done.count("create hpcbatch-site") == 1


def test_nothing_is_written_twice(registry: Registry) -> None:
    put(registry, "startTimeout: x")
    api: Any = Writes(registry)
    with running(api):
        wait_for("the annotation", lambda: told(registry))
        label = {"metadata": {"labels": {"looked": "at"}}}  # a change that changes nothing for us
        registry.patch(CONFIGMAPS, SITE_CONFIGMAP, label, SYSTEM_NAMESPACE)
        put(registry, "startTimeout: 5")
        wait_kept(registry, "startTimeout: 5")
        wait_for("no annotation", lambda: not told(registry))
        registry.patch(CONFIGMAPS, SITE_CONFIGMAP, label, SYSTEM_NAMESPACE)
        put(registry, "startTimeout: 6")
        wait_kept(registry, "startTimeout: 6")
    assert [written for written in api.done if "accounts" not in written] == [
        "create hpcbatch-site",  # the Event
        "patch hpcbatch-site",
        "create hpcbatch-queues",
        "create hpcbatch-site-in-force",
        "patch hpcbatch-site",
        "replace hpcbatch-site-in-force",
    ]


def test_a_start_with_a_bad_text_goes_on_with_what_was_in_force(registry: Registry) -> None:
    put(registry, "killDelay: 3")
    with running(registry):
        wait_kept(registry, "killDelay: 3")
    put(registry, "killDelay: x")
    for _ in range(2):
        with running(registry) as source:
            assert source.is_in_force.wait(60)
            assert source.in_force.config.kill_delay_s == 3
            wait_for("the annotation", lambda: told(registry))
    assert len(events(registry)) == 1


def test_a_first_start_with_a_bad_text_waits_until_it_is_mended(registry: Registry) -> None:
    put(registry, "killDelay: x")
    with running(registry) as source:
        wait_for("the annotation", lambda: told(registry))
        assert not source.is_in_force.is_set()
        assert not data(registry, QUEUES_CONFIGMAP)
        put(registry, "killDelay: 5")
        assert source.is_in_force.wait(60)
        assert source.in_force.config.kill_delay_s == 5


def test_a_real_cluster_without_an_image_waits(registry: Registry) -> None:
    with running(registry, defaults=SiteConfig(image="")) as source:
        assert not source.is_in_force.wait(0.3)
        put(registry, "image: registry.site/mpi:1")
        assert source.is_in_force.wait(60)


def test_a_template_of_the_sites_own(registry: Registry) -> None:
    put(registry, "", **{"job.yaml.j2": "{{ nosuch }}"})
    with running(registry) as source:
        wait_for("the annotation", lambda: told(registry))
        assert told(registry).startswith("job.yaml.j2: for a job of one pod: ")
        put(registry, "")
        assert source.is_in_force.wait(60)
        assert source.in_force.loader is None


def test_what_others_did_to_the_controllers_own_is_undone_at_a_start(registry: Registry) -> None:
    with running(registry):
        wait_for("both", lambda: data(registry, IN_FORCE_CONFIGMAP))
    good = data(registry, QUEUES_CONFIGMAP)
    registry.patch(CONFIGMAPS, QUEUES_CONFIGMAP, {"data": {QUEUES_KEY: "{}"}}, SYSTEM_NAMESPACE)
    with running(registry):
        wait_for("the list of queues", lambda: data(registry, QUEUES_CONFIGMAP) == good)
