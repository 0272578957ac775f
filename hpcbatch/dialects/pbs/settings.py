"""The options of qsub, gathered from the command line and the script by PBS's order of precedence.

Some are checked as they are read, as qsub does: then an error in a script is a directive error. The others are
checked when the job is sent, and their errors look alike wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.directives import Directive
from hpcbatch.dialects.pbs.errors import (
    COMMAND_LINE,
    DIRECTIVE_CODE,
    PBSE_ATTRRO,
    PBSE_NOATTR,
    USAGE_CODE,
    Origin,
    PbsError,
    not_supported,
)
from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.dialects.pbs.options import NQSV, Option, Parsed
from hpcbatch.dialects.pbs.resource_list import NUMBER, ResourceRequest, split_resources
from hpcbatch.dialects.pbs.table import AMOUNT, ATTRIBUTES, OPTIONS, RESOURCES, WORD, Rule
from hpcbatch.dialects.pbs.values import parse_date
from hpcbatch.dialects.pbs.variables import names_only, parse_variable_list
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.outcome import Fate
from hpcbatch.model.text import is_printable
from hpcbatch.typed import Final, NamedTuple

LONG_NAMES: Mapping[str, str] = {
    "Account_Name": "A",
    "Checkpoint": "c",
    "Error_Path": "e",
    "Execution_Time": "a",
    "Hold_Types": "h",
    "Job_Name": "N",
    "Join_Path": "j",
    "Keep_Files": "k",
    "Mail_Points": "m",
    "Mail_Users": "M",
    "Output_Path": "o",
    "Priority": "p",
    "Rerunable": "r",
    "Remove_Files": "R",
    "Shell_Path_List": "S",
    "User_List": "u",
    "Variable_List": "v",
    "project": "P",
}
"""Attributes that `-W name=value` can set, with the option that does the same."""
_W_HARMLESS = frozenset(
    {("interactive", "false"), ("block", "false"), ("tolerate_node_failures", "none")}
    | {("create_resv_from_job", "false"), ("release_nodes_on_stageout", "false")}
)
_READ_ONLY = frozenset(
    {
        "accrue_type",
        "alt_id",
        "argument_list",
        "array_id",
        "array_index",
        "array_indices_remaining",
        "array_state_count",
        "comment",
        "ctime",
    }
    | {"egroup", "eligible_time", "estimated", "etime", "euser", "exec_host", "exec_vnode", "executable", "Exit_status"}
    | {"hashname", "history_timestamp", "jobdir", "Job_Owner", "job_state", "mtime", "obittime", "qtime", "queue_rank"}
    | {
        "queue_type",
        "resources_used",
        "run_count",
        "run_version",
        "schedselect",
        "server",
        "session_id",
        "stime",
        "Submit_arguments",
    }
    | {"Submit_Host", "substate"}
)
"""What PBS lets only operators, its scheduler or nobody set; a job's comment says why it waits or how it ended."""
_STAGED = r"[^@]+@[^:@]+:.+"
_OF_NQSV = {
    "--cpunum-lhost": "cpunum_job",
    "--gpunum-lhost": "gpunum_job",
    "--memsz-lhost": "memsz_job",
    "--venode": "venode",
    "--venum-lhost": "venum_lhost",
}
"""Long options that say the same as a resource."""
_X_OF_MOAB = {"naccesspolicy": "naccesspolicy", "gres": "gres", "qos": "qos", "advres": "advres", "feature": "feature"}
_MPI_OF_NQSV = frozenset({"openmpi", "necmpi", "intmpi", "mpich", "distrib", "vempi"})
_ANY_TEXT = frozenset({"l", "v"})
"""`-v` no listing shows; `-l` has rules of its own, by which a tab is a blank."""
_LONGEST_SHOWN = 200
MAX_RUN: Final = "max_run_subjobs"
STRAY: Final = Rule(Fate.IGNORED, "no option takes these words: they are a comment", "Torque")


class Setting(NamedTuple):
    value: str
    origin: Origin
    letter: str = ""
    """The option that it was given by, where another one's name stands for both."""


class Part(NamedTuple):
    """What was given in one place: an option, or one part of the list of `-l` or `-W`."""

    option: str
    key: str
    """What it sets: a part that sets the same again goes over it, or is passed over."""
    rule: Rule
    origin: Origin


class Script(NamedTuple):
    """The script with the prefix of its directives."""

    text: bytes = b""
    shown: str = ""
    prefix: str = ""


