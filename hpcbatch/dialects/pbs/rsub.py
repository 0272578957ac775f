"""pbs_rsub, pbs_ralter and pbs_rdel: their command lines, and what a reservation is that they ask for. Source:
pbs_rsub.c, pbs_ralter.c, pbs_rdel.c, start_end_dur_wall() of OpenPBS 23.06.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PBSE_BADSTATE, PbsError, PbsUsageError
from hpcbatch.dialects.pbs.options import Option, Parsed
from hpcbatch.dialects.pbs.reservation_mail import parse_mail_points
from hpcbatch.dialects.pbs.resource_list import split_resources
from hpcbatch.dialects.pbs.values import parse_date, parse_duration, parse_mail_users
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import JobRecord
from hpcbatch.model.reservation import NOT, Denial, Flag, ReservationSpec
from hpcbatch.model.spec import JobSpec, Sharing
from hpcbatch.typed import Final, NamedTuple
from hpcbatch.units import hms

BAD_TIMES: Final = "Bad time specification(s)"
_PBSE_BADTSPEC, _PBSE_NOT_EMPTY, _PBSE_RRULE, _PBSE_ZONE, _PBSE_PERM = 15086, 15178, 15133, 15135, 15007
_PBSE_NOATTR = 15002
_PBSE_RESV_FAIL, _PBSE_BADATVAL, _PBSE_NOSUP = 15081, 15014, 15029
_DENIED: Mapping[Denial, tuple[str, int]] = {
    Denial.BAD_TIME: (BAD_TIMES, _PBSE_BADTSPEC),
    Denial.BAD_RULE: ("", _PBSE_RRULE),
    Denial.BAD_ZONE: ("", _PBSE_ZONE),
    Denial.BAD_REQUEST: ("Illegal attribute or resource value", _PBSE_BADATVAL),
    Denial.BAD_STATE: ("Request invalid for state of job", PBSE_BADSTATE),
    Denial.NOT_ALLOWED: ("Unauthorized Request", _PBSE_PERM),
    Denial.NO_PLAN: ("reservation failure", _PBSE_RESV_FAIL),
}
"""What the server refuses at once; what else is in the way the scheduler finds, which denies it."""
_RULES: Final = {
    "COUNT or UNTIL": 15134,
    "YEARLY": 15126,
    "MONTHLY": 15127,
    "WEEKLY": 15128,
    "DAILY": 15129,
    "HOURLY": 15130,
}
"""Of the texts about rules: a word, and PBS's number."""
_EXPLAINED: Final = frozenset({Denial.BAD_REQUEST, Denial.NOT_ALLOWED, Denial.NO_PLAN})
_IDLE_S = 600
"""delete_idle_time where it is not given, of a reservation that a job is moved into. Source: req_quejob.c."""
_LIST = r"[^\s,@]+(@[^\s,]*)?"


class Rsub(NamedTuple):
    spec: ReservationSpec
    wait_s: int | None
    """`-I`: how long the command waits for the reservation to be confirmed; None: it does not."""
    is_of_job: bool = False
    """It is a waiting job's (-W qmove), which moves into it."""
    is_running_job: bool = False
    """It is made of a running job (--job), and the controller moves that into it."""


class Times(NamedTuple):
    """What was given of them."""

    start: datetime | None = None
    end: datetime | None = None
    duration: timedelta | None = None

    def settled(self, now: datetime) -> tuple[datetime, datetime]:
        """Start and end. Raises PbsError."""
        bad = PbsError(BAD_TIMES, _PBSE_BADTSPEC & 0xFF)
        start, end, duration = self
        if start is not None and end is not None:
            if duration is not None and end - start != duration:
                raise bad
        elif start is not None and duration is not None:
            end = start + duration
        elif end is not None and duration is not None:
            start = end - duration
        if start is None or end is None or end <= start or start < now.replace(microsecond=0):
            raise bad
        return start, end


