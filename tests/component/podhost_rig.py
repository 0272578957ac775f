"""A pod host and the messages that the agent would send it."""

from __future__ import annotations

import base64
import os
import queue
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpcbatch.engine.agent.podhost_client import PodHostClient

LIMIT_S = 30.0
API_PORT = 41234
"""Of networks that only pods have: free in each of them."""


class PodHostRig:
    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.work = directory / "work"
        self.events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.callers: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        self.client = PodHostClient(self.work, self.events.put, API_PORT, self.callers.put)
        self.mode = self.client.start()

    def stop(self) -> None:
        self.client.stop()

    def say(self, op: str, pod: str, **rest: Any) -> None:
        self.client.send({"op": op, "pod": pod, **rest})

    def hear(self, event: str, pod: str = "") -> dict[str, Any]:
        """The next message must be this one."""
        message = self.events.get(timeout=LIMIT_S)
        assert message["event"] == event, message
        assert pod in {"", message.get("pod")}, message
        return message

    def pod(
        self, uid: str, *, subdomain: str | None = None, volumes: Mapping[str, Mapping[str, str]] | None = None
    ) -> str:
        """Make a pod; returns its address. Volumes: name → path → text, all 0600."""
        self.say(
            "pod",
            uid,
            hostname=uid,
            namespace="ns",
            subdomain=subdomain or "",
            network=subdomain is not None,
            host_ip="127.0.0.1",
            aliases=[],
            sysctls={},
            volumes=[volume(name, files) for name, files in (volumes or {}).items()],
        )
        answer = self.hear("sandbox", uid)
        assert "error" not in answer, answer
        return str(answer["ip"])

    def start(
        self,
        uid: str,
        script: str,
        *,
        argv: Sequence[str] = (),
        mounts: Sequence[Mapping[str, Any]] = (),
        container: str = "main",
        cwd: str = "",
        **rest: Any,
    ) -> None:
        message = {
            "argv": list(argv) or ["/bin/sh", "-c", script],
            "env": {"PATH": os.environ["PATH"], "WORD": "a b"},
            "cwd": cwd,
            "mounts": [dict(mount) for mount in mounts],
            "log": str(self.log_file(uid, container)),
            "termination": "/dev/termination-log",
            "tty": False,
            "stdin": False,
            "stdin_once": False,
            "user": None,
            "drop_capabilities": False,
            "no_new_privileges": False,
            "memory_bytes": 0,
        }
        self.say("start", uid, container=container, **{**message, **rest})

    def run(self, script: str, *, uid: str = "one", **rest: Any) -> tuple[int, str]:
        """One pod that runs the script: exit code and output."""
        self.pod(uid, subdomain=rest.pop("subdomain", None), volumes=rest.pop("volumes", None))
        self.start(uid, script, **rest)
        end = self.end(uid)
        self.say("remove", uid)
        return end["code"], self.log(uid) + (end["message"] if end["reason"] == "StartError" else "")

    def end(self, uid: str) -> dict[str, Any]:
        """The end of the pod's container, whether or not its start was told."""
        message = self.events.get(timeout=LIMIT_S)
        if message["event"] == "started":
            message = self.events.get(timeout=LIMIT_S)
        assert (message["event"], message["pod"]) == ("exited", uid), message
        return message

    def log_file(self, uid: str, container: str = "main") -> Path:
        return self.directory / f"{uid}-{container}.log"

    def log(self, uid: str, container: str = "main", stream: str = "") -> str:
        out = ""
        path = self.log_file(uid, container)
        for line in path.read_text(errors="replace").split("\n")[:-1] if path.exists() else ():
            _, where, tag, text = line.split(" ", 3)
            if stream in {"", where}:
                out += text + ("\n" if tag == "F" else "")
        return out

    def volume_path(self, uid: str, name: str) -> str:
        return f"{self.work}/pods/{uid}/volumes/{name}"


def volume(name: str, files: Mapping[str, str]) -> dict[str, Any]:
    listed = [
        {"path": path, "mode": 0o600, "data": base64.b64encode(text.encode()).decode()} for path, text in files.items()
    ]
    return {"name": name, "files": listed, "gid": None, "memory": False, "size": 0}
