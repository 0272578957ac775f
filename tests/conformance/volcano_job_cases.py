"""Volcano Jobs that end in different ways, for test_volcano_jobs.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.conformance.volcano_site import WORKER, Object, task

OK, BAD = "sleep 1; exit 0", "sleep 1; exit 3"


@dataclass(frozen=True)
class Case:
    tasks: list[Object]
    phase: str
    left: dict[str, str]
    """The pods that stay, and their phases."""
    spec: dict[str, Any] = field(default_factory=dict)


def by_index(**commands: str) -> str:
    """A command that differs from pod to pod of a task: `_0="exit 3"`; needs the plugin env."""
    lines = [f"{index.removeprefix('_')}) {command};;" for index, command in commands.items()]
    return f"sleep 1; case $VC_TASK_INDEX in {' '.join(lines)} esac"


ENV: Object = {"plugins": {"env": []}}
CASES = {
    "good": Case([task("t", f"echo said; {OK}", 2)], "Completed", {"t-0": "Succeeded", "t-1": "Succeeded"}),
    "short": Case([task("t", "true")], "Completed", {"t-0": "Succeeded"}),
    "bad": Case(
        [task("t", by_index(_0="exit 3", _1="sleep 1"), 2)], "Failed", {"t-0": "Failed", "t-1": "Succeeded"}, ENV
    ),
    "one-is-enough": Case(
        [task("t", by_index(_0="exit 3"), 3)],
        "Completed",
        {"t-0": "Failed", "t-1": "Succeeded", "t-2": "Succeeded"},
        {"minAvailable": 1, **ENV},
    ),
    "two-are-not": Case(
        [task("t", by_index(_0="exit 3", _1="exit 4"), 3)],
        "Failed",
        {"t-0": "Failed", "t-1": "Failed", "t-2": "Succeeded"},
        {"minAvailable": 2, **ENV},
    ),
    "task-lacks": Case(
        [task("a", OK, 2, minAvailable=1), task("b", BAD)],
        "Failed",
        {"a-0": "Succeeded", "a-1": "Succeeded", "b-0": "Failed"},
    ),
    "task-may": Case(
        [task("a", OK), task("b", BAD, minAvailable=0)], "Completed", {"a-0": "Succeeded", "b-0": "Failed"}
    ),
    "min-success": Case(
        [task("t", by_index(_0="exit 0", _1=WORKER, _2=WORKER), 3)],
        "Completed",
        {"t-0": "Succeeded"},
        {"minSuccess": 1, **ENV},
    ),
    "min-success-lacks": Case(
        [task("t", by_index(_0="exit 3"), 2)], "Failed", {"t-0": "Failed", "t-1": "Succeeded"}, {"minSuccess": 2, **ENV}
    ),
    "on-failure": Case(
        [
            task(
                "t",
                "[ -e /again/x ] || { touch /again/x; exit 3; }",
                pod={
                    "restartPolicy": "OnFailure",
                    "volumes": [{"name": "v", "emptyDir": {}}],
                },
                container={"volumeMounts": [{"name": "v", "mountPath": "/again"}]},
            )
        ],
        "Completed",
        {"t-0": "Succeeded"},
    ),
    "init": Case(
        [
            task(
                "t",
                "test -e /shared/made",
                pod={
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "initContainers": [
                        {
                            **task("", "touch /shared/made")["template"]["spec"]["containers"][0],
                            "name": "first",
                            "volumeMounts": [{"name": "v", "mountPath": "/shared"}],
                        }
                    ],
                },
                container={"volumeMounts": [{"name": "v", "mountPath": "/shared"}]},
            )
        ],
        "Completed",
        {"t-0": "Succeeded"},
    ),
    "bad-init": Case(
        [
            task(
                "t",
                "true",
                pod={
                    "initContainers": [{**task("", "exit 3")["template"]["spec"]["containers"][0], "name": "first"}],
                },
            )
        ],
        "Failed",
        {"t-0": "Failed"},
    ),
    "depends": Case(
        [task("a", WORKER.replace("1000", "4")), task("b", OK, dependsOn={"name": ["a"]})],
        "Completed",
        {"a-0": "Succeeded", "b-0": "Succeeded"},
        {"minAvailable": 1},
    ),
}
