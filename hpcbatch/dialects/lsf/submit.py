"""bsub: command line, environment and script become a Submission."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from hpcbatch.dialects.lsf import values
from hpcbatch.dialects.lsf.depend import DependSyntaxError, DependUnmetError, Lookup, parse_dependency
from hpcbatch.dialects.lsf.errors import LsfAnswer, LsfError
from hpcbatch.dialects.lsf.options import Given, read
from hpcbatch.dialects.lsf.request import Request
from hpcbatch.dialects.lsf.settings import attributes, environment_of, mail_points, process_limits, told, warn_signal
from hpcbatch.dialects.lsf.shape import read_requirement, shape_of
from hpcbatch.dialects.lsf.words import Word, lines_of
from hpcbatch.errors import HpcBatchError, NotSupportedError, raise_all
from hpcbatch.model.array import Array
from hpcbatch.model.dependency import Dependency
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.free_text import check_text
from hpcbatch.model.image import parse_image
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.spec import MAX_WEIGHT, JobSpec, Output, Submission
from hpcbatch.model.text import printable
from hpcbatch.typed import Final, NamedTuple, TypeAlias

ReadFile: TypeAlias = Callable[[str | None], tuple[str | None, bytes]]
"""Reads standard input (None), or a file; returns its absolute path and content. Raises OSError."""

STDIN_NAME: Final = "bsub"
"""The name of jobs whose script came by standard input: its text, which LSF shows, is nobody else's."""
_MAIL_NOTE: Final = "this site sends no mail; -B, -N and -u are kept with the job"
_MAX_NAME: Final = 1024
_IN_POD: Final = "/hpcbatch/job/script"
_SHEBANG = re.compile(rb"#![ \t]*([^\r\n]+)")
_TO_QUOTE = re.compile(r"[\s'\"\\]")
_INTERACTIVE: Final = {"I": Interactive.STREAMS, "Ip": Interactive.SESSION, "Is": Interactive.SESSION}


class LsfSubmission(NamedTuple):
    """A submission, and how bsub is to answer."""

    submission: Submission
    wait: bool = False
    """-K"""
    dry_run: bool = False
    has_queue: bool = False
    """A queue was asked for."""


class _Source(NamedTuple):
    """What runs: a script, with where it came from, or a command."""

    script: bytes
    path: str | None = None
    args: tuple[str, ...] = ()
    command: str = ""
    """The command line; "" for a script."""
    shown: str = "stdin"
    has_options: bool = False
    """Its #BSUB lines count."""


def read_submission(
    argv: Sequence[str],
    *,
    script: ReadFile,
    environ: Mapping[str, str],
    cwd: str,
    host: str,
    user: str,
    server: str,
    now: datetime,
    outcomes: list[Outcome] | None = None,
    lookup: Lookup | None = None,
    limits: Mapping[str, int] | None = None,
) -> LsfSubmission:
    """Read what `bsub argv...` requests. `lookup` finds the user's jobs by name, for -w; None: they are left out.
    `limits` are the submitter's soft limits, for -ul. `now` is aware; its zone is that of -b and -t.

    Every option given is appended to `outcomes`, also before an error is raised: all that is wrong, together: LsfError
    in bsub's words, NotSupportedError for what only the real one can. Raises LsfAnswer for -h and -V.
    """
    request = Request(environ)
    try:
        parsed = read([Word(each) for each in argv], stops=True)
        request.problems += parsed.problems
        _answer(parsed.given)
        try:
            source = _source([word.text for word in parsed.operands], script)
        except LsfError:  # an option without its value leaves no command
            raise_all(request.problems)
            raise
        if source.has_options:
            lines = [read(line.words, stops=False) for line in lines_of(source.script, source.shown)]
            request.problems += [problem for line in lines for problem in line.problems]
            request.take([given for line in lines for given in line.given])
        request.take(parsed.given)
        submission = _submission(
            request,
            source,
            environ,
            cwd=cwd,
            host=host,
            user=user,
            server=server,
            now=now,
            lookup=lookup,
            limits=limits,
        )
    finally:
        if outcomes is not None:
            outcomes += request.outcomes()
    return submission


