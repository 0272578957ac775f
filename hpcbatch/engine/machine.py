"""This machine, in Kubernetes' words."""

from __future__ import annotations

import platform
from typing import Final

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture() -> str:
    """`amd64`, `arm64`; a machine that Kubernetes calls by no other name by its own."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)
