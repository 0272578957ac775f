"""The answers to `--hint=help` and `--cpu-bind=help` of sbatch, salloc and srun on a login node. In a job srun has the
same text.
"""

from __future__ import annotations

import re
from importlib.resources import files


def value_help(option: str) -> str:
    """What stands below `hint:` or `cpu-bind:` in runner/steps/value_help.txt."""
    text = (files("hpcbatch.runner") / "steps/value_help.txt").read_text("ascii")
    parts = re.split(r"^([^ \n]*):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[option].rstrip("\n")
