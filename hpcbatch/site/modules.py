"""The part `modules` of the site's configuration file."""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from hpcbatch.model.site import SiteModule
from hpcbatch.site.yaml_fields import Fields, UnfitError, list_of
from hpcbatch.typed import Final, TypeVar

MODULE_KEYS: Final = ("name", "image", "environment", "prependPath")
_NAME = re.compile(r"[A-Za-z0-9_*?][-A-Za-z0-9_.+/*?]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_T = TypeVar("_T")


def read_modules(fields: Fields, read_image: Callable[[yaml.Node], str]) -> tuple[SiteModule, ...]:
    """The site's modules, in the order of the file. `read_image` reads images as in the rest of the file."""
    found: dict[str, SiteModule] = {}
    for item in fields.each("modules", MODULE_KEYS):
        name = item.require("name", _name, "")
        module = SiteModule(
            name=name,
            image=item.take("image", read_image, None),
            environment=_variables(item, "environment", _line),
            prepend_path=_variables(item, "prependPath", list_of(_directory)),
        )
        if name in found:
            item.complain("name", f"a second module {name!r}")
        found.setdefault(name, module)
    return tuple(found.values())


def _variables(item: Fields, key: str, read: Callable[[yaml.Node], _T]) -> dict[str, _T]:
    found: dict[str, _T] = {}
    for name, node in item.entries(key) or ():
        if not _VARIABLE.fullmatch(name):
            item.complain(key, f"{name!r} cannot be a variable: expected letters, digits and '_'")
            continue
        try:
            found[name] = read(node)
        except UnfitError as unfit:
            item.complain(key, f"{name}: {unfit}")
    return found


def _name(node: yaml.Node) -> str:
    value = _line(node)
    if not _NAME.fullmatch(value):
        raise UnfitError(f"expected a module such as netcdf/4.9.2 or intel/*, found {value!r}")
    return value


def _line(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise UnfitError("expected a text")
    value = str(node.value)
    if not value.isprintable():
        raise UnfitError(f"expected a text of one line, found {value!r}")
    return value


def _directory(node: yaml.Node) -> str:
    value = _line(node)
    if not value.startswith("/") or ":" in value:
        raise UnfitError(f"expected an absolute path without ':', found {value!r}", node)
    return value
