"""Dependency expressions of -w: `done(12) && (ended("name") || !started(13))`, read into what a job waits for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.dialects.lsf.tokens import Tokens
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.conditions import Group, written
from hpcbatch.model.dependency import COUNTED, Clause, Dependency, DependencyKind, JobRef, Left, Wait
from hpcbatch.model.indices import Indices
from hpcbatch.typed import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

Lookup: TypeAlias = Callable[[str], Sequence[int]]
"""The numbers of the user's jobs of a name, which may have a `*`."""

_TOKEN = re.compile(
    r"\s*(?:(?P<op>&&|\|\||==|!=|>=|<=|[!(),<>])|\"(?P<quoted>[^\"]*)\"|'(?P<single>[^']*)'"
    r"|(?P<word>[^\s\"'(),&|!<>=]+(?:\[[^\]]*\])?)|(?P<bad>\S))"
)
_JOB = re.compile(r"([0-9]{1,18})(?:\[([0-9,:*-]+)\])?", re.ASCII)
_KINDS: Final = {
    "done": DependencyKind.AFTER_OK,
    "ended": DependencyKind.AFTER_ANY,
    "exit": DependencyKind.AFTER_NOT_OK,
    "started": DependencyKind.AFTER,
    "post_done": DependencyKind.AFTER_OK,
    "numdone": DependencyKind.AFTER_OK,
    "numended": DependencyKind.AFTER_ANY,
    "numstart": DependencyKind.AFTER,
    "numexit": DependencyKind.NUM_NOT_OK,
    "numrun": DependencyKind.NUM_RUN,
    "numpend": DependencyKind.NUM_PEND,
    "numhold": DependencyKind.NUM_HOLD,
}
_COUNTED: Final = {
    "numdone": DependencyKind.NUM_OK,
    "numended": DependencyKind.NUM_ANY,
    "numexit": DependencyKind.NUM_NOT_OK,
    "numrun": DependencyKind.NUM_RUN,
    "numpend": DependencyKind.NUM_PEND,
    "numhold": DependencyKind.NUM_HOLD,
    "numstart": DependencyKind.NUM_BEGUN,
}
_OTHERS: Final = frozenset({"external", "post_err"})
_COMPARE: Final = frozenset({"==", "!=", ">=", "<=", ">", "<"})
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)
_MOST_MEMBERS: Final = 1000
_MOST_CONDITIONS: Final = 1000
MAX_DEPTH: Final = 50


class DependSyntaxError(HpcBatchError):
    """`Dependency condition syntax error`; `str()` says where."""


class DependUnmetError(HpcBatchError):
    """LSF has such conditions, a job here cannot wait for them."""


class _Group(NamedTuple):
    """Conditions and groups of them, of which all count, or with `is_any` one."""

    parts: tuple[Clause | _Group, ...]
    is_any: bool = False


def parse_dependency(text: str, lookup: Lookup | None, *, kill_if_never: bool) -> Dependency | None:
    """Read an expression. Without `lookup` conditions on names are left out; None if no others are left. Raises
    DependSyntaxError, and DependUnmetError for what a job here cannot wait for.
    """
    parser = _Parser(text, lookup)
    found = parser.either(0)
    parser.end()
    if not found.parts:
        return None
    if sum(1 for _ in _clauses(found.parts)) > _MOST_CONDITIONS:
        raise DependUnmetError(f"more than {_MOST_CONDITIONS} conditions are not supported here")
    kill = True if kill_if_never else None
    simple = [part for part in found.parts if isinstance(part, Clause)]
    if len(simple) == len(found.parts) and not (found.is_any and any(len(each.jobs) > 1 for each in simple)):
        return Dependency(clauses=tuple(simple), is_any=found.is_any, kill_if_never=kill)
    clauses: list[Clause] = []
    group = _placed(found, clauses)
    return Dependency(clauses=tuple(clauses), kill_if_never=kill, expression=written(group))


def _placed(group: _Group, clauses: list[Clause]) -> Group:
    """The same with the places of its conditions, which are appended to `clauses`."""
    parts: list[str | Group] = []
    for part in group.parts:
        if isinstance(part, _Group):
            parts.append(_placed(part, clauses))
        else:
            parts.append(str(len(clauses)))
            clauses.append(part)
    return Group(tuple(parts), group.is_any)


