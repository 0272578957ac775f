"""requirements/*.txt pin what pyproject.toml requests, each package with hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).parent.parent.parent
FOLDER = CHECKOUT / "requirements"
PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
GROUPS = {
    "build": PYPROJECT["build-system"]["requires"],
    "base": PROJECT["dependencies"],
    **PROJECT["optional-dependencies"],
}
FILES = sorted(FOLDER.glob("*.txt"))


def blocks(path: Path) -> list[str]:
    """A package's lines each: its version, then its hashes."""
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("#"))
    return [block for block in re.split(r"(?m)^(?=\S)", text) if block]


def pinned(group: str) -> dict[str, set[str]]:
    """Package → its versions, in the group's file and in those that an installation of the group takes besides."""
    found: dict[str, set[str]] = {}
    for name in {"audit": ["audit"], "docs": ["docs"], "dev": ["dev", "wrf", "base"]}.get(group, [group, "base"]):
        for block in blocks(FOLDER / f"{name}.txt"):
            requirement = Requirement(block.partition(" \\")[0])
            (specifier,) = requirement.specifier
            assert specifier.operator == "=="
            found.setdefault(canonicalize_name(requirement.name), set()).add(specifier.version)
    return found


def test_every_group_has_a_file() -> None:
    assert {path.stem for path in FILES} == set(GROUPS)


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_what_is_asked_for_is_pinned(group: str) -> None:
    versions = pinned(group)
    for line in GROUPS[group]:
        wanted = Requirement(line)
        found = versions.get(canonicalize_name(wanted.name), set())
        assert found, f"{line} is in none of {group}'s files: make lock"
        assert all(wanted.specifier.contains(version) for version in found), f"{line}: pinned to {found}: make lock"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_package_has_hashes_and_no_address(path: Path) -> None:
    for block in blocks(path):
        first, *hashes = block.splitlines()
        assert hashes, f"{first} has no hash"
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes), block


@pytest.mark.parametrize("name", ["Dockerfile", "examples/mpi/Dockerfile", "examples/wrf/Dockerfile"])
def test_base_images_are_named_by_their_digest(name: str) -> None:
    """A base that comes from a registry has a digest; the others are stages of the same file."""
    text = (CHECKOUT / name).read_text()
    arguments = dict(re.findall(r"(?m)^ARG (\w+)=(\S+)$", text))
    stages = set(re.findall(r"(?m)^FROM .* AS (\S+)$", text))
    bases = [
        re.sub(r"^\$(\w+)$", lambda found: arguments[found[1]], base) for base in re.findall(r"(?m)^FROM (\S+)", text)
    ]
    outside = [base for base in bases if base not in stages]
    assert outside
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", base) for base in outside), outside
