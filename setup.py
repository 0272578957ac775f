"""What pyproject.toml cannot say: the manual and the completion are made while a wheel is built, from the tables by
which the commands read their lines.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import setup

from distutils.command.install_data import install_data  # isort: skip  setuptools brings it

HERE = Path(__file__).parent
MADE = Path("build/share")


class InstallData(install_data):
    """Installs what is made below `share`, too."""

    def run(self) -> None:
        sys.path.insert(0, str(HERE))
        from hpcbatch.cli.completion import files
        from hpcbatch.cli.manual.write import write

        shutil.rmtree(MADE, ignore_errors=True)
        write(MADE / "man", Path("docs/site.md"), self.distribution.get_version())
        files.write(MADE)
        folders: dict[Path, list[str]] = {}
        for path in sorted(MADE.rglob("*")):
            if path.is_file():
                folders.setdefault(path.parent, []).append(str(path))
        made = [(str(Path("share", folder.relative_to(MADE))), paths) for folder, paths in folders.items()]
        self.data_files = [*(self.data_files or []), *made]
        super().run()


setup(data_files=[("share/doc/hpcbatch", ["README.md"])], cmdclass={"install_data": InstallData})