def _answer(given: Sequence[Given]) -> None:
    names = {each.name for each in given}
    if "h" in names:
        from hpcbatch.dialects.lsf.commands import help_of

        raise LsfAnswer(help_of("bsub"))
    if "V" in names:
        from hpcbatch.dialects.lsf.errors import VERSION

        raise LsfAnswer(VERSION)


def _source(operands: Sequence[str], script: ReadFile) -> _Source:
    if not operands:
        _, content = script(None)
        if not content.strip():
            raise LsfError("No command is specified")
        return _Source(content, has_options=True)
    first = operands[0]
    if not re.search(r"[\s;|&<>$`]", first):
        try:
            path, content = script(first)
        except OSError:
            path, content = None, b""
        if path is not None and next(lines_of(content, first), None) is not None:
            return _Source(content, path, tuple(operands[1:]), shown=first, has_options=True)
    words = [first, *(shlex.quote(word) if _TO_QUOTE.search(word) or not word else word for word in operands[1:])]
    command = " ".join(words)
    return _Source(f"#!/bin/sh\n{command}\n".encode("utf-8", "surrogateescape"), command=command, shown=first)


def _submission(
    request: Request,
    source: _Source,
    environ: Mapping[str, str],
    *,
    cwd: str,
    host: str,
    user: str,
    server: str,
    now: datetime,
    lookup: Lookup | None,
    limits: Mapping[str, int] | None,
) -> LsfSubmission:
    need = read_requirement(request)
    shape = shape_of(request, need)
    name, array = request.read("J", values.name_and_array, "Bad job name or array index") or ("", None)
    interactive = next((kind for option, kind in _INTERACTIVE.items() if option in request), None)
    _check_interactive(request, interactive, array)
    default = source.command or (source.path or STDIN_NAME).rpartition("/")[2]
    queues = (request.value("q") or "").split()
    work_dir = _absolute(request.value("cwd") or cwd, cwd)
    stdout, stderr = _outputs(request, work_dir)
    environment = environment_of(request, environ)
    mail_users = tuple((request.value("u") or "").replace(",", " ").split())
    points = mail_points(request)
    begin = request.read("b", lambda text: values.moment(text, now), "Bad time specification")
    deadline = request.read("t", lambda text: values.moment(text, now), "Bad time specification")
    if begin and deadline and deadline <= begin and (each := request.given("t")) is not None:
        request.refuse(each, each.wrong("Start time is later than termination time"))
    walltime_s = request.read("W", values.minutes, "Bad RUNLIMIT specification")
    cpu_time_s = request.read("c", values.minutes, "Bad CPULIMIT specification")
    make = partial(
        JobSpec,
        dialect=Dialect.LSF,
        name=printable(name or default)[:_MAX_NAME] or STDIN_NAME,
        queue=queues[0] if queues else None,
        other_queues=tuple(dict.fromkeys(queues[1:])),
        chunks=shape.chunks,
        arrangement=shape.arrangement,
        otherwise=shape.otherwise,
        sharing=shape.sharing,
        mem_per_pod_bytes=shape.mem_per_pod_bytes,
        resources_per_pod=shape.resources_per_pod,
        walltime_s=walltime_s,
        cpu_time_s=cpu_time_s,
        deadline=deadline,
        process_limits=process_limits(request, limits),
        warn_signal=warn_signal(request),
        grouping=need.grouping,
        command=_interactive_command(source) if interactive else (),
        interactive=interactive,
        script_args=() if interactive else source.args,
        script_path=source.path,
        work_dir=work_dir,
        submit_dir=cwd,
        submit_host=host,
        stdout=stdout or Output(append=True),
        stderr=stderr,
        stdin=None if request.value("i") in {None, "/dev/null"} else _absolute(request.value("i") or "", work_dir),
        hold="H" in request,
        array=array,
        dependency=_dependency(request, lookup),
        begin_time=begin,
        priority=request.read("sp", _priority, "Bad user priority") or 0,
        rerunnable=interactive is None and ((each := request.given("r")) is None or each.name == "r"),
        account=request.value("P"),
        mail_points=points,
        mail_users=mail_users or ((user,) if points else ()),
        image=_image(environ),
        server=server,
        ignored=told(request.ignored),
        is_strict="--strict" in request,
        attributes=attributes(request, shape.slots, source.command),
    )
    raise_all(request.problems)
    try:
        spec = make()
        check_text(spec)
    except HpcBatchError as error:
        raise LsfError(str(error)) from None
    wants_output = "o" in request or interactive is not None
    where = "lsf-JOBID.out" if array is None else "lsf-JOBID.INDEX.out"
    notes = () if wants_output else (f"without -o the output goes to {work_dir}/{where}, not into a mail",)
    return LsfSubmission(
        submission=Submission(
            spec=spec,
            script=b"" if interactive and source.command else source.script,
            environment=environment,
            notes=notes,
            mail_note=_MAIL_NOTE if points else "",
            export_none=(request.value("env") or "").strip() == "none",
        ),
        wait="K" in request,
        dry_run="--dry-run" in request,
        has_queue=bool(queues),
    )


