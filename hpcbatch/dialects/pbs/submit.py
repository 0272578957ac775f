"""qsub: from its command line and its script to a submission."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.array_range import parse_array_range
from hpcbatch.dialects.pbs.depend import parse_depend
from hpcbatch.dialects.pbs.directives import DEFAULT_PREFIX, scan
from hpcbatch.dialects.pbs.errors import (
    COMMAND_LINE,
    PBSE_BADATVAL,
    USAGE_CODE,
    Origin,
    PbsError,
    PbsUsageError,
    not_supported,
)
from hpcbatch.dialects.pbs.options import Parsed
from hpcbatch.dialects.pbs.resources import Resources, read_resources
from hpcbatch.dialects.pbs.settings import MAX_RUN, Settings, illegal
from hpcbatch.dialects.pbs.values import DEFAULT_PROJECT
from hpcbatch.dialects.pbs.variables import job_variables, names_only
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array
from hpcbatch.model.dependency import Dependency
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.free_text import check_text
from hpcbatch.model.image import parse_image
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.spec import JobSpec, Output, Submission
from hpcbatch.model.text import printable

DRY_RUN: Final = "--dry-run"
EXPLAIN: Final = "--explain"
STRICT: Final = "--strict"
OURS: Final = frozenset({DRY_RUN, EXPLAIN, STRICT})
"""The options of the command line that are ours and not PBS's."""
IMAGE: Final = "CONTAINER_IMAGE"
DEFAULT_IMAGE: Final = "HPCBATCH_IMAGE"
"""Ours; weaker than script and command line."""
MAX_NAME: Final = 230
DEFAULT_UMASK: Final = 0o077

_NAME = r"[A-Za-z0-9_+.-]+"
_KEEP = r"n?d?n?|[oed]*[oe][oed]*"
_HOST_PATH = r"([A-Za-z0-9.-]+):(.*)"
_ABSOLUTE_WHEN_EXPANDED = r"\$(?:HOME|PBS_O_HOME|PBS_O_WORKDIR)\b|\$\{(?:HOME|PBS_O_HOME|PBS_O_WORKDIR)\}"


class PbsSubmission(NamedTuple):
    """What a qsub command line comes to."""

    submission: Submission
    quiet: bool
    """`-z`: do not print the id."""
    dry_run: bool
    block: bool = False
    """`-W block=true`: wait for the end."""


