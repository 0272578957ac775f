"""Dependencies of a job on other jobs, neutral between PBS, Slurm and LSF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.stored import ANY_TEXT, BOOLEAN, Kind, enum, integer, list_of, stored, string, struct
from hpcbatch.typed import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hpcbatch.model.conditions import Group

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
    AFTER_CODE = "aftercode"  # LSF: ended, not with success, with a code that compares so: aftercode:12>=5
    NUM_OK = "numok"  # LSF: so many members of the array have ended with 0: numok:12>3
    NUM_NOT_OK = "numnotok"
    NUM_ANY = "numany"
    NUM_RUN = "numrun"  # LSF: so many members run now: numrun:12>=3; numrun:12==*: all of them
    NUM_PEND = "numpend"  # wait, and are not held
    NUM_HOLD = "numhold"
    NUM_BEGUN = "numbegun"  # run or are suspended


COUNTED_NOW: Final = frozenset(
    {DependencyKind.NUM_RUN, DependencyKind.NUM_PEND, DependencyKind.NUM_HOLD, DependencyKind.NUM_BEGUN}
)
"""On the number of an array's members that are in a state now, and may leave it."""
COUNTED: Final = COUNTED_NOW | {DependencyKind.NUM_OK, DependencyKind.NUM_NOT_OK, DependencyKind.NUM_ANY}
"""On the number of an array's members."""
COMPARED: Final = COUNTED | {DependencyKind.AFTER_CODE}
"""With a comparison behind the job."""
_NEGATED: Final = COMPARED | {
    DependencyKind.AFTER,
    DependencyKind.AFTER_OK,
    DependencyKind.AFTER_NOT_OK,
    DependencyKind.AFTER_ANY,
}
_COMPARISON: Final = r"(?:(?:==|!=|>=|<=|>|<)[0-9]{1,9}|==\*)"
_WAIT: Final = rf"(!?)([a-z]+)(?::([0-9]+(?:\[[0-9]*\])?)({_COMPARISON})?(?:\+([0-9]+))?)?"
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
    compare: str = field(default="", metadata=stored("compare", string(most=11, pattern=rf"^({_COMPARISON})?$")))
    """For COMPARED: what an exit code, or a number of members, is compared with: `>=5`; `==*` is all members."""
    is_not: bool = field(default=False, metadata=stored("not", BOOLEAN))
    """The condition holds as long as it is not so, which may end: LSF's `!`. Then it has one job."""

    def __post_init__(self) -> None:
        if self.kind is DependencyKind.ON:
            is_right = self.count >= 1 and not self.jobs
        else:
            is_right = bool(self.jobs) is not (self.kind is DependencyKind.SINGLETON)
        is_compared = bool(re.fullmatch(_COMPARISON, self.compare, re.ASCII))
        if is_compared is not (self.kind in COMPARED) or (self.compare and not is_compared):
            is_right = False
        if self.compare.endswith("*") and self.kind not in COUNTED:
            is_right = False
        if self.is_not and (self.kind not in _NEGATED or len(self.jobs) != 1):
            is_right = False
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
    compare: str = ""
    is_not: bool = False

    def __str__(self) -> str:
        if self.kind is DependencyKind.ON:
            return f"{self.kind}:{self.count}"
        if self.ref is None:
            return str(self.kind)
        delay = f"+{self.delay_s}" * bool(self.delay_s)
        return f"{'!' * self.is_not}{self.kind}:{self.ref}{self.compare}{delay}"

    @classmethod
    def parse(cls, text: str) -> Wait:
        """The inverse of `str`. Raises ValueError."""
        match = re.fullmatch(_WAIT, text, re.ASCII)
        if match is None:
            raise ValueError(text)
        kind = DependencyKind(match[2])
        if kind is DependencyKind.ON:
            return cls(kind=kind, count=int(match[3]))
        ref = JobRef.parse(match[3]) if match[3] else None
        return cls(kind=kind, ref=ref, delay_s=int(match[5] or 0), compare=match[4] or "", is_not=bool(match[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """All clauses have to be satisfied, or with `is_any` (Slurm's `?`) one of them, or as `expression` says."""

    clauses: tuple[Clause, ...] = field(metadata=stored("clauses", list_of(struct(Clause), least=1, most=1000)))
    is_any: bool = field(default=False, metadata=stored("any", BOOLEAN, description="One of the clauses is enough."))
    kill_if_never: bool | None = field(default=None, metadata=stored("killIfNever", BOOLEAN))
    """End the job when it can never be met (PBS does; Slurm `--kill-on-invalid-dep=yes`); None: as the dialect does."""
    expression: str = field(
        default="",
        metadata=stored(
            "expression",
            string(most=20000, pattern=r"^[0-9,?()]*$"),
            description="How the clauses, counted from 0, go together: 0,(1?2); `,` is and, `?` is or.",
        ),
    )
    """How the clauses go together, each by its place: see model.conditions; "" where all of them count, or one."""

    def __post_init__(self) -> None:
        if sum(len(clause.jobs) for clause in self.clauses) > MAX_JOBS:
            raise HpcBatchError(f"a job depends on at most {MAX_JOBS} others")
        if self.expression:
            from hpcbatch.model.conditions import parse_group

            places = list(map(str, range(len(self.clauses))))
            try:
                is_right = list(parse_group(self.expression).leaves) == places and not self.is_any
            except ValueError:
                is_right = False
            if not is_right:
                raise HpcBatchError(f"not an expression of {len(places)} clauses: {self.expression}")

    @property
    def group(self) -> Group:
        """The names of what the job itself waits for, as they go together."""
        from hpcbatch.model.conditions import Group, parse_group

        def named(group: Group) -> Group:
            parts: list[str | Group] = []
            for part in group.parts:
                if isinstance(part, Group):
                    parts.append(named(part))
                    continue
                names = tuple(map(str, _waits([self.clauses[int(part)]])))
                parts += names if len(names) == 1 or not group.is_any else [Group(names)]
            return Group(tuple(parts), group.is_any)

        if self.expression:
            return named(parse_group(self.expression))
        return Group(tuple(map(str, self.waits)), self.is_any)

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
        wanted = frozenset(kinds)
        return _waits(clause for clause in self.clauses if clause.kind in wanted)


def _waits(clauses: Iterable[Clause]) -> tuple[Wait, ...]:
    found: dict[Wait, None] = {}
    for each in clauses:
        refs: tuple[JobRef | None, ...] = each.jobs or (None,)
        for ref in refs:
            found[
                Wait(
                    kind=each.kind,
                    ref=ref,
                    delay_s=each.delay_s,
                    count=each.count,
                    compare=each.compare,
                    is_not=each.is_not,
                )
            ] = None
    return tuple(found)


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

    @classmethod
    def parse(cls, text: str) -> Left:
        """The inverse of `str`. Raises ValueError."""
        body = text.removesuffix("!")
        wait = Wait.parse(body.removesuffix("[]"))
        return cls(wait=wait, has_failed=text != body, is_array=body.endswith("[]"))


def parse_left(text: str) -> tuple[Left, ...]:
    """The parts of what is left, without how they go together. Raises ValueError."""
    from hpcbatch.model.conditions import parse_group

    return tuple(map(Left.parse, parse_group(text).leaves))


def left_shown(text: str, shown: Callable[[Left], str]) -> str:
    """What is left, with each part as `shown` shows it. Raises ValueError."""
    from hpcbatch.model.conditions import parse_group, written

    return written(parse_group(text), lambda leaf: shown(Left.parse(leaf)))


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
    """What is left: `afterok:12,(afterany:13[7]!?!after:14)`, see model.conditions; "" when nothing is."""
    followers: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "followers",
            list_of(ANY_TEXT),
            description="The first of those who wait for this job, for display: beforeok:14.",
        ),
    )
    """The first jobs that wait for this one, as its parts: `beforeok:14`. For display only."""
