"""scontrol's command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SCONTROL_USAGE
from hpcbatch.dialects.slurm.ids import parse_id, split_ids
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.named import NamedJob


class Verb(StrEnum):
    """The requests that scontrol knows."""

    SHOW_JOB = "show job"
    SHOW_NODE = "show node"
    SHOW_PARTITION = "show partition"
    SHOW_LICENSES = "show licenses"
    SHOW_ASSOC_MGR = "show assoc_mgr"
    SHOW_CONFIG = "show config"
    SHOW_DAEMONS = "show daemons"
    SHOW_SLURMD = "show slurmd"
    SHOW_ALIASES = "show aliases"
    SHOW_FRONTEND = "show frontend"
    SHOW_NOTHING = "show federation"
    SHOW_RESERVATION = "show reservation"
    SHOW_STEP = "show step"
    SHOW_TOPOLOGY = "show topology"
    SHOW_HOSTNAMES = "show hostnames"
    SHOW_HOSTLIST = "show hostlist"
    SHOW_HOSTLIST_SORTED = "show hostlistsorted"
    HOLD = "hold"
    UHOLD = "uhold"
    RELEASE = "release"
    REQUEUE = "requeue"
    REQUEUE_HOLD = "requeuehold"
    SUSPEND = "suspend"
    RESUME = "resume"
    TOP = "top"
    UPDATE = "update"
    CREATE = "create"
    DELETE = "delete"
    RECONFIGURE = "reconfigure"
    WRITE_CONFIG = "write config"
    PING = "ping"
    VERSION = "version"
    COMPLETING = "completing"
    LISTPIDS = "listpids"
    PIDINFO = "pidinfo"
    INTERACTIVE = "interactive"
    WAIT_JOB = "wait_job"
    WRITE_SCRIPT = "write batch_script"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScontrolCommand:
    """One command. `operand` is the node, partition or host list shown, "" for all; `ids` are those of the jobs."""

    verb: Verb
    operand: str = ""
    ids: tuple[str, ...] = ()
    """As written."""
    words: tuple[str, ...] = ()
    """What stands behind `update`, `create` and `delete`."""
    is_incomplete: bool = False
    """requeue: only jobs that run."""
    is_special: bool = False
    """requeue: they are marked with SPECIAL_EXIT, and held."""
    one_line: bool = False
    has_details: bool = False
    quiet: bool = False
    verbose: bool = False
    time_format: str = ""
    clusters: str | None = None
    shows_hidden: bool = False
    """-a: hidden partitions, too."""


PARSER = Parser(
    "scontrol",
    [
        Option(name=name, short=short, takes=takes)
        for name, short, takes in (
            ("all", "a", Takes.NOTHING),
            ("clusters", "M", Takes.VALUE),
            ("details", "d", Takes.NOTHING),
            ("federation", "", Takes.NOTHING),
            ("future", "F", Takes.NOTHING),
            ("help", "h", Takes.NOTHING),
            ("hide", "", Takes.NOTHING),
            ("local", "", Takes.NOTHING),
            ("oneliner", "o", Takes.NOTHING),
            ("quiet", "Q", Takes.NOTHING),
            ("sibling", "", Takes.NOTHING),
            ("uid", "u", Takes.VALUE),
            ("usage", "", Takes.NOTHING),
            ("verbose", "v", Takes.NOTHING),
            ("version", "V", Takes.NOTHING),
        )
    ],
)

# Keywords may be cut short, down to the length given here. Source: MAX(tag_len, n) in scontrol.c.
KEYWORDS = {
    "show": 3,
    "requeue": 3,
    "requeuehold": 11,
    "hold": 4,
    "holdu": 5,
    "uhold": 2,
    "release": 3,
    "suspend": 2,
    "resume": 3,
    "top": 3,
    "update": 1,
    "ping": 3,
    "version": 4,
    "completing": 2,
    "listpids": 1,
    "pidinfo": 3,
    "wait_job": 2,
    "write": 5,
}
_WORDS = {
    **dict.fromkeys(("details", "oneliner", "quiet", "verbose", "ping", "version", "completing"), (0, 0)),
    **dict.fromkeys(("all", "exit", "hide", "quit"), (0, 1024)),
    "cluster": (0, 1),
    "listpids": (0, 2),
    **dict.fromkeys(("top", "wait_job", "pidinfo"), (1, 1)),
    "write": (1, 3),
    "reconfigure": (0, 64),
}
"""How many words stand behind a keyword; of the others at least one."""
_VERBS = {"holdu": Verb.UHOLD}
_MODES = {
    "all": 2,
    "cluster": 2,
    "details": 1,
    "exit": 2,
    "hide": 2,
    "oneliner": 1,
    "quiet": 4,
    "quit": 4,
    "verbose": 4,
}
"""They change how scontrol goes on, and so nothing when they are all that it does."""
_NOT_YET = {"errnumstr": 2, "getent": 6, "gethost": 7}
ENTITIES = {
    "aliases": (1, Verb.SHOW_ALIASES),
    "assoc_mgr": (2, Verb.SHOW_ASSOC_MGR),
    "cache": (2, Verb.SHOW_ASSOC_MGR),
    "bbstat": (2, Verb.SHOW_NOTHING),
    "dwstat": (2, Verb.SHOW_NOTHING),
    "burstbuffer": (2, Verb.SHOW_NOTHING),
    "config": (1, Verb.SHOW_CONFIG),
    "daemons": (1, Verb.SHOW_DAEMONS),
    "federations": (1, Verb.SHOW_NOTHING),
    "frontendname": (2, Verb.SHOW_FRONTEND),
    "hostnames": (5, Verb.SHOW_HOSTNAMES),
    "hostlist": (5, Verb.SHOW_HOSTLIST),
    "hostlistsorted": (9, Verb.SHOW_HOSTLIST_SORTED),
    "jobs": (1, Verb.SHOW_JOB),
    "jobid": (1, Verb.SHOW_JOB),
    "licenses": (2, Verb.SHOW_LICENSES),
    "nodes": (1, Verb.SHOW_NODE),
    "partitions": (2, Verb.SHOW_PARTITION),
    "partitionname": (2, Verb.SHOW_PARTITION),
    "reservations": (1, Verb.SHOW_RESERVATION),
    "reservationname": (1, Verb.SHOW_RESERVATION),
    "slurmd": (2, Verb.SHOW_SLURMD),
    "steps": (2, Verb.SHOW_STEP),
    "topology": (1, Verb.SHOW_TOPOLOGY),
}
"""Each with the least number of letters that it may be cut down to. Source: _show_it() of scontrol.c, in its order."""
_WITHOUT_OPERAND = frozenset({Verb.SHOW_DAEMONS})


def read_command(argv: Sequence[str], environ: Mapping[str, str]) -> ScontrolCommand:
    """Read scontrol's command line (without the program name). Raises SlurmUsageError with the real texts."""
    given, operands = PARSER.parse(argv, permute=True)
    asked = {option.option.name for option in given}
    if {"help", "usage"} & asked:
        raise SlurmAnswer(SCONTROL_USAGE)
    if "version" in asked:
        raise SlurmAnswer(VERSION_TEXT)
    if "uid" in asked:
        raise NotSupportedError("scontrol --uid is not supported yet")
    words = [argv[index] for index in operands]
    clusters = next((option.value for option in reversed(given) if option.option.name == "clusters"), None)
    time_format = environ.get("SLURM_TIME_FORMAT", "")
    shows_hidden = "all" in asked or ("SCONTROL_ALL" in environ and "hide" not in asked)
    options = _Options(
        one_line="oneliner" in asked,
        has_details="details" in asked,
        quiet="quiet" in asked,
        verbose="verbose" in asked,
        time_format=time_format,
        clusters=clusters,
        shows_hidden=shows_hidden,
    )
    if not words:
        return options.command(Verb.INTERACTIVE)
    keyword, rest = _keyword(words), words[1:]
    least, most = _WORDS.get(keyword, (1, len(words)))
    if not least <= len(rest) <= most:
        if keyword == "pidinfo" and not rest:
            raise SlurmUsageError("missing argument for keyword:pidinfo")
        what = f"{words[0]} keyword" if keyword == "verbose" else f"keyword:{words[0]}"
        raise SlurmUsageError(f"too {'few' if len(rest) < least else 'many'} arguments for {what}")
    if keyword in _MODES:
        return options.command(Verb.NOTHING)
    if keyword == "show":
        return _show(rest, environ, options)
    if keyword == "write":
        return _write(rest, options)
    verb = _VERBS.get(keyword) or Verb(keyword)
    if verb in {Verb.UPDATE, Verb.CREATE, Verb.DELETE, Verb.RECONFIGURE}:
        return options.command(verb, words=rest)
    if verb in {Verb.WAIT_JOB, Verb.LISTPIDS, Verb.PIDINFO}:
        return options.command(verb, words=rest)
    if verb in {Verb.REQUEUE, Verb.REQUEUE_HOLD}:
        return _requeue(verb, rest, options)
    return options.command(verb, ids=tuple(part for word in rest for part in _ids(word)))


