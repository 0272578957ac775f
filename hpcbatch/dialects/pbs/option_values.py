"""The options of qsub whose values count when the job is sent: each checked and converted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.errors import (
    COMMAND_LINE,
    PBSE_BADATVAL,
    PBSE_BADUSER,
    USAGE_CODE,
    Origin,
    PbsError,
    not_supported,
)
from hpcbatch.dialects.pbs.resources import Resources
from hpcbatch.dialects.pbs.settings import MAX_RUN, Settings, illegal
from hpcbatch.dialects.pbs.values import DEFAULT_PROJECT, parse_mail_users
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array
from hpcbatch.model.dependency import Dependency
from hpcbatch.model.image import parse_image
from hpcbatch.model.spec import Output
from hpcbatch.typed import Final, NamedTuple, TypeVar

_T = TypeVar("_T")

IMAGE: Final = "CONTAINER_IMAGE"
DEFAULT_IMAGE: Final = "HPCBATCH_IMAGE"
"""Ours; weaker than script and command line."""
MAX_NAME: Final = 230
DEFAULT_UMASK: Final = 0o077
SERVER_ASKED: Final = "server_asked"
"""The attribute that keeps another server's name (`-q queue@server`), for the site to know."""

_NAME = r"[!-.0-~]+"  # Torque's: all that can be seen, without a slash; OpenPBS has letters, digits and _+.-
_KEEP = r"n?d?n?|[oed]*[oe][oed]*"
_HOST_PATH = r"([A-Za-z0-9.-]+):(.*)"
_ABSOLUTE_WHEN_EXPANDED = r"\$(?:HOME|PBS_O_HOME|PBS_O_WORKDIR)\b|\$\{(?:HOME|PBS_O_HOME|PBS_O_WORKDIR)\}"
_CHECKPOINT = r"n|none|[sc]|w|[cw]=[0-9]+|(?:enabled|shutdown|periodic|interval=[0-9]+|depth=[0-9]+|dir=[^,]+)(?:,.*)?"
_JOIN_OF_NQSV = {"o": "oe", "e": "eo"}
_ON_FAILURE = set("fp")
"""Torque's: mail if the script fails (`f`), never (`p`)."""


