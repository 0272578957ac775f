"""A job as asked, in the JSON form of a BatchJob's spec, and back. What holds its default is left out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hpcbatch.api.jobrow import parse_time
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array, Membership
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.spec import Arrangement, Chunk, JobSpec, Output, Sharing, WarnSignal
from hpcbatch.units import rfc3339


def to_manifest(spec: JobSpec, *, name: str, submission_secret: str, export_none: bool = False) -> Object:
    """The BatchJob to create for `spec`; script and environment lie in the Secret named."""
    body = spec_to_json(spec)
    body["submissionSecret"] = submission_secret
    if export_none:
        body["exportNone"] = True
    return {
        "apiVersion": BATCHJOBS.api_version,
        "kind": BATCHJOBS.kind,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "hpcbatch"}},
        "spec": body,
    }


def spec_to_json(spec: JobSpec) -> Object:
    """`spec` as the BatchJob's spec, without what only the submission knows."""
    fields: dict[str, Any] = {
        "dialect": spec.dialect.value,
        "name": spec.name,
        "queue": spec.queue,
        "chunks": [chunk_to_json(c) for c in spec.chunks],
        "arrangement": spec.arrangement.value,
        "memPerPodBytes": spec.mem_per_pod_bytes,
        "resourcesPerPod": dict(spec.resources_per_pod) or None,
        "sharing": spec.sharing.value,
        "walltimeSeconds": spec.walltime_s,
        "interpreter": spec.interpreter,
        "command": list(spec.command) or None,
        "scriptArgs": list(spec.script_args) or None,
        "scriptPath": spec.script_path,
        "workDir": spec.work_dir,
        "submitDir": spec.submit_dir,
        "submitHost": spec.submit_host,
        "stdout": _output_to_json(spec.stdout),
        "stderr": None if spec.stderr is None else _output_to_json(spec.stderr),
        "stdoutToStderr": spec.stdout_to_stderr or None,
        "hold": spec.hold or None,
        "adminHolds": "".join(sorted(spec.admin_holds)) or None,
        "array": None if spec.array is None else _array_to_json(spec.array),
        "memberOf": None if spec.member_of is None else _membership_to_json(spec.member_of),
        "dependency": None if spec.dependency is None else dependency_to_json(spec.dependency),
        "warnSignal": None if spec.warn_signal is None else _warn_signal_to_json(spec.warn_signal),
        "keepOutput": spec.keep_output or None,
        "removeOutput": spec.remove_output or None,
        "nice": spec.nice or None,
        "beginTime": None if spec.begin_time is None else rfc3339(spec.begin_time),
        "priority": spec.priority or None,
        "rerunnable": spec.rerunnable,
        "account": spec.account,
        "mailPoints": spec.mail_points or None,
        "mailUsers": list(spec.mail_users) or None,
        "umask": spec.umask,
        "image": spec.image,
        "server": spec.server,
        "attributes": dict(spec.attributes) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def spec_from_json(spec: Mapping[str, Any]) -> JobSpec:
    """Read a BatchJob's spec. Raises HpcBatchError if it does not say what a job needs."""
    try:
        return JobSpec(
            dialect=Dialect(spec["dialect"]),
            name=spec["name"],
            queue=spec.get("queue"),
            chunks=tuple(chunk_from_json(c) for c in spec["chunks"]),
            arrangement=Arrangement(spec.get("arrangement", "free")),
            mem_per_pod_bytes=spec.get("memPerPodBytes"),
            resources_per_pod=_resources(spec.get("resourcesPerPod", {})),
            sharing=Sharing(spec.get("sharing", "shared")),
            walltime_s=spec.get("walltimeSeconds"),
            interpreter=spec.get("interpreter"),
            command=tuple(spec.get("command", ())),
            script_args=tuple(spec.get("scriptArgs", ())),
            script_path=spec.get("scriptPath"),
            work_dir=spec.get("workDir"),
            submit_dir=spec.get("submitDir", "/"),
            submit_host=spec.get("submitHost", "localhost"),
            stdout=_output_from_json(spec.get("stdout", {})),
            stderr=_output_from_json(spec["stderr"]) if "stderr" in spec else None,
            stdout_to_stderr=spec.get("stdoutToStderr", False),
            hold=spec.get("hold", False),
            admin_holds=frozenset(spec.get("adminHolds", "")),
            array=_array_from_json(spec["array"]) if "array" in spec else None,
            member_of=_membership_from_json(spec["memberOf"]) if "memberOf" in spec else None,
            dependency=dependency_from_json(spec["dependency"]) if "dependency" in spec else None,
            warn_signal=_warn_signal_from_json(spec["warnSignal"]) if "warnSignal" in spec else None,
            keep_output=spec.get("keepOutput", ""),
            remove_output=spec.get("removeOutput", ""),
            nice=spec.get("nice", 0),
            begin_time=parse_time(spec.get("beginTime")),
            priority=spec.get("priority", 0),
            rerunnable=spec.get("rerunnable", True),
            account=spec.get("account"),
            mail_points=spec.get("mailPoints", ""),
            mail_users=tuple(spec.get("mailUsers", ())),
            umask=spec.get("umask"),
            image=spec.get("image"),
            server=spec.get("server", "localhost"),
            attributes=spec.get("attributes", {}),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"not a BatchJob's spec: {error}") from None


def chunk_to_json(chunk: Chunk) -> Object:
    body: Object = {"count": chunk.count, "cpus": chunk.cpus, "ranks": chunk.ranks}
    if chunk.mem_bytes is not None:
        body["memBytes"] = chunk.mem_bytes
    if chunk.threads is not None:
        body["threads"] = chunk.threads
    if chunk.resources:
        body["resources"] = dict(chunk.resources)
    if chunk.properties:
        body["properties"] = list(chunk.properties)
    return body


def chunk_from_json(chunk: Mapping[str, Any]) -> Chunk:
    if "resources" not in chunk and "properties" not in chunk:
        return _plain_chunk(
            chunk["count"], chunk["cpus"], chunk["ranks"], chunk.get("memBytes"), chunk.get("threads")
        )  # fmt: skip
    return Chunk(
        count=chunk["count"],
        cpus=chunk["cpus"],
        ranks=chunk["ranks"],
        mem_bytes=chunk.get("memBytes"),
        threads=chunk.get("threads"),
        resources=_resources(chunk.get("resources", {})),
        properties=tuple(sorted(chunk.get("properties", ()))),
    )


@lru_cache(maxsize=1000)
def _plain_chunk(count: int, cpus: int, ranks: int, mem_bytes: int | None, threads: int | None) -> Chunk:
    """Of many thousand jobs few differ in this, and to check a chunk takes a while."""
    return Chunk(count=count, cpus=cpus, ranks=ranks, mem_bytes=mem_bytes, threads=threads)


def _resources(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(amounts.items()))


def _output_to_json(output: Output) -> Object:
    return ({} if output.path is None else {"path": output.path}) | ({"append": True} if output.append else {})


def _output_from_json(output: Mapping[str, Any]) -> Output:
    return Output(path=output.get("path"), append=output.get("append", False))


def _array_to_json(array: Array) -> Object:
    body: Object = {"indices": str(array.indices), "text": array.text}
    return body if array.limit is None else body | {"limit": array.limit}


def _array_from_json(array: Mapping[str, Any]) -> Array:
    return Array(indices=Indices.parse(array["indices"]), limit=array.get("limit"), text=array.get("text", ""))


def _membership_to_json(member: Membership) -> Object:
    body: Object = {"arrayId": member.array_id, "arrayName": member.array_name, "index": member.index}
    return body | {"keepsNumber": True} if member.keeps_number else body


def _membership_from_json(member: Mapping[str, Any]) -> Membership:
    return Membership(
        array_id=member["arrayId"],
        array_name=member["arrayName"],
        index=member["index"],
        keeps_number=member.get("keepsNumber", False),
    )


def dependency_to_json(dependency: Dependency) -> Object:
    """`{"clauses": [{"kind": "afterok", "jobs": ["12", "13[7]"]}]}`"""
    body: Object = {"clauses": [_clause_to_json(clause) for clause in dependency.clauses]}
    if dependency.is_any:
        body["any"] = True
    if dependency.kill_if_never is not None:
        body["killIfNever"] = dependency.kill_if_never
    return body


def dependency_from_json(dependency: Mapping[str, Any]) -> Dependency:
    """Raises ValueError for job references that are none."""
    return Dependency(
        clauses=tuple(_clause_from_json(clause) for clause in dependency["clauses"]),
        is_any=dependency.get("any", False),
        kill_if_never=dependency.get("killIfNever"),
    )


def _clause_to_json(clause: Clause) -> Object:
    body: Object = {"kind": clause.kind.value}
    if clause.jobs:
        body["jobs"] = [str(ref) for ref in clause.jobs]
    if clause.delay_s:
        body["delaySeconds"] = clause.delay_s
    if clause.count:
        body["count"] = clause.count
    return body


def _clause_from_json(clause: Mapping[str, Any]) -> Clause:
    return Clause(
        kind=DependencyKind(clause["kind"]),
        jobs=tuple(JobRef.parse(text) for text in clause.get("jobs", ())),
        delay_s=clause.get("delaySeconds", 0),
        count=clause.get("count", 0),
    )


def _warn_signal_to_json(warn: WarnSignal) -> Object:
    body: Object = {"signal": warn.signal, "beforeSeconds": warn.before_s}
    return body | ({"batchOnly": True} if warn.is_batch_only else {})


def _warn_signal_from_json(warn: Mapping[str, Any]) -> WarnSignal:
    return WarnSignal(signal=warn["signal"], before_s=warn["beforeSeconds"], is_batch_only=warn.get("batchOnly", False))
