"""The options of qsub, gathered from the command line and the script by PBS's order of precedence.

Some are checked as they are read, as qsub does: then an error in a script is a directive error. The others are
checked when the job is sent, and their errors look alike wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.depend import DependSyntaxError, parse_depend
from hpcbatch.dialects.pbs.directives import Directive
from hpcbatch.dialects.pbs.errors import DIRECTIVE_CODE, PBSE_NOATTR, USAGE_CODE, Origin, PbsError, not_supported
from hpcbatch.dialects.pbs.options import Option, Parsed
from hpcbatch.dialects.pbs.resources import ResourceRequest, split_resources
from hpcbatch.dialects.pbs.values import parse_date
from hpcbatch.dialects.pbs.variables import parse_variable_list
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import is_printable


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LONG_NAMES: Mapping[str, str] = {
    "Account_Name": "A",
    "Checkpoint": "c",
    "Error_Path": "e",
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
    "project": "P",
}
"""Attributes that `-W name=value` can set, with the option that does the same."""
_W_NOT_SUPPORTED = _names(
    "stagein stageout group_list sandbox run_count release_nodes_on_stageout tolerate_node_failures "
    "create_resv_from_job interactive cred reserve_start reserve_end Execution_Time User_List "
    "Variable_List Resource_List array_indices_submitted pwd"
)
_W_HARMLESS = frozenset({("interactive", "false"), ("block", "false"), ("sandbox", "home")})
_NOT_SUPPORTED = {
    "I": "-I (interactive jobs)",
    "u": "-u (running as another user)",
    "X": "-X (X11 forwarding)",
}


_ANY_TEXT = frozenset({"l", "v"})
"""`-v` no listing shows; `-l` has rules of its own, by which a tab is a blank."""
MAX_RUN: Final = "max_run_subjobs"


class Setting(NamedTuple):
    value: str
    origin: Origin


class Settings:
    """What was requested so far. The command line is read first; what it sets, a directive leaves alone."""

    def __init__(self, environ: Mapping[str, str], now: datetime) -> None:
        self.environ, self.now = environ, now
        self.given: dict[str, Setting] = {}  # by option letter, and `umask`
        self.resources: dict[str, ResourceRequest] = {}
        self.variables: dict[str, str] = {}
        self.begin_time: datetime | None = None
        self._commanded: frozenset[str] = frozenset()

    def read_command_line(self, parsed: Parsed) -> None:
        """Take the options of the command line; PbsError with the usage text for any that is wrong."""
        complaints = [*parsed.errors, *self._take(parsed.options, from_script=False)]
        if complaints:
            raise PbsError("\n".join(complaints), USAGE_CODE, usage=usage.QSUB)
        self._commanded = frozenset(self.given)

    def read_directive(self, directive: Directive, parsed: Parsed) -> None:
        """Take the options of one directive; PbsError for any that is wrong, and for words that are left over."""
        complaints = [*parsed.errors, *self._take(parsed.options, from_script=True)]
        if complaints or parsed.operands or parsed.dashes_at is not None:
            complaints.append(f"directive error: {directive.text} ")
            stray = parsed.operands[0] if parsed.operands and not parsed.errors else directive.words[0]
            raise PbsError("\n".join(complaints), DIRECTIVE_CODE, origin=stray.origin)

    def _take(self, options: tuple[Option, ...], *, from_script: bool) -> list[str]:
        """Take `options` over; return qsub's complaints about those that it checks at once."""
        complaints: list[str] = []
        for option in options:
            if option.name not in _ANY_TEXT and not is_printable(option.value):
                complaints.append(f"illegal -{option.name} value")
            elif option.name == "l":
                complaints += self._take_resources(option, from_script)
            elif option.name == "W":
                complaints += self._take_attributes(option, from_script)
            elif not (from_script and option.name in self._commanded):
                complaints += self._take_option(option)
        return complaints

    def _take_option(self, option: Option) -> list[str]:
        name, value = option.name, option.value
        if name in _NOT_SUPPORTED:
            raise not_supported(_NOT_SUPPORTED[name], option.origin)
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
        elif name in "cmp":
            value = value.lstrip()
        self.given[name] = Setting(value, option.origin)
        return []

    def _take_resources(self, option: Option, from_script: bool) -> list[str]:
        """A name given before stays as it is: the command line's over the script's, the script's first over later."""
        try:
            for name, value in split_resources(option.value):
                if not (from_script and name in self.resources):
                    self.resources[name] = ResourceRequest(name, value, option.origin)
        except HpcBatchError:
            return ["illegal -l value"]
        return []

    def _take_attributes(self, option: Option, from_script: bool) -> list[str]:
        try:
            pairs = split_attributes(option.value)
        except HpcBatchError:
            return ["illegal -W value"]
        for name, value in pairs:
            letter = LONG_NAMES.get(name, name)
            if letter == "umask" or name in LONG_NAMES:
                if not (from_script and letter in self._commanded):
                    self.given[letter] = Setting(_as_option(letter, value), option.origin)
            elif (name, value.lower()) in _W_HARMLESS:
                continue
            elif name in {"interactive", "block"} and value.lower() != "true":
                return ["illegal -W value"]
            elif name == MAX_RUN:
                if not (from_script and name in self._commanded):
                    self.given[name] = Setting(value, option.origin)
            elif name == "depend":
                complaints = _depend_complaints(value, option.origin)
                if complaints:
                    return complaints
                if not (from_script and name in self._commanded):
                    self.given[name] = Setting(value, option.origin)
            elif name == "block":
                self.given["block"] = Setting(value, option.origin)
            elif name in _W_NOT_SUPPORTED:
                raise not_supported(f"-W {name}", option.origin)
            else:
                raise PbsError(f"Undefined attribute  {name}", PBSE_NOATTR & 0xFF, origin=option.origin)
        return []


def _depend_complaints(text: str, origin: Origin) -> list[str]:
    """An empty one is qalter's, which takes the dependency away."""
    try:
        if text:
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