class Mailing(NamedTuple):
    """-m and -M, where they are given."""

    points: str | None = None
    users: tuple[str, ...] | None = None

    def applied(self, spec: ReservationSpec) -> ReservationSpec:
        return replace(
            spec,
            mail_points=spec.mail_points if self.points is None else self.points,
            mail_users=spec.mail_users if self.users is None else self.users,
        )


def refused_at_once(code: Denial, message: str, command: str) -> PbsError | None:
    """None for what a scheduler would have found."""
    if code not in _DENIED:
        return None
    text, number = _DENIED[code]
    if code is Denial.BAD_RULE:
        number = next((each for word, each in _RULES.items() if word in message), number)
    said = [text or message, *([f"{command}: {message}"] if code in _EXPLAINED and message != code.value else [])]
    return PbsError("\n".join(line.removeprefix(f"{command}: ") for line in said), number & 0xFF)


def read_rsub(
    argv: Sequence[str],
    *,
    now: datetime,
    environ: Mapping[str, str],
    host: str,
    read_job: Callable[[Sequence[str]], JobSpec],
    node_cpus: Callable[[], Mapping[str, int]],
    waiting_job: Callable[[str], JobSpec],
    running_job: Callable[[str], JobRecord],
) -> Rsub:
    """`read_job` reads options of qsub; `node_cpus` has the nodes; `waiting_job` and `running_job` find a job by its id
    and raise PbsError if it does not wait, or cannot become a reservation. Raises PbsUsageError and PbsError.
    """
    parsed = options.getopt(
        *(options.words(argv), options.PBS_RSUB), long_options=frozenset({"--hosts"}), with_value=frozenset({"--job"})
    )
    wrong = [*parsed.errors]
    given = {option.name: option.value for option in parsed.options}
    times = _times(parsed, now, wrong, "pbs_rsub")
    mail = _mail(given, wrong)
    wait_s = _wait(given.get("I"), wrong, least=None)
    if (queue := given.get("q")) is not None and not queue.startswith("@"):
        wrong.append('illegal -q value: format "@server"')
    hosts = tuple(word.text for word in parsed.operands) if "--hosts" in given else ()
    if "--hosts" in given:
        if "I" in given:
            wrong.append("can't use -I with --hosts")
        if "l" in given:
            wrong.append("can't use -l with --hosts")
        if not hosts:
            wrong.append("missing host(s)")
        if len(set(hosts)) < len(hosts):
            wrong.append(f"Duplicate host: {next(one for one in hosts if hosts.count(one) > 1)}")
    elif parsed.operands:
        wrong.append(f"directive error: {' '.join(argv)} ")
    if "--job" in given:
        if given.keys() & {"R", "E"}:
            wrong.append("Start/End time cannot be used with --job option")
        if extra := sorted(given.keys() & {"l", "D", "r", "W", "--hosts"}):
            wrong.append(f"the reservation is what the job has, for its walltime: --job goes without {_dashed(extra)}")
    more = _more(given["W"], wrong) if "W" in given else More()
    if more.job and given.keys() & {"R", "E"}:
        wrong.append("-Wqmove is not compatible with -R or -E option")
    if more.job and wait_s is not None and wait_s > -1:
        raise PbsError("-I <timeout> value must be negative when used with -Wqmove option.", 2)
    if more.job and given.keys() & {"l", "r"}:
        wrong.append("the reservation is what the job asks for, once: neither -l nor -r goes with -Wqmove")
    rule = given.get("r", "")
    if len(rule) > 66:
        wrong.append("illegal -r value (expression too long)")
    if wrong or not argv:
        raise PbsUsageError("\n".join(wrong), usage.PBS_RSUB)
    zone = environ.get("PBS_TZID", "")
    if rule and not zone:
        text = "pbs_rsub error: a valid PBS_TZID timezone environment variable is required."
        raise PbsError("", 2, usage=text)
    if "--job" in given:
        spec = _of_job(running_job(given["--job"]), parsed, host, now)
        return Rsub(mail.applied(spec), wait_s, is_running_job=True)
    if hosts:
        spec = _of_hosts(hosts, times.settled(now), given, host, node_cpus())
        return Rsub(mail.applied(spec), None)
    if more.job:
        job = waiting_job(more.job)
        if times.duration is None and job.walltime_s is None:
            raise PbsError(f"{BAD_TIMES}\nthe job has no walltime: -D says how long", _PBSE_BADTSPEC & 0xFF)
        times = times._replace(start=now.replace(microsecond=0))
    else:
        job = read_job([part for option in parsed.options if option.name == "l" for part in ("-l", option.value)])
    if times.duration is None and job.walltime_s is not None:
        times = times._replace(duration=timedelta(seconds=job.walltime_s))
    spec = _of_chunks(parsed, times.settled(now), job, host)
    spec = replace(spec, rule=rule, zone=zone if rule else "")
    if more.idle_s is not None or more.job:
        idle_s = _IDLE_S if more.idle_s is None else more.idle_s
        spec = replace(spec, flags=(Flag.PURGE_COMP,), purge_s=idle_s)
    return Rsub(mail.applied(spec), -1 if more.job else wait_s, bool(more.job))


