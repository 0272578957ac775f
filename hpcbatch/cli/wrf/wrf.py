"""`hpcbatch wrf`: looks at a WRF run before it is queued, follows it while it runs, and draws what it wrote."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from hpcbatch.cli.common import Session
from hpcbatch.cli.groups import Whole
from hpcbatch.cli.wrf.maps import maps
from hpcbatch.errors import place
from hpcbatch.model.text import printable
from hpcbatch.typed import TYPE_CHECKING
from hpcbatch.units import counted

if TYPE_CHECKING:
    from hpcbatch.wrf.finding import Finding


@click.group(cls=Whole)
def wrf() -> None:
    """Check a WRF run before it is queued, follow it, and draw its output."""


wrf.add_command(maps)


@wrf.command()
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--ranks", type=click.IntRange(1, 10_000_000), help="MPI ranks the program is to be started with.")
@click.option(
    "--program", type=click.Choice(["real", "wrf"]), help="Default: wrf where there is a wrfinput, else real."
)
@click.option("--json", "is_json", is_flag=True, help="The findings as JSON.")
def check(run_dir: Path, ranks: int | None, program: str | None, is_json: bool) -> None:
    """Look for what would make real.exe or wrf.exe fail in RUN_DIR.

    Exits with 1 if there is an error, with 0 if there are warnings only.
    """
    from hpcbatch.wrf.check import exit_code

    chosen, findings = findings_of(run_dir, ranks, program)
    if is_json:
        click.echo(json.dumps({"program": chosen, "findings": [asdict(each) for each in findings]}, indent=2))
    else:
        for each in findings:
            click.echo(line_of(each))
        click.echo(_summary(f"{chosen}.exe", findings))
    raise SystemExit(exit_code(findings))


def findings_of(run_dir: Path, ranks: int | None, program: str | None) -> tuple[str, list[Finding]]:
    """The program that was checked for, and what was found. Raises HpcBatchError where there is no namelist.input."""
    from hpcbatch.cli.wrf.directory import RunDirectory, read_namelist
    from hpcbatch.wrf.check import check as apply_rules
    from hpcbatch.wrf.run import Program, Run
    from hpcbatch.wrf.settings import Settings

    directory = RunDirectory(run_dir)
    settings = Settings(read_namelist(run_dir))
    if program is None:
        is_wrf = any(run_dir.glob("wrfinput_d01*")) or settings.flag("time_control", "restart")
        program = Program.WRF if is_wrf else Program.REAL
    chosen = Program(program)
    return chosen.value, apply_rules(Run(settings=settings, directory=directory, program=chosen, ranks=ranks))


def line_of(finding: Finding) -> str:
    where = place(finding.file or None, finding.line)
    if finding.value == "missing":
        seen = f"{finding.key} is missing"
    elif finding.file == finding.key:
        seen = f"{finding.key} ({finding.value})"
    elif finding.key.startswith("&"):
        shown = finding.value if finding.value.startswith(f"{finding.key} ") else f"{finding.key} {finding.value}"
        seen = shown.strip() if finding.key != "&" else finding.value
    else:
        seen = f"{finding.key} = {finding.value}" if finding.value else f"{finding.key} is not set"
    prefix = f"{where}: " if where and finding.file != finding.key else ""
    return printable(f"{finding.severity:<8} {prefix}{seen}: {finding.rule}")


def _summary(exe: str, findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity.value for finding in findings)
    parts = [counted(counts[one], one) for one in ("error", "warning") if counts[one]]
    parts += [f"{counts['unknown']} not looked at"] if counts["unknown"] else []
    return f"{exe}: {', '.join(parts) or 'nothing found that would make it fail'}"


@wrf.command()
@click.argument("job_or_dir", metavar="[JOBID|RUN_DIR]", required=False)
@click.option(
    "--dir", "run_dir", type=click.Path(path_type=Path), help="Where the job runs WRF, if not where it was submitted."
)
@click.option("--once", is_flag=True, help="Say how far it is, and do not wait.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object for each change.")
@click.pass_obj
def progress(session: Session, job_or_dir: str | None, run_dir: Path | None, once: bool, is_json: bool) -> None:
    """Follow a run of real.exe or wrf.exe until it ends, by the logs of rank 0. Without a job or directory: list all
    running jobs of yours in which one is found, once.

    Exits with 0 if it ended well, with 1 if not; --once with 1 only if it has failed.
    """
    if job_or_dir is None:
        from hpcbatch.cli.wrf.jobs import print_all

        if run_dir is not None:
            raise click.UsageError("--dir needs a JOBID")
        print_all(session, is_json=is_json)
        return
    from hpcbatch.cli.wrf.progress import follow

    raise SystemExit(follow(session, job_or_dir, run_dir, is_once=once, is_json=is_json))
