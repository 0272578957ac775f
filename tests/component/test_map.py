"""docs/map.md names every folder and no other; every package says what is in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGES = sorted((CHECKOUT / "hpcbatch").rglob("__init__.py"))
CODE = {".py", ".sh", ".md", ".yaml", ".j2", ".txt", ".pbs", ".slurm", ""}


def folders() -> set[str]:
    """Those of the packages, and two floors of the others."""
    found = {str(path.parent.relative_to(CHECKOUT)) for path in (CHECKOUT / "hpcbatch").rglob("*.*") if has_code(path)}
    for top in ("bench", "deploy", "docs", "examples", "requirements", "scripts", "templates", "tests"):
        found |= {str(path.parent.relative_to(CHECKOUT)) for path in (CHECKOUT / top).glob("*/*") if has_code(path)}
        found.add(top)
    return found - {"hpcbatch", "hpcbatch/engine/registry/crd"}


def has_code(path: Path) -> bool:
    return path.is_file() and path.suffix in CODE and "__pycache__" not in path.parts


def test_every_folder_is_on_the_map() -> None:
    named = re.findall(r"^\| `([^`]+)` \| .+ \|$", (CHECKOUT / "docs" / "map.md").read_text(), re.M)
    assert sorted(named) == sorted(set(named))
    assert set(named) == folders()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.parent.relative_to(CHECKOUT)))
def test_a_package_says_what_is_in_it(package: Path) -> None:
    assert len(ast.get_docstring(ast.parse(package.read_text())) or "") >= 60
