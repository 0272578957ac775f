"""What becomes of resources that many sites have and hpcbatch needs no word for. A site's own translations go first."""

from __future__ import annotations

from typing import Final

from hpcbatch.model.site import Translation, Word

_MOUNTED: Final = "every file system of the site is mounted in every pod"
_SCRATCH: Final = "the site mounts what scratch space there is; none is set aside for a job"
_WORK_DIR: Final = "a job starts where its dialect and its options say"
_ONE_CLUSTER: Final = "this is one cluster, whose nodes are chosen by queue and node properties"
_NETWORK: Final = "the network of a job is the one that its nodes have"
_PLAIN: Final = "nodes of this kind are not told apart here; the site can translate it to labels of nodes"
_SHARED: Final = "whether other jobs share its nodes is asked for by place= or --exclusive"
_ORDER: Final = "jobs are ordered by queue and priority (-p)"
_DESCRIBES: Final = "it only describes the job"

REASONS: Final[dict[str, str]] = {
    "filesystems": _MOUNTED,
    "storage": _MOUNTED,
    "jobfs": _SCRATCH,
    "scratch": _SCRATCH,
    "scratch_local": _SCRATCH,
    "scratch_shared": _SCRATCH,
    "scratch_shm": _SCRATCH,
    "scratch_ssd": _SCRATCH,
    "wd": _WORK_DIR,
    "system": _ONE_CLUSTER,
    "cluster": _ONE_CLUSTER,
    "partition": _ONE_CLUSTER,
    "site": _ONE_CLUSTER,
    "interconnect": _NETWORK,
    "application": _DESCRIBES,
    "software": _DESCRIBES,
    "qos": _ORDER,
    "job_priority": _ORDER,
    "naccesspolicy": _SHARED,
    "feature": _PLAIN,
    "model": _PLAIN,
    "node_type": _PLAIN,
    "nodetype": _PLAIN,
    "gputype": _PLAIN,
    "gpu_type": _PLAIN,
    "gpu_model": _PLAIN,
    "gpu_mem": _PLAIN,
    "gpu_cap": _PLAIN,
}
"""Resource → why it has no effect."""

KNOWN: Final = tuple(Translation(word=Word.RESOURCE, pattern=name, ignored=why) for name, why in REASONS.items())