class More(NamedTuple):
    """What -W says."""

    job: str = ""
    """qmove: the id of a job."""
    idle_s: int | None = None
    """delete_idle_time: the reservation ends when no job has used it for so long."""


def _more(text: str, wrong: list[str]) -> More:
    found = More()
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            wrong.append("illegal -W value")
        elif name == "qmove":
            found = found._replace(job=value)
        elif name == "delete_idle_time":
            try:
                found = found._replace(idle_s=parse_duration(value))
            except HpcBatchError:
                wrong.append("illegal -W value")
        else:
            raise PbsError(f"Undefined attribute  {name}", _PBSE_NOATTR & 0xFF)
    return found


def _of_hosts(
    hosts: tuple[str, ...],
    times: tuple[datetime, datetime],
    given: Mapping[str, str],
    host: str,
    cpus: Mapping[str, int],
) -> ReservationSpec:
    """Maintenance of whole hosts, for operators."""
    for name in hosts:
        if not cpus.get(name):
            raise PbsError(f"Host with resources not found: {name}", 2)
    start, end = times
    select = "+".join(f"host={name}:ncpus={cpus[name]}" for name in hosts)
    attributes = {"select": select, "place": "exclhost", **_shown(given)}
    return ReservationSpec(
        dialect="pbs",
        name=given.get("N", ""),
        start=start,
        end=end,
        nodes=hosts,
        flags=(Flag.MAINT, Flag.IGNORE_JOBS),
        users=_names(given.get("U", "")),
        groups=_names(given.get("G", "")),
        attributes={**attributes, "ncpus": str(sum(cpus[name] for name in hosts)), "nodect": str(len(hosts))},
        submit_host=host,
    )


def _dashed(names: Iterable[str]) -> str:
    return ", ".join(name if name.startswith("--") else f"-{name}" for name in names)


def _of_job(job: JobRecord, parsed: Parsed, host: str, now: datetime) -> ReservationSpec:
    """The controller looks at the job itself, and settles size and times by that."""
    start = job.status.start_time or now.replace(microsecond=0)
    end = start + timedelta(seconds=job.walltime_s or 1)
    return replace(_of_chunks(parsed, (start, end), job.spec, host), job=job.job_id)


