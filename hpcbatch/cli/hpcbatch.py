"""`hpcbatch`: the embedded cluster's switch, and a look at what it does."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import click

from hpcbatch.api import kubeconfig
from hpcbatch.cli.check import check
from hpcbatch.cli.common import Describe, Session, outcome
from hpcbatch.cli.completion.command import completion
from hpcbatch.cli.controller import controller
from hpcbatch.cli.demo import demo
from hpcbatch.cli.explain import explain
from hpcbatch.cli.groups import EXAMPLES, Grouped
from hpcbatch.cli.job_number import job_number
from hpcbatch.cli.login_check import login_check
from hpcbatch.cli.new import new
from hpcbatch.cli.report import accounting, report
from hpcbatch.cli.site import read_checked, site
from hpcbatch.cli.user import user
from hpcbatch.cli.values import memory
from hpcbatch.cli.web import web
from hpcbatch.cli.wrf.wrf import wrf
from hpcbatch.client import listing
from hpcbatch.client.nodes import list_nodes
from hpcbatch.errors import HpcBatchError, UnreachableError
from hpcbatch.model.row import JobRow, NodeRow
from hpcbatch.model.state import JobState
from hpcbatch.units import counted, format_bytes

_RUN = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})
_NOT_RUNNING = 3  # as `systemctl status` and the LSB have it


@click.group(cls=Grouped, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hpcbatch")
@click.pass_context
def group(context: click.Context) -> None:
    """Run PBS, Slurm and LSF batch scripts on Kubernetes, or on this machine alone."""


group.add_command(accounting)
group.add_command(check)
group.add_command(completion)
group.add_command(controller)
group.add_command(demo)
group.add_command(explain)
group.add_command(report)
group.add_command(user)
group.add_command(site)
group.add_command(login_check)
group.add_command(wrf)
group.add_command(new)
group.add_command(web)


@group.command()
@click.option("--nodes", type=click.IntRange(1, 250), help="How many nodes (first time: 3).")
@click.option("--cpus", type=click.IntRange(1, 4096), help="CPUs of each node (first time: 2).")
@click.option("--mem", callback=memory, metavar="SIZE", help="Memory of each node (first time: 4G).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the API server; 0 takes any free one.")
@click.option("--site", "site_file", type=click.Path(path_type=Path), help="Site configuration (docs/site.md).")
@click.pass_obj
def up(
    session: Session,
    /,
    *,
    nodes: int | None,
    cpus: int | None,
    mem: int | None,
    port: int | None,
    site_file: Path | None,
) -> None:
    """Start the embedded cluster on this machine. What is not given stays as it was the last time."""
    from hpcbatch.dataclass import replace
    from hpcbatch.engine import daemon

    site_text = None if site_file is None else read_checked(site_file, is_engine=True)
    if site_file is not None and site_text is None:
        raise SystemExit(1)
    state = kubeconfig.state_dir(session.environ)
    given = {"nodes": nodes, "cpus": cpus, "mem_bytes": mem, "port": port}
    options = replace(
        daemon.read_options(state) or daemon.EngineOptions(), **{k: v for k, v in given.items() if v is not None}
    )
    pid, memory_limits, warning = daemon.start(state, options)
    if warning:
        click.echo(f"hpcbatch: {warning}", err=True)
    if site_text is not None:
        from hpcbatch.admin.site_install import put_site
        from hpcbatch.api.client import HttpApi

        put_site(HttpApi(kubeconfig.read([state / "kubeconfig"])), site_text)
    size = f"{counted(options.cpus, 'CPU')} and {format_bytes(options.mem_bytes)}B"
    click.echo(f"hpcbatch is up: {counted(options.nodes, 'node')} of {size} each (process {pid})")
    click.echo(memory_limits)
    click.echo("Submit with qsub or sbatch, look with qstat or squeue; `hpcbatch down` stops it.")
    click.echo(f"For kubectl: export KUBECONFIG={_shell_word(state / 'kubeconfig')}")


@group.command()
@click.pass_obj
def down(session: Session) -> None:
    """Stop the embedded cluster and all that runs in it. Waiting jobs run after the next `hpcbatch up`."""
    from hpcbatch.engine import daemon

    state = kubeconfig.state_dir(session.environ)
    ended = "" if daemon.running_pid(state) is None else _ended_by_down(state)
    stopped = daemon.stop(state)
    click.echo(f"hpcbatch is down{ended}" if stopped else "hpcbatch was not running")


def _ended_by_down(state: Path) -> str:
    """What becomes of the jobs that run; "" where none does, or the engine does not answer."""
    from hpcbatch.api.client import HttpApi
    from hpcbatch.errors import HpcBatchError

    try:
        rows = listing.list_present_rows(HttpApi(kubeconfig.read([state / "kubeconfig"])), "default")
    except HpcBatchError:
        return ""
    running = [row for row in _single(rows) if row.state in _RUN]
    again = sum(row.rerunnable for row in running)
    if not running:
        return ""
    ends = f": {counted(len(running), 'running job')} ended, {again} of them queued again for the next `hpcbatch up`"
    return f"{ends}, {len(running) - again} not, which may not run twice" if again < len(running) else ends


@group.command()
@click.pass_obj
def status(session: Session) -> None:
    """Say whether the cluster is up, and how busy it is. Exits with 3 if nothing answers."""
    from hpcbatch.api.transport import STATUS_HINT
    from hpcbatch.engine import daemon

    state = kubeconfig.state_dir(session.environ)
    pid = daemon.running_pid(state)
    try:
        server = session.connection.server
        nodes = list_nodes(session.api, session.namespace)
        rows = listing.list_present_rows(session.api, session.namespace)
        moved = listing.count_moved(session.api, session.namespace)
    except UnreachableError as error:
        if pid is None:
            click.echo("engine   not running: `hpcbatch up` starts it")
        else:
            click.echo(f"engine   running (process {pid}), but its API does not answer; see {state / 'engine.log'}")
        click.echo(f"cluster  {str(error).removesuffix(STATUS_HINT)}")
        raise SystemExit(_NOT_RUNNING) from None
    click.echo(f"engine   running (process {pid})" if pid is not None else "engine   not running")
    click.echo(f"cluster  {session.server} at {server}, namespace {session.namespace}")
    click.echo(f"nodes    {_nodes_line(nodes)}")
    click.echo(f"jobs     {_jobs_line(rows, moved)}")


@group.command()
@click.argument("job_ids", nargs=-1)
@click.option("--plain", is_flag=True, help="One line for each change, also on a terminal.")
@click.pass_obj
def watch(session: Session, job_ids: tuple[str, ...], plain: bool) -> None:
    """Follow jobs until they have ended: those given, or all of yours that have not ended yet.

    Exits with 1 if one of them did not end well.
    """
    from hpcbatch.cli.live import can_draw, follow

    numbers = [job_number(session, text) for text in job_ids]
    raise SystemExit(follow(session, numbers, is_table=can_draw(session) and not plain))


@group.command()
@click.argument("job_id")
@click.pass_obj
def why(session: Session, job_id: str) -> None:
    """Say why a job has not started: its place, what it waits for, who is before it, what would start it sooner."""
    from hpcbatch.client import queues, records
    from hpcbatch.policy.why import why as reasons

    number = job_number(session, job_id)
    row = listing.find(session.api, session.namespace, number)
    others = listing.list_rows(session.api, session.namespace, finished=False)
    found = records.exactly(session.api, session.namespace, number)
    status, short = found[-1].status if found else None, queues.read_short_first(session.api)
    click.echo(reasons(row, others, session.now, session.zone, status, short=short))


def _nodes_line(nodes: list[NodeRow]) -> str:
    ready = [node for node in nodes if node.ready and node.schedulable]
    used, cpus = sum(node.cpus_used for node in ready), sum(node.cpus for node in ready)
    return f"{len(ready)} of {len(nodes)} ready, {used} of {counted(cpus, 'CPU')} in use"


def _jobs_line(rows: list[JobRow], moved: int) -> str:
    groups: dict[str, Collection[JobState]] = {
        "running": _RUN,
        "queued": {JobState.QUEUED, JobState.WAITING},
        "held": {JobState.HELD},
        "ended": {state for state in JobState if state.is_final},
    }
    single = _single(rows)
    counts = {name: sum(row.state in states for row in single) for name, states in groups.items()}
    counts["ended"] += moved
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _single(rows: list[JobRow]) -> list[JobRow]:
    """An array that has begun counts by its members."""
    return [row for row in rows if not row.array_indices or row.start_time is None or row.state.is_final]


def _shell_word(path: Path) -> str:
    from shlex import quote

    return quote(str(path))


def _describe(_session: Session) -> Describe:
    return lambda error: (f"hpcbatch: {error}", error.exit_code if isinstance(error, HpcBatchError) else 1)


def _body(session: Session) -> int:
    try:
        code = group.main(prog_name="hpcbatch", standalone_mode=False, obj=session)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return code if isinstance(code, int) else 0


def main() -> None:
    sys.exit(outcome("hpcbatch", _body, _describe))
