"""Submitting a job: the record, its Secret, and the wait for the controller's reply."""

from __future__ import annotations

import base64
import json
import os
import time
from contextlib import suppress

from hpcbatch.api.names import ENVIRONMENT_KEY, HASTY_ANNOTATION, SCRIPT_KEY, SECRET_TYPE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, SECRETS, Resource
from hpcbatch.api.transport import LostError
from hpcbatch.client.request_ids import random_id
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import (
    AlreadyExistsError,
    BusyError,
    ForbiddenError,
    HpcBatchError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.labels import MANAGED_BY
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.foreseen import Foreseen
    from hpcbatch.model.spec import Submission


ADMISSION_S = 20.0
_MAX_SECRET = 1 << 20  # bytes; Kubernetes refuses larger Secrets
_CREATE_S = 5.0
_BUSY = "Busy"  # model.refusal.BUSY, without its module


class Submitted(NamedTuple):
    """An admitted job."""

    job_id: int
    server: str
    namespace: str
    object_name: str
    is_array: bool = False
    ignored: tuple[str, ...] = ()
    """What the site ignores of it, each with the reason, beside the spec's."""


def submit(
    api: Api,
    namespace: str,
    submission: Submission,
    *,
    timeout_s: float = ADMISSION_S,
    test_only: bool = False,
    is_hasty: bool = False,
) -> Submitted:
    """Create the record and wait until the controller has admitted it. With `test_only` it is refused in any case:
    TEST_ONLY says when it would start. `is_hasty`: where many wait, rather hear so after some seconds than wait, too.

    Raises RefusedError if it was refused, UnreachableError if no reply came in time or too many wait; then, and when
    the wait is interrupted, nothing is left behind. A lost connection never makes two jobs: the names are chosen here.
    """
    name = f"{submission.spec.dialect}-{random_id(10)}"
    secret = submission_secret(name, submission)
    from hpcbatch.record.manifest import to_manifest

    job = to_manifest(
        submission.spec, name=name, submission_secret=name, export_none=submission.export_none, test_only=test_only
    )
    if is_hasty:
        job["metadata"]["annotations"] = {HASTY_ANNOTATION: "true"}
    _check_text(job)
    is_begun = False
    try:
        _create(api, SECRETS, secret, namespace)
        is_begun = True
        created = _create(api, BATCHJOBS, job, namespace)
        handled = _await_reply(api, created, timeout_s)
    except BaseException as error:  # Ctrl-C too
        if not is_begun and isinstance(error, HpcBatchError) and not isinstance(error, LostError):
            raise
        late = _take_back(api, namespace, name, is_reply_wanted=not isinstance(error, KeyboardInterrupt))
        if late is None:
            raise
        handled = late
    status = handled["status"]
    if refusal := status.get("refusal"):
        _remove(api, namespace, name)
        if refusal.get("code") == _BUSY:
            why = refusal.get("message", "")
            raise UnreachableError(f"the server is busy ({why}): the job was not submitted, try again")
        raise RefusedError(refusal.get("code", ""), refusal.get("message", ""))
    is_array = submission.spec.array is not None
    ignored = tuple(map(str, status.get("ignored") or ()))
    return Submitted(int(status["jobId"]), submission.spec.server, namespace, name, is_array, ignored)


def submission_secret(name: str, submission: Submission) -> Object:
    """The immutable Secret with script and environment. Raises HpcBatchError if it is too large for Kubernetes."""
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
        "metadata": {"name": name, "labels": dict(MANAGED_BY)},
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


def _create(api: Api, resource: Resource, obj: Object, namespace: str) -> Object:
    """Create an object once, however often the connection breaks or the server is busy: the random name shows whether
    it exists already.
    """
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
            from hpcbatch.client.listing import not_installed

            raise not_installed() from None
        except (LostError, BusyError):
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.2)
        is_first = False


class _Name(NamedTuple):
    namespace: str
    object_name: str


def _await_reply(api: Api, created: Object, timeout_s: float) -> Object:
    """Watch the new record until it is admitted or refused."""
    name = _Name(created["metadata"]["namespace"], created["metadata"]["name"])
    try:
        seen = wait_until(api, name, _has_reply, seen=created, timeout_s=timeout_s)
    except UnknownJobError:
        raise HpcBatchError("the job was removed while it was being submitted") from None
    if not _has_reply(seen):
        raise UnreachableError(
            f"hpcbatch's controller did not answer within {timeout_s:.0f} seconds: the job was not submitted, try again"
        )
    return seen


def _has_reply(obj: Object) -> bool:
    status = obj.get("status") or {}
    return "jobId" in status or "refusal" in status


def _take_back(api: Api, namespace: str, name: str, *, is_reply_wanted: bool) -> Object | None:
    """Undo an incomplete submission; returns the record if the controller's reply came just now after all."""
    try:
        found = api.get(BATCHJOBS, name, namespace)
        if is_reply_wanted and _has_reply(found):
            return found
    except HpcBatchError:
        pass
    _remove(api, namespace, name)
    return None


def _remove(api: Api, namespace: str, name: str) -> None:
    """Remove record and Secret as far as the server replies; the controller sweeps the rest. A job that was admitted
    meanwhile cannot be removed by a user: its end is requested.
    """
    from hpcbatch.client.changes import request_end

    for resource in (BATCHJOBS, SECRETS):
        try:
            api.delete(resource, name, namespace)
        except ForbiddenError:
            if resource is BATCHJOBS:
                with suppress(HpcBatchError):
                    request_end(api, _Name(namespace, name))
        except HpcBatchError:
            pass


def foresee(api: Api, namespace: str, submission: Submission) -> Foreseen:
    """When and where the job would start. Raises RefusedError if it would not be admitted, and as `submit` does."""
    from hpcbatch.client.changes import request_end
    from hpcbatch.dataclass import replace
    from hpcbatch.model.foreseen import Foreseen
    from hpcbatch.model.refusal import RefusalCode

    # held: a controller or definition that does not know of tests admits it
    held = replace(submission, spec=replace(submission.spec, hold=True))
    try:
        submitted = submit(api, namespace, held, test_only=True)
    except RefusedError as refused:
        if refused.code != RefusalCode.TEST_ONLY:
            raise
        return Foreseen.read(str(refused))
    request_end(api, submitted)
    raise HpcBatchError("the cluster's hpcbatch is too old to test a job: its record was made held, and deleted")
