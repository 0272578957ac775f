"""The parts `accelerators` and `resources` of the site's configuration file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import yaml

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accelerator import UNTYPED, Accelerator, devices_name
from hpcbatch.model.device_selector import selector
from hpcbatch.site.labels import LABEL_NAME, SUBDOMAIN, is_label_key, read_labels
from hpcbatch.site.yaml_fields import Fields, UnfitError, list_of, text
from hpcbatch.typed import Final

ACCELERATOR_KEYS: Final = (
    *("name", "aliases", "resource", "deviceClass", "selectors", "nodeSelector", "queues", "annotations"),
    "visibleDevices",
)
_RESOURCE = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.:]{0,62}")
_TYPE = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.+]{0,57}")
_ALIAS = re.compile(r"[-A-Za-z0-9_.+*?]{1,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NONE = "none"


def read_accelerators(fields: Fields, queues: Collection[str]) -> tuple[Accelerator, ...]:
    """The site's accelerators, in the order of the file. `queues`: the names of the file's queues."""
    found: dict[str, Accelerator] = {}
    taken: dict[str, str] = {}
    for item in fields.each("accelerators", ACCELERATOR_KEYS):
        name, device_class = item.require("name", _type, ""), item.take("deviceClass", _device_class, "")
        selectors: tuple[str, ...] = item.take("selectors", list_of(_selector), ())
        if "deviceClass" in item:
            resource = devices_name(device_class, name, selectors)
            if "resource" in item:
                item.complain("resource", "expected a resource or a deviceClass, not both")
        else:
            resource = item.require("resource", extended_resource, "")
            if "selectors" in item:
                item.complain("selectors", "only devices of a deviceClass can be selected")
        made = Accelerator(
            name=name,
            resource=resource,
            device_class=device_class,
            selectors=selectors,
            aliases=item.take("aliases", list_of(_alias), ()),
            labels=read_labels(item, "nodeSelector"),
            queues=item.take("queues", list_of(text), ()),
            annotations=_annotations(item),
            visible=item.take("visibleDevices", _variable, None),
        )
        if made.name in found:
            item.complain("name", f"a second accelerator {made.name!r}")
        for queue in made.queues:
            if queue not in queues:
                item.complain("queues", f"there is no queue {queue!r}")
            elif queue in taken:
                item.complain("queues", f"GPUs of no type in queue {queue!r} are {taken[queue]!r} already")
            taken.setdefault(queue, made.name)
        found.setdefault(made.name, made)
    return tuple(found.values())


def read_resources(
    fields: Fields, default: Mapping[str, str], accelerators: tuple[Accelerator, ...]
) -> Mapping[str, str]:
    """A name in scripts → Kubernetes' extended resource. Each accelerator has its own name; where the file does not
    say what GPUs of no type are, they are those of the first accelerator's resource.
    """
    found: dict[str, str] = {}
    entries = fields.entries("resources")
    if entries is None:
        found = dict.fromkeys(UNTYPED, accelerators[0].resource) if accelerators else dict(default)
    for name, node in entries or ():
        if not _RESOURCE.fullmatch(name):
            fields.complain("resources", f"{name!r} cannot be a resource: expected letters, digits, '_', '-' or ':'")
        try:
            found[name] = extended_resource(node)
        except UnfitError as unfit:
            fields.complain("resources", f"{name}: {unfit}")
    for each in accelerators:
        if found.setdefault(each.full_name, each.resource) != each.resource:
            fields.complain("resources", f"{each.full_name} is another resource than accelerator {each.name!r}")
    return found


def extended_resource(node: yaml.Node) -> str:
    value = node.value if isinstance(node, yaml.ScalarNode) else ""
    domain, slash, last = value.partition("/")
    is_extended = slash and SUBDOMAIN.fullmatch(domain) and LABEL_NAME.fullmatch(last)
    if not is_extended or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        raise UnfitError("expected an extended resource such as nvidia.com/gpu")
    return str(value)


def _type(node: yaml.Node) -> str:
    value = text(node)
    if not _TYPE.fullmatch(value):
        raise UnfitError(f"expected a type as scripts write it, such as a100 or 1g.5gb, found {value!r}")
    return value


def _alias(node: yaml.Node) -> str:
    value = text(node)
    if not _ALIAS.fullmatch(value):
        raise UnfitError(f"expected a type, with `*` and `?` where anything may stand, found {value!r}")
    return value


def _device_class(node: yaml.Node) -> str:
    value = text(node)
    if not SUBDOMAIN.fullmatch(value):
        raise UnfitError(f"expected the name of a DeviceClass such as gpu.nvidia.com, found {value!r}")
    return value


def _selector(node: yaml.Node) -> str:
    value = text(node)
    try:
        selector(value)
    except HpcBatchError as error:
        raise UnfitError(f"{value!r} is no selector that hpcbatch can count devices by: {error}") from None
    return value


def _variable(node: yaml.Node) -> str:
    value = text(node)
    if not _VARIABLE.fullmatch(value):
        raise UnfitError(f"expected a variable such as CUDA_VISIBLE_DEVICES, or {_NONE}, found {value!r}")
    return "" if value == _NONE else value


def _annotations(item: Fields) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, node in item.entries("annotations") or ():
        domain = key.rpartition("/")[0]
        if not is_label_key(key):
            item.complain("annotations", f"{key!r} is no annotation's key: expected [domain/]name")
        elif domain == "hpcbatch.io" or domain.endswith("volcano.sh"):
            item.complain("annotations", f"{key}: those of {domain} are the controller's own")
        elif not isinstance(node, yaml.ScalarNode) or not node.value.isprintable():
            item.complain("annotations", f"{key}: expected a text of one line")
        else:
            found[key] = str(node.value)
    return found
