"""qmgr's resources: PBS's own and those of a site, what is shown of them, and what operators may make."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.errors import (
    PBSE_BADATVAL,
    PBSE_DUPLIST,
    PBSE_IVALREQ,
    PBSE_RESCBUSY,
    PBSE_UNKRESC,
)
from hpcbatch.dialects.pbs.qmgr_change import QmgrError, boolean, illegal, unauthorized
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.model.accelerator import is_gpu
from hpcbatch.model.custom_resource import (
    FALSE,
    FLAGS,
    MOST_AMOUNT,
    TRUE,
    CustomResource,
    ResourceType,
    is_resource_name,
)
from hpcbatch.model.row import NodeRow
from hpcbatch.typed import Final, NamedTuple

_BUILT_IN_ROWS: Final = """
long m: cput walltime nice pcput ssinodes pcap_node pcap_accelerator
long hqnm: ncpus naccelerators
long : min_walltime max_walltime
long r: soft_walltime cpupercent start_time
long qr: nodect
long hr: nchunk
long hq: mpiprocs
long h: ompthreads
long qm: hpm
size hqnm: mem vmem accelerator_memory hbmem
size m: file pmem pvmem
float r: energy
boolean hm: accelerator
string : select nodes software
string m: place site pstate pgov
string hm: arch accelerator_model
string h: host vnode
string r: exec_vnode
string rm: nodemask pe_mask partition
string_array : resc preempt_targets
string_array h: vntype aoe eoe accelerator_group
"""
"""Type, flags and names. Source: OpenPBS 23.06, master_resc_def_all.xml."""
_BAD: Final = "Illegal attribute or resource value"
_OF_SITE: Final = "the site's administrator names it in site.yaml (docs/site.md)"
_OF_NODES: Final = (
    "what nodes have and jobs use up is an extended resource of Kubernetes, which key `resources` of site.yaml names"
)
_PLAIN_TYPES: Final = (
    "a resource of nodes (flag h) that jobs do not use up is of type string or boolean here; a label of the node has it"
)
_HIDDEN: Final = "flags i and r: nothing is hidden here, and jobs' owners may ask for all that there is"
_WHOLE: Final = "what the server counts (flag q without h) is of type long here"
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)


class Known(NamedTuple):
    """The resources of a site."""

    of_site: tuple[CustomResource, ...] = ()
    made: tuple[CustomResource, ...] = ()

    @property
    def all(self) -> tuple[CustomResource, ...]:
        names = {each.name for each in self.of_site}
        return (*self.of_site, *(each for each in self.made if each.name not in names))


def built_in() -> dict[str, tuple[str, str]]:
    """PBS's own, with types and flags."""
    found: dict[str, tuple[str, str]] = {}
    for row in _BUILT_IN_ROWS.strip().splitlines():
        kind, _, names = row.partition(":")
        type_name, _, flags = kind.partition(" ")
        found |= {name: (type_name, flags.strip()) for name in names.split()}
    return found


def attributes_of(known: Known, name: str) -> dict[str, list[tuple[str, str]]]:
    """What is shown of one, or with "" of all that are not PBS's own. Raises QmgrError for an unknown one."""
    custom = {each.name: (str(each.type), each.flags) for each in known.all}
    if name and name not in custom | built_in():
        raise QmgrError(PBSE_UNKRESC, "Unknown resource")
    shown = {name: (built_in() | custom)[name]} if name else custom
    return {
        each: [("type", type_name), *([("flag", flags)] if flags else [])] for each, (type_name, flags) in shown.items()
    }


def with_resource(known: Known, name: str, settings: Sequence[Setting], verb: Verb) -> tuple[CustomResource, ...]:
    """Those that operators have made, as `create`, `set`, `unset` or `delete` leave them. Raises QmgrError."""
    before = next((each for each in known.all if each.name == name), None)
    if verb is Verb.CREATE:
        if not is_resource_name(name):
            raise QmgrError(PBSE_BADATVAL, _BAD)
        if before is not None or name in built_in():
            raise QmgrError(PBSE_DUPLIST, "Duplicate entry in list ")
        return (*known.made, _checked(CustomResource(name=name), settings))
    _check_ours(known, name)
    if before is None:
        raise AssertionError(f"resource {name} is nobody's")
    if verb is Verb.DELETE:
        return tuple(each for each in known.made if each.name != name)
    if verb is Verb.UNSET:
        if any(each.name != "flag" for each in settings):
            raise QmgrError(PBSE_IVALREQ, "Invalid request")
        settings = [Setting("flag")]
    changed = _checked(before, settings)
    return tuple(changed if each.name == name else each for each in known.made)


def _check_ours(known: Known, name: str) -> None:
    if name in {each.name for each in known.of_site}:
        raise unauthorized(_OF_SITE)
    if name in {each.name for each in known.made}:
        return
    raise (
        QmgrError(PBSE_IVALREQ, "Invalid request")
        if name in built_in()
        else QmgrError(PBSE_UNKRESC, "Unknown resource")
    )


def busy(what: str) -> QmgrError:
    """A `job` asks for it, or a `node` has it."""
    return QmgrError(PBSE_RESCBUSY, f"Resource busy on {what}")


