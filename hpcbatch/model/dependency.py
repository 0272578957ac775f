"""Dependencies of a job on other jobs, neutral between PBS and Slurm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.stored import ANY_TEXT, BOOLEAN, Kind, enum, integer, list_of, stored, string, struct
from hpcbatch.typed import Final

MAX_JOBS = 5000
"""Jobs that a job can depend on, counting each member of an array: looking for a removed one costs two requests."""
MAX_DELAY_S = 2**31 * 60
_MAX_COUNT = 2**31 - 1
_MAX_DIGITS = 18  # of a number: the history's database stores no larger ones


class DependencyKind(StrEnum):
    """Values are those of a BatchJob's spec."""

    AFTER = "after"  # it has started (or been cancelled: Slurm)
    AFTER_OK = "afterok"  # ended with 0
    AFTER_NOT_OK = "afternotok"
    AFTER_ANY = "afterany"
    AFTER_CORR = "aftercorr"  # Slurm: the member of the same index has ended with 0
    BEFORE = "before"  # PBS: the named jobs wait for this one
    BEFORE_OK = "beforeok"
    BEFORE_NOT_OK = "beforenotok"
    BEFORE_ANY = "beforeany"
    ON = "on"  # PBS: so many `before…` of others have to be satisfied
    RUN_ONE = "runone"  # PBS: of the jobs bound together only one runs
    SINGLETON = "singleton"  # Slurm: after all earlier jobs of the same name and user