def _requeue(verb: Verb, words: Sequence[str], options: _Options) -> ScontrolCommand:
    """Words before the ids say which jobs, `incomplete`, and how they are marked, `State=SpecialExit`. Source:
    parse_requeue_flags().
    """
    is_incomplete = is_special = False
    for place, word in enumerate(words):
        state = word[6:].lower() if word.lower().startswith("state=") else None
        if state is not None and not state.startswith(("specialexit", "se")):
            raise SlurmUsageError(
                f"scontrol: error: Invalid State value: {word[6:]}: only SpecialExit is one of a requeue"
            )
        if state is None and not (word and "incomplete".startswith(word.lower())):
            ids = tuple(part for rest in words[place:] for part in _ids(rest))
            return options.command(verb, ids=ids, is_incomplete=is_incomplete, is_special=is_special)
        is_special = is_special or state is not None
        is_incomplete = is_incomplete or state is None
    raise SlurmUsageError(f"no job id given for keyword:{verb}")


def _ids(word: str) -> list[str]:
    """`12,13`, `job=12`, `JobId=12`; `Name=x` stays as it is."""
    tag, equals, value = word.partition("=")
    if equals and tag.lower() in {"job", "jobid"}:
        word = value
    return split_ids(word) or [word]


@dataclass(frozen=True, slots=True)
class _Options:
    one_line: bool
    has_details: bool
    quiet: bool
    verbose: bool
    time_format: str
    clusters: str | None
    shows_hidden: bool

    def command(
        self,
        verb: Verb,
        operand: str = "",
        ids: tuple[str, ...] = (),
        words: Sequence[str] = (),
        *,
        is_incomplete: bool = False,
        is_special: bool = False,
    ) -> ScontrolCommand:
        return ScontrolCommand(
            verb=verb,
            operand=operand,
            ids=ids,
            words=tuple(words),
            is_incomplete=is_incomplete,
            is_special=is_special,
            one_line=self.one_line,
            has_details=self.has_details,
            quiet=self.quiet,
            verbose=self.verbose,
            time_format=self.time_format,
            clusters=self.clusters,
            shows_hidden=self.shows_hidden,
        )