def _checked(one: CustomResource, settings: Iterable[Setting]) -> CustomResource:
    """With the type and the flags. Source of what is refused: verify_resc_type_and_flags()."""
    for setting in settings:
        if setting.name == "type" and setting.value in set(ResourceType):
            one = replace(one, type=ResourceType(setting.value))
        elif setting.name == "flag" and set(setting.value) <= set(FLAGS):
            one = replace(one, flags="".join(flag for flag in FLAGS if flag in setting.value))
        else:
            raise QmgrError(PBSE_BADATVAL, _BAD)
    if why := _erroneous(one):
        raise QmgrError(PBSE_BADATVAL, f"Erroneous to have {why}.")
    if why := _not_here(one):
        raise QmgrError(PBSE_BADATVAL, _BAD, why)
    return one if one.is_counted else replace(one, amount=None)


def _erroneous(one: CustomResource) -> str:
    flags, on = set(one.flags), f'on resource "{one.name}"'
    if {"i", "r"} <= flags:
        return f"flag 'i' and 'r' {on}"
    if flags & {"n", "f"} and "h" not in flags:
        return f"flag '{'n' if 'n' in flags else 'f'}' without 'h' {on}"
    if {"n", "f"} <= flags:
        return f"flag 'n' and 'f' {on}"
    is_text = one.type in {ResourceType.BOOLEAN, ResourceType.STRING, ResourceType.STRING_ARRAY}
    if is_text and flags & {"n", "f", "q"}:
        return f"flag 'n', 'f', or 'q' {on} which is type string, string_array, or boolean"
    return ""


def _not_here(one: CustomResource) -> str:
    """Why there cannot be such a one here; "": there can."""
    flags = set(one.flags)
    if flags & {"i", "r"}:
        return _HIDDEN
    if flags & {"n", "f"} or {"h", "q"} <= flags:
        return _OF_NODES
    if "h" in flags and one.type not in {ResourceType.STRING, ResourceType.BOOLEAN}:
        return _PLAIN_TYPES
    return _WHOLE if "q" in flags and one.type is not ResourceType.LONG else ""


def is_amount(setting: Setting) -> bool:
    """Of the server: how many of a resource there are."""
    return setting.name == "resources_available" and bool(setting.resource)


def with_amounts(known: Known, given: Sequence[Setting], verb: Verb) -> tuple[CustomResource, ...]:
    """Those that operators have made, with what `set server resources_available.NAME = N` says. Raises QmgrError."""
    made = list(known.made)
    for setting in given:
        name = setting.resource
        if name not in {each.name for each in known.all} | built_in().keys():
            raise QmgrError(PBSE_UNKRESC, f"Unknown resource {setting}")
        at = next((at for at, each in enumerate(made) if each.name == name), None)
        if at is None or not made[at].is_counted:
            raise unauthorized(_OF_SITE if at is None else "the server counts those with the flag q alone")
        made[at] = replace(made[at], amount=None if verb is Verb.UNSET or not setting.value else _amount(setting))
    return tuple(made)


def _amount(setting: Setting) -> int:
    digits = setting.value
    found = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else -1
    if setting.op != "=" or not 0 <= found <= MOST_AMOUNT:
        raise illegal(setting, f"expected 0 to {MOST_AMOUNT}")
    return found


def node_labels(known: Known, given: Sequence[Setting], verb: Verb) -> dict[str, str | None]:
    """The labels that `set node N resources_available.NAME = VALUE` sets; None takes one away. Raises QmgrError."""
    labels: dict[str, str | None] = {}
    for setting in given:
        one = next((each for each in known.made if each.name == setting.resource), None)
        if one is None:
            if setting.resource not in {each.name for each in known.of_site} | built_in().keys():
                raise QmgrError(PBSE_UNKRESC, f"Unknown resource {setting}")
            raise unauthorized("a node's kubelet and its labels say what it has of this resource")
        if not one.is_of_nodes:
            raise illegal(setting, "nodes have resources with the flag h alone")
        value = None if verb is Verb.UNSET or not setting.value else setting.value
        if value is not None and one.type is ResourceType.BOOLEAN:
            value = TRUE if boolean(setting) else FALSE
        elif value is not None and (setting.op != "=" or not _VALUE.fullmatch(value)):
            raise illegal(setting, "the value becomes a label: letters, digits, - _ and . only, 63 at most")
        labels[one.label] = value
    return labels


def has_resource(spec_attributes: Mapping[str, str], name: str) -> bool:
    """Whether a job asks for it, by its Resource_List."""
    select = spec_attributes.get("Resource_List.select", "")
    return f"Resource_List.{name}" in spec_attributes or f":{name}=" in f":{select}".replace("+", ":")


def server_amounts(known: Known, held: Mapping[str, int]) -> list[tuple[str, dict[str, str]]]:
    """`resources_available` and `resources_assigned` of what the server counts."""
    counted = [each for each in known.all if each.is_counted and each.amount is not None]
    available = {each.name: str(each.amount) for each in counted}
    assigned = {each.name: str(held.get(each.name, 0)) for each in counted}
    return [("resources_available", available), ("resources_assigned", assigned)] if counted else []


def node_amounts(known: Sequence[CustomResource], node: NodeRow) -> dict[str, tuple[str, str]]:
    """What a node has of each, and what jobs hold of it there; "" for what is not counted."""
    labels, has = dict(node.labels), dict(node.extended)
    found: dict[str, tuple[str, str]] = {}
    for each in known:
        if each.extended and each.extended in has:
            used = sum(amount for name, amount in node.extended_used if _is_of(each, name))
            found[each.name] = str(has[each.extended]), str(used)
        elif each.label in labels:
            found[each.name] = labels[each.label], ""
    return found


def _is_of(one: CustomResource, name: str) -> bool:
    return name in {one.name, one.extended} or (is_gpu(name) and is_gpu(one.name))
