"""Why Koordinator's quota does not let a job in: its scheduler says it of the job's pods."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcbatch.api.port import Object
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.state import KOORDINATOR_SAYS, Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.chosen import scheduler_of

_QUOTA: Final = re.compile(r"Insufficient (?:non-preemptible )?quotas, .*?exceedDimensions: \[[^]]*\]")
"""Within what it says of one pod, or, of the rest of its gang, why that pod gets none."""


def why_koordinator_waits(volcano_job: Object, unplaced: Iterable[str]) -> Waiting | None:
    """`unplaced` are its words on pods without a node. None: the job is none of its, or its quota is not the reason."""
    if scheduler_of(volcano_job) is not Scheduler.KOORDINATOR:
        return None
    found = next((match for text in unplaced if (match := _QUOTA.search(text))), None)
    return None if found is None else Waiting(reason=Reason.RESOURCES, message=f"{KOORDINATOR_SAYS}{found[0]}")
