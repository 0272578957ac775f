"""The YAML beside a template, which documents its parameters.

description: One line for `hpcbatch new list`
inherit: _job            # the parameters of _job.yaml come after these; of two of one name the one here counts
parameters:
- name: ranks-per-node
  type: count            # one of KINDS
  minimum: 1
  unit: MPI ranks
  required: true
  help: MPI ranks of each node
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hpcbatch.errors import HpcBatchError
from hpcbatch.new.parameters import KINDS, REPEATED, Given, Parameter, UnfitValueError, Value, read_value

if TYPE_CHECKING:
    import yaml

    from hpcbatch.site.yaml_fields import Fields

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_FILE = re.compile(r"_?[a-z][a-z0-9_-]*", re.ASCII)
RESERVED = frozenset({"dialect", "output", "force", "help", "templates", "template"})
"""What `hpcbatch new` and the templates have already."""
_TOP = ("description", "inherit", "parameters")
_KEYS = ("name", "type", "help", "default", "required", "unit", "minimum", "choices")


class MissingFileError(HpcBatchError):
    """No directory has that file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a template is for, and its parameters."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]


def read_definition(name: str, read: Callable[[str], tuple[str, str]], *, depth: int = 0) -> Definition:
    """The definition in `NAME.yaml`. `read` gives path and text of such a file.

    Raises HpcBatchError with a line for each fault: file, line, key, and what was expected.
    """
    from hpcbatch.site.yaml_fields import Fields, NoYamlError, Problem, compose, text

    path, content = read(f"{name}.yaml")
    problems: list[Problem] = []
    try:
        top = Fields(compose(content, path), _TOP, problems, path, "")
    except NoYamlError as error:
        raise HpcBatchError(str(error)) from None
    description = top.take("description", text, "")
    inherited = top.take("inherit", text, "")
    base: tuple[Parameter, ...] = ()
    if inherited and (not _FILE.fullmatch(inherited) or depth > 3):
        top.complain("inherit", "expected the name of another definition, which does not inherit this one")
    elif inherited:
        base = read_definition(inherited, read, depth=depth + 1).parameters
    own: dict[str, Parameter] = {}
    for entry in top.each("parameters", _KEYS):
        parameter = _parameter(entry)
        if parameter is None:
            continue
        if parameter.name in own:
            entry.complain("name", f"{parameter.name} is there twice")
        own[parameter.name] = parameter
    if problems:
        raise HpcBatchError("\n".join(str(problem) for problem in problems))
    found = {**own, **{p.name: p for p in base if p.name not in own}}
    commands = [p.name for p in found.values() if p.kind == "command"]
    if len(commands) > 1:
        raise HpcBatchError(f"{path}: parameters: expected one of type command at most, found {', '.join(commands)}")
    return Definition(name=name, description=description, parameters=tuple(found.values()))


def _parameter(entry: Fields) -> Parameter | None:
    """None if it has faults, which are among the problems."""
    from hpcbatch.site.yaml_fields import boolean, list_of, text

    before = len(entry.problems)
    parameter = Parameter(
        name=entry.require("name", _name, ""),
        kind=entry.require("type", _kind, ""),
        help=entry.require("help", text, ""),
        is_required=entry.take("required", boolean, False),
        unit=entry.take("unit", text, ""),
        minimum=entry.take("minimum", _number, 0),
        choices=entry.take("choices", list_of(text), ()),
    )
    if len(entry.problems) > before:
        return None
    if (parameter.kind == "choice") != bool(parameter.choices):
        entry.complain("choices", "expected with the type choice, and only with that")
    if "minimum" in entry and parameter.kind != "count":
        entry.complain("minimum", "expected with the type count only")
    if parameter.is_required and "default" in entry:
        entry.complain("default", "expected none, as the parameter is required")
    if len(entry.problems) > before or parameter.is_required:
        return parameter
    empty: Value = () if parameter.kind in REPEATED else False if parameter.kind == "flag" else None
    return replace(parameter, default=entry.take("default", lambda node: _default(parameter, node), empty))


def _default(parameter: Parameter, node: yaml.Node) -> Value:
    from hpcbatch.site.yaml_fields import UnfitError, boolean, list_of, text

    given: Given
    if parameter.kind == "flag":
        given = boolean(node)
    elif parameter.kind in REPEATED:
        given = list_of(text)(node)
    else:
        given = text(node)
    try:
        return read_value(parameter, given)
    except UnfitValueError as unfit:
        raise UnfitError(str(unfit)) from None


def _name(node: yaml.Node) -> str:
    from hpcbatch.site.yaml_fields import UnfitError, text

    name = text(node)
    if not _NAME.fullmatch(name):
        raise UnfitError(f"expected lower-case letters, digits and inner '-', found {name!r}")
    if name in RESERVED:
        raise UnfitError(f"{name} is an option of `hpcbatch new` itself")
    return name


def _kind(node: yaml.Node) -> str:
    from hpcbatch.site.yaml_fields import UnfitError, text

    kind = text(node)
    if kind not in KINDS:
        raise UnfitError(f"expected one of {', '.join(KINDS)}, found {kind!r}")
    return kind


def _number(node: yaml.Node) -> int:
    from hpcbatch.site.yaml_fields import UnfitError, text

    value = text(node)
    if not re.fullmatch(r"\d{1,6}", value, re.ASCII):
        raise UnfitError(f"expected a whole number, found {value!r}")
    return int(value)
