"""`hpcbatch site`: the site's configuration file, made from older files, and checked before it goes to a cluster."""

from __future__ import annotations

from pathlib import Path

import click

from hpcbatch.cli.common import complain
from hpcbatch.cli.groups import Whole
from hpcbatch.cli.site_import import import_site
from hpcbatch.cli.site_survey import survey
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.site import SiteConfig


@click.group(cls=Whole)
def site() -> None:
    """Look after the site's configuration (docs/site.md)."""


site.add_command(survey)
site.add_command(import_site)


@site.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--template", type=click.Path(path_type=Path), help="The site's own job.yaml.j2, tried out with the file's values."
)
@click.option("--engine", is_flag=True, help="As the embedded engine reads it, where jobs need no image.")
def check(file: Path, template: Path | None, engine: bool) -> None:
    """Say what is wrong with FILE. Exits with 1 if anything is."""
    if read_checked(file, template=template, is_engine=engine) is None:
        raise SystemExit(1)
    click.echo(f"{file}: ok")


def read_checked(file: Path, *, template: Path | None = None, is_engine: bool = False) -> str | None:
    """The text of a site file; None if it has errors, which are printed."""
    from hpcbatch.model.site import SiteConfig
    from hpcbatch.site.file import CLUSTER_DEFAULTS, SiteFileError, read_site

    text = _read(file)
    override = None if template is None else _read(template)
    try:
        read_site(text, defaults=SiteConfig() if is_engine else CLUSTER_DEFAULTS, template=override, file=str(file))
    except SiteFileError as error:
        for problem in error.problems:
            complain(str(problem))
        return None
    return text


def config_of(file: Path) -> SiteConfig:
    """The values of a site file, whose jobs need no image. Raises SiteFileError."""
    from hpcbatch.model.site import SiteConfig
    from hpcbatch.site.file import read_config

    return read_config(_read(file), defaults=SiteConfig(), file=str(file))


def read_mapping(file: Path) -> dict[str, Any]:
    """A site file that was checked, as plain values."""
    import yaml

    return dict(yaml.safe_load(_read(file)) or {})


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise HpcBatchError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HpcBatchError(f"cannot read {file}: it is not UTF-8 text") from None
