"""The values of site.yaml that follow from what was found, and the labels that nodes have to get."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.model.site import QueueConfig, Translation, Word
from hpcbatch.site.importing import limits, names, standing
from hpcbatch.site.importing.found import Found, Node, Place, Queue, Setting
from hpcbatch.typed import Any, Final

DEFAULT_RESOURCES: Final = {"ngpus": "nvidia.com/gpu", "gpu": "nvidia.com/gpu"}
_GPUS: Final = frozenset({"gpu", "gpus", "ngpus"})
_AMD = re.compile(r"(amd|mi\d|instinct|radeon|vega)", re.IGNORECASE)
_INTEL = re.compile(r"(intel|pvc|max1\d|arc)", re.IGNORECASE)
_OF_MAKER: Final = "gpu-"
"""Before a maker, where several make the GPUs: the resource that a type of GPU is."""
ON: Final = "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """None and empty: the key is not written."""

    server_name: str | None
    queues: tuple[QueueConfig, ...]
    node_properties: Mapping[str, Mapping[str, str]]
    resources: Mapping[str, str]
    licenses: Mapping[str, int]
    translations: tuple[Translation, ...]
    max_array_size: int | None
    kill_delay_s: int | None
    history_kept_s: int | None
    priority: Mapping[str, str]
    """As YAML, by key."""
    preemption: Mapping[str, str]
    """Likewise."""
    node_labels: Mapping[tuple[str, str], tuple[str, ...]]
    """Label → the nodes that have to get it."""
    reservations: tuple[str, ...] = ()
    """Commands of an operator's that make them."""
    limits: tuple[str, ...] = ()
    """Likewise: of PBS's server and queues."""


def plan(found: Found, *, checks_accounts: bool = False) -> Plan:
    """Decide, and add to `found.left` what cannot be as it was. `checks_accounts`: others are refused."""
    labels: dict[tuple[str, str], set[str]] = {}
    properties = _properties(found, labels)
    gpu_types = _gpu_types(found, labels)
    translations = [*gpu_types, *_words(found, labels), *(_accounts(found) if checks_accounts else ())]
    queues = _queues(found, properties, labels)
    return Plan(
        server_name=_value(found, "server_name"),
        queues=queues,
        node_properties=properties,
        resources=_resources(found, gpu_types),
        licenses=_licenses(found),
        translations=tuple(translations),
        max_array_size=_value(found, "max_array_size"),
        kill_delay_s=_value(found, "kill_delay_s"),
        history_kept_s=_value(found, "history_kept_s"),
        priority=found.priority,
        preemption=found.preemption,
        node_labels={label: tuple(sorted(nodes, key=_natural)) for label, nodes in labels.items() if nodes},
        reservations=tuple(standing.commands(found)),
        limits=tuple(limits.commands(found, {queue.name for queue in queues})),
    )


def _value(found: Found, key: str) -> Any:
    return found.values[key][0] if key in found.values else None


# Nodes


def _properties(found: Found, labels: dict[tuple[str, str], set[str]]) -> dict[str, dict[str, str]]:
    places: dict[str, Place] = {}
    for node in found.nodes.values():
        for feature, place in node.features.items():
            places.setdefault(feature, place)
            if key := names.label("feature", feature):
                labels.setdefault((key, ON), set()).add(node.name)
    for queue in found.queues.values():
        for feature in queue.features:
            places.setdefault(feature, queue.place)
    properties = {}
    for feature, place in places.items():
        key = names.label("feature", feature)
        if key is None or not names.is_word(feature):
            found.leave(Setting(place, "feature", feature), "no label can have this name")
        else:
            properties[feature] = {key: ON}
    return properties


def _words(found: Found, labels: dict[tuple[str, str], set[str]]) -> list[Translation]:
    """Resources with a text. A node may have several values of one, each a label of its own then."""
    several = {name for node in found.nodes.values() for name, count in _count_names(node).items() if count > 1}
    translations: dict[tuple[str, str], Translation] = {}
    for node in found.nodes.values():
        for (name, value), setting in node.words.items():
            is_set = value == "True" or name in several
            key = names.label("resource", f"{name}-{value}" if name in several else name)
            if key is None or not names.is_word(name) or not (is_set or names.is_label_value(value)):
                found.leave(setting, "no label can have this name or value")
                continue
            shown = ON if is_set else value
            labels.setdefault((key, shown), set()).add(node.name)
            translations[name, value] = Translation(
                word=Word.RESOURCE, pattern=name, value="?rue" if value == "True" else value, labels={key: shown}
            )
    return list(translations.values())


