"""A plan as the text of a site.yaml. Text of the files that were read is quoted, or stands in comments of one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.model.site import QueueConfig, Translation
from hpcbatch.site.importing import names
from hpcbatch.site.importing.found import Found, Left, Setting
from hpcbatch.site.importing.plan import Plan
from hpcbatch.typed import Final
from hpcbatch.units import counted, format_bytes, hms
from hpcbatch.volcano.quoting import yaml_flow

PLACEHOLDER_IMAGE: Final = "registry.example/mpi:latest"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_-]+)*")
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_NUMBERED = re.compile(r"(.*?)(\d{1,17})(\D*)", re.ASCII)
_PLACES = 10
_KEYS = 6
_WIDTH = 110


def site_yaml(plan: Plan, found: Found, files: Sequence[str], image: str | None) -> str:
    lines = [
        f"# Made by hpcbatch site import from {', '.join(comment(file) for file in files)}.",
        "# What could not be carried over, and the labels that the nodes need, stand at the end.",
        "apiVersion: hpcbatch.io/v1alpha1",
        "kind: SiteConfiguration",
    ]
    if plan.server_name:
        lines.append(f"serverName: {scalar(plan.server_name)}")
    if image is None:
        lines.append("# The image in which jobs run: replace it by one of the site's.")
    lines.append(f"image: {scalar(image or PLACEHOLDER_IMAGE)}")
    if plan.max_array_size:
        lines.append(f"maxArraySize: {plan.max_array_size}")
    if plan.kill_delay_s is not None:
        lines.append(f"killDelay: {plan.kill_delay_s}")
    if plan.history_kept_s is not None:
        lines.append(f"historyKept: {plan.history_kept_s}")
    if plan.priority:
        lines += ["priority:", *(f"  {key}: {value}" for key, value in plan.priority.items())]
    if plan.preemption:
        lines += ["preemption:", *(f"  {key}: {value}" for key, value in plan.preemption.items())]
    if plan.queues:
        lines.append("queues:")
        for queue in plan.queues:
            lines += _queue(queue)
    if plan.node_properties:
        lines.append("nodeProperties:")
        lines += [f"  {scalar(name)}: {_mapping(labels)}" for name, labels in plan.node_properties.items()]
    if plan.resources:
        lines.append("resources:")
        lines += [f"  {scalar(name)}: {scalar(resource)}" for name, resource in plan.resources.items()]
    if plan.licenses:
        lines.append("licenses:")
        lines += [f"  {scalar(name)}: {count}" for name, count in plan.licenses.items()]
    if plan.translations:
        lines.append("translations:")
        for translation in plan.translations:
            lines += _translation(translation)
    lines += _labels(plan)
    if plan.reservations:
        lines += ["", "# The standing reservations: an operator makes them so, once hpcbatch runs."]
        lines += [line for command in plan.reservations for line in _wrapped(command)]
    if plan.limits:
        lines += ["", "# Limits of PBS's server and queues: an operator types them so, once hpcbatch runs."]
        lines += [line for command in plan.limits for line in _wrapped(command)]
    lines += _left(found)
    return "\n".join(lines) + "\n"


def _queue(queue: QueueConfig) -> list[str]:
    lines = [f"- name: {scalar(queue.name)}"]
    if queue.volcano_queue != queue.name:
        lines.append(f"  volcanoQueue: {scalar(queue.volcano_queue)}")
    if queue.is_default:
        lines.append("  default: true")
    if queue.aliases:
        lines.append(f"  aliases: [{', '.join(map(scalar, queue.aliases))}]")
    for key, seconds in (("maxWalltime", queue.max_walltime_s), ("defaultWalltime", queue.default_walltime_s)):
        if seconds:
            lines.append(f"  {key}: {duration(seconds)}")
    for key, count in (("maxNodes", queue.max_nodes), ("maxCPUs", queue.max_cpus)):
        if count:
            lines.append(f"  {key}: {count}")
    for key, size in (
        ("maxMemoryPerNode", queue.max_mem_per_node_bytes),
        ("defaultMemoryPerNode", queue.default_mem_per_node_bytes),
    ):
        if size:
            lines.append(f"  {key}: {format_bytes(size)}")
    lines += [f"  priorityTier: {queue.priority_tier}"] if queue.priority_tier != 1 else []
    lines += [f"  preemptMode: {scalar(queue.preempt_mode)}"] if queue.preempt_mode else []
    lines += [f"  graceTime: {queue.grace_s}"] if queue.grace_s else []
    lines += [] if queue.priority is None else [f"  priority: {queue.priority}"]
    lines += [] if queue.backfill_depth is None else [f"  backfillDepth: {queue.backfill_depth}"]
    if queue.node_selector:
        lines.append(f"  nodeSelector: {_mapping(queue.node_selector)}")
    return lines


def _translation(translation: Translation) -> list[str]:
    lines = [f"- {translation.word}: {scalar(translation.pattern)}"]
    if translation.value != "*":
        lines.append(f"  value: {scalar(translation.value)}")
    if translation.labels:
        lines.append(f"  labels: {_mapping(translation.labels)}")
    for key, text in (("as", translation.renamed), ("ignored", translation.ignored), ("refused", translation.refused)):
        if text:
            lines.append(f"  {key}: {scalar(text)}")
    return lines


def duration(seconds: int) -> str:
    days = seconds // 86400
    return f"{days}-{hms(seconds % 86400)}" if days > 1 else hms(seconds)


def scalar(text: str) -> str:
    """`text` as a YAML scalar: as it is where it can be nothing else, else in quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS else yaml_flow(text)


