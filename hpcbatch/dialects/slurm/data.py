"""`--json` and `--yaml` of squeue, sinfo and sacct: the documents of Slurm 22.05's plugins openapi."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime

from hpcbatch.dialects.slurm.errors import SLURM_VERSION
from hpcbatch.typed import Any

_RELEASE = [int(part) for part in SLURM_VERSION.split(".")]


def _envelope(plugin: str, name: str) -> dict[str, Any]:
    """What stands before the data: `openapi/v0.0.38`, and its name."""
    return {
        "meta": {
            "plugin": {"type": plugin, "name": name},
            "Slurm": {
                "version": {"major": _RELEASE[0], "micro": _RELEASE[2], "minor": _RELEASE[1]},
                "release": SLURM_VERSION,
            },
        },
        "errors": [],
    }


def listing(kind: str, entries: list[dict[str, Any]], *, as_yaml: bool) -> str:
    """All jobs or nodes."""
    return document("openapi/v0.0.38", "Slurm OpenAPI v0.0.38", kind, entries, as_yaml=as_yaml)


def document(plugin: str, name: str, kind: str, entries: list[dict[str, Any]], *, as_yaml: bool) -> str:
    body = {**_envelope(plugin, name), kind: entries}
    return _yaml(body) if as_yaml else json.dumps(body, indent=2) + "\n"


def epoch(when: datetime | None) -> int:
    return 0 if when is None else int(when.timestamp())


_PLAIN = re.compile(r"[A-Za-z0-9_./(][A-Za-z0-9_./ =,+()%@*\[\]:~-]*")


def _yaml(body: dict[str, Any]) -> str:
    """With the type of each value, as Slurm's YAML has it; text that is empty is null there."""
    return "\n".join(["%YAML 1.1", f"--- {_head(body)}", *_block(body, 0), "..."]) + "\n"


def _block(value: Any, depth: int) -> Iterator[str]:
    """The lines below the head of a mapping or a sequence, which begin at the column `2 * depth`."""
    indent = "  " * depth
    if isinstance(value, dict):
        for key, held in value.items():
            yield f"{indent}!!str {_text(key)}: {_head(held)}"
            # a sequence stands where its key stands
            yield from _block(held, depth if isinstance(held, list) else depth + 1)
    elif isinstance(value, list):
        for held in value:
            yield f"{indent}- {_head(held)}"
            yield from _block(held, depth + 1)


def _head(value: Any) -> str:
    if isinstance(value, dict):
        return "!!map" if value else "!!map {}"
    if isinstance(value, list):
        return "!!seq" if value else "!!seq []"
    if value is None or value == "":
        return "!!null null"
    if isinstance(value, bool):
        return f"!!bool {str(value).lower()}"
    if isinstance(value, int):
        return f"!!int {value}"
    return f"!!float {value:.6f}" if isinstance(value, float) else f"!!str {_text(str(value))}"


def _text(text: str) -> str:
    """Plain where YAML lets it be that, else in quotes."""
    if _PLAIN.fullmatch(text) and ": " not in text and text[-1] not in ": ":
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    shown = (char if char.isprintable() and char not in '"\\' else f"\\U{ord(char):08x}" for char in text)
    return f'"{"".join(shown)}"'
