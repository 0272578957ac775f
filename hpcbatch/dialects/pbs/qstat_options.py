"""qstat's command line."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.dialects.pbs.options import Parsed
from hpcbatch.typed import NamedTuple


class About(StrEnum):
    """What is listed, and so what the operands are."""

    JOBS = "jobs"
    QUEUES = "queues"
    SERVERS = "servers"


class Format(StrEnum):
    DEFAULT = "default"
    DSV = "dsv"
    JSON = "json"


class QstatOptions(NamedTuple):
    """What to show. `operands` are as given: job ids, queues and `@server`, unchecked."""

    about: About = About.JOBS
    operands: tuple[str, ...] = ()
    all: bool = False
    """-a."""
    not_running: bool = False
    """-i: only jobs that are not running."""
    running: bool = False
    """-r: only jobs that are running."""
    finished: bool = False
    """-H: only jobs that have ended."""
    history: bool = False
    """-x or -H: jobs that have ended, too."""
    users: tuple[str, ...] | None = None
    """-u; without their hosts."""
    nodes: bool = False
    """-n: a line with the nodes of each job."""
    comments: bool = False
    """-s: a line with the comment of each job."""
    one_line: bool = False
    """-1: nodes and comment on the job's own line."""
    wide: bool = False
    full: bool = False
    format: Format = Format.DEFAULT
    delimiter: str = "|"
    subjobs: bool = False
    """-t."""
    arrays_only: bool = False
    """-J: only array jobs."""
    percent: bool = False
    """-p: the share of its time that a job has used, in place of the time."""
    estimates: bool = False
    """-T: when a job is likely to start, in place of the time it has used."""
    gigabytes: bool = False
    """-G."""
    megawords: bool = False
    """-M."""
    by_server: bool = False
    """-E: ask each server once; there is one."""
    queue_limits: bool = False
    """-q: the limits of queues; `about` is QUEUES."""

    @property
    def is_alternate(self) -> bool:
        """Whether the alternate table is requested. Real qstat lets -n and -s undo -f; the rest gives way to it."""
        alternate = self.all or self.not_running or self.running or self.finished or self.users is not None
        alternate = alternate or self.nodes or self.comments or self.estimates or self.gigabytes or self.megawords
        return alternate and not (self.wide and self.full)

    @property
    def is_filtered(self) -> bool:
        """Whether jobs are chosen by what they are."""
        chosen = self.not_running or self.running or self.finished or self.arrays_only
        return chosen or self.users is not None


_FLAGS = {
    "a": "all",
    "i": "not_running",
    "n": "nodes",
    "p": "percent",
    "q": "queue_limits",
    "r": "running",
    "s": "comments",
    "t": "subjobs",
    "w": "wide",
    "x": "history",
    "f": "full",
    "G": "gigabytes",
    "H": "finished",
    "J": "arrays_only",
    "M": "megawords",
    "E": "by_server",
    "T": "estimates",
    "1": "one_line",
}
_ALTERNATE = frozenset("airunsHqMG1T")
_CONFLICT = "conflicting options."


def parse_qstat(argv: Sequence[str]) -> QstatOptions:
    """Read qstat's command line. PbsUsageError, with the complaints and the usage text, for what it does not
    understand and for options that do not go together. Source: OpenPBS, qstat.c.
    """
    parsed = options.getopt(options.words(argv), options.QSTAT)
    reader = _Reader()
    for option in _with_w_letters(parsed):
        reader.take(option[0], option[1])
    complaints = [*parsed.errors, *reader.complaints, *reader.conflicts()]
    if complaints or reader.is_wrong:
        raise PbsUsageError("\n".join(complaints), usage.QSTAT)
    flags = {name: True for letter, name in _FLAGS.items() if letter in reader.letters}
    if "H" in reader.letters:
        flags["history"] = True
    return QstatOptions(
        about=reader.about,
        operands=tuple(word.text for word in parsed.operands),
        users=reader.users,
        format=reader.format,
        delimiter=reader.delimiter,
        **flags,
    )


def _with_w_letters(parsed: Parsed) -> list[tuple[str, str]]:
    """The options, those of -W among them: `-W ans` is `-a -n -s`, and `u` takes all that follows it."""
    found: list[tuple[str, str]] = []
    for option in parsed.options:
        if option.name != "W":
            found.append((option.name, option.value))
            continue
        letters, u, users = option.value.partition("u")
        found += [(letter if letter in "airHnsqGM1" else "?", "") for letter in letters if letter != " "]
        if u:
            found.append(("u", users.lstrip(" ")))
    return found


class _Reader:
    """Takes the options one after the other, as some conflicts depend on their order."""

    def __init__(self) -> None:
        self.letters: set[str] = set()
        self.complaints: list[str] = []
        self.is_wrong = False
        self.about = About.JOBS
        self.users: tuple[str, ...] | None = None
        self.format = Format.DEFAULT
        self.delimiter = "|"

    def take(self, letter: str, value: str) -> None:
        match letter:
            case "?":
                self.is_wrong = True
            case "u":
                self.users = tuple(user.partition("@")[0].strip() for user in value.split(","))
            case "Q" | "B":
                other = "B" if letter == "Q" else "Q"
                if other in self.letters or ((self.letters | self._u()) & _ALTERNATE and "w" not in self.letters):
                    self.complaints.append(_CONFLICT)
                self.about = About.QUEUES if letter == "Q" else About.SERVERS
            case "q":
                self.about = About.QUEUES
            case "D":
                self.is_wrong = self.is_wrong or self.format is not Format.DSV or not value
                self.delimiter = value
            case "F":
                if value.lower() in set(Format):
                    self.format = Format(value.lower())
                else:
                    self.is_wrong = True
            case "n" | "s":
                self.letters.discard("f")
        self.letters.add(letter)

    def _u(self) -> set[str]:
        return {"u"} if self.users is not None else set()

    def conflicts(self) -> list[str]:
        letters = self.letters
        found = [
            len(letters & set("airqH")) > 1,
            {"M", "G"} <= letters,
            self.format is not Format.DEFAULT and ("f" not in letters or bool(letters & (_ALTERNATE | {"w"}))),
            {"q", "f"} <= letters,
            "1" in letters and not letters & {"n", "s"},
        ]
        complaints = [_CONFLICT for is_conflict in found if is_conflict]
        if "w" in letters and self.format is not Format.DEFAULT:
            complaints.append("option w cannot be used with -F")
        return complaints
