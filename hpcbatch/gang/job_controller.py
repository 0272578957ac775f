"""The loop around hpcbatch.volcano.lifecycle: carries out for Volcano Jobs what `decide` says.

All that it needs is in the API, so it may be stopped at any instant and started again. In memory are only: pods that
somebody else deleted and that were not dealt with yet (after a restart they are found by the last status' counters),
and actions of Commands, which Volcano too deletes before it acts on them, so that none is done twice.

What Volcano does by mistake and lifecycle.py does not, is listed there. Here, in the same way:
- at a job's end only objects that the job owns are deleted (Volcano: whatever has their names);
- no ConfigMap is left behind by a job that used up its restarts;
- an API that is out of order (5xx) is asked again for ever, and does not end the job; neither does a deleted queue.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from hpcbatch.api.informer import Informer, Workers, WorkQueue
from hpcbatch.api.news import News
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import COMMANDS, PODGROUPS, PODS, VOLCANO_JOBS, Resource
from hpcbatch.errors import NotFoundError
from hpcbatch.gang.events import COMPONENT, RecordEvent
from hpcbatch.gang.known import Known
from hpcbatch.gang.news import of_group, of_job
from hpcbatch.gang.queue_commands import run_queue_command
from hpcbatch.gang.ssh_keys import KeyPool
from hpcbatch.gang.sync import Sync
from hpcbatch.volcano.gangs.port import Gang
from hpcbatch.volcano.gangs.registry import VOLCANO
from hpcbatch.volcano.job_objects import controlling_job

WorkKey = tuple[str, str, str]
"""("job" or "command", namespace, name)"""


OnEvent = Callable[[WatchEvent], None]


class Feed(Protocol):
    """Calls with each change of a resource, and first with what is there."""

    def start(self) -> None:
        """Returns when everything that is there has been reported."""

    def stop(self) -> None: ...


class _InformerFeed:
    def __init__(self, informer: Informer) -> None:
        self._informer = informer

    def start(self) -> None:
        self._informer.start()
        self._informer.synced.wait(30)

    def stop(self) -> None:
        self._informer.stop()


def utc_now() -> datetime:
    return datetime.now(UTC)


class JobController:
    """One worker, so that PodGroups are made in the order of the jobs."""

    def __init__(
        self,
        api: Api,
        record_event: RecordEvent,
        *,
        feed: Callable[[Resource, OnEvent], Feed] | None = None,
        gang_of: Callable[[Object], Gang | None] = lambda _: VOLCANO,
        labels: str = "",
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """`gang_of` a Volcano Job says how its scheduler is told of its pods; None: the job is none of ours. All that
        are ours, and their pods, have those `labels`, a selector. Changes come by `feed`; None: by informers.
        """
        self._api, self._record_event, self._gang_of, self._now = api, record_event, gang_of, now
        self._serves_all = not labels
        self._queue: WorkQueue[WorkKey] = WorkQueue(longest_backoff_s=200.0, supersedes=True)
        self._workers = Workers(self._queue, self._work, name="job-controller")
        self._keys = KeyPool()
        self._informers: dict[Resource, Informer] = {}

        def informer(resource: Resource, on_event: OnEvent) -> Feed:
            its_labels = "" if resource is COMMANDS else labels
            self._informers[resource] = Informer(api, resource, on_event=on_event, labels=its_labels)
            return _InformerFeed(self._informers[resource])

        make = feed or informer
        self._feeds = [make(PODS, self._on_pod)]
        if self._serves_all:  # Volcano's own scheduler answers by them
            self._feeds.append(make(PODGROUPS, self._on_group))
        self._feeds += [make(VOLCANO_JOBS, self._on_job), make(COMMANDS, self._on_command)]
        self._known = Known()
        self._news_of_jobs, self._news_of_groups = News(), News()

    def start(self) -> None:
        """Returns when everything that was there is known and being worked on."""
        self._keys.start()
        for feed in self._feeds:
            feed.start()
        self._workers.start()

    def stop(self) -> None:
        self._workers.stop()
        for feed in reversed(self._feeds):
            feed.stop()
        self._keys.stop()

    @property
    def dead(self) -> list[str]:
        """Names of its threads that have ended, although nobody stopped them."""
        return [*self._workers.dead, *(informer.name for informer in self._informers.values() if informer.has_died)]

    # What has changed

    def _on_job(self, event: WatchEvent) -> None:
        meta = event.object["metadata"]
        if event.type == "DELETED":
            self._known.forget((meta["namespace"], meta["name"]), meta["uid"])
        if self._news_of_jobs.is_new(event, of_job(event.object)) and not self._known.is_own_doing:
            self._queue.add(("job", meta["namespace"], meta["name"]))

    def _on_pod(self, event: WatchEvent) -> None:
        pod, owner = event.object, controlling_job(event.object)
        if owner is None:
            return
        key = (pod["metadata"]["namespace"], owner["name"])
        if event.type != "DELETED":
            is_news = self._known.put_pod(key, pod) and not self._known.is_own_doing
        else:
            is_news = True
            job = self._job(*key)
            is_there = job is not None and job["metadata"]["uid"] == owner["uid"]
            self._known.drop_pod(key, pod, lost_at=self._now() if is_there else None)
        if is_news:
            self._queue.add(("job", *key))

    def _job(self, namespace: str, name: str) -> Object | None:
        """As last heard of it, else from the API: its event may come later than that of what belongs to it."""
        jobs = self._informers.get(VOLCANO_JOBS)
        try:
            return (jobs and jobs.get(namespace, name)) or self._api.get(VOLCANO_JOBS, name, namespace)
        except NotFoundError:
            return None

    def _on_group(self, event: WatchEvent) -> None:
        owner = controlling_job(event.object)
        is_news = self._news_of_groups.is_new(event, of_group(event.object)) and not self._known.is_own_doing
        if is_news and owner is not None:
            self._queue.add(("job", event.object["metadata"]["namespace"], owner["name"]))

    def _on_command(self, event: WatchEvent) -> None:
        if event.type == "ADDED":
            meta = event.object["metadata"]
            self._queue.add(("command", meta["namespace"], meta["name"]))

    # Work

    def _work(self, key: WorkKey) -> None:
        kind, namespace, name = key
        if kind == "command":
            self._take_command(namespace, name)
            return
        try:
            job = self._api.get(VOLCANO_JOBS, name, namespace)
        except NotFoundError:
            return
        if (gang := self._gang_of(job)) is None:
            return
        Sync(
            self._api,
            job,
            gang=gang,
            known=self._known,
            take_key=self._keys.take,
            record_event=self._record_event,
            look_again=lambda after_s: self._queue.add_after(key, after_s),
            now=self._now(),
        ).run()

    def _take_command(self, namespace: str, name: str) -> None:
        try:
            command = self._api.get(COMMANDS, name, namespace)
            if not self._is_for_us(command, namespace):
                return
            self._api.delete(COMMANDS, name, namespace, uid=command["metadata"]["uid"])
        except NotFoundError:
            return
        target, action = command.get("target") or {}, str(command.get("action", ""))
        if target.get("kind") == "Queue":
            run_queue_command(self._api, self._record_event, target.get("name", ""), action)
            return
        if (target.get("apiVersion"), target.get("kind")) != (VOLCANO_JOBS.api_version, VOLCANO_JOBS.kind):
            return
        try:
            job = self._api.get(VOLCANO_JOBS, target.get("name", ""), namespace)
        except NotFoundError:
            return
        text = f"Start to execute command {action}, and clean it up to make sure executed not more than once."
        self._record(job, "CommandIssued", text)
        self._record(job, "ExecuteAction", f"Start to execute action {action} ")
        key = (namespace, job["metadata"]["name"])
        self._known.put_request(key, action)
        self._queue.add(("job", *key))

    def _is_for_us(self, command: Object, namespace: str) -> bool:
        target = command.get("target") or {}
        name = target.get("name", "")
        if self._serves_all or target.get("kind") == "Queue":
            return True
        job = self._job(namespace, name)
        return job is not None and self._gang_of(job) is not None

    def _record(self, job: Object, reason: str, message: str) -> None:
        self._record_event(job, type="Normal", reason=reason, message=message, component=COMPONENT)
