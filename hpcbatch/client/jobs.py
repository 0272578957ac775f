"""Submit, list, hold, delete: the steps that all dialects' commands share. What they print is the dialects' own."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from hpcbatch.api.client import TableApi
from hpcbatch.api.names import (
    ARRAY_ID_LABEL,
    ENVIRONMENT_KEY,
    QUEUES_CONFIGMAP,
    QUEUES_KEY,
    SCRIPT_KEY,
    SECRET_TYPE,
    SYSTEM_NAMESPACE,
)
from hpcbatch.api.nodes import is_reserved
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NODES, PODS, QUEUES, SECRETS, Resource
from hpcbatch.api.transport import LostError
from hpcbatch.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.row import JobRow, NodeRow, QueueRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable, printable_tree
from hpcbatch.record.rows import row_from_cells
from hpcbatch.units import cpu_milli, memory_bytes, parse_rfc3339

if TYPE_CHECKING:  # listings do without the classes of a whole job, which take 8 ms to make
    from datetime import datetime

    from hpcbatch.model.mail import MailConfig
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.spec import Submission

ADMISSION_S = 20.0
SETTLE_S = 2.0
END_S = 60.0
"""How long `qdel -x` waits for a running job to end. Pods have up to half a minute for it."""
_MAX_SECRET = 1 << 20  # bytes; Kubernetes refuses larger Secrets
_CREATE_S = 5.0
_CHANGE_S = 10.0
_POLL_S = 0.3
_FEW = 4
_NAMED_AT_ONCE = 200
_MANAGED = {"app.kubernetes.io/managed-by": "hpcbatch"}
_DEFAULT_QUEUE = "default"
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own letters: no vowels, so no words
UNFINISHED = ",".join(f"status.state!={state.value}" for state in JobState if state.is_final)
"""Field selector of the jobs that have not ended."""
_BY_HOLD = frozenset({Reason.HELD_BY_USER, Reason.HELD_BY_ADMIN})
_T = TypeVar("_T")
_FORBIDDEN: WeakKeyDictionary[Api, set[tuple[str, str | None]]] = WeakKeyDictionary()
"""What an API refused in this process, (plural, namespace): not asked again, which would cost a request a job."""


class Submitted(NamedTuple):
    """An admitted job."""

    job_id: int
    server: str
    namespace: str
    object_name: str
    is_array: bool = False


class Named(Protocol):
    """A row or a record: what finds the object again."""

    @property
    def namespace(self) -> str: ...
    @property
    def object_name(self) -> str: ...


# Submission


def submit(api: Api, namespace: str, submission: Submission, *, timeout_s: float = ADMISSION_S) -> Submitted:
    """Create the record and wait until the controller has admitted it.

    Raises RefusedError if it did not, UnreachableError if nobody answered in time; nothing is left behind then, nor
    when the wait is interrupted. A connection lost on the way never makes two jobs: the names are chosen here.
    """
    name = f"{submission.spec.dialect.value}-{_random(10)}"
    secret = submission_secret(name, submission)
    from hpcbatch.record.batchjob import to_manifest

    job = to_manifest(submission.spec, name=name, submission_secret=name, export_none=submission.export_none)
    _check_text(job)
    is_begun = False
    try:
        _create(api, SECRETS, secret, namespace)
        is_begun = True
        created = _create(api, BATCHJOBS, job, namespace)
        answered = _await_answer(api, created, timeout_s)
    except BaseException as error:  # Ctrl-C too
        if not is_begun and isinstance(error, HpcBatchError) and not isinstance(error, LostError):
            raise
        late = _take_back(api, namespace, name, is_answer_wanted=not isinstance(error, KeyboardInterrupt))
        if late is None:
            raise
        answered = late
    status = answered["status"]
    if refusal := status.get("refusal"):
        _remove(api, namespace, name)
        raise RefusedError(refusal.get("code", ""), refusal.get("message", ""))
    is_array = submission.spec.array is not None
    return Submitted(int(status["jobId"]), submission.spec.server, namespace, name, is_array)


def submission_secret(name: str, submission: Submission) -> Object:
    """The immutable Secret with script and environment. Raises HpcBatchError if Kubernetes could not hold it."""
    environment = b"\0".join(os.fsencode(f"{key}={value}") for key, value in submission.environment.items())
    size = len(submission.script) + len(environment)
    if size >= _MAX_SECRET - 1024:
        raise HpcBatchError(
            f"the script ({len(submission.script)} bytes) and the environment that goes with it "
            f"({len(environment)} bytes) are more than the {_MAX_SECRET >> 10} KiB that Kubernetes keeps together"
        )
    data = {SCRIPT_KEY: submission.script, ENVIRONMENT_KEY: environment}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": dict(_MANAGED)},
        "type": SECRET_TYPE,
        "immutable": True,
        "data": {key: base64.b64encode(value).decode("ascii") for key, value in data.items()},
    }


def _check_text(job: Object) -> None:
    try:
        json.dumps(job, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        bad = os.fsencode(str(error.object)[max(0, error.start - 20) : error.end])
        raise HpcBatchError(f"a name that goes with the job is not UTF-8 text: …{bad!r}") from None


def random_id() -> str:
    """Of a request."""
    return _random(16)


def _random(length: int) -> str:
    # 10 of these letters are 47 bits. The remainder prefers some letters a little, which does no harm.
    return "".join(_SUFFIX[byte % len(_SUFFIX)] for byte in os.urandom(length))


def _create(api: Api, resource: Resource, obj: Object, namespace: str) -> Object:
    """Create, once, however often the connection breaks: the random name tells whether it had been done."""
    give_up = time.monotonic() + _CREATE_S
    is_first = True
    while True:
        try:
            return api.create(resource, obj, namespace)
        except AlreadyExistsError:
            if is_first:
                raise
            return api.get(resource, obj["metadata"]["name"], namespace)
        except NotFoundError as error:
            if error.details.get("kind") == "namespaces":
                raise
            raise _not_installed() from None
        except LostError:
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.2)
        is_first = False


def _not_installed() -> UnreachableError:
    return UnreachableError(
        "this cluster does not run hpcbatch: it has no resource batchjobs.hpcbatch.io; "
        "`hpcbatch login-check` looks closer"
    )


def _await_answer(api: Api, created: Object, timeout_s: float) -> Object:
    """Watch the new record until it says admitted or refused."""
    metadata, deadline = created["metadata"], time.monotonic() + timeout_s
    seen, version = created, metadata.get("resourceVersion", "")
    while not _is_answered(seen):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise UnreachableError(
                f"hpcbatch's controller did not answer within {timeout_s:.0f} seconds: the job was not submitted"
            )
        try:
            seen = _watch_one(api, metadata["namespace"], metadata["name"], version, left_s) or seen
            if not _is_answered(seen):
                seen = api.get(BATCHJOBS, metadata["name"], metadata["namespace"])
                version = seen["metadata"]["resourceVersion"]
        except NotFoundError:
            raise HpcBatchError("the job was removed while it was being submitted") from None
        except (UnreachableError, ApiError) as error:
            if time.monotonic() + 0.2 >= deadline or isinstance(error, ForbiddenError):
                raise
            time.sleep(0.2)
            version = ""
    return seen


def _watch_one(api: Api, namespace: str, name: str, version: str, timeout_s: float) -> Object | None:
    """The object as soon as the controller has answered; None when the watch ends before that."""
    watch = api.watch(
        BATCHJOBS, namespace, fields=f"metadata.name={name}", resource_version=version, timeout_s=timeout_s
    )
    try:
        for event in watch:
            if event.type in {"ADDED", "MODIFIED"} and _is_answered(event.object):
                return event.object
            if event.type == "DELETED":
                return None
    finally:
        watch.close()
    return None


def _is_answered(obj: Object) -> bool:
    status = obj.get("status") or {}
    return "jobId" in status or "refusal" in status


def _take_back(api: Api, namespace: str, name: str, *, is_answer_wanted: bool) -> Object | None:
    """Undo a submission that failed half-way; the record after all, if the controller's answer came just now."""
    try:
        found = api.get(BATCHJOBS, name, namespace)
        if is_answer_wanted and _is_answered(found):
            return found
    except HpcBatchError:
        pass
    _remove(api, namespace, name)
    return None