class Settings:
    """What was requested so far. The command line is read first; what it sets, a directive leaves alone."""

    def __init__(self, environ: Mapping[str, str], now: datetime, obstacles: Obstacles | None = None) -> None:
        self.environ, self.now = environ, now
        self.obstacles = Obstacles() if obstacles is None else obstacles
        self.given: dict[str, Setting] = {}  # by option letter, and `umask`
        self.resources: dict[str, ResourceRequest] = {}
        self.tasks: list[ResourceRequest] = []  # Torque's -L
        self.variables: dict[str, str] = {}
        self.begin_time: datetime | None = None
        self.parts: list[Part] = []
        self.counting: dict[str, Part] = {}
        self.complained: dict[str, str] = {}  # option -> what qsub says of it
        self.script = Script()
        self._commanded: frozenset[str] = frozenset()

    def read_command_line(self, parsed: Parsed) -> None:
        """Take the options of the command line; what is wrong becomes an obstacle, with the usage text."""
        complaints = [*parsed.errors, *self._take(parsed.options, from_script=False)]
        for text in parsed.errors:
            option = f"-{text.rpartition('-- ')[2].strip(chr(39))}"
            self.parts.append(Part(option, "", STRAY, COMMAND_LINE))
            self.complained[option] = text
        if complaints:
            self.obstacles.add("", PbsError("\n".join(complaints), USAGE_CODE, usage=usage.QSUB))
        self._commanded = frozenset(self.given)

    def read_directive(self, directive: Directive, parsed: Parsed) -> None:
        """Take the options of one directive. Words that are left over are a comment, as for Torque; OpenPBS refuses
        them, as it does an option that is wrong.
        """
        complaints = [*parsed.errors, *self._take(parsed.options, from_script=True)]
        if complaints or parsed.dashes_at is not None:
            complaints.append(f"directive error: {directive.text} ")
            stray = parsed.operands[0] if parsed.operands and not parsed.errors else directive.words[0]
            error = PbsError("\n".join(complaints), DIRECTIVE_CODE, origin=stray.origin)
            self.obstacles.add(directive.text, error)
            if not self.complained.keys() & {part.option for part in self.parts if part.origin in _places(directive)}:
                self.parts.append(Part(directive.text, "", STRAY, stray.origin))
                self.complained[directive.text] = ", ".join(complaints[:-1]) or "no option takes these words"
        elif parsed.operands:
            words = " ".join(word.text for word in parsed.operands)
            if words.isprintable():
                self._note(words, f"words {len(self.parts)}", STRAY, parsed.operands[0].origin)

    def ignored(self) -> dict[str, str]:
        """The options without effect here, each with the reason."""
        counting = self.counting.values()
        return {part.option: part.rule.meaning for part in counting if part.rule.fate is Fate.IGNORED}

    @property
    def is_of_nqsv(self) -> bool:
        """Whether the options are those of NQSV, whose `-b` is the number of nodes and whose `-T` names an MPI."""
        mpi = self.given.get("T")
        if mpi is not None and mpi.value in _MPI_OF_NQSV:
            return True
        names = (RESOURCES.get(name) for name in self.resources)
        return bool(self.given.keys() & NQSV) or any(rule is not None and rule.system == "NQSV" for rule in names)

    def read_as_nqsv(self) -> int | None:
        """The number of nodes by `-b`, and the meaning of -T."""
        for letter, rule in (("b", _NODES_OF_NQSV), ("T", _MPI)):
            if letter in self.given and letter in self.counting:
                before = self.counting[letter]
                self.counting[letter] = part = before._replace(rule=rule)
                self.parts[self.parts.index(before)] = part
        hosts = self.given.get("b")
        if hosts is None:
            return None
        if not re.fullmatch(r"[1-9][0-9]{0,4}", hosts.value):
            raise illegal("b", hosts.origin)
        return int(hosts.value)

    def _note(self, option: str, key: str, rule: Rule, origin: Origin, *, counts: bool = True) -> None:
        part = Part(option, key, rule, origin)
        self.parts.append(part)
        if counts:
            self.counting[key] = part

    def _take(self, options: tuple[Option, ...], *, from_script: bool) -> list[str]:
        """Take `options` over; return qsub's complaints about those that it checks at once."""
        complaints: list[str] = []
        none: list[str] = []
        for option in options:
            shown = shown_option(option)
            if option.name not in _ANY_TEXT and not is_printable(option.value):
                found = [f"illegal -{option.name} value"]
            elif option.name == "l":
                found = self._take_resources(option, from_script)
            elif option.name == "W":
                found = self._take_attributes(option, from_script)
            else:
                found = self.obstacles.attempt(shown, partial(self._take_option, option, from_script, shown), none)
            if found:
                self.complained[shown] = ", ".join(found)
                if not any(part.option == shown for part in self.parts):
                    self.parts.append(Part(shown, "", OPTIONS[option.name], option.origin))
            complaints += found
        return complaints

    def _take_option(self, option: Option, from_script: bool, shown: str, rule: Rule | None = None) -> list[str]:
        name, value = option.name, option.value
        key = "J" if name == "t" else name
        counts = not (from_script and key in self._commanded)
        self._note(shown, key, _rule(name, value, rule or OPTIONS[name]), option.origin, counts=counts)
        if not counts:
            return []
        if name == "v":
            try:
                self.variables = parse_variable_list(value, self.environ)
            except HpcBatchError:
                text = "cannot send environment with the job"
                raise PbsError(text, DIRECTIVE_CODE, origin=option.origin) from None
        elif name == "a":
            try:
                self.begin_time = parse_date(value, self.now)
            except HpcBatchError:
                return ["illegal -a value"]
        elif (name == "r" and value not in {"y", "n"}) or (name == "c" and value.strip() == "u"):
            return [f"illegal -{name} value"]
        elif name == "L":
            self.tasks.append(ResourceRequest("L", value.strip(), option.origin, shown))
        elif name in _OF_NQSV:
            self.resources.setdefault(_OF_NQSV[name], ResourceRequest(_OF_NQSV[name], value, option.origin, shown))
        elif name in "cmp":
            value = value.lstrip()
        self.given[key] = Setting(value, option.origin, name)
        return []

    def _take_resources(self, option: Option, from_script: bool) -> list[str]:
        """A name given before stays as it is: the command line's over the script's, the script's first over later."""
        try:
            for name, value in split_resources(option.value):
                self._take_resource(ResourceRequest(name, value, option.origin), from_script)
        except HpcBatchError:
            return ["illegal -l value"]
        return []

    def _take_resource(self, request: ResourceRequest, from_script: bool) -> None:
        name = request.name
        rule = rule_of(name, request.value)
        if name == "depend":
            self._take_attribute("depend", request.value, request.origin, from_script, request.option)
            return
        counts = not (from_script and name in self.resources)
        self._note(request.option, f"-l {name}", rule, request.origin, counts=counts)
        if counts:
            self.resources[name] = request

    def _take_attributes(self, option: Option, from_script: bool) -> list[str]:
        try:
            pairs = split_attributes(option.value)
        except HpcBatchError:
            return ["illegal -W value"]
        complaints: list[str] = []
        no_complaints: list[str] = []
        for name, value in pairs:
            shown = f"-W {name}={names_only(value) if name == 'Variable_List' else value}"
            take = partial(self._take_attribute, name, value, option.origin, from_script, shown)
            found: list[str] = self.obstacles.attempt(shown, take, no_complaints)
            if found:
                self.complained[shown] = ", ".join(found)
                complaints = found
        return complaints

    def _take_attribute(self, name: str, value: str, origin: Origin, from_script: bool, shown: str) -> list[str]:
        letter = LONG_NAMES.get(name, name)
        rule = ATTRIBUTES.get(name)
        if letter in {"a", "u", "v"}:
            return self._take_option(Option(letter, value, origin), from_script, shown, rule)
        if (name, value.lower()) in _W_HARMLESS:
            self._note(shown, name, Rule(Fate.HONOURED, "this is how it is"), origin)
            return []
        counts = not (from_script and letter in self._commanded)
        if name == "x":
            self._take_extensions(value, origin, from_script)
            return []
        self._note(shown, letter, _rule(letter, value, rule or OPTIONS["W"]), origin, counts=counts)
        if name in _READ_ONLY:
            text = f"Cannot set attribute, read only or insufficient permission  {name}"
            raise PbsError(text, PBSE_ATTRRO & 0xFF, origin=origin)
        if rule is None:
            raise PbsError(f"Undefined attribute  {name}", PBSE_NOATTR & 0xFF, origin=origin)
        if name in {"interactive", "block"} and value.lower() != "true":
            return ["illegal -W value"]
        if rule.fate is Fate.REFUSED:
            raise not_supported(f"-W {name}", origin)
        if name in {"stagein", "stageout"} and not all(re.fullmatch(_STAGED, item) for item in value.split(",")):
            return ["illegal -W value"]
        if name == "depend" and (complaints := _depend_complaints(value, origin)):
            return complaints
        if counts and (rule.fate is not Fate.IGNORED or name in LONG_NAMES):
            self.given["I" if name == "interactive" else letter] = Setting(_as_option(letter, value), origin)
        return []

    def _take_extensions(self, text: str, origin: Origin, from_script: bool) -> None:
        """Moab's `-W x=NAME:value[;NAME:value]`, which says what its `-l name=value` says."""
        for item in re.split(r"[;,]", text):
            shown = f"-W x={item}"
            name, _, value = item.strip().partition(":")
            if name.lower() == "flags" and value.lower().startswith("advres:"):
                name, value = "advres", value.partition(":")[2]
            resource = _X_OF_MOAB.get(name.lower())
            if resource is None or not value:
                self._note(
                    shown, shown, Rule(Fate.IGNORED, "this extension of Moab means nothing here", "Moab"), origin
                )
            else:
                counts = not (from_script and resource in self.resources)
                self._note(shown, f"-l {resource}", RESOURCES[resource], origin, counts=counts)
                if counts:
                    self.resources[resource] = ResourceRequest(resource, value, origin, shown)


