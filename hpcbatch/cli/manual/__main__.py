"""`python -m hpcbatch.cli.manual DIRECTORY DOCUMENT`: writes all pages; DOCUMENT is docs/site.md."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from hpcbatch.cli.manual.write import write

written = write(Path(sys.argv[1]), Path(sys.argv[2]), version("hpcbatch"))
print(f"{len(written)} manual pages in {sys.argv[1]}: man -l {written[0]} shows one")
