"""Which names site.yaml and Kubernetes take, and the labels that nodes are to get.

A node with property `haswell` has the label `hpcbatch.io/feature-haswell: "true"`, one of queue `gpu` has
`hpcbatch.io/queue-gpu: "true"`, one with GPUs of type `a100` has `hpcbatch.io/gpu-a100: "true"`, one whose resource
`cputype` is `rome` has `hpcbatch.io/resource-cputype: rome`.
"""

from __future__ import annotations

import re

_QUEUE = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,62}")
_WORD = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.:]{0,62}")
_LICENSE = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.:@]{0,62}")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RESERVED = "root"
"""Volcano's queue above all others, which takes no jobs."""


def is_queue(name: str) -> bool:
    return bool(_QUEUE.fullmatch(name))


def is_word(name: str) -> bool:
    """Whether `name` can be a property or a resource."""
    return bool(_WORD.fullmatch(name))


def is_license(name: str) -> bool:
    return bool(_LICENSE.fullmatch(name))


def is_node(name: str) -> bool:
    """Whether a node of Kubernetes can have this name."""
    return bool(_SUBDOMAIN.fullmatch(name))


def is_label_value(value: str) -> bool:
    return bool(_LABEL.fullmatch(value))


def label(kind: str, name: str) -> str | None:
    """The label's key; None if no key can have this name."""
    last = f"{kind}-{name}"
    return f"hpcbatch.io/{last}" if _LABEL.fullmatch(last) else None


def volcano_queue(name: str) -> str:
    """A name for the queue's Volcano Queue: its own, as far as Kubernetes takes it."""
    if is_node(name) and name != _RESERVED:
        return name
    made = re.sub(r"-*\.[-.]*", ".", re.sub(r"[^a-z0-9.-]", "-", name.lower())).strip("-.")
    return made if is_node(made) and made != _RESERVED else f"queue-{made}".rstrip("-.")
