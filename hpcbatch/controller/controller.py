"""The loop around `decide`: watches, reads the clock, carries out what was decided. All its state is in the API."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hpcbatch.api.batchjob import full_status_to_json, record_from
from hpcbatch.api.informer import Informer, WorkQueue, object_key
from hpcbatch.api.jobspec import spec_from_json
from hpcbatch.api.names import JOB_ID_LABEL, SECRET_TYPE
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import (
    BATCHJOBS,
    COMMANDS,
    CONFIGMAPS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    SECRETS,
    VOLCANO_JOBS,
    Resource,
)
from hpcbatch.controller.decide import Decision, Observed, VolcanoJobView, Waiting, decide
from hpcbatch.controller.dialects import DIALECTS
from hpcbatch.controller.identity import Identity, identity_of
from hpcbatch.controller.numbers import JobNumbers
from hpcbatch.controller.views import node_rooms, pod_views, volcano_job_view
from hpcbatch.controller.waiting import NodeRoom, explain
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, HpcBatchError, NotFoundError, RefusedError
from hpcbatch.model.layout import lay_out
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import Arrangement, JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.units import cpu_milli, parse_rfc3339
from hpcbatch.volcano import translate

_LOG = logging.getLogger(__name__)
_REFUSED_KEPT_S = 60.0  # the client that waits for the answer takes the record away long before
_SUBMISSION_KEPT = timedelta(minutes=10)  # a Secret whose BatchJob never came
_SWEEP_S = 300.0
_WAITING_LOOK_S = 30.0  # the numbers in a waiting job's reason follow the cluster that often
_ROOMS_KEPT_S = 1.0
_WORKERS = 2

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Admitted:
    """An object with its record: the record in the API, and what the controller reads out of it."""

    obj: Object
    record: JobRecord

    @property
    def volcano_job(self) -> str:
        return str(self.obj["status"].get("volcanoJob", ""))


class Controller:
    """Admits BatchJobs, makes their Volcano Jobs, and writes back what became of them. May be killed at any instant."""

    def __init__(self, api: Api, site: SiteConfig) -> None:
        self._api, self._site = api, site
        self._numbers = JobNumbers(api)
        self._queue: WorkQueue[Key] = WorkQueue()
        self._by_number: dict[str, Key] = {}
        self._ended_pods: dict[Key, dict[str, Object]] = {}  # of jobs whose pods go away while they end
        self._runner_in: set[str] = set()
        self._priorities: set[int] = set()
        self._rooms: tuple[float, list[NodeRoom]] = (-_ROOMS_KEPT_S, [])
        labelled = {"labels": JOB_ID_LABEL}
        self._batchjobs = Informer(api, BATCHJOBS, on_event=self._on_batchjob)
        self._volcano_jobs = Informer(api, VOLCANO_JOBS, on_event=self._on_part, **labelled)
        self._pods = Informer(api, PODS, on_event=self._on_pod)
        self._nodes = Informer(api, NODES, on_event=lambda _: None)
        self._informers = (self._nodes, self._volcano_jobs, self._pods, self._batchjobs)
        self._threads = [
            threading.Thread(target=self._work, name=f"batchjobs-{n}", daemon=True) for n in range(_WORKERS)
        ]
        self._threads.append(threading.Thread(target=self._sweep, name="batchjobs-sweep", daemon=True))
        self._stopping = threading.Event()

    def start(self) -> None:
        for informer in self._informers:
            informer.start()
        for informer in self._informers:
            informer.synced.wait()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._queue.stop()
        for informer in self._informers:
            informer.stop()
        for thread in self._threads:
            thread.join(timeout=10)

    # What changed, and whose job that is

    def _on_batchjob(self, event: WatchEvent) -> None:
        key = object_key(event.object)
        number = event.object.get("status", {}).get("jobId")
        if event.type == "DELETED":
            self._by_number.pop(number, None)
            self._ended_pods.pop(key, None)
            return
        if number is not None:
            self._by_number[number] = key
        self._queue.add(key)

    def _on_part(self, event: WatchEvent) -> None:
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        key = self._by_number.get(number)
        if key is not None and key[0] == event.object["metadata"]["namespace"]:
            self._queue.add(key)

    def _on_pod(self, event: WatchEvent) -> None:
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        key = self._by_number.get(number)
        if key is not None and event.type == "DELETED":
            self._ended_pods.setdefault(key, {})[event.object["metadata"]["name"]] = event.object
        self._on_part(event)

    # Workers

    def _work(self) -> None:
        while not self._stopping.is_set():
            key = self._queue.get()
            if key is None:
                return
            try:
                look_again_s = self._reconcile(key)
            except (ConflictError, NotFoundError):
                self._queue.retry(key)
            except ApiError as error:
                _LOG.warning("job %s/%s: %s; next try in %.1f s", *key, error, self._queue.retry(key))
            except Exception:
                _LOG.exception("job %s/%s; next try in %.1f s", *key, self._queue.retry(key))
            else:
                self._queue.forget(key)
                if look_again_s is not None:
                    self._queue.add_after(key, look_again_s)
            finally:
                self._queue.done(key)

    def _reconcile(self, key: Key) -> float | None:
        obj = self._batchjobs.get(*key)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            return None
        if "refusal" in obj.get("status", {}):
            return self._forget_refused(obj)
        if "jobId" not in obj.get("status", {}):
            obj = self._admit(obj)
            if obj is None:
                return _REFUSED_KEPT_S
        admitted = _Admitted(obj, record_from(obj))
        if admitted.record.status.state.is_final:
            if not obj["status"].get("cleaned"):
                self._clean(admitted)
            return None
        seen = self._observe(admitted)
        return self._carry_out(admitted, seen, decide(seen))

    # Admission

    def _admit(self, obj: Object) -> Object | None:
        namespace = obj["metadata"]["namespace"]
        try:
            spec = spec_from_json(obj["spec"])
            owner = self._identity(namespace)
            queue = self._open_queue(spec)
            self._own_submission(obj)
        except RefusedError as refused:
            self._refuse(obj, refused.code, str(refused))
            return None
        except ApiError:
            raise
        except HpcBatchError as error:
            self._refuse(obj, RefusalCode.BAD_SPEC, str(error))
            return None
        status = JobStatus(
            state=JobState.HELD if spec.hold else JobState.QUEUED,
            reason=Reason.HELD_BY_USER if spec.hold else Reason.NONE,
            owner=owner.user,
            uid=owner.uid,
            gid=owner.gid,
            home=owner.home,
            layout=lay_out(spec, self._node_cpus()),
            submit_time=parse_rfc3339(obj["metadata"]["creationTimestamp"]),
        )
        record = JobRecord(
            job_id=self._numbers.take(),
            namespace=namespace,
            object_name=obj["metadata"]["name"],
            spec=spec,
            status=status,
            queue=queue,
        )
        return self._write_status(obj, record)

    def _refuse(self, obj: Object, code: str, message: str) -> None:
        status = {"state": JobState.REFUSED.value, "refusal": {"code": str(code), "message": message}}
        self._api.replace(BATCHJOBS, obj | {"status": status}, obj["metadata"]["namespace"], subresource="status")

    def _forget_refused(self, obj: Object) -> float | None:
        age = datetime.now(UTC) - parse_rfc3339(obj["metadata"]["creationTimestamp"])
        left_s = _REFUSED_KEPT_S - age.total_seconds()
        if left_s > 0:
            return left_s
        self._delete(BATCHJOBS, obj["metadata"]["name"], obj["metadata"]["namespace"])
        return None

    def _identity(self, namespace: str) -> Identity:
        return identity_of(self._api.get(NAMESPACES, namespace))

    def _open_queue(self, spec: JobSpec) -> str:
        name = spec.queue or self._site.default_queue
        try:
            queue = self._api.get(QUEUES, name)
        except NotFoundError:
            raise RefusedError(RefusalCode.UNKNOWN_QUEUE, name) from None
        if name == "root":
            raise RefusedError(RefusalCode.UNKNOWN_QUEUE, name)
        if queue.get("status", {}).get("state", "Open") != "Open":
            raise RefusedError(RefusalCode.QUEUE_CLOSED, name)
        return name

    def _own_submission(self, obj: Object) -> None:
        """Let the Secret with script and environment go when the record goes."""
        namespace, name = obj["metadata"]["namespace"], obj["spec"].get("submissionSecret", "")
        missing = RefusedError(RefusalCode.NO_SCRIPT, f"no Secret {name!r} of type {SECRET_TYPE} with the job's script")
        try:
            secret = self._api.get(SECRETS, name, namespace) if name else None
        except NotFoundError:
            raise missing from None
        if secret is None or secret.get("type") != SECRET_TYPE:
            raise missing
        owners = secret["metadata"].get("ownerReferences", [])
        if any(owner["uid"] != obj["metadata"]["uid"] for owner in owners):
            raise RefusedError(RefusalCode.NO_SCRIPT, f"Secret {name!r} belongs to another job")
        if not owners:
            patch = {"metadata": {"ownerReferences": [owner_reference(obj)]}}
            self._api.patch(SECRETS, name, patch, namespace)

    def _node_cpus(self) -> list[int]:
        return [cpu_milli(n["status"]["allocatable"]["cpu"]) // 1000 for n in self._nodes.items() if "status" in n]

    # Running

    def _observe(self, job: _Admitted) -> Observed:
        record, now = job.record, datetime.now(UTC)
        volcano_job = self._volcano_job(job)
        names = [pod.host for pod in translate.pods(record.job_id, record.status.layout)]
        found = {name: self._pods.get(record.namespace, name) for name in names} if volcano_job else {}
        pods = {name: pod for name, pod in found.items() if pod is not None}
        is_final = volcano_job is not None and volcano_job.is_final
        if is_final or job.obj["spec"].get("deleteRequested"):
            pods = self._ended_pods.get((record.namespace, record.object_name), {}) | pods
        views = pod_views(pods.values(), names)
        return Observed(
            record=record,
            delete_requested=bool(job.obj["spec"].get("deleteRequested")),
            volcano_job=volcano_job,
            was_created=bool(job.volcano_job),
            pods=views,
            waiting=self._waiting(record) if volcano_job and not any(v.node for v in views) else Waiting(
                reason=Reason.NONE, message=""
            ),
            now=now,
        )  # fmt: skip

    def _volcano_job(self, job: _Admitted) -> VolcanoJobView | None:
        """As the cache has it; asked for anew where the cache may lag behind our own creation."""
        name = translate.job_name(job.record.job_id)
        found = self._volcano_jobs.get(job.record.namespace, name)
        if found is None and job.volcano_job:
            try:
                found = self._api.get(VOLCANO_JOBS, name, job.record.namespace)
            except NotFoundError:
                return None
        return None if found is None else volcano_job_view(found)

    def _waiting(self, record: JobRecord) -> Waiting:
        made, rooms = self._rooms
        # counting all pods for each of many waiting jobs would be quadratic
        if time.monotonic() - made > _ROOMS_KEPT_S:
            rooms = node_rooms(self._nodes.items(), self._pods.items())
            self._rooms = time.monotonic(), rooms
        return explain(record.status.layout, rooms, is_scattered=record.spec.arrangement is Arrangement.SCATTER)

    def _carry_out(self, job: _Admitted, seen: Observed, decision: Decision) -> float | None:
        record, namespace = job.record, job.record.namespace
        name = translate.job_name(record.job_id)
        volcano_job = name if seen.volcano_job is not None and not seen.volcano_job.is_deleting else job.volcano_job
        if decision.terminate:
            self._terminate(namespace, name)
        if decision.create:
            self._create(job)
            volcano_job = name
        if decision.delete:
            volcano_job = ""  # written first: killed in between, the next look decides the same again
        if decision.status != record.status or volcano_job != job.volcano_job:
            self._write_status(job.obj, replace(record, status=decision.status), volcano_job)
        if decision.delete and seen.volcano_job is not None:
            # by uid: what the cache still shows may have been made anew meanwhile
            self._delete(VOLCANO_JOBS, name, namespace, uid=seen.volcano_job.uid)
            self._ended_pods.pop((namespace, record.object_name), None)
        if decision.look_again_s is None and decision.status.reason in {Reason.RESOURCES, Reason.NEVER_FITS}:
            return _WAITING_LOOK_S
        return decision.look_again_s

    def _create(self, job: _Admitted) -> None:
        record, site = job.record, self._site
        dialect = DIALECTS[record.spec.dialect]
        placed = PlacedJob(
            job_id=record.job_id,
            spec=record.spec,
            queue=record.queue,
            pods=translate.pods(record.job_id, record.status.layout),
            owner=record.status.owner,
            uid=record.status.uid,
            gid=record.status.gid,
            home=record.status.home,
            cluster=site.server_name,
            run_count=record.status.run_count + 1,
        )
        objects = translate.manifests(
            placed,
            dialect.output_files(placed),
            dialect.environment(placed),
            dialect.nodefile(placed),
            site,
            submission_secret=job.obj["spec"]["submissionSecret"],
            namespace=record.namespace,
            owner=owner_reference(job.obj),
            export_none=bool(job.obj["spec"].get("exportNone")),
        )
        self._ensure_runner(record.namespace)
        self._ensure_priority(record.spec.priority)
        for obj in objects:
            try:
                self._api.create(_RESOURCE[obj["kind"]], obj, record.namespace)
            except AlreadyExistsError:  # made before a kill, or for the run before this one
                if obj["kind"] == "ConfigMap":
                    self._api.replace(CONFIGMAPS, obj, record.namespace)

    def _ensure_runner(self, namespace: str) -> None:
        if namespace in self._runner_in:
            return
        try:
            self._api.create(CONFIGMAPS, translate.runner_configmap(namespace), namespace)
        except AlreadyExistsError:
            pass
        self._runner_in.add(namespace)

    def _ensure_priority(self, priority: int) -> None:
        if priority == 0 or priority in self._priorities:
            return
        try:
            self._api.create(PRIORITY_CLASSES, translate.priority_class(priority))
        except AlreadyExistsError:
            pass
        self._priorities.add(priority)

    def _terminate(self, namespace: str, name: str) -> None:
        """Have Volcano end the job's pods, once."""
        job = self._volcano_jobs.get(namespace, name) or self._api.get(VOLCANO_JOBS, name, namespace)
        if volcano_job_view(job).phase in {
            "Terminating",
            "Terminated",
            "Aborting",
            "Completing",
            "Completed",
            "Failed",
        }:
            return
        reference = owner_reference(job)
        command = {
            "apiVersion": COMMANDS.api_version,
            "kind": COMMANDS.kind,
            "metadata": {"name": f"{name}-terminate", "ownerReferences": [reference]},
            "action": "TerminateJob",
            "target": reference,
        }
        try:
            self._api.create(COMMANDS, command, namespace)
        except AlreadyExistsError:
            pass

    def _clean(self, job: _Admitted) -> None:
        """Of an ended job only the record stays."""
        record, namespace = job.record, job.record.namespace
        self._delete(VOLCANO_JOBS, translate.job_name(record.job_id), namespace)
        self._delete(CONFIGMAPS, f"{translate.job_name(record.job_id)}-conf", namespace)
        self._delete(SECRETS, job.obj["spec"].get("submissionSecret", ""), namespace)
        self._ended_pods.pop((namespace, record.object_name), None)
        self._api.patch(BATCHJOBS, record.object_name, {"status": {"cleaned": True}}, namespace, subresource="status")

    def _delete(self, resource: Resource, name: str, namespace: str, *, uid: str | None = None) -> None:
        try:
            self._api.delete(resource, name, namespace, uid=uid)
        except NotFoundError:
            pass

    def _write_status(self, obj: Object, record: JobRecord, volcano_job: str = "") -> Object:
        work_dir = record.spec.work_dir or record.status.home
        status: dict[str, Any] = full_status_to_json(record, work_dir=work_dir, volcano_job=volcano_job)
        return self._api.replace(BATCHJOBS, obj | {"status": status}, record.namespace, subresource="status")

    # Leftovers of clients that were killed

    def _sweep(self) -> None:
        while not self._stopping.wait(_SWEEP_S):
            try:
                self._sweep_submissions()
            except HpcBatchError as error:
                _LOG.warning("looking for submissions without a job: %s", error)

    def _sweep_submissions(self) -> None:
        oldest = datetime.now(UTC) - _SUBMISSION_KEPT
        for secret in self._api.list(SECRETS, fields=f"type={SECRET_TYPE}").items:
            metadata = secret["metadata"]
            if not metadata.get("ownerReferences") and parse_rfc3339(metadata["creationTimestamp"]) < oldest:
                self._delete(SECRETS, metadata["name"], metadata["namespace"])


_RESOURCE: Mapping[str, Resource] = {"ConfigMap": CONFIGMAPS, "Job": VOLCANO_JOBS}


def owner_reference(obj: Object) -> Object:
    """A controlling ownerReference to `obj`."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
