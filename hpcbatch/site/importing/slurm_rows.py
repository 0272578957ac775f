"""Rows of partitions and nodes: slurm.conf and `scontrol show` give them with the same keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hpcbatch.site.importing import slurm_preemption
from hpcbatch.site.importing.found import Found, Queue, Setting
from hpcbatch.site.importing.values import LONGEST_S, hosts, slurm_bytes, slurm_seconds, split, whole
from hpcbatch.site.topology import NOT_IMPORTED
from hpcbatch.typed import Final

Row = Mapping[str, Setting]
"""A row's settings by their keys in lower case."""

NOT_SET: Final = frozenset({"", "(null)", "n/a", "none", "unlimited", "infinite", "infinity", "-1", "all"})
_NO = frozenset({"no", "false", "0", "off", "disabled"})
_ACCESS = "who may use a queue has no key: every user of the cluster may use each queue"
_ORDER = "set priorityTier of the queue, and partitionFactors of the key priority: see docs/accounts.md"
_SHAPE = "a job's pods are as it asks for them: there is no key"
_PER_CPU = "limits of memory are of a node: set maxMemoryPerNode and defaultMemoryPerNode by hand"

PARTITION_LEFT: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "allowaccounts": (NOT_SET, _ACCESS),
    "denyaccounts": (NOT_SET, _ACCESS),
    "allowgroups": (NOT_SET, _ACCESS),
    "allowqos": (NOT_SET, _ACCESS),
    "denyqos": (NOT_SET, _ACCESS),
    "allocnodes": (NOT_SET, "jobs are submitted from any host with a kubeconfig"),
    "rootonly": (_NO, _ACCESS),
    "reqresv": (_NO, "there are no reservations"),
    "hidden": (_NO, "every queue is shown to everybody"),
    "disablerootjobs": (_NO | {"yes"}, ""),
    "alternate": (NOT_SET, "there is no other queue for jobs of a closed one"),
    "state": (frozenset({"up"}), "open and close the Volcano Queue with vcctl queue operate"),
    "maxcpuspernode": (NOT_SET, "maxCPUs is of all nodes of a job"),
    "maxcpuspersocket": (NOT_SET, "maxCPUs is of all nodes of a job"),
    "minnodes": (NOT_SET | {"0", "1"}, "there is no least number of nodes"),
    "defmempercpu": (NOT_SET | {"0"}, _PER_CPU),
    "maxmempercpu": (NOT_SET | {"0"}, _PER_CPU),
    "defmempergpu": (NOT_SET | {"0"}, _PER_CPU),
    "defcpupergpu": (NOT_SET | {"0"}, _SHAPE),
    "jobdefaults": (NOT_SET, _SHAPE),
    "oversubscribe": (_NO, "CPUs are shared or not as the nodes' kubelets are set up, and --exclusive is the job's"),
    "shared": (_NO, "CPUs are shared or not as the nodes' kubelets are set up, and --exclusive is the job's"),
    "exclusiveuser": (_NO, "nodes are shared by jobs of all users; a job may ask for --exclusive"),
    "exclusivetopo": (_NO, _SHAPE),
    "exclusive": (_NO, "nodes are shared by jobs of all users; a job may ask for --exclusive"),
    "lln": (_NO, "where pods go is Volcano's: its plugin nodeorder"),
    "selecttypeparameters": (NOT_SET, "where pods go is Volcano's: its plugin nodeorder"),
    "priorityjobfactor": (frozenset({"0", "1"}), _ORDER),
    "priority": (frozenset({"0", "1"}), _ORDER),
    "overtimelimit": (NOT_SET | _NO, "a job ends when its walltime is over"),
    "qos": (NOT_SET, "limits of a QOS: site.yaml has those of queues; of a user: hpcbatch user add --quota-cpus"),
    "tresbillingweights": (NOT_SET, "nothing is billed: hpcbatch report counts CPU hours"),
    "cpubind": (NOT_SET, "CPUs are bound as the job asks"),
    "maxnodespersocket": (NOT_SET, _SHAPE),
    "suspendtime": (NOT_SET, "nodes are stopped and started by the cluster's own autoscaler: see autoscaling"),
    "suspendtimeout": (NOT_SET, "nodes are stopped and started by the cluster's own autoscaler: see autoscaling"),
    "resumetimeout": (NOT_SET, "nodes are stopped and started by the cluster's own autoscaler: see autoscaling"),
    "powerdownonidle": (_NO, "nodes are stopped and started by the cluster's own autoscaler: see autoscaling"),
    "topology": (NOT_SET, NOT_IMPORTED),
}
"""Key → the values that hold here anyway, and what is to be said of all others."""
PARTITION_SHOWN: Final = frozenset(
    {"totalcpus", "totalnodes", "tres", "nodesets", "nodeindices", "billingweights", "resumerate"}
)
"""What `scontrol show partition` counts."""

