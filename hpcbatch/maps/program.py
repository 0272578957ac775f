"""Packs these modules into one file that runs with Python alone: for jobs, whose pods may have no hpcbatch."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Final

_MAIN: Final = "from hpcbatch.maps.main import main\n\nmain()\n"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The same modules give the same file."""


def packed() -> bytes:
    content = io.BytesIO()
    content.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {"__main__.py": _MAIN.encode(), "hpcbatch/__init__.py": b""}
        files |= {
            f"hpcbatch/maps/{path.name}": path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))
        }
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()