def _count_names(node: Node) -> Counter[str]:
    return Counter(name for name, _ in node.words)


def _gpu_types(found: Found, labels: dict[tuple[str, str], set[str]]) -> list[Translation]:
    """Where there are several, a type is a label of its nodes, and the GPU itself is any."""
    makers = Counter(_gpu(name, []) for name in found.gres if name.startswith("gpu:"))
    translations = []
    for name in found.gres:
        kind = name.removeprefix("gpu:")
        key = names.label("gpu", kind)
        nodes = {node.name for node in found.nodes.values() if kind in node.gpus}
        if name.startswith("gpu:") and makers[_gpu(name, [])] > 1 and key and nodes and names.is_word(name):
            labels[key, ON] = nodes
            base = "gpu" if len(makers) == 1 else f"{_OF_MAKER}{_gpu(name, []).partition('.')[0]}"
            translations.append(Translation(word=Word.RESOURCE, pattern=name, labels={key: ON}, renamed=base))
    return translations


# Queues


def _queues(
    found: Found, properties: Mapping[str, Mapping[str, str]], labels: dict[tuple[str, str], set[str]]
) -> tuple[QueueConfig, ...]:
    queues = {}
    for queue in found.queues.values():
        if not names.is_queue(queue.name):
            found.leave(
                Setting(queue.place, "queue", queue.name), "a queue has up to 63 letters, digits, '-', '_', '.'"
            )
        elif not queue.routes:
            queues[queue.name] = queue
    if not queues:
        return ()
    aliases = _aliases(found, queues)
    default = _default(found, queues, aliases)
    every = frozenset(found.nodes).union(*(queue.nodes or () for queue in queues.values()))
    made, taken = [], set[str]()
    for queue in queues.values():
        volcano = names.volcano_queue(queue.name)
        while volcano in taken:
            volcano += "-2"
        taken.add(volcano)
        config = QueueConfig(
            name=queue.name,
            volcano_queue=volcano,
            is_default=queue.name == default,
            aliases=tuple(aliases.get(queue.name, ())),
            node_selector=_selector(queue, every, properties, labels, found),
            priority_tier=1 if queue.priority_tier is None else queue.priority_tier,
            # what scontrol shows is the cluster's where a partition has none
            preempt_mode=queue.preempt_mode if "type" in found.preemption else "",
            grace_s=queue.grace_s,
            priority=queue.priority,
            backfill_depth=queue.backfill_depth,
        )
        made.append(_limits(config, queue, found))
    return tuple(made)


def _aliases(found: Found, queues: Mapping[str, Queue]) -> dict[str, list[str]]:
    """Routing queues, as further names of the queue that they lead to."""
    aliases: dict[str, list[str]] = {}
    for queue in found.queues.values():
        if not queue.routes or not names.is_queue(queue.name):
            continue
        ends = [queues[name] for name in _ends(queue.name, found, frozenset()) if name in queues]
        setting = Setting(queue.place, f"queue {queue.name}: route_destinations", ",".join(queue.routes))
        if not ends:
            found.leave(setting, "none of them is a queue here")
            continue
        open_to_all = [end for end in ends if not end.is_restricted] or ends
        widest = max(open_to_all, key=lambda end: (end.max_walltime_s is None, end.max_walltime_s or 0))
        aliases.setdefault(widest.name, []).append(queue.name)
        if len(ends) > 1:
            found.leave(
                setting, f"it chose the first that takes a job; here {queue.name} is another name of {widest.name}"
            )
    return aliases


def _ends(name: str, found: Found, seen: frozenset[str]) -> list[str]:
    queue = found.queues.get(name)
    if queue is None or name in seen:
        return []
    if not queue.routes:
        return [name]
    ends = [end for route in queue.routes for end in _ends(route, found, seen | {name})]
    return list(dict.fromkeys(ends))


def _default(found: Found, queues: Mapping[str, Queue], aliases: Mapping[str, Iterable[str]]) -> str:
    named = [name for name, queue in queues.items() if queue.is_default]
    if "default_queue" in found.values:
        wanted, setting = found.values["default_queue"]
        of_alias = [name for name, others in aliases.items() if wanted in others]
        if wanted not in queues and not of_alias:
            found.leave(setting, "there is no such queue")
        named = [wanted] if wanted in queues else of_alias or named
    for name in named[1:]:
        found.leave(Setting(queues[name].place, f"{name}: Default", "YES"), f"{named[0]} is the default queue already")
    if named:
        return named[0]
    first = next((queue for queue in queues.values() if not queue.is_restricted), next(iter(queues.values())))
    where = Setting(first.place, "queue", first.name)
    found.leave(where, "no queue was the default one; hpcbatch needs one, and this is the first")
    return first.name