_NODES_OF_NQSV: Final = Rule(Fate.TRANSLATED, "so many nodes", "NQSV")
_MPI: Final = Rule(Fate.IGNORED, "the script's own commands say which MPI it uses", "NQSV")


def shown_option(option: Option) -> str:
    """An option as it was given, without the values of variables."""
    value = names_only(option.value) if option.name == "v" else option.value
    if option.name.startswith("--"):
        return f"{option.name}={value}" if value else option.name
    return f"-{option.name} {value}".rstrip()


def shortened(option: str) -> str:
    """An option for a line of text that others read too."""
    return option if len(option) <= _LONGEST_SHOWN else f"{option[: _LONGEST_SHOWN - 1]}…"


def rule_of(name: str, value: str) -> Rule:
    """What becomes of a job-wide resource."""
    if name == "flags" and value.lower().startswith("advres:"):
        return RESOURCES["advres"]
    if name in RESOURCES:
        return RESOURCES[name]
    return AMOUNT if re.fullmatch(NUMBER, value) else WORD


def _rule(letter: str, value: str, rule: Rule) -> Rule:
    """What the table says, but that no checkpoint is made is what happens."""
    return _NEVER if letter == "c" and value.strip() in {"n", "none"} else rule


_NEVER: Final = Rule(Fate.HONOURED, "no checkpoint is made")


