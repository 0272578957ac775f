"""Where templates of job scripts lie: the user's directory, the site's, and those that come with hpcbatch.

A file is taken from the first directory that has it, each file for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hpcbatch.errors import HpcBatchError, UsageError
from hpcbatch.new.definition import Definition, MissingFileError, read_definition

VARIABLE: Final = "HPCBATCH_TEMPLATES"
SITE_DIRECTORY: Final = Path("/etc/hpcbatch/templates")
_BUILTIN = Path(__file__).resolve().parents[1] / "templates" / "new"
_TEMPLATE = ".sh.j2"


class Catalog:
    """All templates that a user can see."""

    def __init__(self, directories: tuple[Path, ...]) -> None:
        self.directories = directories

    def names(self) -> list[str]:
        """Of a part that others include, the name begins with `_`: it is no template."""
        found = {file.name.removesuffix(_TEMPLATE) for place in self.directories for file in _files(place)}
        return sorted(name for name in found if not name.startswith("_"))

    def definition(self, name: str) -> Definition:
        """Raises UsageError if there is no such template, HpcBatchError for faults of its definition."""
        names = self.names()
        if name not in names:
            raise UsageError(f"there is no template {name}: expected one of {', '.join(names)}")
        return read_definition(name, self.read)

    def read(self, file: str) -> tuple[str, str]:
        """Its path and text. Raises MissingFileError if no directory has it, HpcBatchError where it cannot be read."""
        for place in self.directories:
            path = place / file
            try:
                return str(path), path.read_text("utf-8")
            except FileNotFoundError:
                continue
            except OSError as error:
                raise HpcBatchError(f"cannot read {path}: {error.strerror}") from None
            except UnicodeDecodeError:
                raise HpcBatchError(f"cannot read {path}: it is not UTF-8 text") from None
        raise MissingFileError(f"{file} is missing: expected it in {' or '.join(map(str, self.directories))}")


def find(given: Path | None, environ: Mapping[str, str], home: str, *, site: Path = SITE_DIRECTORY) -> Catalog:
    """The directories in the order in which they count: `given` or else $HPCBATCH_TEMPLATES, the user's own, the
    site's, hpcbatch's. Raises UsageError if a directory that was named is not there.
    """
    named, whence = given, "--templates"
    if named is None and environ.get(VARIABLE):
        named, whence = Path(environ[VARIABLE]), VARIABLE
    if named is not None and not named.is_dir():
        raise UsageError(f"{whence}: expected a directory with templates, found {str(named)!r}")
    config = environ.get("XDG_CONFIG_HOME", "")
    own = Path(config if config.startswith("/") else Path(home, ".config"), "hpcbatch", "templates")
    return Catalog((*([named] if named else []), own, site, _BUILTIN))


def packaged() -> Catalog:
    return Catalog((_BUILTIN,))


def _files(place: Path) -> list[Path]:
    try:
        return [file for file in place.iterdir() if file.name.endswith(_TEMPLATE)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise HpcBatchError(f"cannot read {place}: {error.strerror}") from None
