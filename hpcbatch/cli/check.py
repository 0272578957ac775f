"""`hpcbatch check`: tells an admin what is missing or misconfigured, and how to mend it."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import click

from hpcbatch.cli.common import Session
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.admin.check.finding import Finding

_ANSWER_S = 40.0  # longer than a webhook may take
_TERMINATED = 143  # as a shell reports a command that SIGTERM ended


@click.command()
@click.option("--namespace", default="hpcbatch-system", show_default=True, help="Where hpcbatch is installed.")
@click.option("--user", "users", multiple=True, metavar="NAME", help="Look at this user only; may be repeated.")
@click.option("--no-probes", is_flag=True, help="Only read: start no pods to try scheduler, storage and network.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
@click.pass_obj
def check(session: Session, namespace: str, users: tuple[str, ...], no_probes: bool, output: str) -> None:
    """Tell what is missing or misconfigured on the cluster, and how to mend it.

    Exits with 1 if there is an error; warnings do not count.
    """
    from hpcbatch.admin.check.cluster import Cluster, Options
    from hpcbatch.admin.check.run import exit_code, run
    from hpcbatch.api.client import HttpApi

    signal.signal(signal.SIGTERM, _end)
    api = HttpApi(session.connection, response_timeout_s=_ANSWER_S)
    cluster = Cluster(api, Options(namespace=namespace, probes=not no_probes, users=users))
    findings = []
    for finding in run(cluster):
        findings.append(finding)
        if output == "text":
            click.echo(_line(finding))
    if output == "json":
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        click.echo(_summary(findings))
    raise SystemExit(exit_code(findings))


def _line(finding: Finding) -> str:
    mend = "".join(f"\n         {line}" for line in finding.mend.splitlines())
    return f"{finding.level:<8} {finding.subject}: {finding.seen}{mend}"


def _summary(findings: Sequence[Finding]) -> str:
    from hpcbatch.units import counted

    counts = Counter(finding.level.value for finding in findings)
    parts = [counted(counts[level], level) for level in ("error", "warning") if counts[level]]
    parts += [f"{counts['unknown']} unknown"] if counts["unknown"] else []
    return f"\n{', '.join(parts)}; docs/check.md explains each" if parts else "\nno errors, no warnings"


def _end(_signum: int, _frame: object) -> None:
    raise SystemExit(_TERMINATED)  # what is being tried is cleaned up on the way out
