"""pbs_rstat: its command line, and reservations as it shows them. Source: pbs_rstat.c of OpenPBS 23.06."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError
from hpcbatch.dialects.pbs.states import ctime
from hpcbatch.record.reservation import ReservationRecord
from hpcbatch.typed import Final, NamedTuple
from hpcbatch.units import hms

_ID = re.compile(r"([RSM][0-9]+)(?:\.[\w.:-]+)?(?:@[\w.:-]+)?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[\w.:-]+)?(@[\w.:-]+)?", re.ASCII)
UNKNOWN: Final = "Unknown Reservation Id"
PBSE_UNKRESVID: Final = 15084
_HEADER = (
    f"{'Resv ID':<10} {'Queue':<8} {'User':<8} {'State':<5} {'Start':>17} / Duration / {'End':<17}\n" + "-" * 69 + "\n"
)
_STATES: Mapping[str, tuple[str, int]] = {
    "UN": ("RESV_UNCONFIRMED", 1),
    "CO": ("RESV_CONFIRMED", 2),
    "RN": ("RESV_RUNNING", 5),
    "DG": ("RESV_DEGRADED", 10),
}


class Rstat(NamedTuple):
    how: str
    """`F`, `B` or `S`."""
    names: tuple[str, ...]


def parse_rstat(argv: Sequence[str]) -> Rstat:
    """PbsUsageError (exit 1) for an option that is none."""
    parsed = options.getopt(options.words(argv), options.PBS_RSTAT)
    if parsed.errors:
        raise PbsUsageError("\n".join(parsed.errors), usage.PBS_RSTAT, code=1)
    how = next((option.name.upper() for option in reversed(parsed.options)), "S")
    return Rstat(how, tuple(word.text for word in parsed.operands))


def read_id(name: str, command: str = "pbs_rstat") -> str:
    """`R12` of `R12.server`; "" of a number, which no reservation has. PbsError for what is no id."""
    match = _ID.fullmatch(name)
    if match is None and not _NUMBER.fullmatch(name):
        raise PbsError(f"illegally formed reservation identifier: {name}", 1 if command != "pbs_ralter" else 2)
    return match[1] if match else ""


class Shown(NamedTuple):
    """Of the surroundings in which reservations are shown."""

    server: str
    now: datetime
    zone: tzinfo
    lost: frozenset[str] = frozenset()
    """Nodes that are gone or take no jobs."""
    cpus: Mapping[str, int] = {}


def format_list(records: Sequence[ReservationRecord], how: str, shown: Shown) -> str:
    if how == "B":
        return "".join(f"Resv ID: {one.status.id}.{shown.server}\n" for one in records)
    if how == "F":
        return "".join(_full(one, shown) for one in records)
    return (_HEADER if records else "") + "".join(_short(one, shown) for one in records)


def _short(record: ReservationRecord, shown: Shown) -> str:
    status = record.status
    start, end = status.start or record.spec.start, status.end or record.spec.end
    full_id = f"{status.id}.{shown.server}"
    user = _users(record)
    lasts = int((end - start).total_seconds())
    return (
        f"{full_id[:10]:<10} {queue_of(record)[:8]:<8} {user[:8]:<8} {state_of(record, shown):<5} "
        f"{_near(start, shown)[:17]:>17} / {lasts} / {_near(end, shown)[:17]:<17}\n"
    )


def queue_of(record: ReservationRecord) -> str:
    """Slurm's have none."""
    return record.status.id if record.spec.dialect == "pbs" else ""


def _users(record: ReservationRecord) -> str:
    spec = record.status.granted or record.spec
    host = spec.submit_host
    return ",".join(name if name.startswith("-") else f"{name}@{host}" for name in spec.users) or (
        f"{record.status.owner}@{host}"
    )


def state_of(record: ReservationRecord, shown: Shown) -> str:
    status = record.status
    if status.start is None or status.granted is None:
        return "UN"
    if any(node.name in shown.lost for node in status.nodes):
        return "DG"
    return "RN" if status.start <= shown.now else "CO"


