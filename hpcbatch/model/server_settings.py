"""What operators set of PBS's server by qmgr, over the site's file."""

from __future__ import annotations

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.custom_resource import CustomResource
from hpcbatch.model.formula import check_formula
from hpcbatch.model.queue_fields import MOST_DEPTH


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """None: what the site's file says. Raises HpcBatchError for a bad formula or depth."""

    formula: str | None = None
    """job_sort_formula."""
    backfill_depth: int | None = None
    """0: no start is planned, so that a job is passed over for as long as others fit."""
    counts_eligible: bool | None = None
    """eligible_time_enable."""
    resources: tuple[CustomResource, ...] = ()
    """Those that operators have made, in the order in which they did."""

    def __post_init__(self) -> None:
        if self.formula:
            check_formula(self.formula)
        if self.backfill_depth is not None and not 0 <= self.backfill_depth <= MOST_DEPTH:
            raise HpcBatchError(f"backfill_depth is {self.backfill_depth}; expected 0 to {MOST_DEPTH}")