NODE_LEFT: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "weight": (frozenset({"0", "1"}), "which node is taken first is Volcano's: its plugin nodeorder"),
    "corespeccount": (NOT_SET | {"0"}, "CPUs for the system are the kubelet's reservedSystemCPUs"),
    "cpuspeclist": (NOT_SET, "CPUs for the system are the kubelet's reservedSystemCPUs"),
    "memspeclimit": (NOT_SET | {"0"}, "memory for the system is the kubelet's systemReserved"),
    "tmpdisk": (NOT_SET | {"0"}, "there is no count of local disk space"),
}
_FEATURE_COUNT = re.compile(r"(.*?)\*\d+")
_GRES = re.compile(r"(?P<name>[^:()\s]+)(?::(?P<type>[A-Za-z_][^:()\s]*))?(?::[^:()]*)?(?:\(.*\))?")


def partition(row: Row, found: Found, node_sets: Mapping[str, Sequence[str]]) -> None:
    """Put the partition of `row`, which has defaults filled in already, into `found`."""
    name = row["partitionname"]
    queue = found.queue(name.value, name.place)
    found.carried(name)
    for key, setting in row.items():
        value = setting.value.lower()
        if key in _LIMITS:
            _LIMITS[key](queue, setting, found)
        elif key in slurm_preemption.OF_PARTITION:
            slurm_preemption.OF_PARTITION[key](queue, setting, found)
        elif key == "nodes":
            _nodes(queue, setting, found, node_sets)
        elif key == "default":
            found.limit(queue, "is_default", value in {"yes", "true"}, setting)
        elif key in PARTITION_LEFT:
            harmless, why = PARTITION_LEFT[key]
            _carry_or_leave(value in harmless, setting, why, found)
            queue.is_restricted |= value not in harmless and why == _ACCESS
        elif key in PARTITION_SHOWN:
            found.own(setting)
        elif key != "partitionname":
            found.leave(setting, "this key of partitions is not known here")


def node(row: Row, found: Found) -> None:
    """The same for the nodes of a row."""
    name = row["nodename"]
    names = hosts(name.value)
    if names is None:
        found.wrong(name.place, f"{name}: expected a host list such as n[01-20]")
        return
    found.carried(name)
    for key, setting in row.items():
        value = setting.value.lower()
        if key in {"feature", "features", "availablefeatures", "activefeatures"}:
            found.carried(setting)
            for feature in [] if value in NOT_SET else split(setting.value):
                _add_feature(_FEATURE_COUNT.sub(r"\1", feature), names, setting, found)
        elif key == "gres":
            gres(setting, names, found)
        elif key in NODE_LEFT:
            harmless, why = NODE_LEFT[key]
            _carry_or_leave(value in harmless, setting, why, found)
        elif key != "nodename":
            found.own(setting)  # what a node has, its kubelet reports
    for one in names:
        found.node(one, name.place)