def _places(directive: Directive) -> set[Origin]:
    return {word.origin for word in directive.words}


def _depend_complaints(text: str, origin: Origin) -> list[str]:
    """An empty one is qalter's, which takes the dependency away."""
    if not text:
        return []
    from hpcbatch.dialects.pbs.depend import DependSyntaxError, parse_depend  # takes 3 ms to import

    try:
        parse_depend(text, origin=origin)
    except DependSyntaxError as error:
        return [*filter(None, [str(error)]), "illegal -W value"]
    return []


def _as_option(letter: str, value: str) -> str:
    """The value that the option `letter` takes for an attribute's `value`."""
    if letter == "r":
        return {"true": "y", "t": "y", "y": "y", "1": "y", "false": "n", "f": "n", "n": "n", "0": "n"}.get(
            value.lower(), value
        )
    return value


def illegal(letter: str, origin: Origin) -> PbsError:
    """The error of a value that is checked when the job is sent: no directive error, wherever it stands."""
    return PbsError(f"illegal -{letter} value", USAGE_CODE, usage=usage.QSUB, origin=origin)


def split_attributes(text: str) -> list[tuple[str, str]]:
    """Read `name=value[,name=value]` of `-W`; a value reaches to the last comma before the next `=`, so that
    it may hold commas. Raises HpcBatchError if `text` is anything else. Source: OpenPBS, parse_equal_string().
    """
    pairs: list[tuple[str, str]] = []
    rest = text.lstrip()
    if not rest:
        raise HpcBatchError("-W is empty")
    while rest:
        match = re.match(r"([^\s=,][^\s=]*)\s*=\s*", rest)
        if match is None:
            raise HpcBatchError(f"{rest!r} is not name=value")
        rest = rest[match.end() :]
        quoted = ""
        if rest[:1] in {'"', "'"}:
            end = rest.find(rest[0], 1)
            if end < 0:
                raise HpcBatchError("a quote is not closed")
            quoted, rest = rest[1:end], rest[end + 1 :]
        equals = rest.find("=")
        if equals < 0:
            value, rest = quoted + rest.rstrip(), ""
            if value.endswith(","):
                raise HpcBatchError("a comma ends the list")
        else:
            comma = rest.rfind(",", 0, equals)
            if comma < 0 or (comma == 0 and not quoted):
                raise HpcBatchError("an = without a name")
            value, rest = quoted + rest[:comma].rstrip(), rest[comma + 1 :].lstrip()
        pairs.append((match[1], value))
    return pairs
