"""What a site's file says of accounts and of who goes first."""

from __future__ import annotations

from typing import Final

import yaml

from hpcbatch.site.yaml_fields import Fields, UnfitError, list_of, text

ENFORCEABLE: Final = ("associations", "limits", "qos")


def read_enforced(fields: Fields) -> frozenset[str]:
    """`accountingEnforce: [limits, qos]`, or the same as a text, with Slurm's words."""
    return fields.take("accountingEnforce", _enforced, frozenset())


def _enforced(node: yaml.Node) -> frozenset[str]:
    words = list_of(text)(node) if isinstance(node, yaml.SequenceNode) else tuple(text(node).split(","))
    found = {word.strip().lower() for word in words} - {"none"}
    for word in sorted(found - set(ENFORCEABLE)):
        raise UnfitError(f"expected some of {', '.join(ENFORCEABLE)}, found {word}")
    return frozenset(found | {"associations"}) if found else frozenset()
