"""The part `topology` of the site's configuration file: the levels of its network."""

from __future__ import annotations

import re

import yaml

from hpcbatch.model.grouping import Level, tier_label
from hpcbatch.site.labels import is_label_key
from hpcbatch.site.yaml_fields import Fields, UnfitError, number, text
from hpcbatch.typed import Final

LEVEL_KEYS: Final = ("name", "label", "tier")
NOT_IMPORTED: Final = "which nodes are near each other is set by the key topology: see docs/site.md"
"""Of what other systems have in place of it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_MOST_TIERS: Final = 100


def read_topology(fields: Fields) -> tuple[Level, ...]:
    """The levels in the order of the file, the lowest first."""
    found: dict[str, Level] = {}
    for item in fields.each("topology", LEVEL_KEYS):
        tier = item.take("tier", number(0, _MOST_TIERS), None)
        if "tier" in item and "label" not in item:
            label = tier_label(tier or 0)
        else:
            label = item.require("label", _label, "")
        level = Level(name=item.require("name", _name, ""), label=label, tier=tier)
        if level.name in found:
            item.complain("name", f"a second level {level.name!r}")
        found.setdefault(level.name, level)
    return tuple(found.values())


def _name(node: yaml.Node) -> str:
    value = text(node)
    if not _NAME.fullmatch(value):
        raise UnfitError(f"expected a word such as switch or rack, found {value!r}")
    return value


def _label(node: yaml.Node) -> str:
    value = text(node)
    if not is_label_key(value):
        raise UnfitError(f"expected the key of a label of nodes, [domain/]name, found {value!r}")
    return value
