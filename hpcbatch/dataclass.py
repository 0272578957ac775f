"""Dataclasses whose methods are made when they are first used.

A command imports some forty dataclasses and makes values of a few. The standard library compiles six methods for each
of them at import and needs `inspect` for it: together a fifth of the time that a command takes. Here a class costs what
any class costs; its `__init__` is compiled after its first values, and the other methods are not compiled at all. For
mypy and readers it is the standard library's `dataclass(slots=True)`; `dataclasses.replace` and `fields` work with it.
"""

from __future__ import annotations

import sys
from functools import partial
from operator import attrgetter

from hpcbatch.typed import FIRST_VALUES, TYPE_CHECKING, Any, NamedTuple, given_arguments

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
    from types import FunctionType

__all__ = ["MISSING", "Declared", "dataclass", "declared_fields", "field", "replace"]
_FIELDS = "__declared__"
_STANDARD = ("__dataclass_fields__", "__dataclass_params__")


class _Missing:
    """No default: a value that no field has."""


class Declared(NamedTuple):
    """One field of a class, as it was declared."""

    name: str
    default: Any
    """MISSING: none."""
    default_factory: Any
    """MISSING: none."""
    metadata: Any
    in_init: bool
    is_shown: bool
    is_compared: bool
    kw_only: bool


MISSING: Any = _Missing
_COPIERS: dict[type[Any], tuple[tuple[str, ...], Any]] = {}
"""The names of a class' fields, and what reads them all."""


def declared_fields(cls: Any) -> tuple[Declared, ...]:
    """The fields of a dataclass, or of a value of it; bases' first."""
    owner: type[Any] = cls if isinstance(cls, type) else type(cls)
    known = next((base.__dict__ for base in owner.__mro__ if _STANDARD[0] in base.__dict__), owner.__dict__)
    found: tuple[Declared, ...] | None = known.get(_FIELDS)
    if found is None:
        from dataclasses import MISSING as NONE
        from dataclasses import fields

        found = tuple(
            Declared(
                each.name,
                MISSING if each.default is NONE else each.default,
                MISSING if each.default_factory is NONE else each.default_factory,
                each.metadata,
                in_init=each.init,
                is_shown=each.repr,
                is_compared=bool(each.compare),
                kw_only=bool(each.kw_only),
            )
            for each in fields(cls)
        )
    return found


if not TYPE_CHECKING:

    def field(*, default=MISSING, default_factory=MISSING, metadata=None, init=True, repr=True, compare=True):
        return Declared("", default, default_factory, metadata or {}, init, repr, compare, kw_only=False)

    def replace(value, /, **changes):
        """As that of dataclasses, without importing it, and in a quarter of its time."""
        cls = type(value)
        copier = _COPIERS.get(cls)
        if copier is None:
            names = tuple(each.name for each in declared_fields(cls) if each.in_init)
            # with one name it would give no tuple
            copier = _COPIERS[cls] = (names, attrgetter(*names, *names[:1]))
        names, held = copier
        return cls(**{**dict(zip(names, held(value), strict=False)), **changes})

    def dataclass(*, slots, frozen=False, kw_only=False, eq=True):
        if not slots:
            raise TypeError("a class without slots takes the standard library's dataclass")
        return lambda cls: _made(cls, frozen, kw_only, eq)


def _made(cls: type[Any], frozen: bool, kw_only: bool, eq: bool) -> type[Any]:
    own = {}
    for name, annotation in _annotations(cls).items():
        if not str(annotation).startswith("ClassVar"):
            given = cls.__dict__.get(name, MISSING)
            if not isinstance(given, Declared):
                given = Declared("", given, MISSING, {}, in_init=True, is_shown=True, is_compared=True, kw_only=False)
            own[name] = given._replace(name=name, kw_only=kw_only)
    inherited = {each.name: each for base in reversed(cls.__mro__[1:]) for each in base.__dict__.get(_FIELDS, ())}
    parts = tuple((inherited | own).values())
    left_out = {*own, "__dict__", "__weakref__"}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    methods: dict[str, Any] = {"__repr__": _text, "__getstate__": _state, "__setstate__": _set_state}
    if eq:
        methods |= _equality([each.name for each in parts if each.is_compared])
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    elif eq:
        methods["__hash__"] = None
    metaclass: Any = type(cls)
    made: type[Any] = metaclass(
        cls.__name__,
        cls.__bases__,
        {
            **methods,
            **namespace,
            "__slots__": tuple(name for name in own if name not in inherited),
            "__match_args__": tuple(each.name for each in parts if each.in_init and not each.kw_only),
            _FIELDS: parts,
            "__init__": _LateInit("__init__", _init),
            **{name: _Late(name, partial(_standard, name, frozen)) for name in _STANDARD},
        },
    )
    made.__qualname__ = cls.__qualname__
    return made


