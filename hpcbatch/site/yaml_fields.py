"""YAML read key by key with line numbers: all errors of a file are found at once, each with its position.

Scalars are read as written: YAML's values for `24:00:00` (a number of base 60) or `no` are not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

import yaml

from hpcbatch.errors import place
from hpcbatch.typed import Any, NamedTuple, TypeVar

_T = TypeVar("_T")
_NULL = "tag:yaml.org,2002:null"


class Problem(NamedTuple):
    """One error of a file. `line` and `column` count from 1; None: the file as a whole. `key` is a path or ""."""

    file: str
    line: int | None
    column: int | None
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (place(self.file, self.line, self.column), self.key, self.message)))


class UnfitError(Exception):
    """A value is invalid for its key; the text has what was expected. `node` is the place, if not the value's."""

    def __init__(self, message: str, node: yaml.Node | None = None) -> None:
        self.node = node
        super().__init__(message)


class Fields:
    """The keys of one mapping. Unknown and repeated keys, and invalid values, are added to `problems`."""

    def __init__(self, node: yaml.Node | None, known: Sequence[str], problems: list[Problem], file: str, path: str):
        self.node, self.problems, self.file, self.path = node, problems, file, path
        self._values: dict[str, yaml.Node] = {}
        self._given: dict[str, int] = {}
        if node is None or _is_null(node):
            return
        if not isinstance(node, yaml.MappingNode):
            self._add(node, path, f"expected keys and values, found {_shown(node)}")
            return
        for key_node, value in node.value:
            name = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
            if not name:
                self._add(key_node, path, "a key must be a word")
            elif name in self._given:
                self._add(key_node, self.key(name), f"given twice, first in line {self._given[name]}")
            elif name not in known:
                self._add(key_node, self.key(name), _unknown(name, known))
            elif not _is_null(value):
                self._values[name] = value
            self._given.setdefault(name, key_node.start_mark.line + 1)

    @property
    def is_mapping(self) -> bool:
        """False has been reported already, and no key is reported as missing then."""
        return isinstance(self.node, yaml.MappingNode)

    def key(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> yaml.Node | None:
        return self._values.get(name)

    def take(self, name: str, convert: Callable[[yaml.Node], _T], default: _T) -> _T:
        """The converted value; `default` if it is missing, null or invalid."""
        value = self._values.get(name)
        if value is None:
            return default
        try:
            return convert(value)
        except UnfitError as unfit:
            self._add(unfit.node or value, self.key(name), str(unfit))
            return default

    def require(self, name: str, convert: Callable[[yaml.Node], _T], default: _T) -> _T:
        """As `take`; a missing value is an error."""
        if name not in self._values and self.is_mapping:
            self._add(self.node, self.key(name), "missing")
        return self.take(name, convert, default)

    def each(self, name: str, known: Sequence[str]) -> list[Fields]:
        """The items of a list of mappings."""
        none: list[yaml.Node] = []
        items = self.take(name, _sequence, none)
        return [
            Fields(item, known, self.problems, self.file, f"{self.key(name)}[{index}]")
            for index, item in enumerate(items)
        ]

    def entries(self, name: str) -> list[tuple[str, yaml.Node]] | None:
        """The pairs of a mapping with free keys; None if it is missing."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, yaml.MappingNode):
            self._add(value, self.key(name), f"expected keys and values, found {_shown(value)}")
            return []
        pairs: dict[str, yaml.Node] = {}
        for key_node, item in value.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._add(key_node, self.key(name), "a key must be a word")
            elif key_node.value in pairs:
                self._add(key_node, f"{self.key(name)}.{key_node.value}", "given twice")
            else:
                pairs[key_node.value] = item
        return list(pairs.items())

    def complain(self, name: str, message: str) -> None:
        """Report an error of the value of `name`, or of the mapping if it has no such key."""
        self._add(self._values.get(name, self.node), self.key(name) if name else self.path, message)

    def _add(self, node: yaml.Node | None, key: str, message: str) -> None:
        self.problems.append(Problem(self.file, *start_of(node.start_mark if node else None), key, message))


def start_of(mark: yaml.Mark | None) -> tuple[int | None, int | None]:
    """Line and column of `mark`, from 1."""
    return (None, None) if mark is None else (mark.line + 1, mark.column + 1)


def compose(text: str, file: str) -> yaml.Node | None:
    """The one document of `text`; None if it is empty. Raises `UnfitError` with line and column in its text."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        at = start_of(error.problem_mark or error.context_mark)
        raise NoYamlError(Problem(file, *at, "", f"not YAML: {error.problem or error.context}")) from None
    except yaml.YAMLError as error:
        raise NoYamlError(Problem(file, None, None, "", f"not YAML: {' '.join(str(error).split())}")) from None
    except RecursionError:
        raise NoYamlError(Problem(file, None, None, "", "not YAML: nested too deeply")) from None


class NoYamlError(Exception):
    """The text cannot be read at all."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


# What values may be


def text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        raise UnfitError(f"expected a text, found {_shown(node)}")
    return str(node.value)


def boolean(node: yaml.Node) -> bool:
    if not isinstance(node, yaml.ScalarNode) or node.value not in {"true", "false"}:
        raise UnfitError(f"expected true or false, found {_shown(node)}")
    return bool(node.value == "true")


def number(least: int, most: int) -> Callable[[yaml.Node], int]:
    def read(node: yaml.Node) -> int:
        value = text(node)
        if not re.fullmatch(r"\d{1,9}", value, re.ASCII) or not least <= int(value) <= most:
            raise UnfitError(f"expected a whole number from {least} to {most}, found {value!r}")
        return int(value)

    return read


def list_of(convert: Callable[[yaml.Node], _T]) -> Callable[[yaml.Node], tuple[_T, ...]]:
    def read(node: yaml.Node) -> tuple[_T, ...]:
        found = []
        for item in _sequence(node):
            try:
                found.append(convert(item))
            except UnfitError as unfit:
                raise UnfitError(str(unfit), unfit.node or item) from None
        return tuple(found)

    return read


def plain(node: yaml.Node) -> Any:
    """The value as YAML, and so Kubernetes, reads it, for values that are passed to Kubernetes."""
    loader = yaml.SafeLoader("")
    try:
        return _json_like(loader.construct_object(node, deep=True), node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise UnfitError(f"cannot be read: {problem}") from None
    finally:
        loader.dispose()


def _json_like(value: Any, node: yaml.Node) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _json_like(item, node) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_like(item, node) for item in value]
    raise UnfitError(f"expected what JSON has too, found {value!r}: quote it", node)


def _sequence(node: yaml.Node) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        raise UnfitError(f"expected a list, found {_shown(node)}")
    return list(node.value)


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _NULL


def _shown(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "keys and values"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return repr(node.value) if node.value else "nothing"


def _unknown(name: str, known: Sequence[str]) -> str:
    by_lower = {word.lower(): word for word in known}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"unknown key; did you mean {by_lower[near[0]]}?"
    return f"unknown key; known here: {', '.join(known)}"
