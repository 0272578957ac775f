"""What qmgr's `list` and `print` show of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.dialects.pbs.qmgr_attributes import PUBLIC, Kind
from hpcbatch.dialects.pbs.qmgr_parse import Setting
from hpcbatch.dialects.pbs.qstat_full import Attributes

_HEADING = {
    Kind.SERVER: "#\n# Set server attributes.\n#\n",
    Kind.QUEUE: "#\n# Create queues and set their attributes.\n#\n",
    Kind.NODE: "#\n# Create nodes and set their properties.\n#\n",
    Kind.RESOURCE: "#\n# Create resources and set their properties.\n#\n",
    Kind.HOOK: "#\n# Create hooks and set their properties.\n#\n",
}
_LINE = 80
_AT_NAME = frozenset({"Mom", "Port"})
"""Of a node, which `create node` has."""
_ONE_TEXT = frozenset(
    {"preempt_prio", "comment", "default_queue", "queue_type", "node_group_key", "queue", "partition", "mailer"}
    | {"job_sort_formula"}
)
"""A comma in these separates nothing."""

Flat = Sequence[tuple[str, str]]
"""Names, with those of resources behind a dot, and values."""


def flat(attributes: Attributes, asked: Sequence[Setting] = ()) -> list[tuple[str, str]]:
    """Those that are `asked` for; of none, all."""
    found: list[tuple[str, str]] = []
    for name, value in attributes:
        if isinstance(value, str):
            found.append((name, value))
        else:
            found += [(f"{name}.{inner}", text) for inner, text in value.items()]
    if not asked:
        return found
    whole = {str(one) for one in asked}
    return [(name, value) for name, value in found if name in whole or name.partition(".")[0] in whole]


def format_list(kind: Kind, objects: Mapping[str, Flat], name: str = "") -> str:
    """`name`: the one that is asked for; "": all."""
    heading = _HEADING[kind] if kind is Kind.RESOURCE and objects and not name else ""  # of a list, too
    return heading + "".join(_listed(kind, name, attributes) for name, attributes in objects.items())


def _listed(kind: Kind, name: str, attributes: Flat) -> str:
    lines = [f"{kind.capitalize()} {name}\n"]
    for attribute, value in attributes:
        # as the real one counts: what is broken once is broken at each comma from there on
        length = len(attribute) + 8 + 3
        text = ""
        parts = value.split(",")
        for index, part in enumerate(parts):
            length += len(part) + 1
            is_broken = index > 0 and length >= _LINE
            text += ("\n\t" + part.lstrip() if is_broken else part) + ("," if index + 1 < len(parts) else "")
        lines.append(f"    {attribute} = {text}\n")
    return "".join(lines) + "\n"


def format_print(kind: Kind, objects: Mapping[str, Flat], name: str = "") -> str:
    """What makes the same again when it is read by qmgr. `name`: the one that is asked for; "": all."""
    heading = "" if kind is Kind.RESOURCE and (name or not objects) else _HEADING.get(kind, "")
    return heading + "".join(_printed(kind, name, attributes) for name, attributes in objects.items())


def _printed(kind: Kind, name: str, attributes: Flat) -> str:
    lines: list[str] = []
    shown = f"{kind} {name}"
    if kind is Kind.SERVER:
        shown = "server"
    elif kind is Kind.SCHED:
        lines.append(f"#\n# Create and define scheduler {name}\n#\ncreate sched {name}\n")
        shown = "sched"
    else:
        lines.append(f"#\n# Create and define {kind} {name}\n#\ncreate {kind} {name}\n")
    for attribute, value in attributes:
        own = attribute.partition(".")[0]
        is_left_out = kind is Kind.NODE and (own in _AT_NAME or (own == "state" and value.startswith("down")))
        if own in PUBLIC[kind] and not is_left_out:
            lines += [f"set {shown} {attribute} {text}\n" for text in _assignments(own, value)]
    return "".join(lines)


def _assignments(attribute: str, value: str) -> Iterable[str]:
    parts = [value] if attribute in _ONE_TEXT else value.split(",")
    return [f"{'+=' if index else '='} {_quoted(part)}" for index, part in enumerate(parts)]


def _quoted(text: str) -> str:
    if not any(char in text for char in "\"' ,"):
        return text
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"
