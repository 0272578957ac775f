"""`make lock`: every package that hpcbatch may install, by version and the hashes of its files, from pyproject.toml.

One resolution for all extras and every Python from 3.11 on; each package stands in one file, that of the first group
below that needs it. A group is therefore installed together with those that it builds on (Makefile, Dockerfile).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
PYPROJECT = FOLDER.parent / "pyproject.toml"
SHARED = ("base", "build", "demo", "postgres", "wrf", "dev")
"""In the order in which they claim packages; `base` is what every installation has, `build` the build system, the rest
are extras."""

ALONE = ("audit", "docs")
"""Extras with an environment of their own: their files are whole."""

HEAD = "# Made by `make lock` from pyproject.toml; not edited by hand.\n"


def wanted(group: str) -> list[str]:
    """The group's own requirements, as pyproject.toml has them."""
    project = tomllib.loads(PYPROJECT.read_text())
    if group == "build":
        return list(project["build-system"]["requires"])
    if group == "base":
        return list(project["project"]["dependencies"])
    return list(project["project"]["optional-dependencies"][group])


def resolve(requirements: list[str], constraints: str = "") -> dict[str, str]:
    """Name → its lines in pip's format: `name==version ; marker`, then a line for each hash.

    A package has several versions where they depend on the Python.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as known:
        known.write(constraints)
        known.flush()
        uv = str(Path(sys.executable).with_name("uv"))
        options = (
            "--quiet",
            "--universal",
            "--python-version",
            "3.11",
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
        )
        command = (uv, "pip", "compile", *options, "--constraints", known.name, "-")
        done = subprocess.run(command, input="\n".join(requirements), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, str] = {}
    for block in re.split(r"(?m)^(?=\S)", done.stdout):
        name, pinned, _ = block.partition("==")
        if pinned:
            found[name] = found.get(name, "") + block
    return found


def main() -> None:
    everything = resolve([line for group in SHARED for line in wanted(group)])
    claimed: set[str] = set()
    for group in SHARED:
        names = resolve(wanted(group), "".join(everything.values())).keys() - claimed
        write(group, [everything[name] for name in sorted(names)])
        claimed |= names
    for group in ALONE:
        write(group, list(resolve(wanted(group)).values()))


def write(group: str, blocks: list[str]) -> None:
    (FOLDER / f"{group}.txt").write_text(HEAD + "".join(blocks))


main()
