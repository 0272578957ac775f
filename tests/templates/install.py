"""The frameworks, each in a virtual environment of its own under build/clients: `python -m tests.templates.install`."""

from __future__ import annotations

from pathlib import Path

from tests.clients.install import install_all

REQUIREMENTS = Path(__file__).parent / "requirements"

if __name__ == "__main__":
    install_all(REQUIREMENTS)
