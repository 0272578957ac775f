"""Attributes of PBS's nodes: `pbsnodes -a` and `qmgr -c 'print node @default'` give the same ones."""

from __future__ import annotations

import re

from hpcbatch.site.importing.found import Found, Node, Setting
from hpcbatch.site.importing.values import split, whole
from hpcbatch.typed import Final

_AVAILABLE: Final = "resources_available."
_OF_HOST_TEXT = """
accelerator_memory arch hbmem host hpmem mem naccelerators ncpus netwins nodect ompthreads pcpus pmem pvmem size
vmem vnode
"""
_OF_HOST: Final = frozenset(_OF_HOST_TEXT.split())
"""Resources that Kubernetes' own nodes report, or that every host has."""
_TRUE = frozenset({"true", "yes", "y", "t"})
_FALSE = frozenset({"false", "no", "n", "f"})
_SIZE = re.compile(r"\d+[kmgtp]?[bw]", re.IGNORECASE)


def attribute(node: Node, key: str, setting: Setting, found: Found) -> None:
    """Take attribute `key`, in lower case, of `node`."""
    if key == "properties":
        for name in split(setting.value):
            node.features.setdefault(name, setting.place)
        found.carried(setting)
    elif key == "queue":
        node.queues.setdefault(setting.value, setting.place)
        found.queues_with_nodes.add(setting.value)
        found.carried(setting)
    elif key == "gpus" and whole(setting.value):
        found.gres.setdefault("gpu", setting)
        found.carried(setting)
    elif key.startswith(_AVAILABLE):
        _resource(node, setting.key.rpartition(_AVAILABLE)[2], setting, found)
    elif key == "partition":
        found.leave(setting, "there is one scheduler for all nodes: Volcano")
    else:
        found.own(setting)  # its state, and what its kubelet reports


def _resource(node: Node, name: str, setting: Setting, found: Found) -> None:
    value = setting.value
    if name == "Qlist":
        for queue in split(value):
            node.queues.setdefault(queue, setting.place)
        found.carried(setting)
    elif name in {"ngpus", "gpus"}:
        found.gres.setdefault(name, setting)
        found.carried(setting)
    elif name in _OF_HOST:
        found.own(setting)
    elif value.lower() in _TRUE:
        node.words[(name, "True")] = setting
        found.carried(setting)
    elif value.lower() in _FALSE:
        found.carried(setting)  # jobs that ask for it find no such node
    elif whole(value) == 0:
        found.carried(setting)
    elif whole(value) is not None or _SIZE.fullmatch(value):
        found.leave(setting, "an amount on nodes: name its extended resource under resources")
    else:
        for word in split(value):
            node.words[(name, word)] = setting
        found.carried(setting)
