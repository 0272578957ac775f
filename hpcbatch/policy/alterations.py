"""Which alterations of a job were made and when: accounting reports them."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.alterations import changes
from hpcbatch.model.record import Alteration, JobRecord

KEPT, LONGEST = 50, 2000
"""How many of a job's last alterations are kept, and characters of each: its record must not grow without limit."""


def noted(before: JobRecord, after: JobRecord, now: datetime) -> JobRecord:
    """`after`, with its differences from `before` added to its alterations."""
    text = " ".join(f"{name}={value}" for name, value in changes(before, after))
    if not text:
        return after
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    known = (*after.status.alterations, Alteration(time=now, changes=text))[-KEPT:]
    return replace(after, status=replace(after.status, alterations=known))
