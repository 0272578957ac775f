"""mkdocs: README.md is the first page; CONTRIBUTING.md, SECURITY.md and CHANGELOG.md are pages too. A link to something
that is no page becomes its text.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "changelog.md",
}
"""What lies beside `docs`, and how it is called in the site."""
_SOURCE = {page: ROOT / source for source, page in PAGES.items()}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!\w+://|#|mailto:)[^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for page, source in _SOURCE.items():
        files.append(File.generated(config, page, content=source.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Links lead from page to page as the site has them. One that leads nowhere stays, for mkdocs to report."""
    here = page.file.src_uri
    source = _SOURCE.get(here, ROOT / "docs" / here)

    def link(match: re.Match[str]) -> str:
        target, sign, anchor = match[3].partition("#")
        path = Path(os.path.normpath(source.parent / target))
        at_root = PAGES.get(path.name) if path.parent == ROOT else None
        within = path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else ""
        if found := at_root or (within if within in files.src_uris else ""):
            return f"{match[1]}[{match[2]}]({os.path.relpath(found, Path(here).parent)}{sign}{anchor})"
        return match[2] if path.exists() else match[0]

    return _LINK.sub(link, markdown)
