"""The command lines of PBS's commands, for completion and the manual, by the letters that the commands read by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hpcbatch.dialects.pbs import options, pbsfs, tracejob, usage
from hpcbatch.dialects.pbs.depend import KINDS
from hpcbatch.dialects.pbs.table import OPTIONS
from hpcbatch.model.command_line import CommandLine, Flag, Word
from hpcbatch.model.dependency import DependencyKind
from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Final, NamedTuple


class _Of(NamedTuple):
    about: str
    letters: str = ""
    """As getopt(3) takes them."""
    usage: str = ""
    operands: tuple[Word, ...] = (Word.JOB,)
    meanings: Mapping[str, str] = {}
    """What each letter does; of qsub its table says so."""


_JOB_LETTERS: Final = {
    **{letter: OPTIONS[letter].meaning for letter in "aAcehjklmMNoprRSuP"},
    "W": "further attributes, such as depend=",
}
_SWITCH: Final = "Usage: {0} [queue][@server] ...\n       {0} --version"
_RESERVATION: Final = {
    "D": "how long it lasts",
    "E": "when it ends",
    "g": "groups whose members use it",
    "G": "groups whose members may submit to it",
    "H": "hosts from which jobs may be submitted to it",
    "I": "wait so many seconds for an answer",
    "l": "its resources, as of a job",
    "m": "the events that mail is sent for",
    "M": "who gets the mail",
    "N": "its name",
    "q": "the server, of which there is one",
    "r": "when it comes again: an iCalendar rule",
    "R": "when it begins",
    "u": "users who use it",
    "U": "users who may submit to it",
    "W": "qmove= with a waiting job, which moves into it; delete_idle_time=",
}
_COMMANDS: Final[Mapping[str, _Of]] = {
    "pbs_rstat": _Of(
        "show reservations",
        options.PBS_RSTAT,
        usage.PBS_RSTAT,
        (Word.TEXT,),
        {"f": "all attributes", "F": "the same", "B": "the names alone", "S": "a line for each"},
    ),
    "pbs_ralter": _Of(
        "change a reservation",
        options.PBS_RALTER,
        usage.PBS_RALTER,
        (Word.TEXT,),
        {**_RESERVATION, "W": "refused: no change is forced"},
    ),
    "pbs_rdel": _Of("remove reservations", options.PBS_RDEL, usage.PBS_RDEL, (Word.TEXT,), _RESERVATION),
    "pbs_rsub": _Of("request a reservation", options.PBS_RSUB, usage.PBS_RSUB, (Word.NODE,), _RESERVATION),
    "pbsfs": _Of(
        "show the tree of fair shares and what users and groups have used",
        pbsfs.LETTERS,
        "\n".join(dict.fromkeys(text for _, text in pbsfs.USAGES.values())),
        (Word.TEXT,),
        {
            "s": "refused: usage is computed, and not set",
            "g": "one entity, with all on the way to it",
            "p": "a line for each entity, as without an option",
            "t": "the tree",
            "d": "refused: usage decays by itself",
            "c": "compare two entities",
            "e": "refused: there is nothing to trim",
            "I": "the name of the scheduler, of which there is one",
        },
    ),
    "pbsnodes": _Of(
        "show nodes, and take them out of use and back",
        options.PBSNODES,
        usage.PBSNODES,
        (Word.NODE,),
        {
            "a": "all nodes",
            "c": "clear the offline mark",
            "C": "a comment, which all listings show",
            "d": "refused: whether a node is down is for its kubelet to say",
            "D": "what stands between the fields of -F dsv",
            "F": "the format: json or dsv",
            "H": "the named nodes, with their attributes",
            "j": "jobs of each node, with -S",
            "l": "nodes that are marked",
            "L": "long lines, with -S",
            "o": "take nodes out of use",
            "q": "no messages",
            "r": "bring nodes back",
            "s": "the server",
            "S": "a line for each node",
            "v": "vnodes, which the nodes are here",
        },
    ),
    "qalter": _Of("change jobs", options.QALTER, usage.QALTER, meanings=_JOB_LETTERS),
    "qdel": _Of(
        "delete jobs",
        options.QDEL,
        usage.QDEL,
        meanings={"W": "force: at once; suppress_email=N: no mail", "x": "the record of ended jobs, too"},
    ),
    "qdisable": _Of("have queues take no more jobs", usage=_SWITCH.format("qdisable"), operands=(Word.QUEUE,)),
    "qenable": _Of("have queues take jobs", usage=_SWITCH.format("qenable"), operands=(Word.QUEUE,)),
    "qstart": _Of("have jobs of queues start", usage=_SWITCH.format("qstart"), operands=(Word.QUEUE,)),
    "qstop": _Of("have no more jobs of queues start", usage=_SWITCH.format("qstop"), operands=(Word.QUEUE,)),
    "qhold": _Of(
        "keep jobs from starting",
        options.QHOLD.removesuffix("-:"),
        usage.QHOLD,
        meanings={"h": "the holds to set: u, o, s, n"},
    ),
    "qrls": _Of("release jobs", options.QRLS, usage.QRLS, meanings={"h": "the holds to release: u, o, s, n"}),
    "qmgr": _Of(
        "list and change the server, queues and nodes",
        options.QMGR,
        usage.QMGR,
        (Word.TEXT,),
        {
            "a": "end with the first request that fails",
            "c": "this request alone",
            "e": "repeat each request on standard output",
            "n": "read requests and carry none of them out",
            "z": "no error messages",
        },
    ),
    "qmove": _Of("put waiting jobs into another queue", "", usage.QMOVE, (Word.QUEUE, Word.JOB)),
    "qmsg": _Of(
        "write a line into the output of one's own running jobs",
        options.QMSG,
        usage.QMSG,
        (Word.TEXT, Word.JOB),
        {"E": "into the standard error", "O": "into the standard output"},
    ),
    "qorder": _Of("have two waiting jobs change places", "", usage.QORDER),
    "qrerun": _Of(
        "end the run of jobs and queue them again",
        options.QRERUN,
        usage.QRERUN,
        meanings={"W": "force: also where a node does not answer"},
    ),
    "qrun": _Of(
        "have a job start before all others",
        options.QRUN,
        usage.QRUN,
        meanings={
            "a": "do not wait for the start",
            "H": "on these hosts, host+host: one for each chunk, in their order",
        },
    ),
    "qselect": _Of(
        "print the ids of the jobs that meet conditions",
        options.QSELECT,
        usage.QSELECT,
        (),
        {
            "a": "with this time before which they do not start",
            "A": "of this account",
            "c": "with these checkpoints",
            "h": "with these holds",
            "H": "also jobs that have ended",
            "J": "arrays alone",
            "l": "with these resources",
            "N": "of this name",
            "p": "of this priority",
            "P": "of this project",
            "q": "in this queue, or at this server",
            "r": "that may be run again, y, or not, n",
            "s": "in these states: letters, such as QR",
            "t": "by a time: a, c, e, g, m, q, s or t, an operator, and a date",
            "T": "members of arrays, too",
            "u": "of these users",
            "x": "also jobs that have ended",
        },
    ),
    "qsig": _Of(
        "send a signal to running jobs, suspend and resume them",
        options.QSIG,
        usage.QSIG,
        meanings={"s": "the signal, or suspend or resume; default: SIGTERM"},
    ),
    "qstat": _Of(
        "show jobs, queues and the server",
        options.QSTAT,
        usage.QSTAT,
        (Word.JOB,),
        {
            "1": "a line for each job, with -n or -s",
            "a": "all jobs, in the long form",
            "B": "the server",
            "D": "what stands between the fields of -F dsv",
            "E": "jobs grouped by their server",
            "f": "all attributes",
            "F": "the format: json or dsv",
            "G": "memory in gigabytes",
            "H": "jobs that have ended",
            "i": "jobs that do not run",
            "J": "arrays alone",
            "M": "memory in megawords",
            "n": "the hosts of jobs",
            "p": "the share of a job that is done",
            "q": "limits of queues",
            "Q": "queues",
            "r": "jobs that run",
            "s": "comments of jobs",
            "t": "members of arrays",
            "T": "expected starts",
            "u": "jobs of these users",
            "w": "wide lines",
            "W": "the letters behind it are options, and those behind u users",
            "x": "also jobs that have ended",
        },
    ),
    "qsub": _Of("submit a PBS script", options.QSUB + options.TORQUE, usage.QSUB, (Word.FILE,)),
    "tracejob": _Of(
        "show what happened to jobs",
        "".join(f"{letter}:" for letter in tracejob.WITH_VALUE) + tracejob.FLAGS,
        tracejob.USAGE.rstrip(),
        meanings={
            "a": "not what the accounting log says",
            "c": "for how many equal lines one stands",
            "f": "leave out these types of entries",
            "l": "not what the scheduler's log says",
            "m": "not what the mom's log says",
            "n": "days in the past to look for the job",
            "p": "the directory of the logs, of which there is none here",
            "s": "not what the server's log says",
            "v": "more messages",
            "w": "the width of the terminal",
            "z": "leave out entries that are repeated",
        },
    ),
}
_RSUB_FLAGS: Final = (
    Flag(("--hosts",), about="the operands are hosts, which the reservation takes whole"),
    Flag(("--job",), takes="=", value="jobid", word=Word.JOB, about="make it of this running job, which moves into it"),
)
_WORDS: Final[Mapping[str, Mapping[str, Word]]] = {
    "": {"e": Word.FILE, "o": Word.FILE, "S": Word.FILE, "q": Word.QUEUE, "u": Word.USER},
    "qsub": {"d": Word.DIRECTORY, "w": Word.DIRECTORY, "u": Word.TEXT, "W": Word.DEPENDENCY},
    "qalter": {"W": Word.DEPENDENCY},
    "pbs_rsub": {"q": Word.TEXT},
    "pbs_ralter": {"q": Word.TEXT},
    "pbs_rdel": {"q": Word.TEXT},
    "tracejob": {"p": Word.DIRECTORY},
}
"""What values of letters stand for: "" in all commands, the rest in one."""
_DEPEND: Final = tuple(f"depend={kind}" for kind in KINDS if kind != DependencyKind.ON)
_CHOICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("qsub", "W"): _DEPEND,
    ("qalter", "W"): _DEPEND,
    ("qsub", "j"): ("oe", "eo", "n"),
    ("qalter", "j"): ("oe", "eo", "n"),
    ("qsub", "r"): ("y", "n"),
    ("qalter", "r"): ("y", "n"),
    ("qselect", "r"): ("y", "n"),
    ("qstat", "F"): ("json", "dsv"),
    ("pbsnodes", "F"): ("json", "dsv"),
    ("qsig", "s"): ("suspend", "resume", "SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"),
}


def command_lines() -> dict[str, CommandLine]:
    return {
        name: CommandLine(
            name=name,
            about=of.about,
            usage=of.usage.rstrip(),
            flags=(
                *(_qsub_flags() if name == "qsub" else _flags(name, of.letters, of.meanings)),
                *(_RSUB_FLAGS if name == "pbs_rsub" else ()),
                Flag(("--help",), about="print this text"),
                Flag(("--version",), about="print the version"),
            ),
            operands=of.operands,
        )
        for name, of in _COMMANDS.items()
    }


def _flags(command: str, letters: str, meanings: Mapping[str, str]) -> Iterator[Flag]:
    for index, letter in enumerate(letters):
        if letter == ":":
            continue
        takes = "=" if letters[index + 1 : index + 2] == ":" else ""
        choices = _CHOICES.get((command, letter), ())
        of_all = _WORDS[""].get(letter, Word.TEXT)
        word = _WORDS.get(command, {}).get(letter, of_all) if takes else Word.TEXT
        if choices and word is Word.TEXT:
            word = Word.ONE_OF
        value = re.search(rf"\[-{letter} ((?:[^][\s]|\[[^]\s]*\])+)\]", _COMMANDS[command].usage) if takes else None
        shown = value[1] if value else ""
        yield Flag((f"-{letter}",), takes, meanings[letter], shown, word, choices)


def _qsub_flags() -> Iterator[Flag]:
    """What has no effect here is for scripts that come from elsewhere: it says so."""
    about = {name: _meaning(name) for name in OPTIONS}
    seen: set[str] = set()
    for flag in _flags("qsub", options.QSUB + options.TORQUE, about):
        if flag.names[0] not in seen:
            seen.add(flag.names[0])
            yield flag
    for name in sorted(options.OWN):
        yield Flag((name,), about=about[name])
    for name in sorted(options.NQSV):
        yield Flag((name,), "=", about[name])


def _meaning(name: str) -> str:
    rule = OPTIONS[name]
    says = f"ignored: {rule.meaning}" if rule.fate is Fate.IGNORED else rule.meaning
    return says if rule.system == "PBS" else f"{says} ({rule.system})"