def _selector(
    queue: Queue,
    every: frozenset[str],
    properties: Mapping[str, Mapping[str, str]],
    labels: dict[tuple[str, str], set[str]],
    found: Found,
) -> dict[str, str]:
    wanted: dict[str, frozenset[str]] = {}
    node_queue = queue.node_queue or (queue.name if queue.name in found.queues_with_nodes else "")
    if node_queue:
        wanted[node_queue] = frozenset(node.name for node in found.nodes.values() if node_queue in node.queues)
    if queue.nodes is not None and queue.nodes != every:
        wanted[queue.name] = queue.nodes
    selector: dict[str, str] = {}
    for feature in queue.features:
        selector |= properties.get(feature, {})
    for name, nodes in wanted.items():
        key = names.label("queue", name)
        if key is None:
            found.leave(Setting(queue.place, "queue", name), "no label can have this name: its nodes need another one")
            continue
        selector[key] = ON
        labels.setdefault((key, ON), set()).update(nodes)
    return selector


def _limits(config: QueueConfig, queue: Queue, found: Found) -> QueueConfig:
    rest = found.everywhere
    walltime = queue.max_walltime_s or rest.max_walltime_s
    memory = queue.max_mem_bytes or rest.max_mem_bytes
    return replace(
        config,
        max_walltime_s=walltime,
        default_walltime_s=_at_most(queue.default_walltime_s or rest.default_walltime_s, walltime),
        max_nodes=queue.max_nodes or rest.max_nodes,
        max_cpus=queue.max_cpus or rest.max_cpus,
        max_mem_per_node_bytes=memory,
        default_mem_per_node_bytes=_at_most(queue.default_mem_bytes or rest.default_mem_bytes, memory),
    )


def _at_most(value: int | None, most: int | None) -> int | None:
    return value if value is None or most is None else min(value, most)


# Counted things


def _resources(found: Found, translated: Iterable[Translation]) -> dict[str, str]:
    """Empty: the defaults are right."""
    made = dict(DEFAULT_RESOURCES)
    kinds = [name for name in found.gres if name.startswith("gpu:")]
    by_label = {translation.pattern: translation for translation in translated}
    for name, setting in found.gres.items():
        if not names.is_word(name):
            found.leave(setting, f"{name!r} cannot be the name of a resource")
        elif name in by_label:
            made[by_label[name].renamed] = _gpu(name, kinds) if by_label[name].renamed != "gpu" else _gpu("gpu", kinds)
        elif name in _GPUS or name.startswith("gpu:"):
            made[name] = _gpu(name, kinds)
            if name.startswith("gpu:") and sum(_gpu(kind, kinds) == made[name] for kind in kinds) > 1:
                found.leave(
                    setting._replace(key="gres", value=name),
                    f"{made[name]} is any type of GPU, and no node with this one is known: label them and translate it",
                )
        elif (resource := names.label("gres", name.replace(":", "-"))) is not None:
            made[name] = resource
            found.leave(
                setting._replace(key="gres", value=name),
                "nothing offers it yet: put the name that its device plugin gives it under resources",
            )
    return {} if made == DEFAULT_RESOURCES else made


def _gpu(name: str, kinds: list[str]) -> str:
    """By the maker of its type; without a type by that of all others."""
    types = [name.partition(":")[2]] if ":" in name else [kind.partition(":")[2] for kind in kinds]
    if types and all(_AMD.match(kind) for kind in types):
        return "amd.com/gpu"
    if types and all(_INTEL.match(kind) for kind in types):
        return "gpu.intel.com/i915"
    return "nvidia.com/gpu"


def _licenses(found: Found) -> dict[str, int]:
    return {name: count for name, count in found.licenses.items() if names.is_license(name)}


def _accounts(found: Found) -> list[Translation]:
    known = [
        Translation(word=Word.ACCOUNT, pattern=name, renamed=name) for name in found.accounts if names.is_word(name)
    ]
    refused = Translation(word=Word.ACCOUNT, pattern="*", refused="this site has no such account")
    return [*known, refused] if known else []


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isascii() and part.isdigit() and len(part) < 18 else (-1, part)
        for part in re.split(r"(\d+)", name)
    ]