def _joined(groups: Iterable[_Group], *, is_any: bool) -> _Group:
    """One group of those: without those of nothing, and with the parts of those that are of its kind."""
    parts: list[Clause | _Group] = []
    for each in groups:
        parts += each.parts if len(each.parts) < 2 or each.is_any is is_any else [each]
    unique = tuple(dict.fromkeys(parts))
    if len(unique) == 1 and isinstance(unique[0], _Group):
        return unique[0]
    is_any = is_any and len(unique) > 1
    if is_any and any(clause.kind is DependencyKind.AFTER_CORR for clause in _clauses(unique)):
        raise DependUnmetError("the member of the same index, [*], is not supported here beside ||")
    return _Group(unique, is_any)


def _clauses(parts: Iterable[Clause | _Group]) -> Iterator[Clause]:
    for part in parts:
        if isinstance(part, _Group):
            yield from _clauses(part.parts)
        else:
            yield part


def _negated(group: _Group) -> _Group:
    """What holds where the group does not: the opposites of its parts, joined the other way."""
    found = []
    for part in group.parts:
        if isinstance(part, _Group):
            found.append(_negated(part))
        elif part.kind is DependencyKind.AFTER_CORR:
            raise DependUnmetError("the member of the same index, [*], is not supported here behind !")
        else:
            each = (replace(part, jobs=(ref,), is_not=not part.is_not) for ref in part.jobs)
            found.append(_joined((_Group((one,)) for one in each), is_any=True))
    return _joined(found, is_any=not group.is_any)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "bad"
        if kind == "bad":
            raise DependSyntaxError(f"{match[kind]!r} cannot stand there")
        yield ("word" if kind in {"quoted", "single"} else kind), match[kind]


