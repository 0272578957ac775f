"""What `qmgr -c 'print server'`, `print queue` and `print node` print; scripts of `qmgr -c "…"`. Torque and PBS Pro.

Source of the grammar: pbs_server_attributes(7B), pbs_queue_attributes(7B) of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.model.queue_fields import MOST_DEPTH
from hpcbatch.site.importing import limits, pbs_keys, pbs_rows, sched_config
from hpcbatch.site.importing.found import Found, Place, Queue, Setting
from hpcbatch.site.importing.pbs_limits import resource
from hpcbatch.site.importing.values import pbs_seconds, split, whole

_LINE = re.compile(
    r"\s*(create|set|unset|delete|active|import|list|print|exit|quit)\b"
    r"(?:\s+(queue|server|node|hook|resource|sched|pbshook|nodetype)s?\b)?\s*(.*?)\s*;?\s*",
    re.IGNORECASE,
)
_SHELL = re.compile(r"""\bqmgr\s+-c\s*(?:"([^"]*)"|'([^']*)')""")
_IN_SCRIPT = re.compile(r"""^\s*(?:sudo\s+)?(?:\S*/)?qmgr\s""", re.MULTILINE)
_NEXT = re.compile(r";(?=\s*(?:create|set|unset|delete|active|list|print)\s)", re.IGNORECASE)
_NAMED = re.compile(r"([^\s=]+)(?:\s+(.*))?")
_ATTRIBUTE = re.compile(
    r"""\s*([A-Za-z_][\w.\-]*)\s*([+-]?=)\s*(?:"([^"]*)"|'([^']*)'|(.*?))\s*(?:,(?=\s*[A-Za-z_][\w.\-]*\s*[+-]?=)|$)"""
)
_TRUE = frozenset({"true", "t", "y", "yes", "1"})


class _Acl:
    """Access lists by queue and kind, which count only where one of them is switched on."""

    def __init__(self) -> None:
        self.settings: dict[tuple[str, str], list[Setting]] = {}

    def add(self, queue: str, kind: str, setting: Setting) -> None:
        self.settings.setdefault((queue, kind), []).append(setting)


def read(text: str, file: str, found: Found) -> None:
    acl = _Acl()
    is_script = _IN_SCRIPT.search(text) is not None
    for place, command in _commands(text, file):
        words = _LINE.fullmatch(command)
        if words is not None:
            _line(words, place, found, acl)
        elif not is_script:
            found.wrong(place, f"{command[:60]!r} is no line of qmgr: expected create or set, as print server gives")
            return
    for settings in acl.settings.values():
        _access(settings, found)


def _commands(text: str, file: str) -> Iterator[tuple[Place, str]]:
    """Each with its line. A command goes on after `\\`; `;` ends it; a script of a shell has them in quotes."""
    joined, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first or number
        if line.rstrip().endswith("\\"):
            joined += line.rstrip()[:-1] + " "
            continue
        whole_line, place = joined + line, Place(file, first)
        joined, first = "", 0
        if whole_line.lstrip().startswith(("#", "$")):
            continue
        in_shell = [match[1] or match[2] or "" for match in _SHELL.finditer(whole_line)]
        for part in (part for inner in in_shell or [whole_line] for part in _NEXT.split(inner)):
            command = part.strip(" \t\r;")
            if command:
                yield place, command


def _line(words: re.Match[str], place: Place, found: Found, acl: _Acl) -> None:
    verb, kind, rest = words[1].lower(), (words[2] or "").lower(), words[3]
    named = _NAMED.fullmatch(rest)
    if verb not in {"create", "set", "import"}:
        return
    if kind == "server":
        if named is not None and named[2] and not named[2].startswith(("=", "+=", "-=")):
            rest = named[2]  # the server's name stands before its attributes
        for setting in _attributes("", rest, place, found):
            _server(setting, found, acl)
    elif kind in {"queue", "node"} and named is not None:
        for name in split(named[1]):
            attributes = list(_attributes(f"{kind} {name}: ", named[2] or "", place, found))
            if kind == "node":
                node = found.node(name, place)
                for setting in attributes:
                    pbs_rows.attribute(node, _key(setting), setting, found)
            elif verb == "create" or attributes:
                queue = found.queue(name, place)
                for setting in attributes:
                    _queue(queue, _key(setting), setting, found, acl)
            if verb == "create":
                found.carried(Setting(place, kind, name))
    elif kind == "sched" and verb == "set":
        if named is not None and named[2] and not named[2].startswith(("=", "+=", "-=")):
            rest = named[2]
        for setting in _attributes("sched: ", rest, place, found):
            if _key(setting).startswith("preempt_"):
                sched_config.attribute(setting, found)
            else:
                found.own(setting)
    elif kind in {"hook", "pbshook"} and verb in {"create", "import"}:
        found.leave(Setting(place, "hook", rest.partition(" ")[0]), "hooks are not run")
    elif kind == "resource" and verb == "create":
        found.own(Setting(place, "resource", rest.partition(" ")[0]))


