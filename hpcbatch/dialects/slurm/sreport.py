"""sreport: how much CPU time jobs held, by cluster, account and user. Rows and rounding were recorded from sreport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta, tzinfo

from hpcbatch.dialects.slurm.associations import ROOT
from hpcbatch.dialects.slurm.clock import stamp
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.field_table import Heading, table
from hpcbatch.dialects.slurm.sreport_options import Options, Report, Unit
from hpcbatch.model.report import Job
from hpcbatch.typed import NamedTuple

_RULE = "-" * 80
_NO_ACCOUNT = "(null)"
_SHARE = 17
"""The width of an amount with its share."""
_AMOUNTS = frozenset({"Allocated", "Down", "PLND Down", "Idle", "Planned", "Reported", "Used", "Energy"})
_WIDTHS = {
    "Cluster": 9,
    "Account": 15,
    "Login": 9,
    "Proper Name": 15,
    "Name": 9,
    "Start": 19,
    "End": 19,
    "TRES Name": 14,
    "% of cluster": 12,
}
_FIELDS = {
    Report.UTILIZATION: ("Cluster", "Allocated", "Down", "PLND Down", "Idle", "Planned", "Reported"),
    Report.BY_ACCOUNT: ("Cluster", "Account", "Login", "Proper Name", "Used", "Energy"),
    Report.BY_USER: ("Cluster", "Login", "Proper Name", "Account", "Used", "Energy"),
    Report.TOP: ("Cluster", "Login", "Proper Name", "Account", "Used", "Energy"),
    Report.RESERVATIONS: ("Cluster", "Name", "Start", "End", "TRES Name", "Allocated", "Idle"),
}
Row = Mapping[str, str]


class Cluster(NamedTuple):
    name: str
    cpus: float
    """Of all nodes now; what there were before is not known."""


def format_report(
    options: Options,
    jobs: Iterable[Job],
    cluster: Cluster,
    *,
    now: float,
    tz: tzinfo,
    proper_name: Callable[[str], str],
) -> Iterator[str]:
    """The lines. Raises SlurmUsageError for a field that there is not."""
    held = list(_held(options, jobs, now))
    columns = _columns(options)
    if options.style.header:
        yield from _heading(options, tz)
    total_s = cluster.cpus * max(0.0, min(options.until.timestamp(), now) - options.since.timestamp())
    view = _View(options.unit, total_s, cluster.name, proper_name)
    match options.report:
        case Report.UTILIZATION:
            rows = [_utilization(sum(job.cpu_s for job in held), view)]
        case Report.BY_ACCOUNT:
            rows = _by_account(options, held, view)
        case Report.SIZES:
            rows = _sizes(options, held, view)
        case Report.RESERVATIONS:
            rows = []
        case _:
            rows = _by_user(options, held, view)
    yield from table(columns, ([row.get(column.name, "") for column in columns] for row in rows), options.style)


class _Held(NamedTuple):
    """The CPU time that a job held within the window."""

    account: str
    user: str
    cpus: int
    cpu_s: float


def _held(options: Options, jobs: Iterable[Job], now: float) -> Iterator[_Held]:
    since, until = options.since.timestamp(), options.until.timestamp()
    for job in jobs:
        if job.start is None or (options.users is not None and job.user not in options.users):
            continue
        account = job.account or _NO_ACCOUNT
        if options.accounts is not None and not options.accounts & {account, ROOT}:
            continue
        inside_s = min(now if job.end is None else job.end, until) - max(job.start, since)
        if inside_s > 0:
            yield _Held(account, job.user, job.cpus, inside_s * job.cpus)


class _View(NamedTuple):
    unit: Unit
    total_s: float
    cluster: str
    proper_name: Callable[[str], str]

    def amount(self, cpu_s: float) -> str:
        """In the unit, with its share of the cluster's time, or as that alone."""
        share = f"{cpu_s / self.total_s * 100 if self.total_s else 0:.2f}%"
        match self.unit:
            case Unit.PERCENT:
                return share
            case Unit.SECONDS_PERCENT | Unit.MINUTES_PERCENT | Unit.HOURS_PERCENT:
                return f"{cpu_s / _SECONDS[self.unit]:.0f}({share})"
            case _:
                return f"{cpu_s / _SECONDS[self.unit]:.0f}"

    def used(self, account: str, user: str, cpu_s: float) -> Row:
        return {
            "Cluster": self.cluster,
            "Account": account,
            "Login": user,
            "Proper Name": self.proper_name(user) if user else "",
            "Used": self.amount(cpu_s),
            "Energy": self.amount(0),
        }


_SECONDS = {
    Unit.SECONDS: 1,
    Unit.SECONDS_PERCENT: 1,
    Unit.MINUTES: 60,
    Unit.MINUTES_PERCENT: 60,
    Unit.HOURS: 3600,
    Unit.HOURS_PERCENT: 3600,
}
_USAGE = {
    Unit.SECONDS: "CPU Seconds",
    Unit.MINUTES: "CPU Minutes",
    Unit.HOURS: "CPU Hours",
    Unit.PERCENT: "Percentage of Total",
    Unit.SECONDS_PERCENT: "CPU Seconds/Percentage of Total",
    Unit.MINUTES_PERCENT: "CPU Minutes/Percentage of Total",
    Unit.HOURS_PERCENT: "CPU Hours/Percentage of Total",
}


