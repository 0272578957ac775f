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

from hpcbatch.api.informer import Informer, Workers, WorkQueue
from hpcbatch.api.news import News
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import COMMANDS, PODGROUPS, PODS, VOLCANO_JOBS
from hpcbatch.errors import NotFoundError
from hpcbatch.gang.events import COMPONENT, RecordEvent
from hpcbatch.gang.known import Known
from hpcbatch.gang.news import of_group, of_job
from hpcbatch.gang.queue_commands import run_queue_command
from hpcbatch.gang.ssh_keys import KeyPool
from hpcbatch.gang.sync import Sync
from hpcbatch.volcano.job_objects import controlling_job

WorkKey = tuple[str, str, str]
"""("job" or "command", namespace, name)"""


def utc_now() -> datetime:
    return datetime.now(UTC)


class JobController:
    """One worker, so that PodGroups are made in the order of the jobs."""

    def __init__(self, api: Api, record_event: RecordEvent, *, now: Callable[[], datetime] = utc_now) -> None:
        self._api, self._record_event, self._now = api, record_event, now
        self._queue: WorkQueue[WorkKey] = WorkQueue(longest_backoff_s=200.0)
        self._workers = Workers(self._queue, self._work, name="job-controller")
        self._keys = KeyPool()
        self._pods = Informer(api, PODS, on_event=self._on_pod)
        self._groups = Informer(api, PODGROUPS, on_event=self._on_group)
        self._jobs = Informer(api, VOLCANO_JOBS, on_event=self._on_job)
        self._commands = Informer(api, COMMANDS, on_event=self._on_command)
        self._known = Known()
        self._news_of_jobs, self._news_of_groups = News(), News()

    def start(self) -> None:
        """Returns when everything that was there is known and being worked on."""
        self._keys.start()
        for informer in (self._pods, self._groups, self._jobs, self._commands):
            informer.start()
            informer.synced.wait(30)
        self._workers.start()

    def stop(self) -> None:
        self._workers.stop()
        for informer in (self._commands, self._jobs, self._groups, self._pods):
            informer.stop()
        self._keys.stop()

    # What has changed

    def _on_job(self, event: WatchEvent) -> None:
        meta = event.object["metadata"]
        if event.type == "DELETED":
            self._known.forget((meta["namespace"], meta["name"]), meta["uid"])
        if self._news_of_jobs.is_new(event, of_job(event.object)):
            self._queue.add(("job", meta["namespace"], meta["name"]))

    def _on_pod(self, event: WatchEvent) -> None:
        pod, owner = event.object, controlling_job(event.object)
        if owner is None:
            return
        key = (pod["metadata"]["namespace"], owner["name"])
        if event.type != "DELETED":
            is_news = self._known.put_pod(key, pod)
        else:
            is_news = True
            job = self._jobs.get(*key)
            is_there = job is not None and job["metadata"]["uid"] == owner["uid"]
            self._known.drop_pod(key, pod, lost_at=self._now() if is_there else None)
        if is_news:
            self._queue.add(("job", *key))

    def _on_group(self, event: WatchEvent) -> None:
        owner = controlling_job(event.object)
        if self._news_of_groups.is_new(event, of_group(event.object)) and owner is not None:
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
        Sync(
            self._api,
            job,
            known=self._known,
            take_key=self._keys.take,
            record_event=self._record_event,
            look_again=lambda after_s: self._queue.add_after(key, after_s),
            now=self._now(),
        ).run()

    def _take_command(self, namespace: str, name: str) -> None:
        try:
            command = self._api.get(COMMANDS, name, namespace)
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

    def _record(self, job: Object, reason: str, message: str) -> None:
        self._record_event(job, type="Normal", reason=reason, message=message, component=COMPONENT)
