"""What operators set of PBS's server and scheduler by qmgr, over the site's file."""

from __future__ import annotations

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.custom_resource import CustomResource
from hpcbatch.model.formula import check_formula
from hpcbatch.model.preempt_order import bands_of
from hpcbatch.model.preemption import MOST_PRIORITY, PreemptionConfig
from hpcbatch.model.queue_fields import MOST_DEPTH


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """None: what the site's file says. Raises HpcBatchError for a bad value."""

    formula: str | None = None
    """job_sort_formula."""
    backfill_depth: int | None = None
    """0: no start is planned, so that a job is passed over for as long as others fit."""
    counts_eligible: bool | None = None
    """eligible_time_enable."""
    preempt_order: str | None = None
    preempt_queue_prio: int | None = None
    resources: tuple[CustomResource, ...] = ()
    """Those that operators have made, in the order in which they did."""

    def __post_init__(self) -> None:
        if self.formula:
            check_formula(self.formula)
        if self.backfill_depth is not None and not 0 <= self.backfill_depth <= MOST_DEPTH:
            raise HpcBatchError(f"backfill_depth is {self.backfill_depth}; expected 0 to {MOST_DEPTH}")
        if self.preempt_order is not None:
            bands_of(self.preempt_order)
        if self.preempt_queue_prio is not None and not 0 < self.preempt_queue_prio <= MOST_PRIORITY:
            raise HpcBatchError(f"preempt_queue_prio is {self.preempt_queue_prio}; expected 1 to {MOST_PRIORITY}")

    def over(self, config: PreemptionConfig) -> PreemptionConfig:
        """The site's rules with these."""
        order = config.order if self.preempt_order is None else self.preempt_order
        priority = config.express_priority if self.preempt_queue_prio is None else self.preempt_queue_prio
        return replace(config, order=order, express_priority=priority)