def _near(when: datetime, shown: Shown) -> str:
    """`Today 15:04`, `Fri 08:00`, `Fri Dec 04 08:00`. Source: convert_time()."""
    local, now = when.astimezone(shown.zone), shown.now.astimezone(shown.zone)
    clock = f"{local:%H:%M}"
    if local.year != now.year:
        return f"{local:%a %b %d %Y} {clock}"
    if local.date() == now.date():
        return f"Today {clock}"
    sunday = now.date() - timedelta(days=(now.weekday() + 1) % 7)
    if 0 <= (local.date() - sunday).days <= 6:
        return f"{local:%a} {clock}"
    return f"{local:%a %b %d} {clock}"


def _full(record: ReservationRecord, shown: Shown) -> str:
    status, spec = record.status, record.status.granted or record.spec
    start, end = status.start or spec.start, status.end or spec.end
    word = state_of(record, shown)
    long, number = _STATES[word]
    length = int((end - start).total_seconds())
    given = spec.attributes
    lines: list[tuple[str, str]] = [
        ("Reserve_Name", spec.name or "NULL"),
        ("Reserve_Owner", f"{status.owner}@{spec.submit_host}"),
        ("reserve_state", long),
        ("reserve_substate", str(number)),
        ("reserve_start", ctime(start, shown.zone)),
        ("reserve_end", ctime(end, shown.zone)),
        ("reserve_duration", str(length)),
        ("queue", queue_of(record)),
        ("Resource_List.ncpus", given.get("ncpus", str(_cpus(record, shown)))),
        ("Resource_List.nodect", given.get("nodect", str(len(status.nodes)))),
        ("Resource_List.place", given.get("place", "")),
        ("Resource_List.select", given.get("select", "")),
        ("Resource_List.walltime", hms(length)),
        ("resv_nodes", "+".join(f"({name}:ncpus={cpus})" for name, cpus in _pieces(record, shown))),
        ("User_List", given.get("User_List", "")),
        ("group_list", given.get("group_list", "")),
        ("Authorized_Users", _users(record)),
        ("Authorized_Groups", ",".join(spec.groups)),
        ("Authorized_Hosts", given.get("Authorized_Hosts", "")),
        ("server", shown.server),
        ("reserve_job", "" if spec.job is None else f"{spec.job}.{shown.server}"),
        ("ctime", _moment(record.created, shown)),
        ("Mail_Points", spec.mail_points),
        ("Mail_Users", ",".join(spec.mail_users)),
        ("mtime", "" if status.changed is None else ctime(status.changed, shown.zone)),
    ]
    if spec.rule:
        lines += [
            ("reserve_rrule", spec.rule),
            ("reserve_index", str(status.index)),
            ("reserve_count", str(status.count or 0)),
        ]
    text = "".join(f"{name} = {value}\n" for name, value in lines if value)
    return f"Resv ID: {status.id}.{shown.server}\n{text}\n"


def _cpus(record: ReservationRecord, shown: Shown) -> int:
    return sum(_node_cpus(node.name, node.amounts, shown) for node in record.status.nodes)


def _node_cpus(name: str, amounts: Mapping[str, int] | None, shown: Shown) -> int:
    return shown.cpus.get(name, 0) if amounts is None else amounts.get("cpu", 0) // 1000


def _pieces(record: ReservationRecord, shown: Shown) -> list[tuple[str, int]]:
    """The node of each chunk, with its CPUs. What is kept is known by node alone: where the chunks cannot be told apart
    in it, or whole nodes are kept, all of a node is one piece.
    """
    status, spec = record.status, record.status.granted or record.spec
    whole = [(node.name, _node_cpus(node.name, node.amounts, shown)) for node in status.nodes]
    if any(node.amounts is None for node in status.nodes):
        return whole
    left = dict(whole)
    found = []
    for chunk in spec.chunks:
        for _ in range(chunk.count):
            name = next((name for name, cpus in left.items() if cpus >= chunk.cpus), "")
            if not name:
                return whole
            left[name] -= chunk.cpus
            found.append((name, chunk.cpus))
    return whole if any(left.values()) else found


def _moment(text: str, shown: Shown) -> str:
    return ctime(datetime.fromisoformat(text), shown.zone) if text else ""
