"""Paths, media types and kinds for the tests of the API server."""

from typing import Any

from tests.component.api_server import Cluster, pod_body

P = "/api/v1/namespaces/default/pods"
BJ = "/apis/hpcbatch.io/v1alpha1/namespaces/default/batchjobs"
CM = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE, STRATEGIC, APPLY = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


# --- watches ---


def names(events: Any, count: int) -> list[tuple[str, str]]:
    found = []
    for event in events:
        found.append((event["type"], event["object"]["metadata"].get("name", "")))
        if len(found) == count:
            break
    return found


# --- logs ---


def running(api: Cluster, name: str, **status: Any) -> None:
    api.request("POST", P, pod_body(name, nodeName="n", restartPolicy="Never"))
    state = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "main",
                "image": "i",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {}},
            }
        ],
    }
    api.request("PATCH", f"{P}/{name}/status", {"status": state | status}, Content_Type=MERGE)
