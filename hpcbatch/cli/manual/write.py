"""Writes the manual pages into a folder, as `man` has them: man1 and man5."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from hpcbatch.cli.manual.pages import pages


def write(target: Path, site_document: Path, version: str) -> list[Path]:
    """The day of the pages is SOURCE_DATE_EPOCH's, where that is set, so that a build can be repeated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    day = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    found = pages(site_document=site_document.read_text(encoding="utf-8"), day=day.date().isoformat(), version=version)
    for name, text in found.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [target / name for name in found]
