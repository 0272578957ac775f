"""What PBS calls custom resources: names beside its own that jobs of a site may ask for, with a type and flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.site import SiteConfig, Translation

PREFIX = "resources.hpcbatch.io/"
"""Begins the labels by which operators say what a node has of a resource: `resources.hpcbatch.io/NAME: VALUE`."""
TRUE, FALSE = "True", "False"
"""The labels' values of those that are boolean."""
FLAGS = "hqnfirm"
"""In the order in which PBS shows them."""
MOST_AMOUNT = 10**6
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}", re.ASCII)
_PATTERN_MARKS = frozenset("*?[")


class ResourceType(StrEnum):
    BOOLEAN = "boolean"
    LONG = "long"
    STRING = "string"
    SIZE = "size"
    FLOAT = "float"
    STRING_ARRAY = "string_array"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomResource:
    """Raises HpcBatchError for a name, flags or an amount that there cannot be."""

    name: str
    type: ResourceType = ResourceType.STRING
    flags: str = ""
    """Some of FLAGS, in their order."""
    amount: int | None = None
    """How many there are at the server, of one with the flag q; None: nobody has said."""
    extended: str = ""
    """Kubernetes' extended resource, of which each node says how many it has."""

    def __post_init__(self) -> None:
        if not is_resource_name(self.name):
            raise HpcBatchError(f"{self.name!r} cannot be a resource")
        if self.flags != "".join(flag for flag in FLAGS if flag in self.flags):
            raise HpcBatchError(f"resource {self.name}: {self.flags!r} are no flags")
        if self.amount is not None and not 0 <= self.amount <= MOST_AMOUNT:
            raise HpcBatchError(f"resource {self.name}: expected 0 to {MOST_AMOUNT}, found {self.amount}")

    @property
    def is_counted(self) -> bool:
        """The server has so many of it, and jobs that run hold no more together."""
        return "q" in self.flags and "h" not in self.flags

    @property
    def is_of_nodes(self) -> bool:
        """Nodes have values of it, which jobs ask for."""
        return self.flags.startswith("h") and not self.extended

    @property
    def label(self) -> str:
        return PREFIX + self.name


def is_resource_name(name: str) -> bool:
    """Whether it can be one, by PBS's rule and as a part of a label's name."""
    return _NAME.fullmatch(name) is not None and name[-1].isalnum()


def resource_to_json(one: CustomResource) -> dict[str, Any]:
    """What is as by default is left out."""
    given = {
        "name": one.name,
        "type": str(one.type),
        "flags": one.flags or None,
        "amount": one.amount,
        "extended": one.extended or None,
    }
    return {key: value for key, value in given.items() if value is not None}


def resource_from_json(body: Mapping[str, Any]) -> CustomResource:
    """Raises HpcBatchError, ValueError, KeyError or TypeError for what is none."""
    amount = body.get("amount")
    return CustomResource(
        name=str(body["name"]),
        type=ResourceType(body["type"]),
        flags=str(body.get("flags", "")),
        amount=None if amount is None else int(amount),
        extended=str(body.get("extended", "")),
    )


def resources_of_site(site: SiteConfig) -> tuple[CustomResource, ...]:
    """Those that the site's file has, in its order: what nodes count, types of GPU, properties of nodes, licences, and
    what it translates. A name with `*` is none. Those that operators have made are not among them.
    """
    from hpcbatch.model.accelerator import UNTYPED

    gpu, ngpus = UNTYPED
    found: list[CustomResource] = []
    for name, extended in site.resources.items():
        if is_resource_name(name) and (name != gpu or site.resources.get(ngpus) != extended):
            found.append(CustomResource(name=name, type=ResourceType.LONG, flags="hn", extended=extended))
    if site.accelerators:
        found.append(CustomResource(name="gpu_model", flags="h"))
    for name in site.node_properties:
        if is_resource_name(name):
            found.append(CustomResource(name=name, type=ResourceType.BOOLEAN, flags="h"))
    for name, amount in site.licenses.items():
        if is_resource_name(name):
            found.append(CustomResource(name=name, type=ResourceType.LONG, flags="q", amount=amount))
    found += [made for each in site.translations if (made := _translated(each, site)) is not None]
    by_name = {each.name: each for each in reversed(found) if each.name not in site.made_resources}
    return tuple(by_name.values())[::-1]


def _translated(translation: Translation, site: SiteConfig) -> CustomResource | None:
    name = translation.pattern
    if translation.word != "resource" or _PATTERN_MARKS & set(name) or not is_resource_name(name):
        return None
    if translation.refused:
        return None
    if translation.labels:
        has_value = translation.value != "*" or any("{value}" in text for text in translation.labels.values())
        return CustomResource(name=name, type=ResourceType.STRING if has_value else ResourceType.BOOLEAN, flags="h")
    if extended := site.resources.get(translation.renamed, ""):
        return CustomResource(name=name, type=ResourceType.LONG, flags="hn", extended=extended)
    if translation.renamed in site.licenses:
        return CustomResource(name=name, type=ResourceType.LONG, flags="q", amount=site.licenses[translation.renamed])
    return CustomResource(name=name, flags="h" if translation.renamed else "")
