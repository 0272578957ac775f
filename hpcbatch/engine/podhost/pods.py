"""What the pod host knows of its pods and their containers."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any, Final

Message = dict[str, Any]

LOST_REASON: Final = "ContainerStatusUnknown"
"""The kubelet's word for a container of which nobody knows how it ended."""
KILLED: Final = 137
"""The exit code of what SIGKILL ended."""


@dataclass(slots=True)
class Container:
    pid: int
    report: int
    door: socket.socket
    """Its init's end of it takes clients."""
    termination: str
    group: str = ""
    """Its control group, if that limits its memory."""
    limit_bytes: int = 0
    """Of its memory, if that is looked at; 0: none."""
    memory_events: str = ""
    is_over: bool = False
    """It held more than its limit, and processes of it were killed."""
    is_killed: bool = False
    """The pod host has killed its init."""
    text: bytes = b""
    """A line of its report that is not yet complete."""
    end: Message = field(default_factory=dict)
    """The last line of its report; empty if it was killed before."""


@dataclass(slots=True)
class Pod:
    uid: str
    directory: str
    hostname: str
    group: tuple[str, str] | None
    """Namespace and subdomain: the pods that know each other by name."""
    head: str
    """First part of its /etc/hosts."""
    ip: str = ""
    namespaces: list[tuple[int, int]] = field(default_factory=list)
    containers: dict[str, Container] = field(default_factory=dict)
    tmpfs: list[str] = field(default_factory=list)
    door: socket.socket | None = None
    """Listens in its network for callers of the API server."""
