"""The options of LSF's commands beside bsub, by which their lines are read, and completion and the manual made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.lsf.errors import VERSION, LsfAnswer, LsfUsageError
from hpcbatch.model.command_line import Word
from hpcbatch.typed import Final, NamedTuple


class Option(NamedTuple):
    about: str
    takes: str = ""
    """"" for no value, "=" for one, "?" for one that may be missing."""
    value: str = ""
    word: Word = Word.TEXT


class Command(NamedTuple):
    about: str
    usage: str
    options: Mapping[str, Option]
    operand: Word | None = Word.JOB


class Line:
    """A command line, taken apart: the last value of each option, and what stands behind them."""

    def __init__(self, options: Mapping[str, str], operands: tuple[str, ...]) -> None:
        self.options, self.operands = options, operands

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def value(self, name: str) -> str | None:
        return self.options.get(name)


_USER: Final = Option("jobs of this user, or of all", "=", "user|all", Word.USER)
_QUEUE: Final = Option("jobs in this queue", "=", "queue", Word.QUEUE)
_HOST: Final = Option("jobs on this host", "=", "host", Word.NODE)
_NAME: Final = Option("jobs of this name, which may have a *", "=", "name")
_GROUP: Final = Option("jobs of this group", "=", "/group")
_APP: Final = Option("jobs of this application profile", "=", "profile")
_SLA: Final = Option("jobs of this service class", "=", "class")
_PROJECT: Final = Option("jobs of this project", "=", "project")
_LONG: Final = Option("all that is known")
_WIDE: Final = Option("columns as wide as their texts")
_SELECT: Final = {"u": _USER, "q": _QUEUE, "m": _HOST, "J": _NAME, "g": _GROUP, "app": _APP, "sla": _SLA}
_FORMAT: Final = {
    "o": Option("these fields", "=", "'field[:[-]width] … [delimiter=c]'"),
    "noheader": Option("no headings"),
    "json": Option("as JSON, with -o"),
}

COMMANDS: Final[Mapping[str, Command]] = {
    "bjobs": Command(
        "show jobs",
        "bjobs [-a] [-A] [-d] [-p] [-r] [-s] [-l | -w | -W | -o format [-json]] [-noheader] [-X] [-u user|all] "
        "[-q queue] [-m host] [-J name] [-P project] [-g group] [-app profile] [jobid ...]",
        {
            "a": Option("jobs that have ended, too"),
            "A": Option("job arrays, each in one line"),
            "d": Option("jobs that have ended"),
            "p": Option("jobs that wait, with the reasons"),
            "pe": Option("jobs that wait and may start"),
            "pi": Option("jobs that wait for others, a time or their user"),
            "r": Option("jobs that run"),
            "s": Option("jobs that are suspended, with the reasons"),
            "l": _LONG,
            "w": _WIDE,
            "W": Option("further columns, as wide as their texts"),
            "WL": Option("the time that is left"),
            "WF": Option("the time of the end"),
            "WP": Option("how much of the time is used"),
            "X": Option("each host by itself"),
            "x": Option("jobs with exceptions: there are none"),
            "G": Option("jobs of this user group", "=", "group"),
            "P": _PROJECT,
            "hms": Option("times as hours, minutes and seconds"),
            "sum": Option("how many jobs are in each state"),
            "UF": Option("with -l, lines of any length"),
            "aff": Option("changes nothing: -l shows it"),
            "gpu": Option("changes nothing: -l shows it"),
            "noheader": _FORMAT["noheader"],
            "o": _FORMAT["o"],
            "json": _FORMAT["json"],
            **_SELECT,
        },
    ),
    "bkill": Command(
        "end jobs, or send them a signal",
        "bkill [-l] [-s signal] [-r] [-b] [-u user|all] [-q queue] [-m host] [-J name] [-g group] [-app profile] "
        "[jobid ... | 0]",
        {
            "l": Option("the names of signals"),
            "s": Option("send this signal", "=", "signal"),
            "r": Option("changes nothing"),
            "b": Option("changes nothing"),
            "d": Option("changes nothing: the job does not count as done"),
            "stat": Option("jobs in this state", "=", "run|pend|susp"),
            "C": Option("a reason, which is not kept", "=", "reason"),
            **_SELECT,
        },
    ),
    "bstop": Command(
        "suspend jobs",
        "bstop [-u user|all] [-q queue] [-m host] [-J name] [-g group] [-app profile] [-a] [-C reason] [jobid ... | 0]",
        {"a": Option("all jobs"), "C": Option("a reason, which is not kept", "=", "reason"), **_SELECT},
    ),
    "bresume": Command(
        "go on with suspended jobs",
        "bresume [-u user|all] [-q queue] [-m host] [-J name] [-g group] [-app profile] [-C reason] [jobid ... | 0]",
        {"C": Option("a reason, which is not kept", "=", "reason"), **_SELECT},
    ),
    "bswitch": Command(
        "move waiting jobs to another queue",
        "bswitch [-u user|all] [-q queue] [-m host] [-J name] [-g group] [-app profile] queue jobid ... | 0",
        dict(_SELECT),
        Word.QUEUE,
    ),
    "btop": Command("move a waiting job to the top of one's own", "btop jobid | jobid[index] [position]", {"u": _USER}),
    "bbot": Command(
        "move a waiting job to the bottom of one's own", "bbot jobid | jobid[index] [position]", {"u": _USER}
    ),
    "brequeue": Command(
        "end runs of jobs and queue them again",
        "brequeue [-a | -d -e -r] [-H | -p] [-u user|all] [-J name] jobid ... | 0",
        {
            "a": Option("jobs that run, have ended or have failed"),
            "d": Option("jobs that are done"),
            "e": Option("jobs that have failed"),
            "r": Option("jobs that run"),
            "H": Option("the jobs are held"),
            "p": Option("the jobs wait"),
            "u": _USER,
            "J": _NAME,
        },
    ),
    "bpeek": Command(
        "show the output of a running job",
        "bpeek [-f] [-q queue | -m host | -J name | jobid]",
        {"f": Option("print also what the job writes from now on"), "q": _QUEUE, "m": _HOST, "J": _NAME},
    ),
    "bmod": Command(
        "change a job",
        "bmod [options of bsub, each also with n behind its name to take it off] jobid",
        {},
    ),
    "bhist": Command(
        "show the history of jobs",
        "bhist [-a] [-b] [-d] [-e] [-l] [-p] [-r] [-s] [-w] [-t] [-n files] [-u user|all] [-q queue] [-m host] "
        "[-J name] [-P project] [-T t0,t1] [-C t0,t1] [-D t0,t1] [-S t0,t1] [jobid ...]",
        {
            "a": Option("all jobs"),
            "b": Option("a short form"),
            "d": Option("jobs that have ended"),
            "e": Option("jobs that have failed"),
            "l": Option("each event"),
            "p": Option("jobs that wait"),
            "r": Option("jobs that run"),
            "s": Option("jobs that are suspended"),
            "w": _WIDE,
            "t": Option("events in order of time"),
            "n": Option("nothing to choose: there is one history, of which all is searched", "=", "files"),
            "u": _USER,
            "q": _QUEUE,
            "m": _HOST,
            "J": _NAME,
            "P": _PROJECT,
            "T": Option("refused: events between these times", "=", "t0,t1"),
            "C": Option("jobs that ended between these times", "=", "t0,t1"),
            "D": Option("jobs that started between these times", "=", "t0,t1"),
            "S": Option("jobs submitted between these times", "=", "t0,t1"),
        },
    ),
    "bacct": Command(
        "sum up jobs that have ended",
        "bacct [-b] [-d] [-e] [-l] [-w] [-x] [-u user|all] [-q queue] [-m host] [-P project] [-C t0,t1] [-D t0,t1] "
        "[-S t0,t1] [jobid ...]",
        {
            "b": Option("a short form"),
            "d": Option("jobs that are done"),
            "e": Option("jobs that have failed"),
            "l": _LONG,
            "w": _WIDE,
            "x": Option("jobs with exceptions: there are none"),
            "u": _USER,
            "q": _QUEUE,
            "m": _HOST,
            "P": _PROJECT,
            "C": Option("jobs that ended between these times", "=", "t0,t1"),
            "D": Option("jobs that started between these times", "=", "t0,t1"),
            "S": Option("jobs submitted between these times", "=", "t0,t1"),
        },
    ),
    "bqueues": Command(
        "show queues",
        "bqueues [-l | -w | -o format [-json]] [-noheader] [-r] [-u user|all] [-m host] [queue ...]",
        {
            "l": _LONG,
            "w": _WIDE,
            "r": Option("changes nothing: -l shows it"),
            "u": Option("queues that this user may use", "=", "user|all", Word.USER),
            "m": Option("queues that reach this host", "=", "host", Word.NODE),
            **_FORMAT,
        },
        Word.QUEUE,
    ),
    "bhosts": Command(
        "show hosts and the jobs on them",
        "bhosts [-l | -w | -o format [-json]] [-noheader] [-a] [-X] [host ...]",
        {
            "l": _LONG,
            "w": _WIDE,
            "a": Option("all hosts"),
            "X": Option("each host by itself"),
            "e": Option("changes nothing"),
            **_FORMAT,
        },
        Word.NODE,
    ),
    "lshosts": Command(
        "show what hosts there are", "lshosts [-l | -w] [host ...]", {"l": _LONG, "w": _WIDE}, Word.NODE
    ),
    "lsload": Command("show the load of hosts", "lsload [-l | -w] [host ...]", {"l": _LONG, "w": _WIDE}, Word.NODE),
    "lsid": Command("show the version and the name of the cluster", "lsid", {}, None),
    "bparams": Command("show settings", "bparams [-a] [-l]", {"a": Option("all settings"), "l": _LONG}, None),
    "busers": Command(
        "show users and how many jobs they have",
        "busers [-w] [user ... | all]",
        {"w": _WIDE, "alloc": Option("jobs count as slots")},
        Word.USER,
    ),
}
"""By name; bsub has a table of its own."""


def parse(command: str, argv: Sequence[str]) -> Line:
    """Take a line apart, options first. Raises LsfUsageError, and LsfAnswer for -h and -V."""
    of = COMMANDS[command]
    found: dict[str, str] = {}
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        word = argv[at]
        at += 1
        if word == "--":
            break
        for name, option, given in _options(command, word):
            value = given
            if option is None or not option.takes:
                found[name] = ""
                continue
            if not value:
                if at >= len(argv):
                    raise LsfUsageError(f"option requires an argument -- {name}", usage(command))
                value, at = argv[at], at + 1
            found[name] = value
    if "h" in found and "h" not in of.options:
        raise LsfAnswer(help_of(command))
    if "V" in found and "V" not in of.options:
        raise LsfAnswer(VERSION)
    return Line(found, tuple(argv[at:]))


def help_of(command: str) -> str:
    """What -h prints."""
    from hpcbatch.dialects.lsf.command_lines import command_lines
    from hpcbatch.model.command_line import help_page

    return help_page(command_lines()[command])


def usage(command: str) -> str:
    return f"Usage: {COMMANDS[command].usage}"


def _options(command: str, word: str) -> list[tuple[str, Option | None, str]]:
    """Of one word: the option of that name, or one with its value behind, or several letters."""
    options, body = COMMANDS[command].options, word.lstrip("-") if word.startswith("--") else word[1:]
    if body in options:
        return [(body, options[body], "")]
    if body in {"h", "V", "help"}:
        return [(body[0] if body != "V" else "V", None, "")]
    fits = [name for name, each in options.items() if each.takes and body.startswith(name)]
    if fits:
        name = max(fits, key=len)
        return [(name, options[name], body[len(name) :])]
    if all(letter in options and not options[letter].takes for letter in body):
        return [(letter, options[letter], "") for letter in body]
    raise LsfUsageError(f"illegal option -- {body}", usage(command))
