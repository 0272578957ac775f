"""Options of sbatch that came after 22.05 or went before it, and are in public scripts: a site with that release takes
them. They cannot be abbreviated here, so that abbreviations mean what they mean to 22.05.
"""

from __future__ import annotations

from hpcbatch.dialects.slurm.getopt import Takes
from hpcbatch.dialects.slurm.options import SbatchOption, Support


def _option(name: str, takes: Takes, support: Support, meaning: str) -> SbatchOption:
    return SbatchOption(name=name, takes=takes, support=support, meaning=meaning)


_ROWS = (
    _option("checkpoint", Takes.VALUE, Support.IGNORED, "jobs are not checkpointed, as since Slurm 20.11"),
    _option("checkpoint-dir", Takes.VALUE, Support.IGNORED, "jobs are not checkpointed, as since Slurm 20.11"),
    _option("container-id", Takes.VALUE, Support.IGNORED, "there are no OCI bundles here"),
    _option("consolidate-segments", Takes.NOTHING, Support.IGNORED, "the scheduler does not know the switches"),
    _option("extra", Takes.VALUE, Support.KEPT, "kept with the job"),
    _option("oom-kill-step", Takes.OPTIONAL, Support.IGNORED, "a job that runs out of memory ends"),
    _option("resv-ports", Takes.OPTIONAL, Support.IGNORED, "pods have all ports of their own"),
    _option("segment", Takes.VALUE, Support.IGNORED, "the scheduler does not know the switches"),
    _option("spread-segments", Takes.NOTHING, Support.IGNORED, "the scheduler does not know the switches"),
    _option("stepmgr", Takes.NOTHING, Support.IGNORED, "each job manages its own steps anyway"),
    _option("tres-bind", Takes.VALUE, Support.TRANSLATED, "gres/gpu:…: which of the GPUs of a node each task sees"),
    _option("tres-per-task", Takes.VALUE, Support.TRANSLATED, "CPUs and generic resources of each task"),
)
LATER: dict[str, SbatchOption] = {option.name: option for option in _ROWS}