def _heading(options: Options, tz: tzinfo) -> Iterator[str]:
    last = options.until - timedelta(seconds=1)
    title = f"{options.report.format(top=options.top)} {stamp(options.since, tz)} - {stamp(last, tz)}"
    if options.report not in {Report.UTILIZATION, Report.RESERVATIONS}:
        title += f" ({int((options.until - options.since).total_seconds())} secs)"
    usage = f"Usage reported in {_USAGE[options.unit]}"
    if options.report is Report.RESERVATIONS:
        usage = usage.replace("CPU", "TRES")
    if options.report is Report.SIZES:
        usage = f"Time reported in {_USAGE[options.unit].removeprefix('CPU ')}"
    yield from (f"{line}\n" for line in (_RULE, title, usage, _RULE))


def _columns(options: Options) -> list[Heading]:
    if options.report is Report.SIZES:
        heads = [Heading("Cluster", 9), Heading("Account", 9)]
        return [*heads, *(Heading(name, 13) for name in _groups(options)), Heading("% of cluster", 12)]
    wide = options.unit in {Unit.SECONDS_PERCENT, Unit.MINUTES_PERCENT, Unit.HOURS_PERCENT}
    known = _FIELDS[options.report]
    found = []
    for item in known if options.fields is None else options.fields.split(","):
        name, _, width = item.partition("%")
        full = next((each for each in known if each.lower().startswith(name.lower())), None)
        if full is None or not name:
            raise SlurmUsageError(f" Unknown field '{name}'")
        narrow = 20 if options.report is Report.RESERVATIONS else 8
        default = (_SHARE if wide else narrow) if full in _AMOUNTS else _WIDTHS[full]
        found.append(Heading(full, int(width) if width.isdecimal() and len(width) < 5 else default))
    return found


def _utilization(cpu_s: float, view: _View) -> Row:
    """Nodes count as they are now, and as if they had never been down."""
    idle_s = max(0.0, view.total_s - cpu_s)
    return {
        "Cluster": view.cluster,
        "Allocated": view.amount(cpu_s),
        "Down": view.amount(0),
        "PLND Down": view.amount(0),
        "Idle": view.amount(idle_s),
        "Planned": view.amount(0),
        "Reported": view.amount(view.total_s),
    }


def _sums(held: Iterable[_Held]) -> dict[tuple[str, str], float]:
    sums: dict[tuple[str, str], float] = {}
    for job in held:
        sums[job.account, job.user] = sums.get((job.account, job.user), 0.0) + job.cpu_s
    return sums


def _by_account(options: Options, held: Sequence[_Held], view: _View) -> list[Row]:
    """The root account has the sum of all; with users named, the accounts' own lines are left out."""
    sums = _sums(held)
    rows: list[Row] = []
    if held and options.users is None and (options.accounts is None or ROOT in options.accounts):
        rows.append(view.used(ROOT, "", sum(sums.values())))
    for account in sorted({account for account, _ in sums}, key=lambda name: (name != ROOT, name)):
        users = {user: cpu_s for (of, user), cpu_s in sums.items() if of == account}
        depth = int(options.tree)
        if account != ROOT and options.users is None:
            rows.append(view.used(" " * depth + account, "", sum(users.values())))
        shown = " " * (depth * (1 if account == ROOT else 2)) + account
        rows += [view.used(shown, user, users[user]) for user in sorted(users)]
    return rows


def _by_user(options: Options, held: Sequence[_Held], view: _View) -> list[Row]:
    """The greatest first."""
    ordered = sorted(_sums(held).items(), key=lambda item: (-item[1], item[0]))
    if options.report is Report.TOP:
        ordered = ordered[: options.top]
    return [view.used(account, user, cpu_s) for (account, user), cpu_s in ordered]


def _groups(options: Options) -> list[str]:
    bounds = sorted(set(options.sizes))
    between = [f"{first}-{last - 1} CPUs" for first, last in zip((0, *bounds), bounds, strict=False)]
    return [*between, f">= {bounds[-1]} CPUs"]


def _sizes(options: Options, held: Sequence[_Held], view: _View) -> list[Row]:
    names, bounds = _groups(options), sorted(set(options.sizes))
    total_s = sum(job.cpu_s for job in held)
    rows: list[Row] = []
    for account in sorted({job.account for job in held}):
        own = [job for job in held if job.account == account]
        row = {"Cluster": view.cluster, "Account": account}
        for place, name in enumerate(names):
            jobs = [job for job in own if sum(job.cpus >= bound for bound in bounds) == place]
            cpu_s = sum(job.cpu_s for job in jobs)
            row[name] = str(len(jobs)) if options.count_jobs else view.amount(cpu_s)
        share = sum(job.cpu_s for job in own) / total_s * 100 if total_s else 0
        rows.append({**row, "% of cluster": f"{share:.2f}%"})
    return rows