def _of_chunks(parsed: Parsed, times: tuple[datetime, datetime], job: JobSpec, host: str) -> ReservationSpec:
    given = {option.name: option.value for option in parsed.options}
    lists = [option for option in parsed.options if option.name == "l"]
    start, end = times
    asked = _asked(lists)
    cpus = sum(chunk.count * chunk.cpus for chunk in job.chunks)
    count = sum(chunk.count for chunk in job.chunks)
    attributes = {
        **_shown(given),
        "select": asked.get("select") or job.attributes.get("Resource_List.select") or _select(job.chunks),
        "place": asked.get("place") or job.attributes.get("Resource_List.place", "free"),
        "ncpus": str(cpus),
        "nodect": str(count),
    }
    return ReservationSpec(
        dialect="pbs",
        name=given.get("N", ""),
        start=start,
        end=end,
        chunks=job.chunks,
        arrangement=job.arrangement,
        sharing=Sharing.EXCLUSIVE if job.sharing is Sharing.EXCLUSIVE else Sharing.SHARED,
        users=_names(given.get("U", "")),
        groups=_names(given.get("G", "")),
        attributes=attributes,
        submit_host=host,
    )


def _asked(lists: Sequence[Option]) -> dict[str, str]:
    found: dict[str, str] = {}
    for option in lists:
        found |= dict(split_resources(option.value))
    return found


def _select(chunks: Sequence[Chunk]) -> str:
    return "+".join(f"{chunk.count}:ncpus={chunk.cpus}" for chunk in chunks)


def _shown(given: Mapping[str, str]) -> dict[str, str]:
    """What is only shown again."""
    names = {"u": "User_List", "g": "group_list", "H": "Authorized_Hosts"}
    return {names[name]: value for name, value in given.items() if name in names}


def _mail(given: Mapping[str, str], wrong: list[str]) -> Mailing:
    mail = Mailing()
    try:
        mail = mail._replace(points=parse_mail_points(given["m"]) if "m" in given else None)
    except HpcBatchError:
        wrong.append("illegal -m value")
    try:
        mail = mail._replace(users=parse_mail_users(given["M"]) if "M" in given else None)
    except HpcBatchError:
        wrong.append("illegal -M value")
    return mail


def _times(parsed: Parsed, now: datetime, wrong: list[str], command: str) -> Times:
    times, start_text = Times(), ""
    for option in parsed.options:
        if option.name in {"R", "E"}:
            try:
                when = parse_date(option.value, now)
            except HpcBatchError:
                wrong.append(f"illegal -{option.name} time value")
                continue
            times = times._replace(start=when) if option.name == "R" else times._replace(end=when)
            start_text = option.value if option.name == "R" else start_text
        elif option.name == "D":
            try:
                times = times._replace(duration=timedelta(seconds=parse_duration(option.value)))
            except HpcBatchError:
                wrong.append(f"illegal -{option.name} value")
    is_clock = command == "pbs_rsub" and re.fullmatch(r"[0-9]{4}(\.[0-9]{2})?", start_text)
    if is_clock and times.start is not None and times.end is not None and times.end < times.start:
        times = times._replace(end=times.end + timedelta(days=1))
    return times


def _wait(text: str | None, wrong: list[str], *, least: int | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,9}", text) or (least is not None and int(text) < least):
        wrong.append("illegal -I time value")
        return None
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    """`ann,bob@host`, `-eve`: hosts are not looked at. Raises PbsError."""
    found = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        if not re.fullmatch(_LIST, part.lstrip("+-")):
            raise PbsError("illegal -U value", 2)
        name = part.lstrip("+").partition("@")[0]
        found.append(name)
    return tuple(dict.fromkeys(found))