def read_submission(
    argv: Sequence[str],
    *,
    script: Callable[[str | None], tuple[str | None, bytes]],
    environ: Mapping[str, str],
    cwd: str,
    host: str,
    user: str,
    server: str,
    now: datetime,
    is_host: Callable[[str], bool] = lambda _: False,
    outcomes: list[Outcome] | None = None,
) -> PbsSubmission:
    """Read a qsub command line (without the program's name) and the script that it names.

    `script` is called at most once, with a path, or None for standard input; it returns the absolute path or None,
    and the bytes. Its OSError passes through. `now` is aware, in the submitter's time zone. `is_host` says whether a
    name that stands before an output path is one of the cluster's: all of them share the files. Everything that is
    wrong raises PbsError in qsub's words, or NotSupportedError with path, line and column.
    """
    parsed = _command_line(argv)
    settings = Settings(environ, now)
    settings.read_command_line(parsed)
    command: tuple[str, ...] = ()
    path: str | None = None
    text = b""
    default_name = "STDIN"
    if parsed.dashes_at is not None:
        command = tuple(word.text for word in parsed.operands)
    else:
        operand = parsed.operands[0].text if parsed.operands else "-"
        if operand not in {"-", ""}:
            default_name = operand.rpartition("/")[2]
        path, text = script(None if operand in {"-", ""} else operand)
        shown = operand if path is not None else "STDIN"
        for directive in scan(text, prefix=_prefix(settings, environ), path=shown):
            settings.read_directive(directive, options.getopt(directive.words, options.QSUB))
    reader = OptionReader(settings, cwd=cwd, host=host, server=server, is_host=is_host)
    queue = reader.queue()
    resources = read_resources(list(settings.resources.values()))
    interpreter = reader.shell(environ)
    stdout, stderr = reader.output("o"), reader.output("e")
    join = reader.one_of("j", {"oe", "eo", "n"}, "n")
    mail_points = reader.mail_points()
    variables = job_variables(environ, listed=settings.variables, export_all="V" in settings.given, cwd=cwd, user=user)
    spec = JobSpec(
        dialect=Dialect.PBS,
        name=reader.name(default_name),
        queue=queue,
        chunks=resources.chunks,
        arrangement=resources.arrangement,
        sharing=resources.sharing,
        walltime_s=resources.walltime_s,
        interpreter=interpreter,
        command=command,
        script_path=path,
        submit_dir=cwd,
        submit_host=host,
        stdout=stdout,
        stderr=None if join == "oe" else stderr,
        stdout_to_stderr=join == "eo",
        hold=reader.hold(),
        array=reader.array(),
        dependency=reader.dependency(),
        begin_time=settings.begin_time,
        priority=reader.priority(),
        rerunnable=reader.one_of("r", {"y", "n"}, "y") == "y",
        account=reader.value("A"),
        mail_points=mail_points,
        mail_users=reader.mail_users(),
        umask=reader.umask(),
        remove_output=reader.remove_output(),
        image=reader.image(variables, environ),
        server=server,
        is_strict=STRICT in settings.given,
        attributes=reader.attributes(_submit_arguments(parsed, argv), resources, join, stdout, stderr),
    )
    reader.check_ignored()
    check_text(spec)
    variables |= ({"PBS_O_QUEUE": queue} if queue else {}) | {"PBS_O_HOST": host}
    wants_mail = ("M" in settings.given or "m" in settings.given) and mail_points != "n"
    mail_note = "this site sends no mail; -m and -M are only kept in the job's record" if wants_mail else ""
    return PbsSubmission(
        submission=Submission(
            spec=spec, script=text, environment=variables, mail_note=mail_note, notes=resources.notes
        ),
        quiet="z" in settings.given,
        block="block" in settings.given,
        dry_run=DRY_RUN in settings.given,
    )


def is_explained(argv: Sequence[str]) -> bool:
    """Whether the command line asks what becomes of its options. Raises PbsError if it cannot be taken apart."""
    return any(option.name == EXPLAIN for option in _command_line(argv).options)


def _command_line(argv: Sequence[str]) -> Parsed:
    """Take the command line apart, and refuse what qsub refuses before it looks at any option's value."""
    for argument in argv:
        if any("\udc80" <= char <= "\udcff" for char in argument):
            raise PbsError("an argument is not UTF-8 text", USAGE_CODE)
    parsed = options.getopt(options.words(argv), options.QSUB, long_options=OURS)
    has_dashes = parsed.dashes_at is not None
    if parsed.is_permuted or (has_dashes and (parsed.dashes_at or not parsed.operands)):
        raise PbsUsageError("\n".join(parsed.errors), usage.QSUB)
    if not has_dashes and len(parsed.operands) > 1:
        raise PbsUsageError("\n".join(parsed.errors), usage.QSUB)
    return parsed


def _submit_arguments(parsed: Parsed, argv: Sequence[str]) -> str:
    """The command line as the record shows it: of the variables of `-v` their names."""
    lists = [option.value for option in parsed.options if option.name == "v" and option.value]
    shown: list[str] = []
    for at, word in enumerate(argv):
        if word == "--":  # the job's command is shown anyway
            shown += argv[at:]
            break
        given = next((text for text in lists if word == text or (word[:1] == "-" and word.endswith(text))), None)
        if word not in OURS:
            shown.append(word if given is None else word.removesuffix(given) + names_only(given))
    return printable(" ".join(shown))


