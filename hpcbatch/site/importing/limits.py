"""Limits and settings of PBS's server and queues that an operator gives to hpcbatch's qmgr as they are."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from hpcbatch.site.importing.found import Found, Setting


def typed(found: Found, queue: str, setting: Setting) -> None:
    """Keep the setting of the queue, or of the server ("")."""
    found.typed.append((queue, setting))
    found.carried(setting)


def commands(found: Found, queues: Collection[str]) -> list[str]:
    """What an operator types. `queues`: those that there are; what belongs to another one is left with the reason."""
    lines = []
    for queue, setting in found.typed:
        if queue and queue not in queues:
            found.leave(setting, "its queue only chooses others, which have limits of their own")
            continue
        of = f"queue {queue}" if queue else "server"
        name, value = setting.key.rpartition(" ")[2], setting.value
        quote = "'" if '"' in value else '"'
        text = f"{quote}{value}{quote}" if not value.isalnum() else value
        lines.append(f"qmgr -c {shlex.quote(f'set {of} {name} {setting.operator} {text}')}")
    return lines
