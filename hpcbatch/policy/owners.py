"""Whose a job is: its place in the accounts, and the names by which limits know it."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.model.accelerator import UNTYPED, is_gpu, without_type
from hpcbatch.model.accounts import NORMAL, Accounts
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.account_limits import OVER_PARTITION, Place, Standing, own_limits, place_of
from hpcbatch.policy.plan.snapshot import Owner
from hpcbatch.policy.submission import DEFAULT_PROJECT, LIMITS

_MIB = 2**20
_MOST_KEPT = 100_000


class Owners:
    """The jobs' places in one set of accounts; what jobs have in common is looked up once."""

    def __init__(
        self, accounts: Accounts, enforced: frozenset[str], partition_qos: Mapping[str, str] | None = None
    ) -> None:
        self.accounts, self._enforced = accounts, enforced
        self.partition_qos = partition_qos or {}
        self._places: dict[tuple[str, str, str, str], Place] = {}
        self._lines: dict[str, tuple[str, ...]] = {}
        self._owners: dict[Owner, Owner] = {}
        """Most jobs of a user have the same."""

    def standing(self, record: JobRecord) -> Standing:
        """With the quality of service that counts for the job."""
        return standing_of(record, self.qos_of(record))

    def place(self, job: Standing) -> Place:
        key = job.user, job.account, job.qos, job.queue
        found = self._places.get(key)
        if found is None:
            if len(self._places) > _MOST_KEPT:
                self._places.clear()
            found = self._places[key] = place_of(self.accounts, job, self.partition_qos)
        return found

    def owner_of(self, record: JobRecord, site: SiteConfig) -> Owner:
        queue = site.queue(record.queue)
        found = Owner(
            user=record.status.owner,
            groups=tuple(name for _, name in record.status.groups),
            accounts=self.line(record.spec.account or ""),
            queue=record.queue,
            qos=(*self._names_of_qos(record), *(() if queue is None else (of_volcano_queue(queue.volcano_queue),))),
            project=record.spec.attributes.get("project", "") or DEFAULT_PROJECT,
        )
        if len(self._owners) > _MOST_KEPT:
            self._owners.clear()
        return self._owners.setdefault(found, found)

    def _names_of_qos(self, record: JobRecord) -> tuple[str, ...]:
        """The job's, its partition's, and the one whose limits go before the other's."""
        name = self.qos_of(record)
        of_partition = self.partition_qos.get(record.queue, "")
        if not of_partition:
            return name, first_qos(name)
        own = self.accounts.qos.get(name)
        is_over = own is not None and OVER_PARTITION in own.flags
        return name, of_partition, first_qos(name if is_over else of_partition)

    def never_because(self, record: JobRecord) -> str:
        """The reason of a limit that the job alone is over; "" if there is none."""
        if LIMITS not in self._enforced:
            return ""
        job = self.standing(record)
        return next(own_limits(self.place(job), job), "")

    def qos_of(self, record: JobRecord) -> str:
        """Jobs have the one that they got when they were admitted; older ones their user's default."""
        if given := record.spec.attributes.get("qos", ""):
            return given
        if not record.spec.account:
            return NORMAL
        own = self.place(Standing(user=record.status.owner, account=record.spec.account, queue=record.queue)).own
        return NORMAL if own is None else own.default_qos or NORMAL

    def line(self, account: str) -> tuple[str, ...]:
        """The account and those above it up to the root; one that is not there stands alone."""
        found = self._lines.get(account)
        if found is None:
            names, above = [], account
            while above:
                names.append(above)
                known = self.accounts.accounts.get(above)
                above = "" if known is None else known.parent
            found = self._lines[account] = tuple(names)
        return found


def first_qos(name: str) -> str:
    """What the plan has among the names of QOS for the one whose limits go before those of others."""
    return f"first:{name}"


def of_volcano_queue(name: str) -> str:
    """What the plan has for a Volcano Queue among the names of QOS, which have no colon."""
    return f"queue:{name}"


def standing_of(record: JobRecord, qos: str | None = None) -> Standing:
    """As it was, or is about to be, admitted. `qos` counts instead of its own."""
    members = 1 if record.spec.array is None else len(record.spec.array.indices)
    return Standing(
        user=record.status.owner,
        groups=tuple(name for _, name in record.status.groups),
        project=record.spec.attributes.get("project", ""),
        account=record.spec.account or "",
        qos=record.spec.attributes.get("qos", "") if qos is None else qos,
        queue=record.queue,
        jobs=members,
        waiting=members,
        uses=_uses(record),
        walltime_s=record.walltime_s,
    )


def _uses(record: JobRecord) -> Mapping[str, int]:
    uses = {"cpu": record.cpus, "mem": (record.mem_bytes or 0) // _MIB, "node": sum(c.count for c in record.layout)}
    for chunk in record.layout:
        for name, amount in chunk.resources:
            count_resource(uses, name, chunk.count * amount)
    return uses


def count_resource(uses: dict[str, int], resource: str, amount: int) -> None:
    """Add an amount of a resource of the site to what a job uses, by Slurm's names."""
    for name in tres_names(resource):
        uses[name] = uses.get(name, 0) + amount


def tres_names(resource: str) -> tuple[str, ...]:
    """A resource of the site as Slurm names it; PBS's ngpus are its GPUs. GPUs of a type count as GPUs, too."""
    of_any = f"gres/{without_type(resource)}"
    return (of_any, f"gres/{resource}") if is_gpu(resource) and resource not in UNTYPED else (of_any,)
