"""What modules need of `typing` while they run, which is little: a command's start imports this instead.

`typing` takes 2.5 ms to import, and its `NamedTuple` compiles a method and each annotation of each class: with some
forty classes both together were a fifth of the time of a whole qsub. Here a named tuple costs what any class costs; its
`__new__` is compiled after its first values. For mypy and readers all names are those of `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any,
        ClassVar,
        Final,
        Generic,
        Literal,
        NamedTuple,
        NoReturn,
        Protocol,
        TypeAlias,
        TypeVar,
    )

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Final",
    "Generic",
    "Literal",
    "NamedTuple",
    "NoReturn",
    "Protocol",
    "TypeAlias",
    "TypeVar",
]

if not TYPE_CHECKING:
    from operator import itemgetter

    try:
        from _collections import _tuplegetter as _field  # quicker than a property; collections does the same
    except ImportError:

        def _field(index, doc):
            return property(itemgetter(index), doc=doc)

    class Any:
        """Any type, in annotations and in names for types."""

        def __class_getitem__(cls, _):
            return cls

    ClassVar = Final = NoReturn = TypeAlias = Any

    class Literal:
        """`typing.get_args` returns the values."""

        __class_getitem__ = classmethod(type(list[int]))

    class Protocol:
        """A base that only type checkers look at."""

        def __class_getitem__(cls, _):
            return cls

    class Generic:
        """The same."""

        def __class_getitem__(cls, _):
            return cls

    def TypeVar(name, *_, **__):  # noqa: N802, ARG001  as that of typing
        return Any

    class _NamedTupleMeta(type):
        def __new__(mcs, name, _bases, namespace):
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {each: namespace[each] for each in fields if each in namespace}
            required = len(fields) - len(defaults)
            if tuple(defaults) != fields[required:]:
                raise TypeError(f"{name}: a field without a default follows one that has one")
            body = {key: value for key, value in _METHODS.items() if key not in namespace} | namespace
            body |= {each: _field(index, "") for index, each in enumerate(fields)}
            body |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            made = type.__new__(type, name, (tuple,), body)

            made.__new__ = _first_constructor(made)
            return made

    NamedTuple = type.__new__(_NamedTupleMeta, "NamedTuple", (), {"__doc__": "As that of typing."})


FIRST_VALUES = 16
"""So many of a class are made before its constructor is compiled: a command makes few of most. Compiling takes a tenth
of a millisecond for a named tuple, and more than one for a large dataclass.
"""


def given_arguments(
    positional: tuple[str, ...], values: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any] | None:
    """The arguments of a call by their names. None if there are too many, or one is given twice."""
    given = dict(zip(positional, values, strict=False))
    return {**given, **named} if len(given) == len(values) and given.keys().isdisjoint(named) else None


def _first_constructor(made: type[Any]) -> Any:
    names, defaults = made._fields, made._field_defaults
    left = FIRST_VALUES

    def first(cls: type[Any], /, *values: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            given = given_arguments(names, values, named)
            if given is not None and (complete := {**defaults, **given}).keys() == set(names):
                return tuple.__new__(cls, [complete[name] for name in names])
        made.__new__ = _constructor(made)  # which says what is wrong, too
        return made.__new__(cls, *values, **named)

    return staticmethod(first)


def _constructor(made: type[Any]) -> Any:
    """`__new__` of a named tuple, with names and defaults as parameters."""
    fields: tuple[str, ...] = made._fields
    words = "".join(f", {each}" for each in fields)
    values = "".join(f"{each}, " for each in fields)
    new = eval(f"lambda _cls{words}: _new(_cls, ({values}))", {"_new": tuple.__new__})  # noqa: S307  names of ours
    new.__defaults__ = tuple(made._field_defaults.values()) or None
    new.__name__, new.__qualname__ = "__new__", f"{made.__qualname__}.__new__"
    return staticmethod(new)


def _make(cls: Any, values: Any) -> Any:
    made = tuple.__new__(cls, values)
    if len(made) != len(cls._fields):
        raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values, not {len(made)}")
    return made


def _replace(self: Any, /, **changes: Any) -> Any:
    made = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise ValueError(f"{type(self).__name__} has no field {', '.join(changes)}")
    return made


def _asdict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


def _text(self: Any) -> str:
    shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({shown})"


def _arguments(self: Any) -> tuple[Any, ...]:
    return tuple(self)


_METHODS = {
    "_make": classmethod(_make),
    "_replace": _replace,
    "_asdict": _asdict,
    "__repr__": _text,
    "__getnewargs__": _arguments,
}