def _remove(api: Api, namespace: str, name: str) -> None:
    """Remove record and Secret as far as the server answers; the controller sweeps what stays. A job that was admitted
    meanwhile is not a user's to remove: it is asked to end.
    """
    for resource in (BATCHJOBS, SECRETS):
        try:
            api.delete(resource, name, namespace)
        except ForbiddenError:
            if resource is BATCHJOBS:
                _ask_end(api, namespace, name)
        except HpcBatchError:
            pass


def _ask_end(api: Api, namespace: str, name: str) -> None:
    try:
        api.patch(BATCHJOBS, name, {"spec": {"deleteRequested": True}}, namespace)
    except HpcBatchError:
        pass


# Listings


def list_rows(
    api: TableApi, namespace: str, *, finished: bool = True, members: bool = True, fields: str = "",
    since: datetime | None = None,
) -> list[JobRow]:  # fmt: skip
    """The jobs of all namespaces, or of one's own where the site shows no others; in order of their numbers.
    Without `finished` the server leaves out those that have ended, without `members` those of arrays. Of those that
    have left the BatchJobs only the ones that ended at `since` or later.
    """
    labels = "" if members else f"!{ARRAY_ID_LABEL}"
    rows = _present_rows(api, namespace, ",".join(filter(None, (fields, "" if finished else UNFINISHED))), labels)
    if not finished:
        return rows
    from hpcbatch.api.history import NO_MEMBERS, selector
    from hpcbatch.client import history

    if not members:
        fields = ",".join(filter(None, (fields, NO_MEMBERS)))
    moved = history.rows(api, namespace, selector(fields=fields, since=since) or "")
    seen = {(row.namespace, row.object_name) for row in rows}  # on its way a job stands in both
    return sorted((*rows, *(row for row in moved if (row.namespace, row.object_name) not in seen)), key=_by_number)