class _Parser(Tokens):
    def __init__(self, text: str, lookup: Lookup | None) -> None:
        super().__init__(_tokens(text))
        self._lookup = lookup

    def _expect(self, op: str) -> None:
        if not self._is(op):
            _, found = self._next()
            raise DependSyntaxError(f"expected {op}" + (f", not {found!r}" if found else " at the end"))

    def end(self) -> None:
        if not self._is_over:
            raise DependSyntaxError(f"expected && or ||, not {self._next()[1]!r}")

    def either(self, depth: int) -> _Group:
        groups = [self._both(depth)]
        while self._is("||"):
            groups.append(self._both(depth))
        return _joined(groups, is_any=True)

    def _both(self, depth: int) -> _Group:
        groups = [self._one(depth)]
        while self._is("&&"):
            groups.append(self._one(depth))
        return _joined(groups, is_any=False)

    def _one(self, depth: int) -> _Group:
        if depth > MAX_DEPTH:
            raise DependSyntaxError("too many parentheses within each other")
        if self._is("!"):
            return _negated(self._one(depth + 1))
        if self._is("("):
            found = self.either(depth + 1)
            self._expect(")")
            return found
        kind, word = self._next()
        if kind != "word":
            raise DependSyntaxError("expected a condition" + (f", not {word!r}" if word else ""))
        self._at += 1
        if word in _OTHERS and self._next() == ("op", "("):
            raise DependUnmetError(f"{word}() is not supported here")
        if word in _KINDS and self._is("("):
            return self._condition(word)
        return self._clause(DependencyKind.AFTER_OK, word)  # done() is what a job alone means

    def _condition(self, word: str) -> _Group:
        kind = _KINDS[word]
        named, name = self._next()
        if named != "word":
            raise DependSyntaxError(f"{word}(: expected a job")
        self._at += 1
        compare = ""
        if self._is(","):
            kind, compare = self._count(word, kind) if word.startswith("num") else self._code(word)
        elif word.startswith("num"):
            raise DependSyntaxError(f"{word}({name}): expected a number of members, or *")
        self._expect(")")
        return self._clause(kind, name, compare)

    def _count(self, word: str, kind: DependencyKind) -> tuple[DependencyKind, str]:
        if self._next()[1] == "*":
            self._at += 1
            return kind, "==*" if kind in COUNTED else ""
        return _COUNTED[word], self._comparison(word, "a number of members, or *")

    def _code(self, word: str) -> tuple[DependencyKind, str]:
        if word != "exit":
            raise DependSyntaxError(f"{word}(): expected a job")
        compare = self._comparison(word, "a job and an exit code")
        if compare in {"!=0", ">0", ">=1"}:
            return DependencyKind.AFTER_NOT_OK, ""
        return DependencyKind.AFTER_CODE, compare

    def _comparison(self, word: str, expected: str) -> str:
        """`>=5`; a number alone is to be equal."""
        op = "=="
        kind, text = self._next()
        if kind == "op" and text in _COMPARE:
            op = text
            self._at += 1
        elif self._is("!"):
            op = "!="
        _, number = self._next()
        self._at += 1
        if not _NUMBER.fullmatch(number):
            raise DependSyntaxError(f"{word}(): expected {expected}")
        return f"{op}{int(number)}"

    def _clause(self, kind: DependencyKind, name: str, compare: str = "") -> _Group:
        match = _JOB.fullmatch(name)
        if match is not None:
            return _Group((self._of_number(kind, int(match[1]), match[2], compare),))
        name, bracket, members = name.partition("[")
        if bracket and members not in {"*]"}:
            members = members.removesuffix("]")
        elif bracket:
            members = "*"
        if self._lookup is None:
            return _Group(())
        numbers = self._lookup(name)
        if not numbers:
            raise DependSyntaxError(f"{name}: no job of yours has this name")
        if bracket:
            return _Group((self._of_number(kind, numbers[-1], members, compare),))
        return _Group((Clause(kind=kind, jobs=tuple(JobRef(job_id=each) for each in numbers), compare=compare),))

    def _of_number(self, kind: DependencyKind, number: int, members: str | None, compare: str) -> Clause:
        whole = JobRef(job_id=number)
        if members is None:
            return Clause(kind=kind, jobs=(whole,), compare=compare)
        if kind in COUNTED:
            raise DependSyntaxError(f"{number}[{members}]: expected an array, whose members are counted")
        if members == "*":
            if kind is not DependencyKind.AFTER_OK:
                raise DependUnmetError("the member of the same index, [*], is not supported here but in done()")
            return Clause(kind=DependencyKind.AFTER_CORR, jobs=(whole,))
        try:
            indices = Indices.parse(members)
        except HpcBatchError:
            raise DependSyntaxError(f"{number}[{members}]: expected indices such as 1-10") from None
        if not 0 < len(indices) <= _MOST_MEMBERS:
            raise DependUnmetError(f"{number}[{members}]: at most {_MOST_MEMBERS} members can be waited for")
        refs = tuple(JobRef(job_id=number, index=index) for index in indices)
        return Clause(kind=kind, jobs=refs, compare=compare)


_WORD: Final = {
    DependencyKind.AFTER: "started",
    DependencyKind.AFTER_OK: "done",
    DependencyKind.AFTER_NOT_OK: "exit",
    DependencyKind.AFTER_ANY: "ended",
    DependencyKind.AFTER_CORR: "done",
    DependencyKind.AFTER_CODE: "exit",
    **{kind: word for word, kind in _COUNTED.items()},
}


def format_dependency(dependency: Dependency) -> str:
    """The expression of a dependency, also of one that another system's command made."""
    return written(dependency.group, lambda name: _shown(Wait.parse(name)), all_word=" && ", any_word=" || ")


def _shown(wait: Wait) -> str:
    of = "" if wait.ref is None else f"{wait.ref}{'[*]' * (wait.kind is DependencyKind.AFTER_CORR)}"
    compare = f", {wait.compare.removeprefix('==')}" if wait.compare else ""
    return f"{'!' * wait.is_not}{_WORD.get(wait.kind, str(wait.kind))}({of}{compare})"


def never_met(_record: JobRecord, part: Left, _is_unknown: bool) -> str:
    """What bjobs says of a job whose dependency can never be met."""
    return f"Dependency condition invalid or never satisfied: {_shown(part.wait)}"
