"""`select[…]`: what the nodes of a job must be like, `mem>4000 && gpu32gb && !old && (hname==a || hname==b)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.dataclass import dataclass, field
from hpcbatch.dialects.lsf.table import SECTIONS
from hpcbatch.dialects.lsf.tokens import Tokens
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Final, NamedTuple, TypeAlias

_TOKEN = re.compile(
    r"\s*(?:(?P<op>&&|\|\||==|!=|>=|<=|[!()<>=])|(?P<quoted>'[^']*'|\"[^\"]*\")|(?P<word>[A-Za-z0-9_.*/+@-]+)|(?P<bad>\S))"
)
_COMPARE: Final = frozenset({"==", "!=", ">=", "<=", ">", "<", "="})
_ANY: Final = frozenset({"any", "local"})
_NUMBERS: Final = frozenset(
    {
        "mem",
        "swp",
        "tmp",
        "maxmem",
        "maxswp",
        "maxtmp",
        "ncpus",
        "ncores",
        "nprocs",
        "nthreads",
        "ndisks",
        "cpuf",
        "cpu",
    }
    | {"r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "rexpri", "server", "status", "ngpus", "ngpus_physical"}
    | {"gpu_driver", "nvidia", "slots", "maxslots"}
)
MAX_DEPTH: Final = 50
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


@dataclass(slots=True, kw_only=True)
class Nodes:
    """What nodes must be like, all of it."""

    properties: set[str] = field(default_factory=set)
    lacks: set[str] = field(default_factory=set)
    alternatives: list[tuple[str, ...]] = field(default_factory=list)
    hosts: tuple[str, ...] = ()
    excluded: list[str] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)


class Test(NamedTuple):
    """`name op value`; without an operator a feature."""

    name: str
    op: str = ""
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.op}{self.value}"


class Not(NamedTuple):
    of: Expression

    def __str__(self) -> str:
        return f"!{self.of}" if isinstance(self.of, Test) else f"!({self.of})"


class And(NamedTuple):
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " && ".join(map(str, self.parts))


class Or(NamedTuple):
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return "(" + " || ".join(map(str, self.parts)) + ")"


Expression: TypeAlias = "Test | Not | And | Or"


class SelectSyntaxError(HpcBatchError):
    """It is no expression."""


class SelectUnmetError(HpcBatchError):
    """An expression that hpcbatch cannot keep."""


def read(text: str, into: Nodes) -> Iterator[tuple[str, Fate, str]]:
    """Add what it asks for; yields each part with what becomes of it. Raises SelectSyntaxError, SelectUnmetError."""
    parser = _Parser(text)
    found = parser.either(0)
    parser.end()
    for part in found.parts if isinstance(found, And) else (found,):
        fate, meaning = _take(part, into)
        yield str(part), fate, meaning


def _take(part: Expression, into: Nodes) -> tuple[Fate, str]:
    if isinstance(part, And):
        fates = [_take(each, into) for each in part.parts]
        return max(fates, key=lambda each: each[0] is Fate.IGNORED)
    if isinstance(part, Or):
        return _choice(part, into)
    if isinstance(part, Not):
        if isinstance(part.of, Test) and not part.of.op:
            into.lacks.add(part.of.name)
            return _rule("select[feature]")
        return _take(_negated(part.of, part), into)
    return _test(part, into)


def _negated(of: Expression, whole: Not) -> Expression:
    if isinstance(of, Not):
        return of.of
    if isinstance(of, Test) and of.op in {"==", "=", "!="}:
        return Test(of.name, "!=" if of.op != "!=" else "==", of.value)
    if isinstance(of, Test):
        return of  # of a number, which is ignored either way
    raise SelectUnmetError(f"select[{whole}] is not supported here: `!` before a single feature or comparison is")


def _test(test: Test, into: Nodes) -> tuple[Fate, str]:
    name, op, value = test
    if not op:
        into.properties.add(name)
        return _rule("select[feature]")
    if name == "mem":
        return _rule("select[mem>size]")
    if name in _NUMBERS:
        return _rule("select[load index]")
    if name == "hname" and op in {"==", "="}:
        into.hosts = (value,)
        return _rule("select[hname==host]")
    if name == "hname" and op == "!=":
        into.excluded.append(value)
        return Fate.HONOURED, "not that node"
    if op in {"==", "="} and value in _ANY:
        return _rule("select[type==any]")
    if name == "type":
        return Fate.IGNORED, "a node's type is what its image is made for"
    if op in {"==", "="} and _NAME.fullmatch(name):
        if value.isdigit() and int(value) in {0, 1}:
            (into.properties if int(value) else into.lacks).add(name)
            return _rule("select[feature]")
        into.words[name] = value
        return _rule("select[model==name]")
    if op in {">", ">="}:
        return _rule("select[load index]")
    raise SelectUnmetError(f"select[{test}] is not supported here: features, hname== and model== are")


def _choice(choice: Or, into: Nodes) -> tuple[Fate, str]:
    """Of hosts any, of features one; what is ignored anyway stays so."""
    tests = [part for part in choice.parts if isinstance(part, Test)]
    if len(tests) == len(choice.parts):
        if all(test.name == "hname" and test.op in {"==", "="} for test in tests):
            into.hosts = tuple(dict.fromkeys(test.value for test in tests))
            return _rule("select[hname==host]")
        if all(test.value in _ANY or test.name in _NUMBERS or test.name == "type" for test in tests):
            return _rule("select[load index]")
    sets = [_features(part) for part in choice.parts]
    known = [each for each in sets if each is not None]
    if len(known) == len(sets) and not into.alternatives:
        into.alternatives += known
        return Fate.HONOURED, "the nodes have one of these"
    raise SelectUnmetError(f"select[{choice}] is not supported here: a choice of hosts or of features is")


def _features(part: Expression) -> tuple[str, ...] | None:
    parts = part.parts if isinstance(part, And) else (part,)
    names = [each.name for each in parts if isinstance(each, Test) and not each.op]
    return tuple(sorted(set(names))) if len(names) == len(parts) else None


def _rule(name: str) -> tuple[Fate, str]:
    return SECTIONS[name].fate, SECTIONS[name].meaning


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        token = match[kind]
        if kind == "bad":
            raise SelectSyntaxError(f"select[{text}]: {token!r} cannot stand there")
        yield kind, token.strip("'\"") if kind == "quoted" else token


class _Parser(Tokens):
    def __init__(self, text: str) -> None:
        super().__init__(_tokens(text))
        self._text = text

    def end(self) -> None:
        if not self._is_over:
            raise SelectSyntaxError(f"select[{self._text}]: {self._next()[1]!r} cannot stand there")

    def either(self, depth: int) -> Expression:
        parts = [self._both(depth)]
        while self._is("||"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self, depth: int) -> Expression:
        parts = [self._one(depth)]
        while self._is("&&"):
            parts.append(self._one(depth))
        flat = [each for part in parts for each in (part.parts if isinstance(part, And) else (part,))]
        return flat[0] if len(flat) == 1 else And(tuple(flat))

    def _one(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise SelectSyntaxError(f"select[{self._text[:60]}…]: too many parentheses within each other")
        if self._is("!"):
            return Not(self._one(depth + 1))
        if self._is("("):
            found = self.either(depth + 1)
            if not self._is(")"):
                raise SelectSyntaxError(f"select[{self._text}]: expected )")
            return found
        kind, name = self._next()
        if kind not in {"word", "quoted"}:
            raise SelectSyntaxError(f"select[{self._text}]: expected a name" + (f", not {name!r}" if name else ""))
        self._at += 1
        if name == "defined" and self._is("("):
            _, name = self._next()
            self._at += 1
            if not self._is(")"):
                raise SelectSyntaxError(f"select[{self._text}]: expected defined(name)")
            return Test(name)
        kind, op = self._next()
        if kind == "op" and op in _COMPARE:
            self._at += 1
            kind, value = self._next()
            if kind not in {"word", "quoted"}:
                raise SelectSyntaxError(f"select[{self._text}]: expected a value behind {name}{op}")
            self._at += 1
            return Test(name, op, value)
        if not _NAME.fullmatch(name):
            raise SelectSyntaxError(f"select[{self._text}]: {name!r} is not the name of a resource")
        return Test(name)
