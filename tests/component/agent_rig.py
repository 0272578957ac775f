"""A registry and a running agent in a directory, with what tests of pods need: make, wait, read the log."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.api.resources import EVENTS, PODS
from hpcbatch.engine.agent.agent import Agent, NodeSpec
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import NotFoundError
from tests.component.checked_registry import CheckedRegistry
from tests.waiting import wait_for

LIMIT_S = 60.0
SLEEP = str(10**6 + os.getpid())
"""Seconds that no other process on this machine sleeps."""


def sleepers() -> list[int]:
    """Processes that sleep for so long."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", SLEEP.encode()]:
            found.append(int(directory.name))
    return found


class Rig:
    def __init__(self, directory: Path, cpus: int = 8) -> None:
        directory.mkdir(exist_ok=True, parents=True)
        self.directory = directory
        self.registry = CheckedRegistry(Store(str(directory / "store.db")))
        nodes = [NodeSpec("node-0", cpus, 4 * 2**30), NodeSpec("node-1", cpus, 4 * 2**30)]
        self.agent = Agent(self.registry, directory, nodes)

    def start(self) -> Rig:
        self.agent.start()
        return self

    def stop(self) -> None:
        self.agent.stop()
        self.registry.store.close()

    def run(self, name: str, script: str, *, container: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """Create a pod of one container that runs a shell script, bound to node-0."""
        main = {"name": "main", "image": "host", "command": ["/bin/sh", "-c", script], **(container or {})}
        self.create(name, [main], **spec)

    def create(self, name: str, containers: Sequence[Object], **spec: Any) -> None:
        defaults = {"nodeName": "node-0", "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
        self.registry.create(
            PODS, {"metadata": {"name": name}, "spec": {**defaults, "containers": list(containers), **spec}}, "default"
        )

    def pod(self, name: str) -> Object | None:
        try:
            return self.registry.get(PODS, name, "default")
        except NotFoundError:
            return None

    def wait_phase(self, name: str, *phases: str) -> Object:
        def look() -> Object | None:
            pod = self.pod(name)
            return pod if pod is not None and pod["status"]["phase"] in phases else None

        try:
            return wait_for(f"pod {name} {'/'.join(phases)}", look, LIMIT_S) or {}
        except AssertionError as error:
            raise AssertionError(f"{error}; pod {self.pod(name)}; events {self.events(name)}") from None

    def container_state(self, name: str) -> Object:
        """That of the pod's main container; empty before the agent has told one."""
        states = (self.pod(name) or {}).get("status", {}).get("containerStatuses", [])
        return dict(states[0]["state"]) if states else {}

    def wait_over(self, name: str) -> tuple[int, str]:
        """Exit code and output of the pod's main container."""
        pod = self.wait_phase(name, "Succeeded", "Failed")
        end = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        return end["exitCode"], self.log(name) + (end.get("message") or "" if end["reason"] == "StartError" else "")

    def log(self, name: str, container: str = "main") -> str:
        pod = self.pod(name)
        path = self.agent.log_path(pod, container) if pod is not None else None
        if path is None:
            return ""
        written = path.read_bytes().decode(errors="surrogateescape")
        lines = [line.split(" ", 3) for line in written.split("\n")[:-1]]
        return "".join(text + ("\n" if tag == "F" else "") for _, _, tag, text in lines)

    def events(self, name: str) -> list[tuple[str, str, str]]:
        return [
            (event["type"], event["reason"], event["message"])
            for event in self.registry.list(EVENTS, "default").items
            if event["involvedObject"]["name"] == name
        ]

    def wait_event(self, name: str, reason: str) -> str:
        """The message of the pod's event of that reason."""

        def look() -> list[str]:
            return [message for _, seen, message in self.events(name) if seen == reason]

        return wait_for(f"event {reason} of {name}", look, LIMIT_S)[0]

    def wait_gone(self, name: str) -> None:
        wait_for(f"pod {name} gone", lambda: self.pod(name) is None, LIMIT_S)
