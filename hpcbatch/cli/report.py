"""`hpcbatch report` and `hpcbatch accounting`: what has been used, for people and for the tools of PBS sites."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path

import click

from hpcbatch.cli.columns import aligned
from hpcbatch.cli.common import Session
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.report import Use, Window

_AGO = re.compile(r"([0-9]{1,9})(s|m|h|d|w)")
_UNIT = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_GROUPS = ("user", "queue", "account", "state", "month", "day")
_HEADINGS = ("Jobs", "Running", "Failed", "Deleted", "CPU hours", "CPU used", "Wall hours", "Wait median", "Wait 95%")
_NAMES = (
    "jobs",
    "running",
    "failed",
    "deleted",
    "cpu_hours",
    "cpu_used_hours",
    "walltime_hours",
    "wait_median_s",
    "wait_95_s",
)


def _when(session: Session, text: str, option: str) -> datetime:
    """`7d`, `12h`, `2026-11-01`, `2026-11-01T12:00`."""
    try:
        if match := _AGO.fullmatch(text):
            return session.now - timedelta(**{_UNIT[match[2]]: int(match[1])})
        when = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is no time: expected for example 7d, 12h or 2026-11-01", param_hint=option
        ) from None
    return when.replace(tzinfo=session.zone) if when.tzinfo is None else when


def _groups(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in names:
        if name not in _GROUPS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(_GROUPS)}")
    return tuple(dict.fromkeys(names))


@click.command()
@click.option("--since", default="7d", metavar="TIME", help="Jobs that ended since: 7d, 12h, 2026-11-01 (default: 7d).")
@click.option("--until", default="0m", metavar="TIME", help="Jobs that ended before TIME (default: now).")
@click.option(
    "--by",
    default="user",
    callback=_groups,
    metavar="LIST",
    help="Any of user, queue, account, state, month, day (default: user).",
)
@click.option("--user", "users", multiple=True, metavar="NAME", help="Only this user's jobs; may stand several times.")
@click.option("--csv", "form", flag_value="csv", help="As comma-separated values.")
@click.option("--json", "form", flag_value="json", help="As JSON.")
@click.pass_obj
def report(
    session: Session, /, *, since: str, until: str, by: tuple[str, ...], users: tuple[str, ...], form: str | None
) -> None:
    """Sum up the jobs that ended in a time or run now: CPU hours, waits, failures.

    Shows what you may see: on most clusters your own jobs, to an admin everybody's.
    """
    from hpcbatch.client.usage import jobs_since
    from hpcbatch.model.report import Window, summed_up

    window = Window(_when(session, since, "--since"), _when(session, until, "--until"))
    if window.since >= window.until:
        raise click.UsageError("--since is not before --until")
    jobs = jobs_since(session.api, session.namespace, window.since, users)
    uses, total = summed_up(jobs, by, window, now=session.now, timezone=session.zone)
    if form == "csv":
        _print_csv(by, uses)
    elif form == "json":
        _print_json(by, window, uses, total)
    else:
        sys.stdout.writelines(_table(by, [*uses, total]))


def _values(use: Use) -> list[int | float | None]:
    """In the order of `_NAMES`; hours to four places: about a third of a second."""
    found: list[int | float | None] = [getattr(use, name) for name in _NAMES]
    return [round(value, 4) if isinstance(value, float) else value for value in found]


def _print_csv(by: Sequence[str], uses: Sequence[Use]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*by, *_NAMES])
    writer.writerows([*use.key, *("" if value is None else value for value in _values(use))] for use in uses)


def _print_json(by: Sequence[str], window: Window, uses: Sequence[Use], total: Use) -> None:
    body = {
        "since": window.since.isoformat(timespec="seconds"),
        "until": window.until.isoformat(timespec="seconds"),
        "by": list(by),
        "groups": [dict(zip((*by, *_NAMES), (*use.key, *_values(use)), strict=True)) for use in uses],
        "total": dict(zip(_NAMES, _values(total), strict=True)),
    }
    sys.stdout.write(json.dumps(body, indent=2) + "\n")


def _table(by: Sequence[str], uses: Sequence[Use]) -> Iterator[str]:
    """The last of `uses` is the sum of all."""
    rows = [[*(name.capitalize() for name in by), *_HEADINGS]]
    for use in uses[:-1]:
        rows.append([*(part or "-" for part in use.key), *_cells(use)])
    if by:
        rows.append(["Total", *([""] * (len(by) - 1)), *_cells(uses[-1])])
    else:
        rows[1:] = [_cells(uses[-1])]
    return (f"{line}\n" for line in aligned(rows, left=len(by)))


def _cells(use: Use) -> list[str]:
    from hpcbatch.units import hms

    hours = [f"{value:.2f}" for value in (use.cpu_hours, use.cpu_used_hours, use.walltime_hours)]
    waits = ["-" if wait is None else hms(wait) for wait in (use.wait_median_s, use.wait_95_s)]
    return [*map(str, (use.jobs, use.running, use.failed, use.deleted)), *hours, *waits]


@click.command()
@click.option("--since", default="1d", metavar="TIME", help="Entries since TIME: 7d, 2026-11-01 (default: 1d).")
@click.option(
    "--write",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Bring the files YYYYMMDD in DIR up to date instead of printing.",
)
@click.pass_obj
def accounting(session: Session, since: str, directory: Path | None) -> None:
    """Print the accounting log in PBS's format, or write its files, a day each.

    The log is made from the records of the jobs. Writing it again adds what is new, and nothing twice.
    """
    from hpcbatch.cli.unix_names import group_name
    from hpcbatch.client.records import in_window
    from hpcbatch.dialects.pbs.accounting import entries

    first = _when(session, since, "--since")
    if directory is not None:  # whole days
        first = first.astimezone(session.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    records = in_window(session.api, session.namespace, first)
    found = [entry for record in records for entry in entries(record, group_name) if entry.when >= first]
    found.sort(key=attrgetter("when", "number"))
    if directory is None:
        sys.stdout.writelines(entry.line(session.zone) for entry in found)
        return
    from hpcbatch.cli.accounting_files import write_days

    added = write_days(directory, found, session.zone)
    click.echo(f"{added} new entries in {directory}")
