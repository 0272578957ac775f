"""docs/install.md and others: what installs hpcbatch here. A section's commands are run in one shell, as admins do."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cluster.state import CHECKOUT, STATE, ClusterError, admin_environment
from tests.pages import fenced, section

PAGE = CHECKOUT / "docs/install.md"


def run(heading: str, *, page: Path = PAGE, **variables: str) -> str:
    """The output of a section's commands. Raises ClusterError at the first that fails."""
    folder = STATE / "guide"  # looks like the checkout, and takes the files that the commands write
    folder.mkdir(exist_ok=True)
    if not (folder / "deploy").exists():
        (folder / "deploy").symlink_to(CHECKOUT / "deploy")
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", fenced(section(page.read_text(), heading))],
        cwd=folder,
        env={**admin_environment(), **variables},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise ClusterError(f"{page.name}, section {heading}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
