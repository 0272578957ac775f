"""What becomes of resources that many sites have and hpcbatch needs no word for. A site's own translations go first."""

from __future__ import annotations

from hpcbatch.model.site import Translation, Word
from hpcbatch.typed import Final

_MOUNTED: Final = "every file system of the site is mounted in every pod"
_SCRATCH: Final = "the site mounts what scratch space there is; none is set aside for a job"
_WORK_DIR: Final = "a job starts where its dialect and its options say"
_ONE_CLUSTER: Final = "this is one cluster, whose nodes are chosen by queue and node properties"
_NETWORK: Final = "the network of a job is the one that its nodes have"
_PLAIN: Final = "nodes of this kind are not told apart here; the site can translate it to labels of nodes"
_SHARED: Final = "whether other jobs share its nodes is asked for by place= or --exclusive"
_ORDER: Final = "jobs are ordered by queue and priority (-p)"
_DESCRIBES: Final = "it only describes the job"
_IMAGE: Final = "the system and the programs of a job are its image's"
_MEASURING: Final = "what can be measured is what the nodes let the processes of a pod see"
_POWER: Final = "the power of the nodes is the site's"
_PODS: Final = "each pod has control groups of its own, which keep it within what it asked for"
_GRES: Final = "names without a number are file systems and programs: what the site mounts and the image holds is there"

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
    "accelerator_model": _PLAIN,
    "arch": _PLAIN,
    "cpu_flag": _PLAIN,
    "cpu_vendor": _PLAIN,
    "pcmem": _PLAIN,
    "slot_type": _PLAIN,
    "spec": _PLAIN,
    "vntype": _PLAIN,
    "prepost": _PLAIN,
    "cl_*": _ONE_CLUSTER,
    "pbs_server": _ONE_CLUSTER,
    "beegfs": _MOUNTED,
    "gpfs": _MOUNTED,
    "gres": _GRES,
    "aoe": _IMAGE,
    "centos": _IMAGE,
    "cuda_version": _IMAGE,
    "os": _IMAGE,
    "osfamily": _IMAGE,
    "powerai": _IMAGE,
    "eoe": _POWER,
    "cgroups": _PODS,
    "debug": _ORDER,
    "other": _DESCRIBES,
    "vtune": _MEASURING,
    "x86_adapt": _MEASURING,
}
"""Resource → why it has no effect. With `*` it is a pattern."""
FEATURES: Final = ("beegfs", "centos", "cl_*", "debug", "gpfs", "powerai", "prepost", "vtune", "x86_adapt")
"""Those that scripts ask for as `name=True` too, which is a property of nodes."""

KNOWN: Final = (
    *(Translation(word=Word.RESOURCE, pattern=name, ignored=why) for name, why in REASONS.items()),
    *(Translation(word=Word.FEATURE, pattern=name, ignored=REASONS[name]) for name in FEATURES),
)
