"""What options beside a job's size come to: limits, variables, mail, the signal before its end, what is only kept."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from hpcbatch.dialects.lsf.request import Request
from hpcbatch.dialects.lsf.values import KIB, minutes, size
from hpcbatch.model.warn_signal import WarnSignal
from hpcbatch.typed import Final

_MOST_TOLD: Final = 128
_DEFAULT_WARNING_S: Final = 120
_OF_LSF: Final = ("LSB_", "LS_")
"""Variables of another job, and of bsub itself."""
_KEPT: Final = {
    "app": "app",
    "g": "group",
    "G": "user_group",
    "Jd": "description",
    "Lp": "license_project",
    "sla": "sla",
    "U": "reservation",
    "w": "depend",
    "Q": "requeue_codes",
    "a": "esub",
    "E": "pre_exec",
    "Ep": "post_exec",
    "L": "login_shell",
    "n": "slots",
    "M": "mem_limit",
    "gpu": "gpu",
    "m": "hosts",
    "sp": "user_priority",
}
"""Options that a job's record has as they were given, by the attribute's name."""
_PROCESS: Final = {"C": "core", "D": "data", "F": "fsize", "S": "stack", "v": "as"}


def process_limits(request: Request, submitters: Mapping[str, int] | None) -> tuple[tuple[str, int], ...]:
    """Limits of each process by the names of setrlimit(2) in lower case. `submitters` are the submitter's soft ones,
    for -ul; below 0: none.
    """
    found: dict[str, int] = {}
    if "ul" in request and submitters is not None:
        found |= {name: submitters[name] for name in submitters if submitters[name] >= 0}
    for option, name in _PROCESS.items():
        amount = request.read(option, lambda text: size(text, KIB), "Bad limit specification")
        if amount is not None:
            found[name] = amount
    number = request.read("p", _count, "Bad PROCLIMIT specification")
    if number is not None:
        found["nproc"] = number
    return tuple(sorted(found.items()))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 2**31:
        raise ValueError("a number above 0")
    return int(text)


def environment_of(request: Request, environ: Mapping[str, str]) -> dict[str, str]:
    """What travels with the job: all variables of the submitter, or as -env says."""
    taken = {name: value for name, value in environ.items() if name and not name.startswith(_OF_LSF)}
    each = request.given("env")
    if each is None:
        return taken
    result: dict[str, str] = {}
    for part in (part.strip() for part in each.value.split(",")):
        name, equals, value = part.partition("=")
        if part == "all":
            result = {**taken, **result}
        elif part in {"none", ""}:
            continue
        elif part.startswith("~"):
            result.pop(part[1:], None)
        elif equals and name.isidentifier():
            result[name] = value.strip("'\"") if value[:1] in {"'", '"'} else value
        elif not equals and name in environ:
            result[name] = environ[name]
        elif equals:
            request.refuse(each, each.wrong("Bad environment variable", "expected name=value"))
    return result


def mail_points(request: Request) -> str:
    """`B`: at the beginning, `N`: at the end, `E`: at the end of one that failed."""
    points = set()
    if "B" in request:
        points.add("B")
    if (each := request.given("N")) is not None:
        points.add("E" if each.name == "Ne" else "N")
    for word in (request.value("notify") or "").replace(",", " ").split():
        points |= {"start": {"B"}, "done": {"N"}, "exit": {"E"}}.get(word.strip("[]"), set())
    return "".join(sorted(points - ({"E"} if "N" in points else set())))


def warn_signal(request: Request) -> WarnSignal | None:
    """-wa and -wt; LSF needs both, here the time has a default."""
    number = request.read("wa", _signal, "Bad job warning action")
    before_s = request.read("wt", minutes, "Bad job warning time")
    if number is None:
        return None
    return WarnSignal(signal=number, before_s=min(before_s or _DEFAULT_WARNING_S, 65535))


def _signal(text: str) -> int:
    name = text.strip("'\"").upper().removeprefix("SIG")
    found = int(name) if name.isdigit() else getattr(signal, f"SIG{name}", None)
    if not isinstance(found, int) or not 1 <= found <= 64:
        raise ValueError("a signal such as URG")
    return int(found)


def attributes(request: Request, slots: tuple[int, int], command: str) -> dict[str, str]:
    """What bjobs shows again, under names of our own."""
    found = {
        name: text for option, name in _KEPT.items() if (text := request.value(option)) is not None and text.strip()
    }
    found["slots"] = ",".join(str(number) for number in dict.fromkeys(slots))
    if request.requirements:
        found["res_req"] = " ".join(each.value for each in request.requirements)
    if command:
        found["command"] = command
    if (each := request.given("r")) is not None and each.name == "r":
        found["rerunnable"] = "yes"
    return found


def told(ignored: Mapping[str, str]) -> tuple[str, ...]:
    """The lines of `JobSpec.ignored`, as many and as long as it may have."""
    lines = [f"{option}: {reason}" for option, reason in ignored.items()]
    if len(lines) > _MOST_TOLD:
        lines[_MOST_TOLD - 1 :] = [f"{len(lines) - _MOST_TOLD + 1} further options: they mean nothing here"]
    return tuple(lines)