def _attributes(of: str, rest: str, place: Place, found: Found) -> Iterator[Setting]:
    end = 0
    while rest[end:].strip():
        match = _ATTRIBUTE.match(rest, end)
        if match is None:
            found.wrong(place, f"{rest[end:][:60]!r}: expected attribute = value")
            return
        value = next(part for part in match.groups()[2:] if part is not None)
        yield Setting(place, of + match[1], value, match[2])
        end = max(match.end(), end + 1)


def _key(setting: Setting) -> str:
    return setting.key.rpartition(" ")[2].lower()


def _server(setting: Setting, found: Found, acl: _Acl) -> None:
    key = _key(setting)
    if key == "default_queue":
        found.value("default_queue", setting.value.partition("@")[0], setting)
    elif key == "job_history_duration":
        _time("history_kept_s", setting, found)
    elif key in pbs_keys.OF_SERVER:
        limits.typed(found, "", setting)
    elif key in {"acl_hosts", "acl_host_enable", "acl_logic_or"}:
        found.own(setting)  # the server's hosts
    else:
        _queue(found.everywhere, key, setting, found, acl)


def _queue(queue: Queue, key: str, setting: Setting, found: Found, acl: _Acl) -> None:
    value = setting.value.lower()
    group, _, name = setting.key.rpartition(" ")[2].partition(".")
    if name and group.lower() in {
        "resources_max",
        "resources_default",
        "resources_min",
        "resources_available",
        "default_chunk",
    }:
        resource(queue, group.lower(), name, setting, found)
    elif group.lower() in pbs_keys.LIMITS:
        limits.typed(found, queue.name, setting)
    elif key == "route_destinations":
        queue.routes += tuple(part.partition("@")[0] for part in split(setting.value))
        found.carried(setting)
    elif key in {"queue_type", "enabled", "started"}:
        if key == "queue_type" or value in _TRUE:
            found.carried(setting)
        else:
            found.leave(setting, "open and close the Volcano Queue with vcctl queue operate")
    elif key.startswith("acl_"):
        kind = key.removeprefix("acl_").removesuffix("_enable").removesuffix("_sloppy").rstrip("s")
        acl.add(queue.name, kind, setting)
        if key.endswith("_enable") and value in _TRUE:
            queue.is_restricted |= kind in {"user", "group"}
    elif key == "kill_delay":
        _time("kill_delay_s", setting, found)
    elif key == "max_array_size":
        size = whole(setting.value)
        if size is not None and 0 < size <= 10**6:
            found.value("max_array_size", size, setting)
        else:
            found.leave(setting, "maxArraySize is from 1 to 1000000")
    elif key == "features_required":
        queue.features += [name for name in split(setting.value) if name not in queue.features]
        found.carried(setting)
    elif key == "from_route_only":
        if value in _TRUE:
            found.leave(setting, "users may name every queue")
        else:
            found.carried(setting)
    elif key == "priority":
        number = whole(value.removeprefix("-"))
        if number is None or number > 1023:
            found.leave(setting, "a queue's priority is from -1024 to 1023")
        elif number == 0:
            found.carried(setting)
        else:
            found.limit(queue, "priority", -number if value.startswith("-") else number, setting)
    elif key == "backfill_depth" and (depth := whole(value)) is not None and depth <= MOST_DEPTH:
        found.limit(queue, "backfill_depth", depth, setting)
    elif key.partition(".")[0] in pbs_keys.OWN:
        found.own(setting)
    else:
        why = next((why for prefix, why in pbs_keys.LEFT if key.startswith(prefix)), "")
        found.leave(setting, why or "this attribute is not known here")


def _access(settings: list[Setting], found: Found) -> None:
    """A list that is not in force keeps nobody out."""
    is_on = any(_key(setting).endswith("_enable") and setting.value.lower() in _TRUE for setting in settings)
    for setting in settings:
        if is_on:
            found.leave(setting, pbs_keys.ACCESS)
        else:
            found.own(setting)


def _time(key: str, setting: Setting, found: Found) -> None:
    seconds = pbs_seconds(setting.value)
    if seconds is None or seconds > 10**9:
        found.wrong(setting.place, f"{setting}: expected a time such as 10 or 336:00:00")
    else:
        found.value(key, seconds, setting)