def is_explained(argv: Sequence[str]) -> bool:
    """Whether the command line asks what becomes of its options."""
    return any(each.name == "--explain" for each in read([Word(each) for each in argv], stops=True).given)


def _check_interactive(request: Request, interactive: Interactive | None, array: Array | None) -> None:
    if interactive is None:
        return
    if array is not None and (each := request.given("J")) is not None:
        request.refuse(each, each.wrong("Job array doesn't support interactive jobs"))
    if "K" in request and (each := request.given("K")) is not None:
        request.refuse(each, each.wrong("-K and -I cannot be used together"))


def _interactive_command(source: _Source) -> tuple[str, ...]:
    """What runs on the terminal: a command by a shell; a script, which stays secret, from where the pod has it."""
    if source.command:
        return ("/bin/sh", "-c", source.command)
    match = _SHEBANG.match(source.script)
    named = match[1].decode("utf-8", "replace").split() if match else ["/bin/sh"]
    return (*named, _IN_POD, *source.args)


def _dependency(request: Request, lookup: Lookup | None) -> Dependency | None:
    each = request.given("w")
    if each is None:
        return None
    try:
        return parse_dependency(each.value, lookup, kill_if_never="ti" in request)
    except DependSyntaxError as error:
        request.refuse(each, each.wrong(f"Dependency condition syntax error: {error}"))
    except DependUnmetError as error:
        request.refuse(each, NotSupportedError(f"{each.text}: {error}"))
    except HpcBatchError as error:
        request.refuse(each, each.wrong(f"Dependency condition invalid: {error}"))
    return None


def _output(request: Request, letter: str, work_dir: str) -> Output | None:
    """-o, -oo, -e and -eo; a file without a directory lies in that of -outdir."""
    each = request.given(letter)
    if each is None:
        return None
    path, base = each.value, _absolute(request.value("outdir") or work_dir, work_dir)
    absolute = path if path.startswith("/") else f"{base.rstrip('/')}/{path}"
    return Output(path=absolute, append=each.name == letter)


def _outputs(request: Request, work_dir: str) -> tuple[Output | None, Output | None]:
    """Both files are appended to, or both are overwritten: as it is said of the first."""
    stdout, stderr = _output(request, "o", work_dir), _output(request, "e", work_dir)
    each = request.given("e")
    if each is not None and stdout is not None and stderr is not None and stdout.append != stderr.append:
        does = "appended to" if stdout.append else "overwritten"
        request.tell(each, Fate.IGNORED, f"its file is {does}, as that of -{'o' if stdout.append else 'oo'} is")
    return stdout, stderr


def _absolute(path: str, base: str) -> str:
    return path if path.startswith("/") else base if path == "." else f"{base.rstrip('/')}/{path}"


def _priority(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < MAX_WEIGHT:
        raise ValueError(f"1 to {MAX_WEIGHT - 1}")
    return int(text)


def _image(environ: Mapping[str, str]) -> str | None:
    """The image that the environment names; None: the queue's."""
    text = environ.get("HPCBATCH_IMAGE")
    if not text:
        return None
    try:
        return parse_image(text)
    except HpcBatchError as error:
        raise LsfError(f"HPCBATCH_IMAGE: {error}") from None
