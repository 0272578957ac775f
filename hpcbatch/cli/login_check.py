"""`hpcbatch login-check`: what keeps a user from working, if anything does."""

from __future__ import annotations

import click

from hpcbatch.cli.common import Session


@click.command("login-check")
@click.pass_obj
def login_check(session: Session) -> None:
    """Look at your kubeconfig, the server and your rights, and say what to do where something is wrong.

    Exits with 1 if something is wrong.
    """
    from hpcbatch.client.login import check

    is_ok = True
    for finding in check(session.environ):
        is_ok = is_ok and finding.is_ok
        click.echo(f"{'ok' if finding.is_ok else 'error':<5}  {finding.what}: {finding.text}")
    if not is_ok:
        raise SystemExit(1)
