"""Who may be ended for whom, and how, by the rules of Slurm's preempt/qos and preempt/partition_prio and of PBS's
queues of high priority. The planner gets it as names of classes: `qos:low`, `tier:1`, `level:0`.

Source: preempt_qos.c and preempt_partition_prio.c of Slurm 22.05; preempt_* of OpenPBS 23.06's scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from hpcbatch.dataclass import replace
from hpcbatch.model.accounts import Qos
from hpcbatch.model.preempt_order import borders_s, methods_of
from hpcbatch.model.preemption import PreemptBy, PreemptMode
from hpcbatch.model.record import JobRecord, JobStatus, Preempted
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import Sharing
from hpcbatch.model.state import JobState
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.snapshot import Yields
from hpcbatch.typed import Final, NamedTuple

_QOS, _TIER, _LEVEL = "qos:", "tier:", "level:"
_CPUS: Final = frozenset({"cpu"})
_NONE: Final[frozenset[str]] = frozenset()
"""What others get of a job that is suspended for them."""
_MODES: Final = {str(mode): mode for mode in PreemptMode}


class _Manner(NamedTuple):
    mode: PreemptMode
    """CANCEL, REQUEUE or SUSPEND."""
    grace_s: int


class Preemptions:
    """By a site's configuration and accounts as they are in force."""

    def __init__(self, site: SiteConfig, owners: Owners) -> None:
        self._site, self._owners, self._config = site, owners, site.preemption
        queues = (*site.queues, *site.operator_queues)
        self._tiers = {1, *(queue.priority_tier for queue in queues)}
        self._levels = {0, *(self.level(queue) for queue in queues)}
        self.suspends = True
        """Whether suspended jobs leave their CPUs to others here; else nobody is suspended for another."""

    def level(self, queue: QueueConfig) -> int:
        """Jobs of higher levels go first."""
        return self._config.level(queue.priority)

    def preempts(self, record: JobRecord) -> frozenset[str]:
        """The classes of jobs that may be ended for it."""
        found: set[str] = set()
        queue = self._site.queue(record.queue)
        if self._config.by is PreemptBy.QOS and (qos := self._qos(record)) is not None:
            found |= {f"{_QOS}{name}" for name in qos.preempt}
        if self._config.by is PreemptBy.PARTITION_PRIO and queue is not None:
            found |= {f"{_TIER}{tier}" for tier in self._tiers if tier < queue.priority_tier}
        if queue is not None and (own := self.level(queue)):
            found |= {f"{_LEVEL}{level}" for level in self._levels if level < own}
        return frozenset(found) if found else _NONE

    def yields(self, record: JobRecord) -> Yields | None:
        """None: it is not ended for others, at least not now."""
        status = record.status
        is_running = status.state is JobState.RUNNING and status.preempted is None and not status.is_rerunning
        if not is_running or status.start_time is None or not any(self._classes(record)):
            return None
        walltime_s, exempt_s = record.status.walltime_s, self.exempt_s(record)
        start_s = status.start_time.timestamp()
        found: Yields | None = None
        for border_s in (*reversed(borders_s(self._config.order, walltime_s)), None):
            own = self._yields_at(record, start_s, border_s or 0, found)
            is_exempt = exempt_s and any(not name.startswith(_LEVEL) for name in own.classes)
            begins_s = -math.inf if border_s is None else start_s + status.stood_s + border_s
            found = replace(own, since_s=max(begins_s, start_s + exempt_s) if is_exempt else begins_s)
        return found if found and (found.classes or found.later) else None

    def _yields_at(self, record: JobRecord, start_s: float, ran_s: float, later: Yields | None) -> Yields:
        manners = {name: self._manner(record, name, ran_s) for name in self._classes(record)}
        suspended = [name for name, manner in manners.items() if manner and manner.mode is PreemptMode.SUSPEND]
        ends = [self._manner(record, name, ran_s, without="S") for name in suspended if name.startswith(_LEVEL)]
        return Yields(
            classes=frozenset(name for name, manner in manners.items() if manner is not None),
            order=self._order(record, start_s),
            frees=_CPUS if suspended else None,
            may_end=len(ends) == len(suspended) > 0 and all(ends),
            later=later,
        )

    def exempt_s(self, record: JobRecord) -> int:
        """How long it runs before it may be preempted by Slurm's rules."""
        qos = self._qos(record)
        own = None if qos is None else qos.preempt_exempt_s
        return self._config.exempt_s if own is None else own

    def preempted(self, record: JobRecord, by: JobRecord, now: datetime) -> Preempted | None:
        """What becomes of a running job that was chosen for another one; None if it is not to be ended for that."""
        may, ran_s = self.preempts(by), _ran_s(record.status, now)
        name = next((one for one in self._classes(record) if one in may and self._manner(record, one, ran_s)), "")
        found, then = self._manner(record, name, ran_s), self._manner(record, name, ran_s, without="S")
        is_ending = by.status.preempting is not None and by.status.preempting.is_ending
        if is_ending and name.startswith(_LEVEL):
            found = then or found
        if not name or found is None:
            return None
        end = now + timedelta(seconds=found.grace_s)
        is_suspended = found.mode is PreemptMode.SUSPEND
        return Preempted(
            by=by.job_id,
            time=now,
            end_time=end,
            mode=found.mode,
            otherwise=then.mode if is_suspended and then is not None else None,
        )

    def _qos(self, record: JobRecord) -> Qos | None:
        return self._owners.accounts.qos.get(self._owners.qos_of(record))

    def _classes(self, record: JobRecord) -> Iterator[str]:
        """Those of Slurm first."""
        queue = self._site.queue(record.queue)
        if self._config.by is PreemptBy.QOS:
            yield f"{_QOS}{self._owners.qos_of(record)}"
        if queue is not None:
            if self._config.by is PreemptBy.PARTITION_PRIO:
                yield f"{_TIER}{queue.priority_tier}"
            if len(self._levels) > 1:
                yield f"{_LEVEL}{self.level(queue)}"

    def _manner(self, record: JobRecord, name: str, ran_s: float, *, without: str = "") -> _Manner | None:
        """As a job of this class; None: it does not yield. `without`: letters of PBS's methods that do not help."""
        config, queue, qos = self._config, self._site.queue(record.queue), self._qos(record)
        may_run_again = record.spec.rerunnable and record.spec.interactive is None
        may_stand = self.suspends and record.spec.sharing is not Sharing.EXCLUSIVE
        if name.startswith(_LEVEL):
            possible = {"D": PreemptMode.CANCEL}
            possible |= {"R": PreemptMode.REQUEUE} if may_run_again else {}
            possible |= {"S": PreemptMode.SUSPEND} if may_stand else {}
            letters = methods_of(config.order, record.status.walltime_s, ran_s)
            modes = [possible[letter] for letter in letters if letter in possible and letter not in without]
            return _Manner(modes[0], 0) if modes else None
        if name.startswith(_QOS):
            word, grace_s = ("", 0) if qos is None else (qos.preempt_mode.lower(), qos.grace_s)
        else:
            word, grace_s = ("", 0) if queue is None else (queue.preempt_mode, queue.grace_s)
        match _MODES.get(word, config.mode):
            case PreemptMode.OFF:
                return None
            case PreemptMode.CANCEL:
                return _Manner(PreemptMode.CANCEL, grace_s)
            case PreemptMode.REQUEUE:
                return _Manner(PreemptMode.REQUEUE if may_run_again else PreemptMode.CANCEL, grace_s)
            case PreemptMode.SUSPEND if may_stand and "S" not in without:
                return _Manner(PreemptMode.SUSPEND, 0)
            case PreemptMode.SUSPEND:
                return _Manner(PreemptMode.REQUEUE, grace_s) if may_run_again else None

    def _order(self, record: JobRecord, started_s: float) -> tuple[float, ...]:
        """Slurm: the least QOS or tier, then the fewest nodes or the youngest. PBS: the least level, the youngest."""
        queue, qos, config = self._site.queue(record.queue), self._qos(record), self._config
        level = 0 if queue is None else self.level(queue)
        nodes = len({host.node for host in record.status.hosts})
        match config.by:
            case PreemptBy.QOS:
                rank = float(qos.limits.count("Priority") or 0) if qos is not None else 0.0
            case PreemptBy.PARTITION_PRIO:
                rank = 1.0 if queue is None else float(queue.priority_tier)
            case PreemptBy.NONE:
                return level, -started_s, -record.job_id
        return rank, level, -started_s if config.youngest_first else nodes, -record.job_id


def _ran_s(status: JobStatus, now: datetime) -> float:
    """How long its run has been running, 0 at least: a clock may have been set back."""
    if status.start_time is None:
        return 0.0
    return max(0.0, (now - status.start_time).total_seconds() - status.suspended_s(status.start_time, now))