class OptionReader(NamedTuple):
    """Checks and converts the options whose values count when the job is sent (source: ecl_verify_values)."""

    settings: Settings
    cwd: str
    host: str
    server: str
    is_host: Callable[[str], bool] = lambda _: False
    user: str = ""
    home: str = "/"

    def value(self, letter: str) -> str | None:
        setting = self.settings.given.get(letter)
        return None if setting is None else setting.value

    def origin(self, letter: str) -> Origin:
        setting = self.settings.given.get(letter)
        return COMMAND_LINE if setting is None else setting.origin

    def checked(self, letter: str, read: Callable[[], _T], default: _T) -> _T:
        """What `read` makes of the option; what is wrong with it becomes an obstacle."""
        part = self.settings.counting.get(letter)
        return self.settings.obstacles.attempt(f"-{letter}" if part is None else part.option, read, default)

    def one_of(self, letter: str, allowed: set[str], default: str) -> str:
        value = self.value(letter)
        if value is not None and value not in allowed:
            raise illegal(letter, self.origin(letter))
        return default if value is None else value

    def name(self, default: str) -> str:
        name = self.value("N")
        name = default if name is None else name
        if len(name) > MAX_NAME:
            raise PbsError("Job name is too long ", USAGE_CODE, origin=self.origin("N"))
        if not re.fullmatch(_NAME, name):
            if self.value("N") is None:
                why = f"{name!r} can name no job, which its script's name does: qsub -N NAME (letters, digits and _+.-)"
                raise PbsError(f"illegal -N value\n{why}", USAGE_CODE)
            raise illegal("N", self.origin("N"))
        return name

    def queue(self) -> str | None:
        """`queue`, `queue@server` or `@server`; of another server the queue counts all the same."""
        value = self.value("q")
        if not value:
            return None
        queue, at, server = value.partition("@")
        if (at and not server) or any(char.isspace() or char == "@" for char in queue + server):
            raise PbsError(f"illegally formed destination: {value}", USAGE_CODE, origin=self.origin("q"))
        return queue or None

    def other_server(self) -> str:
        """The server of -q, if it is not ours; else ""."""
        server = (self.value("q") or "").partition("@")[2]
        return "" if server.partition(".")[0] == self.server.partition(".")[0] else server

    def check_user(self) -> None:
        """-u: the entry for this host, or the one without a host, must name the submitter."""
        value = self.value("u")
        if value is None:
            return
        entries = [item.strip().partition("@") for item in value.split(",")]
        if not all(user and not any(map(str.isspace, user + host)) for user, _, host in entries):
            raise illegal("u", self.origin("u"))
        ours = {self.server, self.server.partition(".")[0], self.host, self.host.partition(".")[0]}
        named = [user for user, _, host in entries if host in ours] or [user for user, at, _ in entries if not at]
        if self.user and named and named[0] != self.user:
            raise PbsError("Bad UID for job execution", PBSE_BADUSER & 0xFF, origin=self.origin("u"))

    def work_dir(self, letter: str) -> str | None:
        """Torque's -d and -w, absolute against the directory where qsub runs."""
        value = self.value(letter)
        if value is None:
            return None
        for name, directory in (("PBS_O_WORKDIR", self.cwd), ("PWD", self.cwd), ("HOME", self.home), ("~", self.home)):
            for prefix in (f"${name}", f"${{{name}}}") if name != "~" else ("~",):
                rest = value.removeprefix(prefix)
                if rest != value and (not rest or rest.startswith("/")):
                    value = directory.rstrip("/") + rest or "/"
        if not value:
            raise illegal(letter, self.origin(letter))
        path = value if value.startswith("/") else f"{self.cwd.rstrip('/')}/{value.removeprefix('./')}"
        return path.removesuffix("/.") or "/"

    def script_args(self) -> tuple[str, ...]:
        """Torque's -F, whose words a shell would split."""
        value = self.value("F")
        if value is None:
            return ()
        from shlex import split

        try:
            return tuple(split(value))
        except ValueError:
            raise illegal("F", self.origin("F")) from None

    def shell(self, environ: Mapping[str, str]) -> str | None:
        """The shell of -S (or PBS_SHELL) for this cluster: the one for this host or server, or the one without a host.
        Without any the login shell runs the script.
        """
        value = self.value("S")
        value = environ.get("PBS_SHELL") if value is None else value
        if value is None:
            return None
        items = [item.strip().partition("@") for item in value.split(",")]
        if any(not path.startswith("/") or " " in path or (at and not where) for path, at, where in items):
            raise illegal("S", self.origin("S"))
        ours = {self.server, self.server.partition(".")[0], self.host, self.host.partition(".")[0]}
        own = [path for path, _, where in items if where in ours]
        return next(iter(own or [path for path, at, _ in items if not at]), None)

    def join(self) -> str:
        """-j; `o` and `e` are NQSV's words for `oe` and `eo`."""
        value = self.value("j")
        if value in _JOIN_OF_NQSV and self.settings.is_of_nqsv:
            return _JOIN_OF_NQSV[value]
        return self.one_of("j", {"oe", "eo", "n"}, "n")

    def output(self, letter: str) -> Output:
        """The path of -o or -e, absolute. A path may still hold `$PBS_JOBID` and the like; those that begin with
        the home or submit directory's variable are absolute already.
        """
        value = self.value(letter)
        if value is None:
            return Output()
        text = value.lstrip()
        if self.settings.is_of_nqsv:  # its numbers of requests
            text = re.sub(r"%[sr]", "$PBS_JOBID", text)
        match = re.match(_HOST_PATH, text, re.DOTALL)
        path = match[2] if match else text
        if not path.isprintable() or not path or (":" in text.partition("/")[0] and match is None):
            raise illegal(letter, self.origin(letter))
        if match is not None:
            local = {self.host, self.host.partition(".")[0], "localhost", "localhost.localdomain"}
            if match[1] not in local and not self.is_host(match[1]):
                why = f"-{letter}: {match[1]} is neither this host nor one of the cluster's; output to other hosts"
                raise not_supported(why, self.origin(letter))
            base = "$HOME"  # `host:path` is relative to the home on that host
        else:
            base = self.cwd
        if path.startswith("/") or re.match(_ABSOLUTE_WHEN_EXPANDED, path):
            return Output(path=path)
        return Output(path=f"{base.rstrip('/')}/{path.removeprefix('./')}")

    def hold(self) -> bool:
        """-h takes no value; `-W Hold_Types=` takes u, o, s, n. A user can only ask for u."""
        value = self.value("h")
        if value in {None, "n"}:
            return False
        if value not in {"", "u"}:
            raise illegal("h", self.origin("h"))
        return True

    def array(self) -> Array | None:
        """-J or Torque's -t, with `%max` or `-W max_run_subjobs=` for how many members may run at once."""
        text, most = self.value("J"), self.value(MAX_RUN)
        if text is None:
            if most is not None:
                raise PbsError("Attribute has to be set on an array job", 1, origin=self.origin(MAX_RUN))
            return None
        from hpcbatch.dialects.pbs.array_range import parse_array_range, parse_torque_range  # most jobs are none

        is_of_torque = self.settings.given["J"].letter == "t"
        try:
            array = parse_torque_range(text) if is_of_torque else parse_array_range(text)
        except HpcBatchError:
            raise illegal("t" if is_of_torque else "J", self.origin("J")) from None
        if self.value("r") == "n" and not is_of_torque:
            raise PbsError("cannot submit non-rerunable Array Job", 255, origin=self.origin("J"))
        if most is None:
            return array
        if array.limit is not None:
            raise PbsError("multiple max_run_subjobs values found", USAGE_CODE, origin=self.origin(MAX_RUN))
        if not re.fullmatch(r"0*[1-9][0-9]{0,8}", most):
            raise illegal("W", self.origin(MAX_RUN))
        return replace(array, limit=int(most))

    def dependency(self) -> Dependency | None:
        """-W depend=."""
        text = self.value("depend")
        if text is None:
            return None
        if not text:
            raise illegal("W", self.origin("depend"))
        from hpcbatch.dialects.pbs.depend import parse_depend  # takes 3 ms to import

        return parse_depend(text, self.server, self.origin("depend"))

    def priority(self) -> int:
        value = self.value("p")
        if value is None:
            return 0
        if not re.fullmatch(r"[+-]?[0-9]{1,9}", value) or not -1024 <= int(value) <= 1023:
            raise illegal("p", self.origin("p"))
        return int(value)

    def mail_points(self) -> str:
        value = self.value("m")
        if value is None:
            return "a"
        if value and not set(value) - set("abe") - _ON_FAILURE:  # Torque's
            rest = "".join(letter for letter in value if letter not in _ON_FAILURE)
            return rest or ("a" if "f" in value else "n")
        if value != "n" and (not value or set(value) - set("abej") or value == "j"):
            raise illegal("m", self.origin("m"))
        if "j" in value and "J" not in self.settings.given:
            raise PbsError("mail option 'j' can not be used without array job", 1, origin=self.origin("m"))
        return value

    def mail_users(self) -> tuple[str, ...]:
        value = self.value("M")
        if value is None:
            return ()
        try:
            return parse_mail_users(value)
        except HpcBatchError:
            raise illegal("M", self.origin("M")) from None

    def umask(self) -> int:
        value = self.value("umask")
        if value is None:
            return DEFAULT_UMASK
        if not re.fullmatch(r"[0-7]{1,4}", value) or int(value, 8) > 0o777:
            raise illegal("W", self.origin("umask"))
        return int(value, 8)

    def image(self, variables: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
        """The image that CONTAINER_IMAGE names among the `variables` that travel with the job, as for PBS's container
        hook; else HPCBATCH_IMAGE of the environment. None: the queue's.
        """
        name, text = IMAGE, variables.get(IMAGE)
        if not text:
            name, text = DEFAULT_IMAGE, environ.get(DEFAULT_IMAGE)
        try:
            return parse_image(text) if text else None
        except HpcBatchError as error:
            origin = self.origin("v") if name in self.settings.variables else COMMAND_LINE
            raise PbsError(f"{name}: {error}", PBSE_BADATVAL & 0xFF, origin=origin) from None

    def keep_files(self) -> str:
        value = self.value("k")
        if value is None:
            return "n"
        if not value or value == "d" or not re.fullmatch(_KEEP, value):
            raise illegal("k", self.origin("k"))
        return value

    def remove_output(self) -> str:
        """-R: which files go when the job has ended with 0."""
        value = self.value("R")
        if value is None:
            return ""
        if value not in {"e", "o", "eo", "oe"}:
            raise illegal("R", self.origin("R"))
        return value

    def sandbox(self) -> str:
        """-W sandbox=: PRIVATE, HOME, or "" if it is not given."""
        value = self.value("sandbox")
        if value is not None and value.upper() not in {"HOME", "PRIVATE"}:
            raise illegal("W", self.origin("sandbox"))
        return "" if value is None else value.upper()

    def check_ignored(self) -> None:
        """-c: a checkpoint is not made."""
        value = self.value("c")
        if value is not None and not re.fullmatch(_CHECKPOINT, value.strip()):
            raise illegal("c", self.origin("c"))

    def attributes(
        self, arguments: str, resources: Resources, *, join: str, mail_points: str, stdout: Output, stderr: Output
    ) -> dict[str, str]:
        """What `qstat -f` shows again and the other fields do not hold, under PBS's names."""
        attributes = {f"Resource_List.{name}": value for name, value in resources.shown.items()}
        attributes |= {
            "Join_Path": join,
            "Keep_Files": self.keep_files(),
            "Mail_Points": mail_points,
            "project": self.value("P") or DEFAULT_PROJECT,
        }
        if stdout.path is not None:
            attributes["Output_Path"] = stdout.path
        if stderr.path is not None:
            attributes["Error_Path"] = stderr.path
        if shells := self.value("S"):
            attributes["Shell_Path_List"] = shells
        if umask := self.value("umask"):
            attributes["umask"] = umask.lstrip("0") or "0"
        if arguments:
            attributes["Submit_arguments"] = arguments
        if server := self.other_server():
            attributes[SERVER_ASKED] = server
        if sandbox := self.checked("sandbox", self.sandbox, ""):
            attributes["sandbox"] = sandbox
        return {**attributes, **resources.attributes}
