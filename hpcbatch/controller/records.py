"""What all parts of the controller use: an admitted BatchJob with its record, status writes, owner references."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, Resource
from hpcbatch.errors import ConflictError, NotFoundError
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.record.batchjob import full_status_to_json, record_from
from hpcbatch.record.state import state_of

_REMEMBERED: Final = 128
_read: OrderedDict[int, tuple[Object, JobRecord]] = OrderedDict()
"""By identity, which the object that is kept here guards."""
_lock = threading.Lock()


def record_of(obj: Object) -> JobRecord:
    """`record_from` of a BatchJob, which nobody changes any more: several parts read each of its states.
    Raises HpcBatchError.
    """
    with _lock:
        found = _read.get(id(obj))
        if found is not None:
            _read.move_to_end(id(obj))
            return found[1]
    record = record_from(obj)
    with _lock:
        _read[id(obj)] = obj, record
        if len(_read) > _REMEMBERED:
            _read.popitem(last=False)
    return record


@dataclass(frozen=True, slots=True)
class Admitted:
    """A BatchJob and the record parsed from it."""

    obj: Object
    record: JobRecord

    @property
    def key(self) -> tuple[str, str]:
        return self.record.namespace, self.record.object_name

    @property
    def volcano_job(self) -> str:
        return str(self.obj["status"].get("volcanoJob", ""))


def write_status(api: Api, obj: Object, record: JobRecord, volcano_job: str = "") -> Object:
    """Store the status of `record` in its BatchJob `obj`. ConflictError if that has changed since it was read."""
    status: dict[str, Any] = full_status_to_json(record, volcano_job=volcano_job)
    return api.replace(BATCHJOBS, obj | {"status": status}, record.namespace, subresource="status")


def remove(
    api: Api,
    resource: Resource,
    name: str,
    namespace: str,
    *,
    uid: str | None = None,
    grace_period_s: int | None = None,
) -> None:
    """Delete an object that may be gone already. `uid`: only this object, not a new one of the same name."""
    try:
        api.delete(resource, name, namespace, uid=uid, grace_period_s=grace_period_s)
    except NotFoundError:
        pass
    except ConflictError:
        if uid is None:
            raise


def digest_of(obj: Object) -> str:
    """Hash that distinguishes the objects that we make."""
    text = json.dumps(obj, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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


def unneeded(jobs: Iterable[Object], batchjobs: Informer) -> list[Object]:
    """Those that nothing needs here any more: a member goes after its array has counted it, an array after its members,
    because Kubernetes would remove them with it.
    """
    ready, arrays = [], []
    for job in jobs:
        status = job.get("status") or {}
        if not (status.get("cleaned") and state_of(job).is_final):
            continue
        if "array" in job["spec"]:
            arrays.append(job)
        elif (member := job["spec"].get("memberOf")) is None or _is_counted(member, job, batchjobs):
            ready.append(job)
    if arrays:
        peopled = {
            (job["metadata"]["namespace"], job["spec"]["memberOf"]["arrayName"])
            for job in batchjobs.items()
            if "memberOf" in job["spec"]
        }
        ready += [job for job in arrays if object_key(job) not in peopled]
    return ready


def _is_counted(member: Object, job: Object, batchjobs: Informer) -> bool:
    array = batchjobs.get(job["metadata"]["namespace"], member["arrayName"])
    if array is None:
        return True
    status = (array.get("status") or {}).get("array") or {}
    index = member["index"]
    return not any(index in Indices.parse(status.get(key, "")) for key in ("pending", "active"))
