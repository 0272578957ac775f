"""Selectors of devices (Kubernetes' DRA): expressions in CEL over one device, as far as they occur.

`&& || ! == != < <= > >= in ?:`, parentheses, lists, texts, numbers, `device.driver`,
`device.attributes["DOMAIN"].NAME`, `device.capacity["DOMAIN"].NAME`, `cel.bind`, `has`, and functions of texts,
quantities and versions. Anything else is refused when it is read. Source: k8s.io/dynamic-resource-allocation/cel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.tokens import Tokens
from hpcbatch.typed import Any, Final, TypeAlias
from hpcbatch.units import parse_quantity

_Names: TypeAlias = Mapping[str, Any]
_Part: TypeAlias = Callable[[_Names], Any]

_TOKEN = re.compile(
    r"r?\"(?:[^\"\\\n]|\\.)*\"|r?'(?:[^'\\\n]|\\.)*'|\d+\.\d+|\d+|[A-Za-z_]\w*"
    r"|&&|\|\||==|!=|<=|>=|[-<>!()\[\].,?:]",
    re.ASCII,
)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_MOST_TOKENS, _DEEPEST = 2000, 50


class NoValueError(Exception):
    """What CEL calls an error when it evaluates: a name that is missing, values of types that do not go together."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A Kubernetes quantity or a semantic version: comparable with its like only."""

    value: Any

    @classmethod
    def quantity(cls, text: object) -> Amount:
        try:
            return cls(parse_quantity(str(text)))
        except HpcBatchError:
            raise NoValueError from None

    @classmethod
    def version(cls, text: object) -> Amount:
        """Source: semver.org, item 11: numbers before words, a release after its pre-releases."""
        match = _VERSION.fullmatch(str(text))
        if match is None:
            raise NoValueError
        words = [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in (match[4] or "").split(".") if word]
        return cls((*(int(match[part]) for part in (1, 2, 3)), not words, tuple(words)))

    def against(self, other: object) -> int:
        """-1, 0 or 1."""
        if not isinstance(other, Amount) or type(other.value) is not type(self.value):
            raise NoValueError
        return int(self.value > other.value) - int(self.value < other.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What selectors know of a device: attributes and capacity by domain and name."""

    driver: str
    attributes: Mapping[str, Mapping[str, Any]]
    capacity: Mapping[str, Mapping[str, Any]]
    is_shareable: bool = False
    """It may be given to several claims at a time."""


class Selector:
    """Raises HpcBatchError, with the column, for what cannot be read."""

    def __init__(self, text: str) -> None:
        self._part = _Reader(text).whole()

    def fits(self, device: Device) -> bool:
        """Whether the device is selected; as in Kubernetes, one without what the expression names is not."""
        known = {
            "driver": device.driver,
            "attributes": _Domains(device.attributes),
            "capacity": _Domains(device.capacity),
            "allowMultipleAllocations": device.is_shareable,
        }
        try:
            return self._part({"device": known}) is True
        except (NoValueError, RecursionError):
            return False


@lru_cache(maxsize=256)
def selector(text: str) -> Selector:
    return Selector(text)


class _Domains(dict[str, Any]):
    """A domain that the device has nothing of is an empty one."""

    def __missing__(self, key: str) -> Mapping[str, Any]:
        return {}


class _Reader(Tokens):
    """Recursive descent, by CEL's grammar."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN, most=_MOST_TOKENS, unknown="is not read here")
        self._depth = 0
        self._bound: list[str] = ["device"]

    def whole(self) -> _Part:
        part = self._choice()
        if not self._is_over:
            raise self._unexpected()
        return part

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise self._unexpected()

    def _word(self) -> str:
        token = self._next()
        if not re.fullmatch(r"[A-Za-z_]\w*", token, re.ASCII):
            raise self._unexpected()
        self._at += 1
        return token

    def _choice(self) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(self._column, "too deep")
        part = self._either()
        if self._take("?"):
            test, yes = part, self._either()
            self._need(":")
            no = self._choice()

            def chosen(names: _Names) -> Any:
                return yes(names) if _truth(test(names)) else no(names)

            part = chosen
        self._depth -= 1
        return part

    def _either(self) -> _Part:
        part = self._both()
        while self._take("||"):
            part = _joined(part, self._both(), decides=True)
        return part

    def _both(self) -> _Part:
        part = self._relation()
        while self._take("&&"):
            part = _joined(part, self._relation(), decides=False)
        return part

    def _relation(self) -> _Part:
        part = self._unary()
        while operator := self._take("==", "!=", "<", "<=", ">", ">=", "in"):
            part = _compared(operator, part, self._unary())
        return part

    def _unary(self) -> _Part:
        if self._take("!"):
            part = self._unary()
            return lambda names: not _truth(part(names))
        if self._take("-"):
            number = self._unary()
            return lambda names: -_number(number(names))
        return self._member()

    def _member(self) -> _Part:
        part = self._primary()
        while operator := self._take(".", "["):
            if operator == "[":
                key = self._choice()
                self._need("]")
                part = _indexed(part, key)
                continue
            column, word = self._column, self._word()
            if not self._take("("):
                part = _indexed(part, _constant(word))
            elif word not in _METHODS:
                raise self._wrong(column, f"the function {word} is not known here")
            else:
                part = _called(_METHODS[word], part, *self._arguments())
        return part

    def _primary(self) -> _Part:
        column, token = self._column, self._next()
        if self._take("("):
            part = self._choice()
            self._need(")")
            return part
        if self._take("["):
            items: list[_Part] = []
            while not self._take("]"):
                items.append(self._choice())
                if self._next() != "]":
                    self._need(",")
            return lambda names: [item(names) for item in items]
        if token[:1].isdigit():
            self._at += 1
            return _constant(float(token) if "." in token else int(token))
        if token[-1:] in {'"', "'"}:
            self._at += 1
            return _constant(_text(token))
        word = self._word()
        if word in {"true", "false", "null"}:
            return _constant({"true": True, "false": False, "null": None}[word])
        if word == "cel" and self._take("."):
            return self._binding()
        if word == "has" and self._take("("):
            part = self._member()
            self._need(")")
            return lambda names: _is_there(part, names)
        if word in _FUNCTIONS and self._take("("):
            return _called(_FUNCTIONS[word], *self._arguments())
        if word not in self._bound:
            raise self._wrong(column, f"{word!r} is not known here")
        return lambda names: names[word]

    def _binding(self) -> _Part:
        """`cel.bind(name, value, expression)`."""
        self._need("bind")
        self._need("(")
        name = self._word()
        self._need(",")
        value = self._choice()
        self._need(",")
        self._bound.append(name)
        part = self._choice()
        self._bound.pop()
        self._need(")")
        return lambda names: part({**names, name: value(names)})

    def _arguments(self) -> list[_Part]:
        found: list[_Part] = []
        while not self._take(")"):
            found.append(self._choice())
            if self._next() != ")":
                self._need(",")
        return found

    def _unexpected(self) -> HpcBatchError:
        token = self._next()
        return self._wrong(self._column, f"{token!r} is not expected here" if token else "it ends too soon")


def _constant(value: Any) -> _Part:
    return lambda _: value


def _text(token: str) -> str:
    if token.startswith("r"):
        return token[2:-1]
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1])


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NoValueError
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NoValueError
    return value