def _mapping(items: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {scalar(value)}" for key, value in items.items()) + "}"


def comment(text: str) -> str:
    """`text` for a comment: in one line, with no character that YAML or a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


# Comments at the end


def _labels(plan: Plan) -> list[str]:
    commands = []
    for (key, value), nodes in plan.node_labels.items():
        usable = [name for name in nodes if names.is_node(name)]
        if usable:
            commands += _wrapped(f"kubectl label nodes {' '.join(braces(usable))} {key}={value}")
    if not commands:
        return []
    return ["", "# The labels of the nodes, where these have their old names in Kubernetes (in bash):", *commands]


def braces(nodes: Sequence[str]) -> list[str]:
    """Names with bash's braces: `n{01..20} n30`."""
    parts: list[str] = []
    run: list[str] = []
    for name in nodes:
        if run and not _follows(run[-1], name):
            parts += _run(run)
            run = []
        run.append(name)
    return [*parts, *(_run(run) if run else ())]


def _follows(before: str, name: str) -> bool:
    one, two = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if one is None or two is None or (one[1], one[3]) != (two[1], two[3]):
        return False
    return str(int(one[2]) + 1).zfill(len(one[2])) == two[2]


def _run(run: Sequence[str]) -> list[str]:
    first, last = _NUMBERED.fullmatch(run[0]), _NUMBERED.fullmatch(run[-1])
    if len(run) < 3 or first is None or last is None:
        return list(run)
    return [f"{first[1]}{{{first[2]}..{last[2]}}}{first[3]}"]


def _wrapped(command: str) -> list[str]:
    """A long command over several lines, each a comment."""
    lines, line = [], "#"
    for word in command.split(" "):
        if len(line) + len(word) > _WIDTH and line != "#":
            lines.append(f"{line} \\")
            line = "#  "
        line += f" {word}"
    return [*lines, line]


def _left(found: Found) -> list[str]:
    lines: list[str] = []
    if found.left:
        lines += ["", f"# Not carried over, or not exactly: {counted(len(found.left), 'setting')}, each with its line."]
        for (file, why), settings in _by_reason(found.left).items():
            lines += [f"# {comment(f'{file}: {why}')}", *_listed(settings)]
    own = found.settings_of_daemons
    if own:
        lines += ["", "# Needs no counterpart, since only the old system's daemons use it, or Kubernetes reports it:"]
        files: dict[str, list[tuple[str, int]]] = {}
        for setting in own:
            files.setdefault(setting.place.file, []).append((_last_word(setting.key), setting.place.line))
        for file, places in files.items():
            lines += [f"# {comment(file)}:", *_wrapped_list(_with_lines(places))]
    return lines


def reasons(left: Iterable[Left]) -> list[str]:
    """One line for each file and reason: the lines, the keys, and the reason."""
    lines = []
    for (file, why), settings in _by_reason(left).items():
        keys = list(dict.fromkeys(_last_word(setting.key) for setting in settings))
        more = f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
        numbers = _numbers([setting.place.line for setting in settings])
        lines.append(comment(f"{file}:{numbers}: {', '.join(keys[:_KEYS])}{more}: {why}"))
    return lines


def _by_reason(left: Iterable[Left]) -> dict[tuple[str, str], list[Setting]]:
    groups: dict[tuple[str, str], list[Setting]] = {}
    for one in left:
        groups.setdefault((one.setting.place.file, one.why), []).append(one.setting)
    return groups


def _listed(settings: Sequence[Setting]) -> list[str]:
    return _wrapped_list(_with_lines([(str(setting), setting.place.line) for setting in settings]))


def _with_lines(places: Iterable[tuple[str, int]]) -> list[str]:
    """`Weight=10 (12,13)`: each text once, with its lines."""
    lines: dict[str, list[int]] = {}
    for text, line in places:
        lines.setdefault(text, []).append(line)
    return [comment(f"{text} ({_numbers(numbers)})") for text, numbers in lines.items()]


def _wrapped_list(words: Iterable[str]) -> list[str]:
    lines, line = [], "#  "
    for word in words:
        if len(line) + len(word) > _WIDTH and line != "#  ":
            lines.append(line)
            line = "#  "
        line += f" {word},"
    return [*lines, line.removesuffix(",")]


def _last_word(key: str) -> str:
    """`queue batch: max_running` is `max_running`."""
    return key.rpartition(" ")[2]


def _numbers(lines: Iterable[int]) -> str:
    numbers = list(dict.fromkeys(lines))
    more = f" and {len(numbers) - _PLACES} more lines" if len(numbers) > _PLACES else ""
    return ",".join(map(str, numbers[:_PLACES])) + more