def _keyword(words: Sequence[str]) -> str:
    """Raises SlurmUsageError for a word that is no request, and for requests that are refused."""
    word = words[0]
    for keyword, least in (*KEYWORDS.items(), *_MODES.items()):
        if _is(word, keyword, least):
            return keyword
    from hpcbatch.dialects.slurm.scontrol_admin import REQUESTS, entity_of, refusal

    for keyword, request in REQUESTS.items():
        if _is(word, keyword, request.least):
            if keyword in {"create", "delete"} and entity_of(words[1:]) in {"partition", "reservation"}:
                return keyword
            if keyword == "reconfigure":
                return keyword
            raise refusal(keyword, word, words[1:])
    if any(_is(word, keyword, least) for keyword, least in _NOT_YET.items()):
        raise NotSupportedError(f"scontrol {word.lower()} is not supported yet")
    if _is(word, "help", 2):
        raise SlurmAnswer(SCONTROL_USAGE)
    raise SlurmUsageError(f"invalid keyword: {word}")


def _is(word: str, keyword: str, least: int) -> bool:
    return len(word) >= least and keyword.startswith(word.lower())


def _write(rest: Sequence[str], options: _Options) -> ScontrolCommand:
    what, *words = rest
    if _is(what, "config", 5):
        if len(words) > 1:
            raise SlurmUsageError("too many arguments for keyword:write")
        return options.command(Verb.WRITE_CONFIG, words=words)
    if not _is(what, "batch_script", 5):
        raise SlurmUsageError(f"invalid write argument:{what}")
    return options.command(Verb.WRITE_SCRIPT if words else Verb.NOTHING, words=words)


def _show(rest: Sequence[str], environ: Mapping[str, str], options: _Options) -> ScontrolCommand:
    name, equals, operand = rest[0].partition("=")
    operands = [*([operand] if equals else []), *rest[1:]]
    if not equals and _entity(name) is Verb.SHOW_ASSOC_MGR:
        return options.command(Verb.SHOW_ASSOC_MGR, words=rest[1:])
    if len(operands) > 1:
        raise SlurmUsageError("too many arguments for keyword:show")
    verb = _entity(name)
    operand = operands[0] if operands else ""
    if verb in _WITHOUT_OPERAND and operands:
        raise SlurmUsageError("too many arguments for keyword:show")
    if verb is Verb.SHOW_JOB:
        return options.command(verb, ids=(operand,) if operand else ())
    if verb is Verb.SHOW_HOSTNAMES and not operands:
        operand = environ.get("SLURM_JOB_NODELIST", "")
        if not operand:
            raise SlurmUsageError("scontrol: error: host list is empty", 0)
    if verb in {Verb.SHOW_HOSTLIST, Verb.SHOW_HOSTLIST_SORTED} and not operand:
        raise SlurmUsageError("invalid encode argument")
    return options.command(verb, operand)


def _entity(name: str) -> Verb:
    lower = name.lower()
    for entity, (least, verb) in ENTITIES.items():
        if len(lower) >= least and entity.startswith(lower):
            return verb
    raise SlurmUsageError(f"invalid entity:{name} for keyword:show ")


def read_job(text: str) -> NamedJob:
    """A job that is to be shown. Raises SlurmUsageError for what is no id, or names several members of an array."""
    try:
        named = parse_id(text)
    except ValueError:
        named = None
    if named is None or (named.members is not None and "[" in text):
        raise SlurmUsageError("scontrol_print_job error: Invalid job id specified")
    return named


def not_found_member(text: str) -> SlurmAnswer:
    """For an index that an array does not have."""
    return SlurmAnswer(f"Job {text} not found", 1)
