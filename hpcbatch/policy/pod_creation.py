"""Why Volcano cannot make a job's pods: quotas, Pod Security, limits. It reports this only in an Event of its Job."""

from __future__ import annotations

import json
import re
from datetime import datetime

from hpcbatch.errors import HpcBatchError
from hpcbatch.policy.observed import RefusedPods
from hpcbatch.typed import Any
from hpcbatch.units import parse_quantity, parse_rfc3339

Object = dict[str, Any]

FAILED_CREATE = "reason=FailedCreate,involvedObject.kind=Job"
"""Field selector of these Events."""
# Volcano prints Go's error: `… &errors.StatusError{ErrStatus:v1.Status{… Message:"pods \"job-1-mpimaster-0\" is …", …`
_STATUS_MESSAGE = re.compile(r'Message:("(?:[^"\\]|\\.)*")')
# Volcano reports one pod or another of the job.
_OF_A_POD = re.compile(r'pods "[^"]*" is forbidden: ')
_QUOTA = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: \S+, limited: (\S+)")


class Refusals:
    """Records the Events: which Volcano Job gets no pods, since when, and why. An Event may stay unchanged while
    Volcano keeps trying, because Events of one object are written ever more rarely.
    """

    def __init__(self) -> None:
        self._reported: dict[str, tuple[Object, datetime]] = {}  # by the Job's uid: newest Event, time of the first

    def add(self, event: Object) -> None:
        uid, first = event["involvedObject"].get("uid", ""), _time(event, "firstTimestamp")
        newest, since = self._reported.get(uid, (event, first))
        is_newer = _time(event, "lastTimestamp") >= _time(newest, "lastTimestamp")
        self._reported[uid] = event if is_newer else newest, min(since, first)

    def remove(self, event: Object) -> None:
        """The Event has expired."""
        uid = event["involvedObject"].get("uid", "")
        if uid in self._reported and self._reported[uid][0]["metadata"]["name"] == event["metadata"]["name"]:
            del self._reported[uid]

    def about(self, volcano_job: Object) -> RefusedPods | None:
        """Why the job's pods could not be made, since its last restart."""
        event, since = self._reported.get(volcano_job["metadata"]["uid"], (None, datetime.min))
        if event is None or _time(event, "lastTimestamp") < _begun(volcano_job):
            return None
        message = _message(event.get("message", ""))
        return RefusedPods(message=message, since=since, may_pass=_may_pass(message, volcano_job))


def _time(event: Object, name: str) -> datetime:
    return parse_rfc3339(event.get(name) or event.get("eventTime") or event["metadata"]["creationTimestamp"])


def _begun(volcano_job: Object) -> datetime:
    """When the job was made, or last restarted: its conditions list all of its phases."""
    conditions = volcano_job.get("status", {}).get("conditions") or ()
    restarts = [c["lastTransitionTime"] for c in conditions if c["status"] == "Restarting"]
    return parse_rfc3339(restarts[-1] if restarts else volcano_job["metadata"]["creationTimestamp"])


def _message(text: str) -> str:
    found = _STATUS_MESSAGE.search(text)
    if found is not None:
        try:
            text = json.loads(found[1])
        except ValueError:  # an escape of Go that JSON lacks
            text = found[1][1:-1]
    return _OF_A_POD.sub("", " ".join(text.split()), count=1)


def _may_pass(message: str, volcano_job: Object) -> bool:
    """Whether waiting helps: others use up a quota that would be enough for all pods of the job together."""
    found = _QUOTA.search(message)
    if found is None:
        return False
    limits = _amounts(found[3])
    return all(_of_all_pods(resource, volcano_job) <= limit for resource, limit in limits.items())


def _amounts(text: str) -> dict[str, float]:
    """Reads `cpu=2,memory=1Gi`; the last quantity of a truncated message may be invalid."""
    amounts = {}
    for part in text.split(","):
        resource, _, amount = part.partition("=")
        try:
            amounts[resource] = float(parse_quantity(amount))
        except HpcBatchError:
            continue
    return amounts


def _of_all_pods(resource: str, volcano_job: Object) -> float:
    """The job's share of a quota's `resource`: `pods`, `cpu`, `requests.memory`, `limits.memory` …"""
    total = 0.0
    section = "limits" if resource.startswith("limits.") else "requests"
    name = resource.removeprefix(f"{section}.")
    for task in volcano_job["spec"]["tasks"]:
        if resource in {"pods", "count/pods"}:
            total += task.get("replicas", 0)
            continue
        for container in task["template"]["spec"]["containers"]:
            amount = container.get("resources", {}).get(section, {}).get(name, "0")
            total += task.get("replicas", 0) * float(parse_quantity(amount))
    return total
