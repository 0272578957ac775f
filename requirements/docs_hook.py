"""mkdocs: README.md is the first page and CHANGELOG.md the last one. A link to what is no page becomes its text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?!\w+://|#)[^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, source in (("index.md", "README.md"), ("changelog.md", "CHANGELOG.md")):
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text.replace("](CHANGELOG.md", "](changelog.md")))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """A link that leads nowhere stays one, for mkdocs to report."""
    base = ROOT if page.file.src_uri in ("index.md", "changelog.md") else ROOT / "docs"

    def link(match: re.Match[str]) -> str:
        target, sign, anchor = match[2].partition("#")
        if (base / target).resolve() == ROOT / "README.md":
            return f"[{match[1]}](index.md{sign}{anchor})"
        is_page = target in files.src_uris
        return match[0] if is_page or not (base / target).exists() else match[1]

    return _LINK.sub(link, markdown)