def list_present_rows(api: TableApi, namespace: str) -> list[JobRow]:
    """As `list_rows`, without the ended jobs that have left the BatchJobs; `count_moved` says how many these are."""
    return _present_rows(api, namespace, "")


def count_moved(api: TableApi, namespace: str) -> int:
    """The ended jobs that are no BatchJobs any more."""
    from hpcbatch.client import history

    return history.count(api, namespace)


def _present_rows(api: TableApi, namespace: str, fields: str, labels: str = "") -> list[JobRow]:
    columns, rows = _everywhere(api, lambda where: api.table(BATCHJOBS, where, labels=labels, fields=fields), namespace)
    places = {name: index for index, name in enumerate(columns)}
    found = (row_from_cells(places, row.cells, row.namespace, row.name) for row in rows)
    return sorted((row for row in found if row is not None), key=_by_number)


def _by_number(row: JobRow) -> int:
    return row.job_id


def find(api: TableApi, namespace: str, number: int) -> JobRow:
    """One job by its number, finished or not. Raises UnknownJobError."""
    rows = find_all(api, namespace, [number])
    if not rows:
        raise UnknownJobError(f"unknown job {number}")
    return rows[number]


def find_all(api: TableApi, namespace: str, numbers: Iterable[int]) -> dict[int, JobRow]:
    """Those of `numbers` that exist, finished or not: a few BatchJobs are asked for one by one, many are picked out of
    one listing.
    """
    wanted = dict.fromkeys(numbers)
    selectors = [""] if len(wanted) > _FEW else [f"status.jobId={number}" for number in wanted]
    rows = [row for fields in selectors for row in _present_rows(api, namespace, fields)]
    found = {row.job_id: row for row in rows if row.job_id in wanted}
    missing = [number for number in wanted if number not in found]
    if missing:
        from hpcbatch.api.history import selector
        from hpcbatch.client import history

        for part in _parts(missing):
            found |= {row.job_id: row for row in history.rows(api, namespace, selector(numbers=part) or "")}
    return found