MIRROR: Final[Mapping[DependencyKind, DependencyKind]] = {
    DependencyKind.BEFORE: DependencyKind.AFTER,
    DependencyKind.BEFORE_OK: DependencyKind.AFTER_OK,
    DependencyKind.BEFORE_NOT_OK: DependencyKind.AFTER_NOT_OK,
    DependencyKind.BEFORE_ANY: DependencyKind.AFTER_ANY,
}
"""What a `before…` means for the job that it names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRef:
    """A job by its number; `index` names one member of an array (`12_7`, `12[7]`), None the whole job or array."""

    job_id: int
    index: int | None = None

    def __str__(self) -> str:
        return f"{self.job_id}" if self.index is None else f"{self.job_id}[{self.index}]"

    @classmethod
    def parse(cls, text: str) -> JobRef:
        """The inverse of `str`; also reads `12[]`. Raises ValueError."""
        number, _, index = text.partition("[")
        index = index.removesuffix("]")
        if max(len(number), len(index)) > _MAX_DIGITS:
            raise ValueError(f"a job number of {len(number)} digits, an index of {len(index)}")
        return cls(job_id=int(number), index=int(index) if index else None)


_REFS = list_of(Kind(string(most=40, pattern=r"^[0-9]{1,18}(\[[0-9]{1,18}\])?$").schema, str, JobRef.parse), most=10000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One `type:id:id…`. All of its jobs must satisfy it."""

    kind: DependencyKind = field(metadata=stored("kind", enum(DependencyKind)))
    jobs: tuple[JobRef, ...] = field(default=(), metadata=stored("jobs", _REFS))
    delay_s: int = field(default=0, metadata=stored("delaySeconds", integer(0, MAX_DELAY_S)))
    """Slurm `after:12+5`: delay after the start."""
    count: int = field(default=0, metadata=stored("count", integer(0, _MAX_COUNT)))
    """The count of `on:COUNT`."""

    def __post_init__(self) -> None:
        if self.kind is DependencyKind.ON:
            is_right = self.count >= 1 and not self.jobs
        else:
            is_right = bool(self.jobs) is not (self.kind is DependencyKind.SINGLETON)
        if not is_right or not 0 <= self.delay_s <= MAX_DELAY_S or self.count > _MAX_COUNT:
            raise HpcBatchError(
                f"not a dependency: {self.kind} of {len(self.jobs)} jobs, count {self.count}, +{self.delay_s} s"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The smallest part of a dependency: one job, or `on`, or `singleton`. `str` is its name in a job's status."""

    kind: DependencyKind
    ref: JobRef | None = None
    delay_s: int = 0
    count: int = 0

    def __str__(self) -> str:
        if self.kind is DependencyKind.ON:
            return f"{self.kind}:{self.count}"
        return (
            str(self.kind) if self.ref is None else f"{self.kind}:{self.ref}" + f"+{self.delay_s}" * bool(self.delay_s)
        )

    @classmethod
    def parse(cls, text: str) -> Wait:
        """The inverse of `str`. Raises ValueError."""
        word, _, rest = text.partition(":")
        kind = DependencyKind(word)
        if kind is DependencyKind.ON:
            return cls(kind=kind, count=int(rest))
        ref, _, delay = rest.partition("+")
        return cls(kind=kind, ref=JobRef.parse(ref) if ref else None, delay_s=int(delay or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """All clauses have to be satisfied, or with `is_any` (Slurm's `?`) one of them."""

    clauses: tuple[Clause, ...] = field(metadata=stored("clauses", list_of(struct(Clause), least=1, most=1000)))
    is_any: bool = field(default=False, metadata=stored("any", BOOLEAN, description="One of the clauses is enough."))
    kill_if_never: bool | None = field(default=None, metadata=stored("killIfNever", BOOLEAN))
    """End the job when it can never be met (PBS does; Slurm `--kill-on-invalid-dep=yes`); None: as the dialect does."""

    def __post_init__(self) -> None:
        if sum(len(clause.jobs) for clause in self.clauses) > MAX_JOBS:
            raise HpcBatchError(f"a job depends on at most {MAX_JOBS} others")

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What the job itself waits for, each once."""
        return self._parts(kind for kind in DependencyKind if kind not in {*MIRROR, DependencyKind.RUN_ONE})

    @property
    def befores(self) -> tuple[Wait, ...]:
        """The parts that make other jobs wait for this one."""
        return self._parts(MIRROR)

    @property
    def rivals(self) -> tuple[Wait, ...]:
        """For `runone`: the jobs of which, together with this one, only one may run."""
        return self._parts([DependencyKind.RUN_ONE])

    def _parts(self, kinds: Iterable[DependencyKind]) -> tuple[Wait, ...]:
        wanted, found = frozenset(kinds), []
        for clause in self.clauses:
            if clause.kind in wanted:
                refs: tuple[JobRef | None, ...] = clause.jobs or (None,)
                found += [Wait(kind=clause.kind, ref=r, delay_s=clause.delay_s, count=clause.count) for r in refs]
        return tuple(dict.fromkeys(found))


DEPENDENCY: Final = struct(Dependency)
"""The form of a dependency in a BatchJob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One part of what a job still waits for."""

    wait: Wait
    has_failed: bool = False
    """It can never be met."""
    is_array: bool = False
    """It is for a whole array."""

    def __str__(self) -> str:
        return f"{self.wait}{'[]' * self.is_array}{'!' * self.has_failed}"


def format_left(parts: Iterable[Left], *, is_any: bool = False) -> str:
    """The text for statuses and rows of listings: `afterok:12,afterany:13[7]!`; "" when nothing is left."""
    return ("?" if is_any else ",").join(map(str, parts))


def parse_left(text: str) -> tuple[tuple[Left, ...], bool]:
    """The inverse of `format_left`. Raises ValueError."""
    is_any = "?" in text
    parts = []
    for part in filter(None, text.replace("?", ",").split(",")):
        body = part.removesuffix("!")
        is_array = body.endswith("[]")
        wait = Wait.parse(body.removesuffix("[]"))
        parts.append(Left(wait=wait, has_failed=part != body, is_array=is_array))
    return tuple(parts), is_any


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyProgress:
    """The satisfied parts of a job's dependency, recorded because other jobs are removed one day."""

    met: tuple[str, ...] = field(
        default=(), metadata=stored("met", list_of(ANY_TEXT), description="What is satisfied, for good: afterok:12.")
    )
    """Names of the parts that are satisfied for good, and of the `before…` that the named jobs have accepted."""
    joined: tuple[str, ...] = field(
        default=(), metadata=stored("joined", list_of(ANY_TEXT), description="What other jobs' before... have added.")
    )
    """Names of the parts that the `before…` of other jobs have added to this one."""
    left: str = field(
        default="", metadata=stored("left", ANY_TEXT, description="What is left; ! marks what can never be met.")
    )
    """What is left, see `format_left`."""
    followers: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "followers",
            list_of(ANY_TEXT),
            description="The first of those who wait for this job, for display: beforeok:14.",
        ),
    )
    """The first jobs that wait for this one, as its parts: `beforeok:14`. For display only."""
