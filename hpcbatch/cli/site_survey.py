"""`hpcbatch site survey`: what a site would do with all scripts below a directory."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click

from hpcbatch.cli.columns import aligned
from hpcbatch.cli.common import Session
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import printable, printable_tree
from hpcbatch.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.outcome import Outcome
    from hpcbatch.model.site import SiteConfig
    from hpcbatch.site.survey import Gap, Survey

MAX_BYTES = 1 << 20
_SHOWN = 50


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--site", "site_file", type=click.Path(path_type=Path), help="Site configuration (default: all defaults)."
)
@click.option("--as", "dialect", metavar="pbs|slurm|lsf", help="Dialect of all scripts (default: by their directives).")
@click.option("--write", "target", metavar="FILE|-", help="Write a site configuration that settles what is missing.")
@click.option("--json", "is_json", is_flag=True, help="For programs.")
@click.pass_obj
def survey(
    session: Session,
    /,
    *,
    directory: Path,
    site_file: Path | None,
    dialect: str | None,
    target: str | None,
    is_json: bool,
) -> None:
    """Say what this site would do with all scripts below DIRECTORY, and what is missing for them.

    Files without #PBS, #SBATCH or #BSUB lines are skipped. No cluster is needed, and nothing is submitted.
    """
    from hpcbatch.cli.site import config_of, read_mapping
    from hpcbatch.dialects.registry import door
    from hpcbatch.model.site import SiteConfig
    from hpcbatch.site.survey import as_json
    from hpcbatch.site.survey_file import remedy, site_yaml

    if dialect is not None:
        door(dialect)
    site = _with_queue(SiteConfig() if site_file is None else config_of(site_file))
    found = _surveyed(directory, site, dialect, session.now)
    remedies = {(each.kind, each.name): remedy(each, site.default_queue) for each in found.ranked()}
    if target is not None:
        given: dict[str, Any] = {} if site_file is None else read_mapping(site_file)
        heading = (
            f"Made by `hpcbatch site survey` from {found.total().scripts} scripts below {printable(str(directory))}."
        )
        text = site_yaml(found, given, site.default_queue, heading)
        if target == "-":
            click.echo(text, nl=False)
            return
        _write(Path(target), text)
    if is_json:
        click.echo(json.dumps(printable_tree(as_json(found, remedies)), indent=2, ensure_ascii=False))
        return
    for line in _report(found, remedies):
        click.echo(printable(line))
    if target is not None:
        click.echo(f"\n{target} written: look through what is to decide in it, then `hpcbatch site check {target}`")


def _with_queue(site: SiteConfig) -> SiteConfig:
    """A site that names no queues has one, as a new cluster has."""
    from hpcbatch.model.site import QueueConfig

    if site.queues:
        return site
    name = site.default_queue
    return replace(site, queues=(QueueConfig(name=name, volcano_queue=name, is_default=True),))


def _surveyed(directory: Path, site: SiteConfig, dialect: str | None, now: datetime) -> Survey:
    from hpcbatch.site.survey import Survey

    found = Survey()
    reader = _Reader(found, directory, site, dialect, now)
    paths = sorted(_files(directory, found))
    if sys.stderr.isatty():
        with click.progressbar(paths, label="Reading", file=sys.stderr) as shown:
            for path in shown:
                reader.look_at(path)
    else:
        for path in paths:
            reader.look_at(path)
    return found


def _files(directory: Path, found: Survey) -> Iterator[str]:
    """The regular files below, by their paths. Links to directories are not followed."""

    def complain(error: OSError) -> None:
        found.unreadable.append(f"{error.filename}: {error.strerror}")

    for where, _, names in os.walk(directory, onerror=complain):
        yield from (str(Path(where, name)) for name in names)


class _Reader(NamedTuple):
    found: Survey
    directory: Path
    site: SiteConfig
    dialect: str | None
    """None: that of each script's directives."""
    now: datetime

    def look_at(self, path: str) -> None:
        """Count one file."""
        from hpcbatch.dialects.registry import count_directives

        shown = os.path.relpath(path, self.directory)
        try:
            script = _read(path)
        except OSError as error:
            self.found.unreadable.append(f"{shown}: {error.strerror}")
            return
        counts = {} if script is None else count_directives(script)
        if script is None or not counts:
            self.found.skipped += 1
            return
        dialect = self.dialect or max(counts, key=lambda each: counts[each])
        self.found.add(shown, dialect, script, gaps(shown, script, dialect, self.site, self.now))


def _read(path: str) -> bytes | None:
    """The content of a text file of at most 1 MiB; None for all else."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        content = os.read(handle, MAX_BYTES + 1)
    finally:
        os.close(handle)
    return None if b"\0" in content else content


def gaps(path: str, script: bytes, dialect: str, site: SiteConfig, now: datetime) -> list[Gap]:
    """What one script asks for and does not get."""
    from hpcbatch.dialects.registry import door
    from hpcbatch.policy import gaps as find

    outcomes: list[Outcome] = []
    found = list(find.module_gaps(script, site))
    try:
        submission = door(dialect).read_script(path.rpartition("/")[2], script, now, outcomes, site.ignored_options)
    except HpcBatchError as error:
        return [*found, *find.refused_gaps(error, outcomes)]
    found += [*find.ignored_gaps(submission.spec, outcomes), *find.site_gaps(submission.spec, site)]
    return list(find.unsupported_refused(found, site))


def _report(found: Survey, remedies: dict[tuple[str, str], str]) -> Iterator[str]:
    total = found.total()
    if not total.scripts:
        yield f"no scripts with #PBS, #SBATCH or #BSUB lines ({found.skipped} other files)"
    else:
        names = sorted(found.counts)
        columns = [total, *(found.counts[name] for name in names)]
        rows = [
            (label, *(_share(getattr(count, key), count.scripts) for count in columns))
            for label, key in (
                ("scripts", "scripts"),
                ("run as they are", "as_they_are"),
                ("something ignored", "ignored"),
                ("refused", "refused"),
            )
        ]
        yield from aligned([("", "all", *names), *rows], left=1)
        yield f"{found.skipped} other files skipped, {len(found.unreadable)} not readable"
    yield from (f"not readable: {line}" for line in found.unreadable)
    missing = found.ranked()
    if missing:
        yield ""
        yield "What is missing, by the number of scripts; alone: nothing else refuses them."
        table = [
            (each.kind, each.name[:60], each.fate, str(each.scripts), str(each.alone), each.example)
            for each in missing[:_SHOWN]
        ]
        yield from aligned([("Kind", "Name", "Fate", "Scripts", "Alone", "Example"), *table])
        if len(missing) > _SHOWN:
            yield f"and {len(missing) - _SHOWN} more: --json has all of them"
    lines = list(dict.fromkeys(filter(None, (remedies[each.kind, each.name] for each in missing))))
    if lines:
        yield ""
        yield "Lines of site.yaml that settle it (--write makes a whole file):"
        yield from (f"  {line}" for line in lines[:_SHOWN])
        if len(lines) > _SHOWN:
            yield f"  and {len(lines) - _SHOWN} more"


def _share(number: int, of: int) -> str:
    return f"{number} {100 * number / of:5.1f} %" if of else str(number)


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HpcBatchError(f"cannot write {target}: {error.strerror}") from None
