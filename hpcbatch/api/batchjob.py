"""The BatchJob custom resource: the record of a job with its status, in its JSON form and as the model's values.

Field names are those of deploy/crd/batchjobs.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hpcbatch.api.jobrow import UNREADABLE, parse_time, unreadable
from hpcbatch.api.jobspec import chunk_from_json, chunk_to_json, spec_from_json
from hpcbatch.api.port import Object
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import ArrayStatus, check_size
from hpcbatch.model.dependency import DependencyProgress, Wait, parse_left
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import Alteration, Answer, ExecHost, HostUsage, JobRecord, JobStatus, PastRun, Suspension
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable_tree
from hpcbatch.units import parse_rfc3339, rfc3339

_SETS = ("pending", "active", "succeeded", "failed", "deleted")


def status_to_json(status: JobStatus) -> Object:
    """The part of a BatchJob's status that JobStatus holds; the controller adds number, queue and summary."""
    fields: dict[str, Any] = {
        "state": status.state.value,
        "reason": status.reason.value,
        "message": status.message or None,
        "owner": status.owner,
        "uid": status.uid,
        "gid": status.gid,
        "home": status.home,
        "groups": [{"gid": gid, "name": name} for gid, name in status.groups] or None,
        "walltimeSeconds": status.walltime_s,
        "layout": [chunk_to_json(c) for c in status.layout] or None,
        "hosts": [_host_to_json(host) for host in status.hosts] or None,
        "eligibleTime": _text(status.eligible_time),
        "startTime": _text(status.start_time),
        "endTime": _text(status.end_time),
        "exitCode": status.exit_code,
        "exitSignal": status.exit_signal,
        "walltimeUsedSeconds": status.walltime_used_s,
        "cpuUsedSeconds": status.cpu_used_s,
        "maxRssBytes": status.max_rss_bytes,
        "usage": [_usage_to_json(host) for host in status.usage] or None,
        "pastRuns": [_past_run_to_json(run) for run in status.past_runs] or None,
        "alterations": [{"time": rfc3339(one.time), "changes": one.changes} for one in status.alterations] or None,
        "suspensions": [_suspension_to_json(one) for one in status.suspensions] or None,
        "array": None if status.array is None else _array_status_to_json(status.array),
        "dependency": None if status.dependency is None else _progress_to_json(status.dependency),
        "runCount": status.run_count or None,
        "sessionId": status.session_id,
        "deletedBy": status.deleted_by or None,
        "altered": dict(status.altered) or None,
        "answered": None if status.answered is None else _answer_to_json(status.answered),
        "handled": dict(status.handled) or None,
        "rerunning": status.is_rerunning or None,
        "signalled": status.signalled or None,
        "mailed": list(status.mailed) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def status_from_json(status: Mapping[str, Any], submit_time: datetime | None) -> JobStatus:
    """Read a BatchJob's status; an empty one is that of a job not yet admitted."""
    try:
        return JobStatus(
            state=JobState(status.get("state", JobState.QUEUED)),
            reason=Reason(status.get("reason", Reason.NONE)),
            message=status.get("message", ""),
            owner=status.get("owner", ""),
            uid=status.get("uid", 0),
            gid=status.get("gid", 0),
            home=status.get("home", "/"),
            groups=tuple((group["gid"], group["name"]) for group in status.get("groups", ())),
            walltime_s=status.get("walltimeSeconds"),
            layout=tuple(chunk_from_json(c) for c in status.get("layout", ())),
            hosts=tuple(_host_from_json(host) for host in status.get("hosts", ())),
            submit_time=submit_time,
            eligible_time=parse_time(status.get("eligibleTime")),
            start_time=parse_time(status.get("startTime")),
            end_time=parse_time(status.get("endTime")),
            exit_code=status.get("exitCode"),
            exit_signal=status.get("exitSignal"),
            walltime_used_s=status.get("walltimeUsedSeconds"),
            cpu_used_s=status.get("cpuUsedSeconds"),
            max_rss_bytes=status.get("maxRssBytes"),
            usage=tuple(_usage_from_json(host) for host in status.get("usage", ())),
            past_runs=tuple(_past_run_from_json(run) for run in status.get("pastRuns", ())),
            alterations=tuple(
                Alteration(time=parse_rfc3339(one["time"]), changes=one["changes"])
                for one in status.get("alterations", ())
            ),
            suspensions=tuple(_suspension_from_json(one) for one in status.get("suspensions", ())),
            array=_array_status_from_json(status["array"]) if "array" in status else None,
            dependency=_progress_from_json(status["dependency"]) if "dependency" in status else None,
            run_count=status.get("runCount", 0),
            session_id=status.get("sessionId"),
            deleted_by=status.get("deletedBy", ""),
            altered=status.get("altered", {}),
            answered=_answer_from_json(status["answered"]) if "answered" in status else None,
            handled=status.get("handled", {}),
            is_rerunning=status.get("rerunning", False),
            signalled=status.get("signalled", ""),
            mailed=tuple(status.get("mailed", ())),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise HpcBatchError(f"not a BatchJob's status: {error}") from None


def record_from(obj: Object) -> JobRecord:
    """The whole record of an admitted job. Raises HpcBatchError if it has no number yet."""
    metadata, status = obj["metadata"], obj.get("status", {})
    if "jobId" not in status:
        raise HpcBatchError(f"BatchJob {metadata['namespace']}/{metadata['name']} has not been admitted yet")
    spec = spec_from_json(altered_spec(obj["spec"], status.get("altered", {})))
    if spec.array is not None:
        check_size(spec.array.indices)
    return JobRecord(
        job_id=int(status["jobId"]),
        namespace=metadata["namespace"],
        object_name=metadata["name"],
        spec=spec,
        status=status_from_json(status, parse_time(metadata.get("creationTimestamp"))),
        queue=status.get("queue", ""),
    )


def shown_record(obj: Object) -> JobRecord:
    """As `record_from`, for views: of a record that cannot be read what is left of it, marked BROKEN, so that one job
    never ends the listing of all. Nothing in it reaches a terminal as more than text on its line. Raises HpcBatchError
    only if it has no number yet.
    """
    obj = {**obj, "spec": printable_tree(obj.get("spec", {})), "status": printable_tree(obj.get("status", {}))}
    try:
        return record_from(obj)
    except UNREADABLE as error:
        metadata, spec, status = obj["metadata"], obj["spec"], obj["status"]
        if "jobId" not in status:
            raise
        state = status.get("state")
        dialect = spec.get("dialect")
        return JobRecord(
            job_id=int(status["jobId"]),
            namespace=metadata["namespace"],
            object_name=metadata["name"],
            spec=JobSpec(
                dialect=Dialect(dialect) if dialect in list(Dialect) else Dialect.SLURM, name=str(spec.get("name"))
            ),
            status=JobStatus(
                state=JobState(state) if state in list(JobState) else JobState.HELD,
                reason=Reason.BROKEN,
                message=unreadable(error),
                owner=str(status.get("owner", "")),
            ),
            queue=str(status.get("queue", "")),
        )


def altered_spec(spec: Mapping[str, Any], altered: Mapping[str, Any]) -> Object:
    """A BatchJob's spec with what was altered since; None in `altered` takes a field away."""
    return {name: value for name, value in {**spec, **altered}.items() if value is not None}


def is_suspended(spec: Mapping[str, Any], run_count: int) -> bool:
    """Whether the processes of a BatchJob's present run are to be stopped. What was asked of a run before is over."""
    return bool(spec.get("suspended")) and spec.get("suspendedRun", run_count) == run_count


def full_status_to_json(record: JobRecord, *, work_dir: str, volcano_job: str = "") -> Object:
    """The status to store for `record`: everything the printer columns need beside the status itself."""
    row = record.row()
    body = status_to_json(record.status)
    body |= {
        "jobId": str(record.job_id),
        "queue": record.queue,
        "workDir": work_dir,
        "summary": {
            "nodes": row.nodes,
            "cpus": row.cpus,
            **({} if row.mem_bytes is None else {"memBytes": row.mem_bytes}),
            **({"hosts": format_hosts(record.status.hosts)} if record.status.hosts else {}),
            # what alterations may change; the columns of a listing show it from here
            "name": row.name,
            **({"priority": row.priority} if row.priority else {}),
            **({"nice": row.nice} if row.nice else {}),
            **({"account": row.account} if row.account else {}),
            **({"beginTime": rfc3339(row.begin_time)} if row.begin_time is not None else {}),
        },
    }
    if row.walltime_s is not None:
        body["walltimeSeconds"] = row.walltime_s
    if volcano_job:
        body["volcanoJob"] = volcano_job
    return body


def format_hosts(hosts: Sequence[ExecHost]) -> str:
    """The Hosts column: `node-0*4+node-1*4`."""
    return "+".join(f"{h.node}*{h.cpus}" for h in hosts)


def _text(when: datetime | None) -> str | None:
    return None if when is None else rfc3339(when)


def _host_to_json(host: ExecHost) -> Object:
    return {"node": host.node, "pod": host.pod, "cpus": host.cpus}


def _host_from_json(host: Mapping[str, Any]) -> ExecHost:
    return ExecHost(node=host["node"], pod=host["pod"], cpus=host["cpus"])


def _past_run_to_json(run: PastRun) -> Object:
    body: Object = {"startTime": rfc3339(run.start_time), "endTime": rfc3339(run.end_time)}
    if run.lost:
        body["lost"] = run.lost
    return body | ({"hosts": [_host_to_json(host) for host in run.hosts]} if run.hosts else {})


def _past_run_from_json(run: Mapping[str, Any]) -> PastRun:
    return PastRun(
        start_time=parse_rfc3339(run["startTime"]),
        end_time=parse_rfc3339(run["endTime"]),
        hosts=tuple(_host_from_json(host) for host in run.get("hosts", ())),
        lost=run.get("lost", ""),
    )


def _suspension_to_json(suspension: Suspension) -> Object:
    body: Object = {"startTime": rfc3339(suspension.start_time)}
    if suspension.end_time is not None:
        body["endTime"] = rfc3339(suspension.end_time)
    return body | ({"resumed": True} if suspension.is_resumed else {})


def _suspension_from_json(suspension: Mapping[str, Any]) -> Suspension:
    return Suspension(
        start_time=parse_rfc3339(suspension["startTime"]),
        end_time=parse_time(suspension.get("endTime")),
        is_resumed=suspension.get("resumed", False),
    )


def _usage_to_json(usage: HostUsage) -> Object:
    body = {"pod": usage.pod, "cpuSeconds": usage.cpu_s, "maxRssBytes": usage.max_rss_bytes}
    return {key: value for key, value in body.items() if value is not None}


def _usage_from_json(usage: Mapping[str, Any]) -> HostUsage:
    return HostUsage(pod=usage["pod"], cpu_s=usage.get("cpuSeconds"), max_rss_bytes=usage.get("maxRssBytes"))


def _array_status_to_json(array: ArrayStatus) -> Object:
    body = {"limit": array.limit} | {name: str(getattr(array, name)) or None for name in _SETS}
    return {key: value for key, value in body.items() if value is not None}


def _array_status_from_json(array: Mapping[str, Any]) -> ArrayStatus:
    sets = {name: Indices.parse(array.get(name, "")) for name in _SETS}
    for indices in sets.values():
        check_size(indices)
    return ArrayStatus(limit=array.get("limit"), **sets)


def _progress_to_json(progress: DependencyProgress) -> Object:
    lists = {"met": progress.met, "joined": progress.joined, "followers": progress.followers}
    body = {name: list(names) for name, names in lists.items() if names}
    return body | ({"left": progress.left} if progress.left else {})


def _progress_from_json(progress: Mapping[str, Any]) -> DependencyProgress:
    """Raises ValueError for what views could not take apart."""
    parse_left(progress.get("left", ""))
    for name in progress.get("followers", ()):
        Wait.parse(name)
    return DependencyProgress(
        met=tuple(progress.get("met", ())),
        joined=tuple(progress.get("joined", ())),
        left=progress.get("left", ""),
        followers=tuple(progress.get("followers", ())),
    )


def _answer_to_json(answer: Answer) -> Object:
    body = {"id": answer.request_id, "code": answer.code or None, "message": answer.message or None}
    return {key: value for key, value in body.items() if value is not None}


def _answer_from_json(answer: Mapping[str, Any]) -> Answer:
    return Answer(request_id=answer["id"], code=answer.get("code", ""), message=answer.get("message", ""))