def _joined(one: _Part, other: _Part, *, decides: bool) -> _Part:
    """`||`, which `decides` true, or `&&`: the side that decides does so whatever becomes of the other."""

    def value(names: _Names) -> bool:
        try:
            if _truth(one(names)) is decides:
                return decides
        except NoValueError:
            if _truth(other(names)) is decides:
                return decides
            raise
        return _truth(other(names))

    return value


def _compared(operator: str, one: _Part, other: _Part) -> _Part:
    def value(names: _Names) -> bool:
        left, right = one(names), other(names)
        if operator == "in":
            if not isinstance(right, (list, Mapping)):
                raise NoValueError
            return left in right
        if operator in {"==", "!="}:
            # CEL's true is not 1
            is_same = isinstance(left, bool) is isinstance(right, bool) and left == right
            return is_same is (operator == "==")
        if not (isinstance(left, str) and isinstance(right, str)):
            left, right = _number(left), _number(right)
        order = int(left > right) - int(left < right)
        return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]

    return value


def _indexed(part: _Part, key: _Part) -> _Part:
    def value(names: _Names) -> Any:
        try:
            return part(names)[key(names)]
        except (KeyError, IndexError, TypeError):
            raise NoValueError from None

    return value


def _called(function: Callable[..., Any], *arguments: _Part) -> _Part:
    def value(names: _Names) -> Any:
        try:
            return function(*(argument(names) for argument in arguments))
        except (TypeError, AttributeError, re.error):
            raise NoValueError from None

    return value


def _is_there(part: _Part, names: _Names) -> bool:
    try:
        part(names)
    except NoValueError:
        return False
    return True


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "size": len,
    "compareTo": Amount.against,
    "isGreaterThan": lambda one, other: Amount.against(one, other) > 0,
    "isLessThan": lambda one, other: Amount.against(one, other) < 0,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": Amount.quantity,
    "semver": Amount.version,
    "size": len,
}
