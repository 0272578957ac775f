"""`hpcbatch user`: who may use the cluster, and as whom their jobs run. For admins."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import click

from hpcbatch.cli.columns import aligned
from hpcbatch.cli.common import Session
from hpcbatch.cli.groups import Whole
from hpcbatch.cli.values import memory
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.admin.user_objects import Account, Claim
    from hpcbatch.admin.users import Plan, UserRow
    from hpcbatch.model.row import JobRow

Groups = tuple[tuple[int, str], ...]
_Body = Callable[..., None]
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_HEADING = ("USER", "NAMESPACE", "UID", "GID", "GROUPS", "WAITING", "RUNNING", "STATE")


def _groups(context: click.Context, parameter: click.Parameter, text: str | None) -> Groups | None:
    if text is None:
        return None
    found = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([0-9]{1,10}):(\S+)", part, re.ASCII)
        if match is None:
            raise click.BadParameter(f"{part!r} is no group: expected GID:NAME, as in 2000:wrf", context, parameter)
        found.append((int(match[1]), match[2]))
    return tuple(found)


def _life(context: click.Context, parameter: click.Parameter, text: str) -> timedelta:
    from hpcbatch.admin.certificates import LONGEST, SHORTEST

    match = re.fullmatch(r"([0-9]{1,6})([mhd])", text, re.ASCII)
    life = int(match[1]) * _UNITS[match[2]] if match else timedelta(0)
    if not SHORTEST <= life <= LONGEST:
        raise click.BadParameter(f"{text!r}: expected 10m to 30d, as in 12h or 7d", context, parameter)
    return life


def _life_option(*names: str, default: str, text: str) -> Callable[[_Body], _Body]:
    return click.option(*names, callback=_life, default=default, show_default=True, metavar="TIME", help=text)


def _cpus(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    from hpcbatch.units import cpu_milli

    if text is None or text == "none":
        return text
    try:
        milli = cpu_milli(text)
    except HpcBatchError:
        milli = 0
    if milli <= 0:
        raise click.BadParameter(f"{text!r} is no number of CPUs", context, parameter)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    from hpcbatch.units import format_bytes

    size = None if text == "none" else memory(context, parameter, text)
    return text if size is None else format_bytes(size)


def _count(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and text != "none" and not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise click.BadParameter(f"{text!r} is no number", context, parameter)
    return text if text in {None, "none"} else str(int(text or 0))


def _claims(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[Claim, ...]:
    from hpcbatch.admin.user_objects import Claim
    from hpcbatch.units import format_bytes

    found = []
    for text in texts:
        match = re.fullmatch(r"([a-z0-9][-a-z0-9.]*)=([^,=]+)((?:,(?:class|volume)=[a-z0-9][-a-z0-9.]*)*)", text)
        if match is None:
            raise click.BadParameter(
                f"{text!r}: expected NAME=SIZE[,class=NAME][,volume=NAME], as in home=100G,class=nfs",
                context,
                parameter,
            )
        more = dict(part.split("=") for part in match[3].split(",")[1:])
        size = format_bytes(memory(context, parameter, match[2]) or 0)
        claim = Claim(name=match[1], size=size, storage_class=more.get("class"), volume=more.get("volume"))
        found.append(claim)
    return tuple(found)


@click.group(cls=Whole)
def user() -> None:
    """Add users, list them, disable and enable them."""


@user.command()
@click.argument("name")
@click.option("--uid", type=int, help="Jobs run as this uid. Needed for a new user.")
@click.option("--gid", type=int, help="Primary group. Needed for a new user.")
@click.option("--groups", callback=_groups, metavar="GID:NAME,…", help="Groups of the user, by number and name.")
@click.option("--home", metavar="DIR", help="Home directory as jobs see it (new user: /home/NAME).")
@click.option("--namespace", metavar="NS", help="The user's namespace (new user: hpcbatch-user-NAME).")
@click.option("--quota-cpus", callback=_cpus, metavar="N", help="CPUs of all running jobs together; none: no limit.")
@click.option("--quota-memory", callback=_size, metavar="SIZE", help="Memory of all running jobs; none: no limit.")
@click.option("--quota-pods", callback=_count, metavar="N", help="Pods of all running jobs; none: no limit.")
@click.option(
    "--quota-jobs", callback=_count, metavar="N", help="Job records, ended ones too (new user: 20000); none: no limit."
)
@click.option(
    "--pvc",
    "claims",
    callback=_claims,
    multiple=True,
    metavar="NAME=SIZE[,class=C][,volume=V]",
    help="A PersistentVolumeClaim, ReadWriteMany, to make where it is missing. May be repeated.",
)
@click.option(
    "--kubeconfig",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a kubeconfig with a new client certificate, mode 0600. "
    "In the user's own directory root writes it as the user.",
)
@_life_option("--valid-for", "life", default="7d", text="Life of the certificate: minutes, hours or days, as in 12h.")
@click.option("--server", metavar="URL", help="API server's address in that kubeconfig (default: as in yours).")
@click.option("--adopt", is_flag=True, help="Take a namespace that exists and is no user's.")
@click.option("--force", is_flag=True, help="Allow a uid that another user has.")
@click.option("--dry-run", is_flag=True, help="Print the objects as YAML and change nothing.")
@click.pass_obj
def add(
    session: Session,
    /,
    *,
    name: str,
    uid: int | None,
    gid: int | None,
    groups: Groups | None,
    home: str | None,
    namespace: str | None,
    claims: tuple[Claim, ...],
    target: Path | None,
    life: timedelta,
    server: str | None,
    adopt: bool,
    force: bool,
    dry_run: bool,
    **quota: str | None,
) -> None:
    """Make user NAME, or change what is given. Says what was done; run again, it finds all in order."""
    from hpcbatch.admin import users
    from hpcbatch.admin.site import read_site
    from hpcbatch.admin.user_quota import await_count
    from hpcbatch.api.resources import RESOURCE_QUOTAS

    wish = users.Wish(
        user=name,
        uid=uid,
        gid=gid,
        groups=groups,
        home=home,
        namespace=namespace,
        quota=_quota(quota),
        claims=claims,
        adopt=adopt,
        force=force,
    )
    if server is not None and not re.fullmatch(r"https://\S+", server):
        raise HpcBatchError(f"--server {server}: expected https://HOST:PORT")
    site = read_site(session.api)
    planned = users.plan(session.api, wish, site)
    if target is not None:
        _check_kubeconfig(session, planned, target)
    for warning in planned.warnings:
        click.echo(f"hpcbatch: warning: {warning}", err=True)
    if dry_run:
        click.echo(_yaml(planned), nl=False)
        return
    done = users.carry_out(session.api, planned)
    for line in done:
        click.echo(line)
    if not done:
        click.echo(f"user {name} is as wanted, in namespace {planned.account.namespace}")
    if any(part.resource is RESOURCE_QUOTAS for part in planned.parts):
        await_count(session.api, planned.account.namespace, lambda line: click.echo(f"hpcbatch: {line}", err=True))
    if planned.account.identity.is_disabled:
        click.echo(f"user {name} is disabled: `hpcbatch user enable {name}` lets him submit again")
    if target is not None:
        _write_kubeconfig(session, planned.account, target, life, cluster=site.server_name, server=server)


@user.command()
@click.argument("names", nargs=-1, metavar="[NAME]…")
@click.option(
    "--kubeconfig",
    "pattern",
    default="{home}/.kube/config",
    show_default=True,
    metavar="FILE",
    help="Where the kubeconfigs lie; {home} and {user} stand for the user's.",
)
@_life_option("--valid-for", "life", default="7d", text="Life of the new certificates.")
@_life_option("--before", default="4d", text="Renew what expires within this time.")
@click.pass_obj
def renew(session: Session, names: tuple[str, ...], pattern: str, life: timedelta, before: timedelta) -> None:
    """Renew the certificates of all users, or of those named, that are about to expire. For a daily timer.

    Who is disabled, or has no kubeconfig there, is passed over. One that fails does not stop the others.
    """
    from hpcbatch.admin import renewal

    done = renewal.renew(session.api, names, pattern, life=life, before=before)
    for line in done.renewed:
        click.echo(line)
    for line in done.faults:
        click.echo(f"hpcbatch: {line}", err=True)
    if done.faults:
        raise SystemExit(1)


@user.command("list")
@click.pass_obj
def list_(session: Session) -> None:
    """List the users with their jobs."""
    from hpcbatch.admin import users
    from hpcbatch.client import listing

    found = users.rows(session.api)
    by_namespace: dict[str, list[JobRow]] = {}
    for row in listing.list_rows(session.api, session.namespace, finished=False):
        by_namespace.setdefault(row.namespace, []).append(row)
    lines = [_HEADING, *(_cells(row, by_namespace.get(row.namespace, [])) for row in found)]
    for line in aligned(lines):
        click.echo(line)


@user.command()
@click.argument("name")
@click.pass_obj
def disable(session: Session, name: str) -> None:
    """Admit no new job of user NAME, and close his namespace to him. Jobs that are there go on."""
    from hpcbatch.admin import users

    _report(users.disable(session.api, name), f"user {name} is disabled already")


@user.command()
@click.argument("name")
@click.pass_obj
def enable(session: Session, name: str) -> None:
    """Let user NAME submit again."""
    from hpcbatch.admin import users

    _report(users.enable(session.api, name), f"user {name} is enabled already")


def _report(done: list[str], otherwise: str) -> None:
    for line in done or [otherwise]:
        click.echo(line)


def _quota(given: dict[str, str | None]) -> dict[str, str | None]:
    """Options → what a ResourceQuota calls them; `none` becomes None, what was not given is left out."""
    from hpcbatch.admin.user_objects import JOBS_QUOTA

    names = {
        "quota_cpus": "requests.cpu",
        "quota_memory": "requests.memory",
        "quota_pods": "pods",
        "quota_jobs": JOBS_QUOTA,
    }
    return {names[key]: None if text == "none" else text for key, text in given.items() if text is not None}


def _yaml(planned: Plan) -> str:
    """What would be applied, for `kubectl apply -f -`."""
    import yaml

    from hpcbatch.admin.apply import without_nulls

    objects = []
    for part in planned.parts:
        obj = without_nulls(part.obj)
        if part.resource.namespaced:
            obj["metadata"]["namespace"] = planned.account.namespace
        objects.append(obj)
    return yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True)


def _cells(row: UserRow, jobs: list[JobRow]) -> tuple[str, ...]:
    single = [job for job in jobs if not job.array_indices]
    running = sum(job.start_time is not None for job in single)
    waiting = len(single) - running + sum(bool(job.array_pending) for job in jobs)
    identity = row.identity
    counts = (str(waiting), str(running))
    if identity is None:
        return (row.user, row.namespace, "-", "-", "-", *counts, f"broken: {row.fault}")
    groups = ",".join(f"{gid}:{name}" for gid, name in identity.groups) or "-"
    state = "disabled" if identity.is_disabled else "enabled"
    return (row.user, row.namespace, str(identity.uid), str(identity.gid), groups, *counts, state)


def _check_kubeconfig(session: Session, planned: Plan, target: Path) -> None:
    """What would stop the kubeconfig, found before anything is made."""
    from hpcbatch.admin import user_kubeconfig
    from hpcbatch.admin.embedded import is_embedded
    from hpcbatch.admin.user_names import kubernetes_user

    if is_embedded(session.api):
        raise HpcBatchError("the embedded engine signs no certificates: whoever uses it shares its own kubeconfig")
    if planned.account.identity.is_disabled:
        raise HpcBatchError(f"user {planned.account.identity.user} is disabled: no certificate for him")
    user_kubeconfig.check_connection(session.connection)
    user_kubeconfig.check_target(target, kubernetes_user(planned.account.identity.user))


def _write_kubeconfig(
    session: Session, account: Account, target: Path, life: timedelta, *, cluster: str, server: str | None
) -> None:
    from hpcbatch.admin import certificates, user_kubeconfig
    from hpcbatch.admin.user_names import GROUP, kubernetes_user

    identity = account.identity
    name = kubernetes_user(identity.user)
    issued = certificates.issue(session.api, name, GROUP, account.namespace, life)
    text = user_kubeconfig.kubeconfig_text(
        session.connection, cluster=cluster, user=name, namespace=account.namespace, issued=issued, server=server
    )
    user_kubeconfig.write(target, text, uid=identity.uid, gid=identity.gid)
    click.echo(f"{target}: kubeconfig of {name}, valid until {issued.not_after:%Y-%m-%d %H:%M} UTC")
