"""Dependency expressions of -w: `done(12) && ended("name")`, read into what a job waits for, as far as that carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from hpcbatch.dialects.lsf.tokens import Tokens
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef, Left
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
}
_OTHERS: Final = frozenset({"external", "post_err", "numexit", "numhold", "numpend", "numrun"})
_COMPARE: Final = frozenset({"==", "!=", ">=", "<=", ">", "<"})
_MOST_MEMBERS: Final = 1000
MAX_DEPTH: Final = 50


class DependSyntaxError(HpcBatchError):
    """`Dependency condition syntax error`; `str()` says where."""


class DependUnmetError(HpcBatchError):
    """LSF has such conditions, a job here cannot wait for them."""


class _Group(NamedTuple):
    """Clauses of which all are to be met, or with `is_any` one."""

    clauses: tuple[Clause, ...]
    is_any: bool = False


def parse_dependency(text: str, lookup: Lookup | None, *, kill_if_never: bool) -> Dependency | None:
    """Read an expression. Without `lookup` conditions on names are left out; None if no others are left. Raises
    DependSyntaxError, and DependUnmetError for what a job here cannot wait for.
    """
    parser = _Parser(text, lookup)
    found = parser.either(0)
    parser.end()
    if not found.clauses:
        return None
    is_any = found.is_any and len(found.clauses) > 1
    return Dependency(clauses=found.clauses, is_any=is_any, kill_if_never=True if kill_if_never else None)


def _joined(groups: list[_Group], *, is_any: bool) -> _Group:
    groups = [group for group in groups if group.clauses]
    if len(groups) == 1:
        return groups[0]
    if any(len(group.clauses) > 1 and group.is_any is not is_any for group in groups):
        raise DependUnmetError(
            "&& and || together are not supported here: a job waits for all of its conditions, or for one"
        )
    clauses = tuple(dict.fromkeys(clause for group in groups for clause in group.clauses))
    if is_any and any(len(clause.jobs) > 1 for clause in clauses):
        raise DependUnmetError(
            "a name of several jobs, or several members of an array, beside || is not supported here"
        )
    return _Group(clauses, is_any)


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
            raise DependUnmetError(
                "! is not supported here: a job waits for what becomes true, not for what stays false"
            )
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
        if self._is(","):
            kind = self._count(word, kind) if word.startswith("num") else self._code(word)
        elif word.startswith("num"):
            raise DependSyntaxError(f"{word}({name}): expected a number of members, or *")
        self._expect(")")
        return self._clause(kind, name)

    def _count(self, word: str, kind: DependencyKind) -> DependencyKind:
        _, count = self._next()
        self._at += 1
        if count != "*":
            raise DependUnmetError(f"{word}() of some members of an array is not supported here: * is, for all")
        return kind

    def _code(self, word: str) -> DependencyKind:
        op = "=="
        if self._next()[1] in _COMPARE and self._next()[0] == "op":
            op = self._next()[1]
            self._at += 1
        elif self._is("!"):
            op = "!="
        _, code = self._next()
        self._at += 1
        if word != "exit" or not code.isdigit():
            raise DependSyntaxError(f"{word}(): expected a job" + (" and an exit code" if word == "exit" else ""))
        if (op, int(code)) in {("!=", 0), (">", 0), (">=", 1)}:
            return DependencyKind.AFTER_NOT_OK
        raise DependUnmetError("exit() of certain codes is not supported here: exit(job) is, for any other than 0")

    def _clause(self, kind: DependencyKind, name: str) -> _Group:
        match = _JOB.fullmatch(name)
        if match is not None:
            return _Group((self._of_number(kind, int(match[1]), match[2]),))
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
            return _Group((self._of_number(kind, numbers[-1], members),))
        return _Group((Clause(kind=kind, jobs=tuple(JobRef(job_id=number) for number in numbers)),))

    def _of_number(self, kind: DependencyKind, number: int, members: str | None) -> Clause:
        whole = JobRef(job_id=number)
        if members is None:
            return Clause(kind=kind, jobs=(whole,))
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
        return Clause(kind=kind, jobs=tuple(JobRef(job_id=number, index=index) for index in indices))


_WORD: Final = {
    DependencyKind.AFTER: "started",
    DependencyKind.AFTER_OK: "done",
    DependencyKind.AFTER_NOT_OK: "exit",
    DependencyKind.AFTER_ANY: "ended",
    DependencyKind.AFTER_CORR: "done",
}


def format_dependency(dependency: Dependency) -> str:
    """The expression of a dependency, also of one that another system's command made."""
    parts = []
    for wait in dependency.waits:
        word = _WORD.get(wait.kind, str(wait.kind))
        of = "" if wait.ref is None else f"{wait.ref}{'[*]' * (wait.kind is DependencyKind.AFTER_CORR)}"
        parts.append(f"{word}({of})")
    return (" || " if dependency.is_any else " && ").join(parts)


def never_met(_record: JobRecord, part: Left, _is_unknown: bool) -> str:
    """What bjobs says of a job whose dependency can never be met."""
    word = _WORD.get(part.wait.kind, str(part.wait.kind))
    return f"Dependency condition invalid or never satisfied: {word}({part.wait.ref})"