class Ralter(NamedTuple):
    reservation: str
    times: Times
    name: str | None = None
    users: str | None = None
    groups: str | None = None
    select: str | None = None
    mail: Mailing = Mailing()
    wait_s: int | None = None

    def applied(
        self,
        spec: ReservationSpec,
        now: datetime,
        read_job: Callable[[Sequence[str]], JobSpec],
        *,
        is_on: bool,
        has_jobs: bool,
    ) -> ReservationSpec:
        """The altered reservation. Raises PbsError."""
        start, end, duration = self.times
        if start is not None and is_on and has_jobs:
            raise PbsError("Reservation not empty", _PBSE_NOT_EMPTY & 0xFF)
        if start is not None and (start <= now or is_on):
            raise PbsError(BAD_TIMES, _PBSE_BADTSPEC & 0xFF)
        new_start = start or spec.start
        if end is not None and duration is not None:
            new_start = end - duration if start is None and not is_on else new_start
            if end - new_start != duration:
                raise PbsError(BAD_TIMES, _PBSE_BADTSPEC & 0xFF)
        new_end = end or (new_start + duration if duration is not None else spec.end)
        if new_end <= new_start or new_end <= now:
            raise PbsError(BAD_TIMES, _PBSE_BADTSPEC & 0xFF)
        found = replace(
            spec,
            start=new_start,
            end=new_end,
            name=spec.name if self.name is None else self.name,
            users=_merged(spec.users, self.users),
            groups=_merged(spec.groups, self.groups),
        )
        found = self.mail.applied(found)
        if self.select is None:
            return found
        job = read_job(["-l", f"select={self.select}"])
        more = {
            "select": self.select,
            "ncpus": str(sum(chunk.count * chunk.cpus for chunk in job.chunks)),
            "nodect": str(sum(chunk.count for chunk in job.chunks)),
        }
        return replace(found, chunks=job.chunks, attributes={**found.attributes, **more})


def _merged(before: tuple[str, ...], text: str | None) -> tuple[str, ...]:
    """`+ann,-bob` changes the list, `ann,bob` replaces it."""
    if text is None:
        return before
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not any(part[0] in "+-" for part in parts):
        return _names(text)
    found = list(before)
    for part in parts:
        name = part.lstrip("+-").partition("@")[0]
        if part[0] == "-" and name in found:
            found.remove(name)
        elif part[0] == "-":
            found.append(f"{NOT}{name}")
        elif name not in found:
            found.append(name)
    return tuple(found)


def read_ralter(argv: Sequence[str], now: datetime) -> Ralter:
    """Raises PbsUsageError and PbsError."""
    parsed = options.getopt(options.words(argv), options.PBS_RALTER)
    wrong = [*parsed.errors]
    given = {option.name: option.value for option in parsed.options}
    times = _times(parsed, now, wrong, "pbs_ralter")
    mail = _mail(given, wrong)
    wait_s = _wait(given.get("I"), wrong, least=1)
    if (queue := given.get("q")) is not None and not queue.startswith("@"):
        wrong.append('illegal -q value: format "@server"')
    select = given.get("l")
    if select is not None and not select.startswith("select="):
        wrong.append("-l only allows for select")
    if given.get("W", "force") != "force":
        wrong.append("illegal -W value")
    if wrong or len(parsed.operands) != 1:
        raise PbsUsageError("\n".join(wrong), usage.PBS_RALTER)
    if "W" in given:
        why = (
            "a change is granted if there is room for it, and never forced: -W force (operators reserve what is taken "
            "with scontrol create reservation Flags=OVERLAP,IGNORE_JOBS)"
        )
        raise PbsError(f"No support for requested service\n{why}", _PBSE_NOSUP & 0xFF)
    return Ralter(
        reservation=parsed.operands[0].text,
        times=times,
        name=given.get("N"),
        users=given.get("U"),
        groups=given.get("G"),
        select=None if select is None else select.removeprefix("select="),
        mail=mail,
        wait_s=wait_s,
    )


def read_rdel(argv: Sequence[str]) -> tuple[str, ...]:
    """The reservations. Raises PbsUsageError."""
    parsed = options.getopt(options.words(argv), options.PBS_RDEL)
    if parsed.errors or not parsed.operands:
        raise PbsUsageError("\n".join(parsed.errors), usage.PBS_RDEL)
    if any(option.name == "q" for option in parsed.options):
        raise PbsError("No support for requested service\nthe jobs of a reservation go with it: -q", _PBSE_NOSUP & 0xFF)
    return tuple(word.text for word in parsed.operands)


def walltime(spec: ReservationSpec) -> str:
    return hms(int(spec.duration.total_seconds()))
