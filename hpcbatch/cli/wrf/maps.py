"""`hpcbatch wrf maps`: pictures of a forecast, drawn here or by a program that needs no hpcbatch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hpcbatch.cli.common import Session, complain
from hpcbatch.errors import HpcBatchError
from hpcbatch.maps.options import FILES, OPTIONS, Option


def _option(option: Option) -> click.Option:
    names = [*option.names, option.variable]
    if not option.metavar:
        return click.Option(names, is_flag=True, help=option.help)
    return click.Option(
        names,
        metavar=" ".join([option.metavar] * option.words),
        nargs=option.words,
        multiple=option.is_repeated,
        default=option.default,
        show_default=option.default is not None,
        help=option.help,
    )


def _draw(session: Session, /, *, pack: str | None, files: tuple[str, ...], **given: Any) -> None:
    from hpcbatch.maps.errors import MapsError
    from hpcbatch.maps.main import run

    if pack is not None:
        write_program(Path(session.absolute(pack)))
        return
    if not files:
        raise click.UsageError(f"Missing argument '{FILES.metavar}...'.")
    try:
        run({"files": files, **given}, click.echo, lambda text: complain(f"hpcbatch: {text}"))
    except MapsError as error:
        raise HpcBatchError(str(error)) from None


def write_program(path: Path) -> None:
    """Raises HpcBatchError."""
    from hpcbatch.maps.program import packed

    try:
        path.write_bytes(packed())
        path.chmod(0o755)
    except OSError as error:
        raise HpcBatchError(f"cannot write {path}: {error.strerror}") from None


maps = click.Command(
    "maps",
    callback=click.pass_obj(_draw),
    params=[
        *map(_option, OPTIONS),
        click.Option(
            ["--pack"], metavar="FILE", help="Draw nothing: write FILE, a program that does the same without hpcbatch."
        ),
        click.Argument([FILES.variable], metavar=f"{FILES.metavar}...", nargs=-1),
    ],
    help="""Draw wrfout files: maps, animations, and a page with all of them, forecast.html; meteograms and
    cross-sections where requested. Prints the files it wrote.""",
)
