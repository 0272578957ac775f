"""The requests that hpcbatch's controller and its users made, from the API server's audit log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from hpcbatch.admin.user_names import kubernetes_user
from tests.cluster.control_plane import AUDIT_LOG

CONTROLLER = "controller"
USER = "user"
_ACCOUNTS = "system:serviceaccount:"
_SWEPT = {"secrets", "namespaces"}
_SHARED = {"", "hpcbatch-system"}
"""Where the controller keeps what belongs to no one user."""


class Request(NamedTuple):
    """`client` is CONTROLLER or USER; `resource` is `batchjobs`, with a subresource `batchjobs/status`."""

    client: str
    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.client}: {self.verb} {self.resource}"

    @property
    def is_upkeep(self) -> bool:
        """What the controller asks without any job: its lease, watches that begin anew, a look for what was left."""
        is_sweep = self.verb == "list" and self.resource in _SWEPT
        return self.client == CONTROLLER and (self.resource == "leases" or self.verb == "watch" or is_sweep)


def mark() -> int:
    """Where the log ends now."""
    return AUDIT_LOG.stat().st_size


def requests_since(place: int, user: str, namespace: str) -> Counter[Request]:
    """What `user` asked, and the controller in the user's namespace or in no user's, and what was answered after
    `place`; without the controller's upkeep.
    """
    found: Counter[Request] = Counter()
    for event in _answered(place):
        name, on = event["user"]["username"], event.get("objectRef") or {"resource": event["requestURI"]}
        is_controller = name.startswith(_ACCOUNTS) and on.get("namespace", "") in {namespace, *_SHARED}
        if is_controller or name == kubernetes_user(user):
            resource = "/".join(filter(None, (on["resource"], on.get("subresource", ""))))
            found[Request(CONTROLLER if is_controller else USER, event["verb"], resource)] += 1
    return Counter({request: count for request, count in found.items() if not request.is_upkeep})


def _answered(place: int) -> Iterator[dict[str, Any]]:
    """Each request once: the server writes it down when it answers, a watch when that begins."""
    with AUDIT_LOG.open("rb") as log:
        log.seek(place)
        for line in log:
            if not line.endswith(b"\n"):
                return  # it is being written
            event = json.loads(line)
            if event["stage"] == ("ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"):
                yield event


def table(requests: Counter[Request]) -> str:
    """One line a kind of request."""
    lines = [f"{count:5}  {request}" for request, count in sorted(requests.items())]
    return "\n".join([*lines, f"{requests.total():5}  together"])
