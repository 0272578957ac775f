"""`hpcbatch site import`: site.yaml from a site's Slurm, PBS, Maui, Moab and LSF files (docs/site-import.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from hpcbatch.cli.common import complain
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.site.importing.found import Found, Place

_LARGEST = 64 << 20
"""Bytes of a file; `scontrol show node` of ten thousand nodes is a quarter of that."""


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Where to write; else, stdout.")
@click.option("--image", metavar="IMAGE", help="The image in which jobs run.")
@click.option("--check-accounts", is_flag=True, help="Refuse jobs with an account that the files do not name.")
@click.option("--force", is_flag=True, help="Overwrite the file of -o.")
def import_site(
    files: tuple[Path, ...], output: Path | None, image: str | None, check_accounts: bool, force: bool
) -> None:
    """Make a site.yaml from FILEs of Slurm, PBS and LSF, or from the files of folders.

    Each is recognised by its content: slurm.conf with what it includes, gres.conf, maui.cfg, moab.cfg; the output of
    scontrol show partition, scontrol show node, sacctmgr dump, qmgr -c 'print server' and pbsnodes -a;
    lsb.queues, lsb.hosts, lsb.params, lsf.cluster and lsf.shared.
    """
    from hpcbatch.site.importing.plan import plan
    from hpcbatch.site.importing.write import reasons, site_yaml
    from hpcbatch.units import counted

    if output is not None and output.exists() and not force:
        raise HpcBatchError(f"{output} is there already: --force overwrites it")
    found, names = _read_all(files)
    text = site_yaml(plan(found, checks_accounts=check_accounts), found, names, image)
    _check(text, output)
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text, overwrite=force)
    for line in reasons(found.left):
        complain(line)
    complain(
        f"hpcbatch: {counted(found.carried_count, 'setting')} carried over; {len(found.left)} not, or not exactly, each"
        f" with its reason above and in the file; {len(found.settings_of_daemons)} need no counterpart"
    )
    if image is None:
        complain("hpcbatch: the image is a placeholder: give --image, or replace it in the file")


def _read_all(files: Sequence[Path]) -> tuple[Found, list[str]]:
    """What all of them say, and the names of those that were read. Raises HpcBatchError for one of no known format."""
    from hpcbatch.site.importing.found import Found
    from hpcbatch.site.importing.recognise import in_order, read_file, recognised

    given: dict[str, str] = {}
    for file in files:
        if file.is_dir():
            inside = {str(path): text for path in sorted(file.iterdir()) if (text := _text_of(path)) is not None}
            known = {name: text for name, text in inside.items() if recognised(text)}
            if not known:
                raise HpcBatchError(f"{file}: no file of Slurm, PBS or LSF in this folder")
            for name in sorted(inside.keys() - known.keys()):
                complain(f"hpcbatch: {name}: not recognised, and left out")
            given |= known
        else:
            given[str(file)] = _text(file)
    included: set[Path] = set()

    def include(name: str, where: Place) -> list[tuple[str, str]]:
        path = _included(name, where)
        included.add(path.resolve())
        return [(str(path), _text(path))]

    found, names = Found(), []
    for name, text in in_order(list(given.items())):
        if Path(name).resolve() not in included:
            read_file(text, name, found, include)
            names.append(name)
    for error in found.errors:
        complain(f"hpcbatch: {error}")
    if found.errors:
        raise SystemExit(1)
    if not (found.carried_count or found.left or found.settings_of_daemons):
        raise HpcBatchError(f"{', '.join(names)}: no setting found")
    return found, names


def _included(name: str, where: Place) -> Path:
    """The file of an Include line: as it is named, from the including file's folder on, or beside that file."""
    beside = Path(where.file).parent
    for path in (beside / name, beside / Path(name).name):
        if path.is_file():
            return path
    raise HpcBatchError(f"{where}: Include {name}: no such file, nor one of that name in {beside}")


def _text_of(path: Path) -> str | None:
    """The text of a file in a folder; None for what is no text file."""
    try:
        return _text(path) if path.is_file() else None
    except HpcBatchError:
        return None


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise HpcBatchError(f"cannot read {file}: it is larger than {_LARGEST >> 20} MiB")
        return data.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise HpcBatchError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HpcBatchError(f"cannot read {file}: it is not UTF-8 text") from None


def _check(text: str, output: Path | None) -> None:
    """As `hpcbatch site check` does."""
    from hpcbatch.site.file import SiteFileError, read_site

    try:
        read_site(text, file=str(output or "site.yaml"))
    except SiteFileError as error:
        for problem in error.problems:
            complain(f"hpcbatch: {problem}")
        raise HpcBatchError("nothing is written: the site's file would have these errors") from None


def _write(output: Path, text: str, *, overwrite: bool) -> None:
    try:
        with output.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise HpcBatchError(f"{output} is there already: --force overwrites it") from None
    except OSError as error:
        raise HpcBatchError(f"cannot write {output}: {error.strerror}") from None