def _parts(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """As many as a URL can name."""
    for first in range(0, len(numbers), _NAMED_AT_ONCE):
        yield numbers[first : first + _NAMED_AT_ONCE]


def list_objects(api: Api, namespace: str, *, finished: bool = True) -> list[Object]:
    """The admitted BatchJobs, whole, in order of their numbers; `shown_record` reads them. `list_ended` knows also
    those that have moved.
    """
    fields = "" if finished else UNFINISHED
    found = _everywhere(api, lambda where: api.list(BATCHJOBS, where, fields=fields).items, namespace)
    return sorted((o for o in found if "jobId" in (o.get("status") or {})), key=lambda o: int(o["status"]["jobId"]))


def list_ended(
    api: TableApi,
    namespace: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    owners: Collection[str] = (),
    numbers: Collection[int] = (),
    include_unfinished: bool = False,
) -> list[Object]:
    """As `iter_ended`, in order of their numbers."""
    found = iter_ended(
        api, namespace, since=since, until=until, owners=owners, numbers=numbers, include_unfinished=include_unfinished
    )
    return sorted(found, key=lambda obj: int(obj["status"]["jobId"]))


def iter_ended(
    api: TableApi,
    namespace: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    owners: Collection[str] = (),
    numbers: Collection[int] = (),
    include_unfinished: bool = False,
) -> Iterator[Object]:
    """The BatchJobs of ended jobs, wherever they are kept by now, one after the other: those that ended at `since` or
    later and began (those that never did: ended) before `until`. `owners` and `numbers` are those wanted; empty: all.
    With `include_unfinished` also the jobs that have not ended.
    """
    from hpcbatch.api.history import selector
    from hpcbatch.client import history

    present = set()
    for obj in list_objects(api, namespace):
        if _is_wanted(obj, since, until, owners, numbers, include_unfinished=include_unfinished):
            present.add(obj["metadata"]["uid"])
            yield obj
    for part in _parts(list(numbers)) if numbers else [()]:
        fields = selector(numbers=part, owners=owners, since=since, until=until)
        moved = iter(()) if fields is None else history.objects(api, namespace, fields)
        yield from (obj for obj in moved if obj["metadata"]["uid"] not in present)  # on its way a job stands in both


def _is_wanted(
    obj: Object,
    since: datetime | None,
    until: datetime | None,
    owners: Collection[str],
    numbers: Collection[int],
    *,
    include_unfinished: bool,
) -> bool:
    status = obj["status"]
    if (numbers and int(status["jobId"]) not in numbers) or (owners and status.get("owner") not in owners):
        return False
    started, ended = status.get("startTime"), status.get("endTime")
    try:
        if until is not None and parse_rfc3339(started or ended or obj["metadata"]["creationTimestamp"]) >= until:
            return False
        if not JobState(status.get("state", JobState.QUEUED)).is_final:
            return include_unfinished
        return since is None or ended is None or parse_rfc3339(ended) >= since
    except HpcBatchError:  # the row of one that cannot be read says so
        return True


def get_object(api: Api, job: Named) -> Object:
    """The BatchJob of a job that a listing named. Raises UnknownJobError if it has gone since."""
    try:
        return api.get(BATCHJOBS, job.object_name, job.namespace)
    except NotFoundError:
        from hpcbatch.client import history

        found = history.get(api, job.object_name, job.namespace)
        if found is None:
            raise UnknownJobError(f"job {job.object_name} is gone") from None
        return found


def get_record(api: Api, job: Named) -> JobRecord:
    """The whole record of a job that a listing named, to be shown. Raises UnknownJobError if it has gone since."""
    from hpcbatch.record.batchjob import shown_record

    return shown_record(get_object(api, job))


def environment_of(api: Api, obj: Object) -> dict[str, str] | None:
    """The variables that travel with a job; None when others' Secrets may not be read, or it has ended."""
    if JobState((obj.get("status") or {}).get("state", JobState.QUEUED)).is_final:
        return None  # the Secret went with the run
    namespace = obj["metadata"]["namespace"]
    if _is_forbidden(api, SECRETS, namespace):
        return None
    try:
        secret = api.get(SECRETS, obj["spec"].get("submissionSecret", ""), namespace)
    except ForbiddenError:
        _forbid(api, SECRETS, namespace)
        return None
    except NotFoundError:
        return None
    text = os.fsdecode(base64.b64decode(secret.get("data", {}).get(ENVIRONMENT_KEY, "")))
    return dict(entry.partition("=")[::2] for entry in text.split("\0") if entry)


def _everywhere(api: Api, ask: Callable[[str | None], _T], namespace: str) -> _T:
    """Ask about the BatchJobs of all namespaces; where that is not allowed, about one's own.

    A site that forbids it costs each command a second request: 0.5 ms of 56, too little to remember on disk.
    """
    try:
        if not _is_forbidden(api, BATCHJOBS, None):
            try:
                return ask(None)
            except ForbiddenError:
                _forbid(api, BATCHJOBS, None)
        return ask(namespace)
    except NotFoundError:
        raise _not_installed() from None


def _is_forbidden(api: Api, resource: Resource, namespace: str | None) -> bool:
    return (resource.plural, namespace) in _FORBIDDEN.get(api, ())


def _forbid(api: Api, resource: Resource, namespace: str | None) -> None:
    _FORBIDDEN.setdefault(api, set()).add((resource.plural, namespace))


# Requests


def request_delete(api: Api, row: JobRow) -> Object:
    """Ask the controller to end a job. Raises JobFinishedError if it has ended."""
    return _request(api, row, {"deleteRequested": True})


def hold(api: Api, row: JobRow) -> Object:
    """Keep a waiting job from starting. Raises JobFinishedError if it has ended."""
    return _request(api, row, {"hold": True})


def release(api: Api, row: JobRow) -> Object:
    """Take the hold off a job. Raises JobFinishedError if it has ended."""
    return _request(api, row, {"hold": False})


def end(api: Api, row: JobRow) -> None:
    """End a job and wait for that; nothing where it has ended. Raises HpcBatchError if it takes too long."""
    if not row.state.is_final:
        _await_end(api, row, request_delete(api, row))


def forget(api: Api, row: JobRow) -> None:
    """Remove the record of an ended job (`qdel -x`). Raises ForbiddenError for those whose usage is not theirs to
    remove: on a cluster all but its admins.
    """
    from hpcbatch.client import history

    was_there = True
    try:
        api.delete(BATCHJOBS, row.object_name, row.namespace)
    except NotFoundError:
        was_there = False
    # also where it just was on its way
    if not history.remove(api, row.object_name, row.namespace) and not was_there:
        raise UnknownJobError(f"unknown job {row.job_id}")


def _await_end(api: Api, row: JobRow, obj: Object) -> None:
    give_up = time.monotonic() + END_S
    while not JobState((obj.get("status") or {}).get("state", JobState.QUEUED)).is_final:
        if time.monotonic() >= give_up:
            raise HpcBatchError(
                f"job {row.job_id} has not ended after {END_S:.0f} seconds: its record stays until then"
            )
        time.sleep(_POLL_S)
        obj = get_object(api, row)


def settle(api: Api, requested: Sequence[Object], *, timeout_s: float = SETTLE_S) -> None:
    """Wait a moment until the controller has acted on these requests, so that the next listing shows it, as it does
    on PBS and Slurm. No error if it takes longer: the requests stand in the records.
    """
    open_by_namespace: dict[str, dict[str, Object]] = {}
    for obj in requested:
        if not _has_settled(obj):
            open_by_namespace.setdefault(obj["metadata"]["namespace"], {})[obj["metadata"]["name"]] = obj
    deadline = time.monotonic() + timeout_s
    for namespace, waiting in open_by_namespace.items():
        first = next(iter(waiting.values()))["metadata"]["resourceVersion"]
        try:
            watch = api.watch(
                BATCHJOBS, namespace, resource_version=first, timeout_s=max(0.01, deadline - time.monotonic())
            )
            try:
                for event in watch:
                    name = event.object["metadata"].get("name")
                    if name in waiting and (event.type == "DELETED" or _has_settled(event.object)):
                        del waiting[name]
                    if not waiting:
                        break
            finally:
                watch.close()
        except HpcBatchError:
            continue


def _has_settled(obj: Object) -> bool:
    """Whether the state shows what was requested."""
    spec, status = obj["spec"], obj.get("status") or {}
    state = JobState(status.get("state", JobState.QUEUED))
    if spec.get("deleteRequested"):
        return state.is_final or state is JobState.EXITING
    if "suspended" in spec and state in {JobState.RUNNING, JobState.SUSPENDED}:
        from hpcbatch.record.batchjob import is_suspended

        return (state is JobState.SUSPENDED) == is_suspended(spec, status.get("runCount", 0))
    is_held = bool(spec.get("hold") or spec.get("adminHolds"))
    if state in {JobState.QUEUED, JobState.WAITING}:
        return not is_held
    # one that waits for other jobs stays held
    return state is not JobState.HELD or is_held or status.get("reason") not in _BY_HOLD


def _request(api: Api, row: JobRow, change: Mapping[str, bool]) -> Object:
    if row.state.is_final:
        raise JobFinishedError(f"job {row.job_id} has finished")
    try:
        return api.patch(BATCHJOBS, row.object_name, {"spec": dict(change)}, row.namespace)
    except NotFoundError:
        get_object(api, row)  # it may have ended and moved just now; else this says that it is unknown
        raise JobFinishedError(f"job {row.job_id} has finished") from None
    except ConflictError as error:
        raise HpcBatchError(f"job {row.job_id} is being changed by others: {error}") from None


def change_spec(
    api: Api, row: JobRow, change: Callable[[Object], Object], is_busy: Callable[[Object], bool] = lambda _: False
) -> Object | None:
    """Merge into the spec what `change` makes of the record as it stands, while others may change that too: it is asked
    again then. A record that `is_busy` is waited for, a while. None if `change` makes nothing of it. Raises
    UnknownJobError, or HpcBatchError if others never let it through.
    """
    give_up = time.monotonic() + _CHANGE_S
    while True:
        obj = get_object(api, row)
        if is_busy(obj) and time.monotonic() < give_up:
            time.sleep(0.02)
            continue
        spec = change(obj)
        if not spec:
            return None
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        try:
            return api.patch(BATCHJOBS, row.object_name, {"metadata": version, "spec": spec}, row.namespace)
        except NotFoundError:
            raise UnknownJobError(f"unknown job {row.job_id}") from None
        except ConflictError as error:
            if time.monotonic() > give_up:
                raise HpcBatchError(f"job {row.job_id} is being changed by others: {error}") from None
            time.sleep(0.02)


# Nodes and queues


def nodes(api: TableApi, namespace: str) -> list[NodeRow]:
    """The nodes with what is in use of them, by name; without those that are kept for something else."""
    found = [node for node in api.list(NODES).items if not is_reserved(node)]
    try:
        used = _used_by_pods(api)
    except ForbiddenError:  # an ordinary user on a cluster; the records say nearly the same
        used = _used_by_rows(list_rows(api, namespace, finished=False))
    return sorted((_node_row(node, used.get(node["metadata"]["name"], _Use())) for node in found), key=_node_order)


def queues(api: Api) -> list[QueueRow]:
    """The queues that a job may name, in the site's order; of a site that names none, the default one first."""
    volcano = [queue for queue in api.list(QUEUES).items if queue["metadata"]["name"] != "root"]
    is_open = {q["metadata"]["name"]: (q.get("status") or {}).get("state", "Open") in {"Open", ""} for q in volcano}
    try:
        published = api.get(CONFIGMAPS, QUEUES_CONFIGMAP, SYSTEM_NAMESPACE)
    except (NotFoundError, ForbiddenError):
        rows = [QueueRow(name=name, is_default=name == _DEFAULT_QUEUE, is_open=is_open[name]) for name in is_open]
        return sorted(rows, key=lambda row: (not row.is_default, row.name))
    from hpcbatch.api.queuelist import queues_from_json

    return queues_from_json((published.get("data") or {}).get(QUEUES_KEY, ""), is_open)


def mail_rules(api: Api) -> MailConfig | None:
    """Whom the site sends mail about jobs to, as far as users may know; None where it sends none."""
    from hpcbatch.api.queuelist import mail_from_json

    try:
        published = api.get(CONFIGMAPS, QUEUES_CONFIGMAP, SYSTEM_NAMESPACE)
        return mail_from_json((published.get("data") or {}).get(QUEUES_KEY, "{}"))
    except HpcBatchError:
        return None


class _Use:
    """What pods hold of one node."""

    __slots__ = ("jobs", "mem_bytes", "milli")

    def __init__(self) -> None:
        self.milli = self.mem_bytes = 0
        self.jobs: set[str] = set()


def _used_by_pods(api: Api) -> dict[str, _Use]:
    used: dict[str, _Use] = {}
    for pod in api.list(PODS, fields="status.phase!=Succeeded,status.phase!=Failed").items:
        if not (node := pod["spec"].get("nodeName")):
            continue
        use = used.setdefault(node, _Use())
        for container in pod["spec"].get("containers") or []:
            requests = (container.get("resources") or {}).get("requests") or {}
            use.milli += cpu_milli(requests.get("cpu", 0))
            use.mem_bytes += memory_bytes(requests.get("memory", 0))
        if number := (pod["metadata"].get("labels") or {}).get(JOB_ID_LABEL):
            use.jobs.add(number)
    return used


def _used_by_rows(rows: Iterable[JobRow]) -> dict[str, _Use]:
    used: dict[str, _Use] = {}
    for row in rows:
        for node, cpus in zip(row.hosts, row.cpus_per_host, strict=True):
            use = used.setdefault(node, _Use())
            use.milli += 1000 * cpus
            use.mem_bytes += (row.mem_bytes or 0) // len(row.hosts)
            use.jobs.add(str(row.job_id))
    return used


def _node_row(node: Object, use: _Use) -> NodeRow:
    status = node.get("status") or {}
    ready: Object = next((c for c in status.get("conditions") or [] if c.get("type") == "Ready"), {})
    since = ready.get("lastTransitionTime")
    room = status.get("allocatable") or {}
    return NodeRow(
        name=node["metadata"]["name"],
        ready=ready.get("status") == "True",
        schedulable=not (node.get("spec") or {}).get("unschedulable"),
        cpus=cpu_milli(room.get("cpu", 0)) // 1000,
        mem_bytes=memory_bytes(room.get("memory", 0)),
        cpus_used=use.milli // 1000,  # parts of a CPU, as daemons ask for, do not make a node busy
        mem_used_bytes=use.mem_bytes,
        jobs=tuple(sorted(use.jobs, key=int)),
        arch=printable((status.get("nodeInfo") or {}).get("architecture") or "amd64"),
        since=parse_rfc3339(since) if since else None,
        labels=frozenset(printable_tree(node["metadata"].get("labels") or {}).items()),
    )


def _node_order(row: NodeRow) -> tuple[tuple[int, int | str], ...]:
    """node-2 before node-10."""
    parts: list[tuple[int, int | str]] = []
    digits = ""
    for char in row.name + " ":
        if char.isascii() and char.isdigit():
            digits += char
            continue
        if digits:
            parts.append((0, int(digits)))
            digits = ""
        parts.append((1, char))
    return tuple(parts)
