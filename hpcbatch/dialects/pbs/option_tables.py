"""qsub's options, resources and attributes as tables for docs/directives.md."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.pbs.table import AMOUNT, ATTRIBUTES, LACKS, OPTIONS, PROPERTY, RESOURCES, WORD, Rule


def tables() -> dict[str, list[tuple[str, ...]]]:
    options = {name if name.startswith("--") else f"-{name}": rule for name, rule in OPTIONS.items()}
    others = [
        ("any other name with a number", AMOUNT),
        ("any other name with a text", WORD),
        ("in a chunk, any other name with `True`, `t`, `yes`, `y`", PROPERTY),
        ("in a chunk, any other name with `False`, `f`, `no`, `n`", LACKS),
    ]
    return {
        "options of qsub": [("Option", "Of", "", "What becomes of it"), *_rows(options)],
        "resources of qsub": [
            ("Resource", "Of", "", "What becomes of it"),
            *_rows(RESOURCES),
            *((name, "", rule.fate.value, rule.meaning) for name, rule in others),
        ],
        "attributes of qsub": [("Attribute", "Of", "", "What becomes of it"), *_rows(ATTRIBUTES)],
    }


def _rows(rules: Mapping[str, Rule]) -> list[tuple[str, ...]]:
    return [
        (f"`{name}`", "" if rule.system == "PBS" else rule.system, rule.fate.value, rule.meaning)
        for name, rule in rules.items()
    ]