def _annotations(cls: type[Any]) -> dict[str, Any]:
    found: dict[str, Any] = cls.__dict__.get("__annotations__", {})  # noqa: RUF063  inspect is what costs
    return found


class _Late:
    """Stands in a class for one of its attributes until somebody looks for it."""

    def __init__(self, name: str, make: Any) -> None:
        self._name, self._make = name, make

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        cls = self._class(owner)
        if cls is not None:  # no other thread was quicker
            setattr(cls, self._name, self._make(cls))
        return getattr(owner if instance is None else instance, self._name)

    def _class(self, owner: type[Any]) -> type[Any] | None:
        return next((each for each in owner.__mro__ if each.__dict__.get(self._name) is self), None)


class _LateInit(_Late):
    """The same, of a constructor that makes a few values before it is compiled."""

    _left = FIRST_VALUES

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        cls = self._class(owner)
        if instance is None or cls is None or not self._left:
            return super().__get__(instance, owner)
        self._left -= 1
        return partial(_fill, cls, instance)


def _fill(cls: type[Any], instance: Any, *values: Any, **named: Any) -> None:
    """What the constructor of `cls` does."""
    parts = declared_fields(cls)
    positional = tuple(each.name for each in parts if each.in_init and not each.kw_only)
    given = given_arguments(positional, values, named)
    found = []
    for each in parts:
        if given and each.in_init and each.name in given:
            found.append(given.pop(each.name))
        else:
            found.append(each.default if each.default_factory is MISSING else each.default_factory())
    if given is None or given or any(value is MISSING for value in found):
        cls.__init__(instance, *values, **named)  # the compiled one says what is wrong
        return
    for each, value in zip(parts, found, strict=True):
        object.__setattr__(instance, each.name, value)
    if hasattr(cls, "__post_init__"):
        instance.__post_init__()


def _init(cls: type[Any]) -> FunctionType:
    """The constructor. It calls the setter of each slot, as `__setattr__` may refuse."""
    known: dict[str, Any] = {"_missing": MISSING}
    positional: list[str] = []
    named: list[str] = []
    body = []
    for each in declared_fields(cls):
        known[f"_set_{each.name}"] = getattr(cls, each.name).__set__
        value = each.name
        if each.default_factory is not MISSING:
            known[f"_new_{each.name}"] = each.default_factory
            value = f"_new_{each.name}() if {each.name} is _missing else {each.name}" if each.in_init else ""
            value = value or f"_new_{each.name}()"
        if each.in_init:
            known[f"_default_{each.name}"] = each.default
            is_required = each.default is MISSING and each.default_factory is MISSING
            word = each.name if is_required else f"{each.name}=_default_{each.name}"
            (named if each.kw_only else positional).append(word)
        body.append(f"  _set_{each.name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("  self.__post_init__()")
    words = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    text = "\n".join(
        [f"def made({', '.join(known)}):", f" def __init__({words}):", *(body or ["  pass"]), " return __init__"]
    )
    found: dict[str, Any] = {}
    exec(text, sys.modules[cls.__module__].__dict__, found)  # noqa: S102  # names and defaults of a class of ours
    init: FunctionType = found["made"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    given = {each.name for each in declared_fields(cls) if each.in_init}
    init.__annotations__ = {
        name: annotation
        for base in reversed(cls.__mro__)
        for name, annotation in _annotations(base).items()
        if name in given
    } | {"return": None}
    return init


def _standard(name: str, frozen: bool, cls: type[Any]) -> Any:
    """What the functions of `dataclasses` look for."""
    import dataclasses

    declared = [
        (
            each.name,
            Any,
            dataclasses.field(
                default=dataclasses.MISSING if each.default is MISSING else each.default,
                default_factory=dataclasses.MISSING if each.default_factory is MISSING else each.default_factory,
                init=each.in_init,
                repr=each.is_shown,
                compare=each.is_compared,
                metadata=each.metadata,
                kw_only=each.kw_only,
            ),
        )
        for each in declared_fields(cls)
    ]
    return dataclasses.make_dataclass(cls.__name__, declared, frozen=frozen).__dict__[name]


def _equality(names: list[str]) -> dict[str, Any]:
    values = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _text(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in declared_fields(type(self)) if each.is_shown)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change field {name!r} of {type(self).__name__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in declared_fields(type(self))]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(declared_fields(type(self)), state, strict=True):
        object.__setattr__(self, each.name, value)
