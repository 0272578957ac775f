"""`hpcbatch explain`: what becomes of each option of a script, or of a job."""

from __future__ import annotations

from pathlib import Path

import click

from hpcbatch.cli.common import Session


@click.command()
@click.argument("what", metavar="SCRIPT|JOBID")
@click.option(
    "--site", "site_file", type=click.Path(path_type=Path), help="Site configuration (default: the cluster's)."
)
@click.option("--as", "dialect", metavar="pbs|slurm|lsf", help="Dialect of SCRIPT (default: by its directives).")
@click.option("--json", "is_json", is_flag=True, help="For programs.")
@click.pass_obj
def explain(session: Session, what: str, site_file: Path | None, dialect: str | None, is_json: bool) -> None:
    """Say what becomes of each option of a script or job, and what it comes to.

    Nothing is submitted, and a script needs no cluster. Exits with 1 if the script cannot be submitted.
    """
    from hpcbatch.cli import explanation

    is_job = what[:1].isdigit() and not Path(session.absolute(what)).exists()
    if is_job:
        found = explanation.of_job(session, what)
    else:
        found = explanation.of_script(session, what, dialect, site_file)
    raise SystemExit(explanation.show(found, is_json=is_json))