def _prefix(settings: Settings, environ: Mapping[str, str]) -> str:
    """The directive prefix: -C, where empty turns directives off, else PBS_DPREFIX, else #PBS."""
    if "C" in settings.given:
        return settings.given["C"].value
    return environ.get("PBS_DPREFIX", DEFAULT_PREFIX)


class OptionReader(NamedTuple):
    """Checks and converts the options whose values count when the job is sent (source: ecl_verify_values)."""

    settings: Settings
    cwd: str
    host: str
    server: str
    is_host: Callable[[str], bool] = lambda _: False

    def value(self, letter: str) -> str | None:
        setting = self.settings.given.get(letter)
        return None if setting is None else setting.value

    def origin(self, letter: str) -> Origin:
        setting = self.settings.given.get(letter)
        return COMMAND_LINE if setting is None else setting.origin

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
        """`queue`, `queue@server` or `@server`, where the server is ours."""
        value = self.value("q")
        if not value:
            return None
        queue, at, server = value.partition("@")
        if (at and not server) or any(char.isspace() or char == "@" for char in queue + server):
            raise PbsError(f"illegally formed destination: {value}", USAGE_CODE, origin=self.origin("q"))
        if at and server.partition(".")[0] != self.server.partition(".")[0]:
            raise not_supported(f"-q: the server {server}", self.origin("q"))
        return queue or None

    def shell(self, environ: Mapping[str, str]) -> str | None:
        """The one shell of -S (or PBS_SHELL) that is meant for this cluster: the one without a host."""
        value = self.value("S")
        value = environ.get("PBS_SHELL") if value is None else value
        if value is None:
            return None
        items = [item.strip().partition("@") for item in value.split(",")]
        if any(not path.startswith("/") or " " in path or (at and not where) for path, at, where in items):
            raise illegal("S", self.origin("S"))
        for path, at, _ in items:
            if not at:
                return path
        raise not_supported("-S: a shell for one host only", self.origin("S"))

    def output(self, letter: str) -> Output:
        """The path of -o or -e, absolute. A path may still hold `$PBS_JOBID` and the like; those that begin with
        the home or submit directory's variable are absolute already.
        """
        value = self.value(letter)
        if value is None:
            return Output()
        text = value.lstrip()
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
        """-J, with `%max` or `-W max_run_subjobs=` for how many members may run at once."""
        text, most = self.value("J"), self.value(MAX_RUN)
        if text is None:
            if most is not None:
                raise PbsError("Attribute has to be set on an array job", 1, origin=self.origin(MAX_RUN))
            return None
        try:
            array = parse_array_range(text)
        except HpcBatchError:
            raise illegal("J", self.origin("J")) from None
        if self.value("r") == "n":
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
        if value != "n" and (not value or set(value) - set("abej") or value == "j"):
            raise illegal("m", self.origin("m"))
        if "j" in value and "J" not in self.settings.given:
            raise PbsError("mail option 'j' can not be used without array job", 1, origin=self.origin("m"))
        return value

    def mail_users(self) -> tuple[str, ...]:
        value = self.value("M")
        if value is None:
            return ()
        users = tuple(part.strip() for part in value.split(","))
        if any(not user or any(char.isspace() for char in user) for user in users):
            raise illegal("M", self.origin("M"))
        return users

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

    def check_ignored(self) -> None:
        """-c: `n` (never) is what happens; a checkpoint is not made."""
        value = self.value("c")
        if value is None or value == "n":
            return
        if not re.fullmatch(r"[sc]|w|[cw]=[0-9]+", value):
            raise illegal("c", self.origin("c"))
        raise not_supported("-c (checkpoints)", self.origin("c"))

    def attributes(
        self, arguments: str, resources: Resources, join: str, stdout: Output, stderr: Output
    ) -> dict[str, str]:
        """What `qstat -f` shows again and the other fields do not hold, under PBS's names."""
        attributes = {f"Resource_List.{name}": value for name, value in resources.shown.items()}
        attributes |= {
            "Join_Path": join,
            "Keep_Files": self.keep_files(),
            "Mail_Points": self.mail_points(),
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
        return attributes
