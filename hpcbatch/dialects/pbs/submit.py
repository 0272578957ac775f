"""qsub: from its command line and its script to a submission."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.directives import DEFAULT_PREFIX, scan
from hpcbatch.dialects.pbs.errors import USAGE_CODE, PbsError, PbsUsageError
from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.dialects.pbs.option_values import DEFAULT_UMASK, OptionReader
from hpcbatch.dialects.pbs.options import Parsed
from hpcbatch.dialects.pbs.resource_list import ResourceRequest
from hpcbatch.dialects.pbs.resources import WORK_DIR, Extra, Resources, collect
from hpcbatch.dialects.pbs.settings import Script, Settings, shortened
from hpcbatch.dialects.pbs.variables import job_variables, names_only
from hpcbatch.errors import DirectiveError, HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.free_text import check_text
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.spec import JobSpec, Output, Submission
from hpcbatch.model.text import printable
from hpcbatch.typed import Final, NamedTuple

DRY_RUN: Final = "--dry-run"
EXPLAIN: Final = "--explain"
STRICT: Final = "--strict"
_THREADS: Final = "OMP_NUM_THREADS"
"""PBS sets it over what -v says; for NQSV that counts."""
_MOST_TOLD: Final = 128
_LETTERS: Final = options.QSUB + options.TORQUE


class _Given(NamedTuple):
    """A command line, and the script that it names."""

    parsed: Parsed
    arguments: str
    """As the record shows them."""
    path: str | None = None
    text: bytes = b""
    default_name: str = "STDIN"


class PbsSubmission(NamedTuple):
    """What a qsub command line comes to."""

    submission: Submission
    quiet: bool
    """`-z`: do not print the id."""
    dry_run: bool
    block: bool = False
    """`-W block=true`: wait for the end."""
    interactive: bool = False
    """`-I`: attach this terminal to the job's."""
    explain: bool = False
    """`--explain`: say what becomes of each option, and submit nothing."""


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
    name that stands before an output path is one of the cluster's: all of them share the files. Nothing asks it in a
    dry run. What became of each option is appended to `outcomes`, also where that is refused. All that is wrong is
    raised together: PbsError in qsub's words, or NotSupportedError, with path, line and column.
    """
    obstacles = Obstacles()
    settings = Settings(environ, now, obstacles)
    resources: Resources | None = None
    try:
        parsed = _command_line(argv)
        settings.read_command_line(parsed)
        if parsed.errors:
            obstacles.raise_all()
        given = _read_script(_Given(parsed, _submit_arguments(parsed, argv)), settings, environ, script)
        offline = settings.given.keys() & {DRY_RUN, EXPLAIN}
        reader = OptionReader(
            settings,
            cwd=cwd,
            host=host,
            server=server,
            is_host=(lambda _: True) if offline else is_host,
            user=user,
            home=environ.get("HOME", "/"),
        )
        resources = _resources(reader)
        return _submission(reader, resources, given, environ)
    finally:
        if outcomes is not None:
            from hpcbatch.dialects.pbs.outcomes import made

            outcomes += made(settings, resources, environ)


def _read_script(
    given: _Given,
    settings: Settings,
    environ: Mapping[str, str],
    script: Callable[[str | None], tuple[str | None, bytes]],
) -> _Given:
    """The same with the script, whose directives go to `settings`."""
    parsed = given.parsed
    if parsed.dashes_at is not None:
        return given
    if "I" in settings.given and not parsed.operands:
        return given
    operand = parsed.operands[0].text if parsed.operands else "-"
    try:
        path, text = script(None if operand in {"-", ""} else operand)
    except OSError:
        settings.obstacles.raise_all()
        raise
    shown = operand if path is not None else "STDIN"
    settings.script = Script(text, shown, prefix=_prefix(settings, environ))
    for directive in scan(text, prefix=settings.script.prefix, path=shown, obstacles=settings.obstacles):
        settings.read_directive(directive, options.getopt(directive.words, _LETTERS, with_value=options.NQSV))
    name = "STDIN" if operand in {"-", ""} else operand.rpartition("/")[2]
    return given._replace(path=path, text=text, default_name=name)


def _resources(reader: OptionReader) -> Resources:
    settings, obstacles = reader.settings, reader.settings.obstacles
    hosts = obstacles.attempt("-b", settings.read_as_nqsv, None) if settings.is_of_nqsv else None
    requests = list(settings.resources.values())
    threads = settings.variables.get(_THREADS, "")
    if settings.is_of_nqsv and re.fullmatch(r"[1-9][0-9]{0,8}", threads):
        requests.append(ResourceRequest("ompthreads", threads, reader.origin("v"), f"-v {_THREADS}"))
    extra = Extra(is_alone="n" in settings.given, hosts=hosts, tasks=tuple(settings.tasks))
    return collect(requests, extra, obstacles)


def _submission(
    reader: OptionReader, resources: Resources, command: _Given, environ: Mapping[str, str]
) -> PbsSubmission:
    parsed = command.parsed
    settings = reader.settings
    given, checked = settings.given, reader.checked
    checked("u", reader.check_user, None)
    checked("c", reader.check_ignored, None)
    queue = checked("q", reader.queue, None)
    stdout = checked("o", lambda: reader.output("o"), Output())
    stderr = checked("e", lambda: reader.output("e"), Output())
    join = checked("j", reader.join, "n")
    mail_points = checked("m", reader.mail_points, "a")
    variables = job_variables(
        environ, listed=settings.variables, export_all="V" in given, cwd=reader.cwd, user=reader.user
    )
    work_dir = checked("w", lambda: reader.work_dir("w"), None)
    if work_dir is not None:
        variables["PBS_O_WORKDIR"] = work_dir
    if (start_dir := checked("d", lambda: reader.work_dir("d"), None)) is not None:
        work_dir = variables["PBS_O_INITDIR"] = start_dir
    if work_dir is None and WORK_DIR in settings.resources:
        work_dir = reader.cwd
    ignored = settings.ignored() | dict(resources.ignored)
    image = checked("v", lambda: reader.image(variables, environ), None)
    is_interactive = "I" in given
    if is_interactive and "J" in given:
        settings.obstacles.attempt("-I", _no_interactive_array, None)
    no_words: tuple[str, ...] = ()
    shown: dict[str, str] = {}
    attributes = checked(
        "k",
        lambda: reader.attributes(
            command.arguments, resources, join=join, mail_points=mail_points, stdout=stdout, stderr=stderr
        ),
        shown,
    )
    spec = partial(
        JobSpec,
        dialect=Dialect.PBS,
        name=checked("N", lambda: reader.name(command.default_name), "job"),
        queue=queue,
        chunks=resources.chunks,
        arrangement=resources.arrangement,
        sharing=resources.sharing,
        required_hosts=resources.required_hosts,
        excluded_hosts=resources.excluded_hosts,
        words=resources.words,
        walltime_s=resources.limits.walltime_s,
        min_walltime_s=resources.limits.min_walltime_s,
        cpu_time_s=resources.limits.cpu_time_s,
        process_limits=resources.limits.process_limits,
        process_nice=resources.limits.process_nice,
        warn_signal=resources.limits.warn_signal,
        grouping=resources.grouping,
        interpreter=checked("S", lambda: reader.shell(environ), None),
        command=tuple(word.text for word in parsed.operands) if parsed.dashes_at is not None else (),
        script_args=checked("F", reader.script_args, no_words),
        script_path=None if is_interactive else command.path,
        interactive=Interactive.SESSION if is_interactive else None,
        work_dir=work_dir,
        submit_dir=reader.cwd,
        submit_host=reader.host,
        stdout=stdout,
        stderr=None if join == "oe" else stderr,
        stdout_to_stderr=join == "eo",
        hold=checked("h", reader.hold, default=False),
        array=checked("J", reader.array, None),
        dependency=checked("depend", reader.dependency, None),
        begin_time=settings.begin_time,
        priority=checked("p", reader.priority, 0),
        rerunnable=checked("r", lambda: reader.one_of("r", {"y", "n"}, "y"), "y") == "y" and not is_interactive,
        account=reader.value("A"),
        mail_points=mail_points,
        mail_users=checked("M", reader.mail_users, no_words),
        umask=checked("umask", reader.umask, DEFAULT_UMASK),
        remove_output=checked("R", reader.remove_output, ""),
        image=image,
        server=reader.server,
        ignored=_told(ignored),
        is_strict=STRICT in given,
        attributes=attributes,
    )
    settings.obstacles.raise_all()
    job = _checked_job(spec)
    variables |= ({"PBS_O_QUEUE": queue} if queue else {}) | {"PBS_O_HOST": reader.host}
    if is_interactive and "TERM" in environ:
        variables.setdefault("TERM", environ["TERM"])
    wants_mail = ("M" in given or "m" in given) and mail_points != "n"
    mail_note = "this site sends no mail; -m and -M are only kept in the job's record" if wants_mail else ""
    return PbsSubmission(
        submission=Submission(
            spec=job,
            script=b"" if is_interactive else command.text,
            environment=variables,
            mail_note=mail_note,
        ),
        quiet="z" in given,
        block="block" in given,
        dry_run=DRY_RUN in given,
        interactive=is_interactive,
        explain=EXPLAIN in given,
    )


def _no_interactive_array() -> None:
    raise PbsError("interactive and array job submission cannot be used together", 1)


def is_explained(argv: Sequence[str]) -> bool:
    """Whether the command line asks what becomes of its options. Raises PbsError if it cannot be taken apart."""
    return any(option.name == EXPLAIN for option in _command_line(argv).options)


def _checked_job(make: Callable[[], JobSpec]) -> JobSpec:
    """Raises DirectiveError for sums that no job can have, and texts that no listing can show."""
    try:
        job = make()
        check_text(job)
    except HpcBatchError as error:
        raise DirectiveError(str(error)) from None
    return job


def _told(ignored: Mapping[str, str]) -> tuple[str, ...]:
    """The lines of `JobSpec.ignored`, as many and as long as it may have."""
    lines = [f"{shortened(option)}: {reason}" for option, reason in ignored.items()]
    if len(lines) > _MOST_TOLD:
        lines[_MOST_TOLD - 1 :] = [f"{len(lines) - _MOST_TOLD + 1} further options: they mean nothing here"]
    return tuple(lines)


def _command_line(argv: Sequence[str]) -> Parsed:
    """Take the command line apart, and refuse what qsub refuses before it looks at any option's value."""
    for argument in argv:
        if any("\udc80" <= char <= "\udcff" for char in argument):
            raise PbsError("an argument is not UTF-8 text", USAGE_CODE)
    parsed = options.getopt(options.words(argv), _LETTERS, long_options=options.OWN, with_value=options.NQSV)
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
        if word not in options.OWN:
            shown.append(word if given is None else word.removesuffix(given) + names_only(given))
    return printable(" ".join(shown))


def _prefix(settings: Settings, environ: Mapping[str, str]) -> str:
    """The directive prefix: -C, where empty turns directives off, else PBS_DPREFIX, else #PBS."""
    if "C" in settings.given:
        return settings.given["C"].value
    return environ.get("PBS_DPREFIX", DEFAULT_PREFIX)