def _carry_or_leave(is_harmless: bool, setting: Setting, why: str, found: Found) -> None:
    if is_harmless:
        found.carried(setting)
    else:
        found.leave(setting, why)


def _add_feature(feature: str, names: Sequence[str], setting: Setting, found: Found) -> None:
    for name in names:
        found.node(name, setting.place).features.setdefault(feature, setting.place)


def gres(setting: Setting, names: Sequence[str], found: Found) -> None:
    """`gpu:a100:4(S:0-1),nic:2` of the nodes `names`"""
    found.carried(setting)
    for part in [] if setting.value.lower() in NOT_SET else split(setting.value):
        match = _GRES.fullmatch(part)
        if match is None:
            found.wrong(setting.place, f"{setting}: expected generic resources such as gpu:a100:4")
        else:
            add_gres(match["name"], match["type"] or "", names, setting, found)


def add_gres(name: str, kind: str, names: Sequence[str], setting: Setting, found: Found) -> None:
    if kind.lower() == "no_consume":
        found.leave(setting, f"{name} is not consumed: nothing would count it")
        return
    found.gres.setdefault(name, setting)
    if kind:
        found.gres.setdefault(f"{name}:{kind}", setting)
    for one in names if kind and name == "gpu" else ():
        found.node(one, setting.place).gpus.add(kind)


def _nodes(queue: Queue, setting: Setting, found: Found, node_sets: Mapping[str, Sequence[str]]) -> None:
    if setting.value.lower() == "all":
        found.carried(setting)
        return
    if setting.value.lower() in NOT_SET:
        found.leave(setting, "a partition without nodes: its queue reaches all nodes")
        return
    names = hosts(setting.value)
    if names is None:
        found.wrong(setting.place, f"{setting}: expected a host list such as n[01-20]")
        return
    own = [name for part in names for name in node_sets.get(part, [part])]
    found.limit(queue, "nodes", frozenset(own), setting)


def _time(field: str, queue: Queue, setting: Setting, found: Found) -> None:
    value = setting.value.lower()
    seconds = None if value in NOT_SET else slurm_seconds(setting.value)
    if value not in NOT_SET and seconds is None:
        found.wrong(setting.place, f"{setting}: expected a time such as 60, 12:00:00, 7-00:00:00 or UNLIMITED")
        return
    found.limit(queue, field, None if not seconds or seconds > LONGEST_S else seconds, setting)


def _memory(field: str, queue: Queue, setting: Setting, found: Found) -> None:
    value = setting.value.lower()
    size = None if value in NOT_SET else slurm_bytes(setting.value)
    if value not in NOT_SET and size is None:
        found.wrong(setting.place, f"{setting}: expected memory in megabytes")
        return
    found.limit(queue, field, size if size and size < 2**63 else None, setting)


def _count(field: str, queue: Queue, setting: Setting, found: Found) -> None:
    value = setting.value.lower()
    count = None if value in NOT_SET else whole(setting.value)
    if value not in NOT_SET and count is None:
        found.wrong(setting.place, f"{setting}: expected a whole number or UNLIMITED")
        return
    found.limit(queue, field, count if count and count <= 10**6 else None, setting)


_LIMITS: Final = {
    "maxtime": lambda queue, setting, found: _time("max_walltime_s", queue, setting, found),
    "defaulttime": lambda queue, setting, found: _time("default_walltime_s", queue, setting, found),
    "maxnodes": lambda queue, setting, found: _count("max_nodes", queue, setting, found),
    "maxmempernode": lambda queue, setting, found: _memory("max_mem_bytes", queue, setting, found),
    "defmempernode": lambda queue, setting, found: _memory("default_mem_bytes", queue, setting, found),
}


def everywhere(setting: Setting, found: Found) -> None:
    """A limit or default of all partitions that have none of their own."""
    _LIMITS[setting.key.lower()](found.everywhere, setting, found)
