"""What `resources_max.walltime`, `resources_default.nodes`, `default_chunk.mem` … of a queue or server become."""

from __future__ import annotations

from hpcbatch.site.importing import limits
from hpcbatch.site.importing.found import Found, Queue, Setting
from hpcbatch.site.importing.values import LONGEST_S, pbs_bytes, pbs_seconds, whole
from hpcbatch.typed import Final

_CPUS: Final = frozenset({"ncpus", "procs", "procct", "mppwidth"})
_NODES: Final = frozenset({"nodect", "nodes", "mppnodect"})
_OF_SERVER: Final = _CPUS | _NODES | {"mem", "pmem", "vmem", "pvmem", "walltime", "cput", "pcput", "ngpus", "file"}
_LEAST: Final = frozenset({"walltime", "ncpus", "nodect", "mem"})
"""Of which qmgr sets a queue's `resources_min`."""
_OF_JOB = "of all nodes of a job together there; here it is of each node"
_NO_KEY: Final = {
    "resources_max": "a queue has limits of walltime, nodes, CPUs and memory only",
    "resources_min": "a queue has least walltimes, nodes, CPUs and memory only",
    "resources_available": "what all jobs of a queue may use together is the capability of its Volcano Queue",
    "resources_default": "jobs that ask for none get none",
    "default_chunk": "jobs that ask for none get none",
}


def resource(queue: Queue, group: str, name: str, setting: Setting, found: Found) -> None:
    """Take `group.name` (`resources_max.walltime`) of `queue`."""
    is_max = group == "resources_max"
    low = name.lower()
    if group == "resources_available" and not queue.name and low not in _OF_SERVER and whole(setting.value):
        found.licenses.setdefault(name, min(whole(setting.value) or 0, 10**6))  # counted once for all nodes
        found.carried(setting)
    elif group == "resources_min" and queue.name and low in _LEAST:
        limits.typed(found, queue.name, setting)
    elif group in {"resources_min", "resources_available"}:
        found.leave(setting, _NO_KEY[group])
    elif low == "walltime":
        _walltime("max_walltime_s" if is_max else "default_walltime_s", queue, setting, found)
    elif low == "mem":
        size = pbs_bytes(setting.value)
        if size is None:
            found.wrong(setting.place, f"{setting}: expected memory such as 4gb")
        elif 0 < size < 2**63:
            found.limit(queue, "max_mem_bytes" if is_max else "default_mem_bytes", size, setting)
            if group != "default_chunk":
                found.leave(setting, _OF_JOB)
    elif low in _CPUS or low in _NODES:
        _counts(queue, group, low, setting, found)
    elif low == "neednodes" and not is_max:
        properties = _properties(setting.value)
        queue.features += [name for name in properties if name not in queue.features]
        found.carried(setting)
    elif name == "Qlist" and group == "default_chunk":
        queue.node_queue = setting.value
        found.carried(setting)
    else:
        found.leave(setting, _NO_KEY[group])


def _walltime(key: str, queue: Queue, setting: Setting, found: Found) -> None:
    seconds = pbs_seconds(setting.value)
    if seconds is None:
        found.wrong(setting.place, f"{setting}: expected a time such as 24:00:00")
    else:
        found.limit(queue, key, seconds if 0 < seconds <= LONGEST_S else None, setting)


def _counts(queue: Queue, group: str, name: str, setting: Setting, found: Found) -> None:
    count, _, rest = setting.value.partition(":")
    amount = whole(count.strip())
    per_node = next((whole(part[4:]) for part in rest.split(":") if part.startswith("ppn=")), None)
    if group != "resources_max":
        properties = _properties(setting.value) if name == "nodes" else []
        queue.features += [prop for prop in properties if prop not in queue.features]
        if amount == 1 and (per_node or 1) == 1:
            found.carried(setting)
        else:
            found.leave(setting, "a job that asks for nothing gets one CPU on one node")
        return
    if amount is None:
        found.leave(setting, "expected a number of nodes or CPUs")
        return
    if name in _NODES:
        _least(queue, "max_nodes", amount, setting, found)
        if per_node:
            _least(queue, "max_cpus", amount * per_node, setting, found)
    else:
        _least(queue, "max_cpus", amount, setting, found)


def _least(queue: Queue, key: str, count: int, setting: Setting, found: Found) -> None:
    """Of several limits of one thing, as ncpus and procct, the lowest counts."""
    before = getattr(queue, key)
    if 0 < count <= 10**6 and (before is None or count < before):
        setattr(queue, key, count)
    found.carried(setting)


def _properties(text: str) -> list[str]:
    """Those in `1:ppn=4:haswell` or `haswell`."""
    parts = [part.strip() for chunk in text.split("+") for part in chunk.split(":")]
    return [part for part in parts if part and "=" not in part and whole(part) is None]
