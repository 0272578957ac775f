"""sbatch: command line, environment and script become a Submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from hpcbatch.dialects.slurm.array_spec import limit_note
from hpcbatch.dialects.slurm.dependency import parse_dependency
from hpcbatch.dialects.slurm.directives import Directives, check_script, read_directives, unread
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.notebook import Notebook, located, shown
from hpcbatch.dialects.slurm.read_request import (
    CommandLine,
    Context,
    PluginOptions,
    apply_command_line,
    apply_environment,
    apply_foreign,
    apply_script,
    is_set,
    read_command_line,
)
from hpcbatch.dialects.slurm.request import Place, Request
from hpcbatch.dialects.slurm.sizes import Size, failed, settle_tasks, size_attributes, size_of
from hpcbatch.dialects.slurm.together import SIZE_OPTIONS, ReadFile, check_together, place_of, settle_hosts
from hpcbatch.dialects.slurm.values import names_only, split_export
from hpcbatch.errors import DirectiveError, HpcBatchError, NotSupportedError, raise_all
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.free_text import check_text
from hpcbatch.model.image import parse_image
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.spec import Arrangement, JobSpec, Output, Sharing, Submission
from hpcbatch.typed import NamedTuple, TypeAlias

MAX_NAME = 1024
"""Longest job name; MAX_CHAR_LEN limits slurmctld likewise."""

DEFAULT_IMAGES = ("PYXIS_CONTAINER_IMAGE", "HPCBATCH_IMAGE")
"""Pyxis looks at its own variable only where no --container-image is given; the other one is ours."""

_MOST_ATTRIBUTES = 128  # of a BatchJob
_MAIL_NOTE = "this site sends no mail; --mail-type and --mail-user are kept with the job"

ReadScript: TypeAlias = ReadFile


class SlurmSubmission(NamedTuple):
    """A submission, and how sbatch is to answer."""

    submission: Submission
    parsable: bool = False
    quiet: bool = False
    verbose: int = 0
    dry_run: bool = False
    wait: bool = False
    """Until the job has ended."""
    priority: int | None = None
    """Given outright, which only counts for those who may change all jobs."""
    test_only: bool = False
    """Nothing is submitted."""
    told: tuple[str, ...] = ()
    """What -v prints of the options."""


class _Source(NamedTuple):
    """The script with its path, and what stands for its name by default and in messages."""

    script: bytes
    path: str | None
    name: str
    shown: str


class _Component(NamedTuple):
    request: Request
    nodes: tuple[int, int] | None
    size: Size


def read_submission(
    argv: Sequence[str],
    *,
    script: ReadScript,
    environ: Mapping[str, str],
    cwd: str,
    host: str,
    user: str,
    server: str,
    now: datetime,
    umask: int,
    outcomes: list[Outcome] | None = None,
    reader: ReadFile | None = None,
    limits: Mapping[str, int] | None = None,
    plugin_options: PluginOptions | None = None,
) -> SlurmSubmission:
    """Read what `sbatch argv...` requests. The command line goes over SBATCH_* variables, these over #SBATCH lines.

    `script` reads the script of that name, or standard input for None, once at most, and raises OSError if it cannot;
    `reader` likewise files that options name (--nodefile, --export-file), None: none can be read. `limits` are the
    submitter's soft limits by the names of setrlimit(2) in lower case, for --propagate. `plugin_options` are the
    site's, looked at only where an option is unknown. `now` is aware; its zone is that of --begin.

    Every option given is appended to `outcomes`, also before an error is raised: all that is wrong, together, by
    `raise_all`: SlurmUsageError with the real sbatch's text, NotSupportedError for what only the real one can. Raises
    SlurmAnswer for --help and --version.
    """
    book = Notebook(has_outcomes=outcomes is not None)
    try:
        line = read_command_line(argv, plugin_options, book)
        source = _read_source(line, script)
        requests = _requests(line, source, environ, Context(now, book, plugin_options))
        components = _components(requests, reader, book)
        raise_all(book.problems)
        request = requests[0]
        if len(requests) > 1:
            from hpcbatch.dialects.slurm.components import together

            request = together(requests)
        environment, export_none = _environment_of(request, environ, reader)
        spec = _spec(
            request,
            components,
            source,
            script_args=line.operands[1:],
            cwd=cwd,
            host=host,
            user=user,
            server=server,
            umask=umask if request.umask is None else request.umask,
            image=request.image or _default_image(environ),
            limits=limits,
        )
        check_text(spec)
    finally:
        if outcomes is not None:
            outcomes += book.outcomes()
    submission = Submission(
        spec=spec,
        script=source.script,
        environment=environment,
        notes=() if request.quiet else tuple(_notes(request)),
        export_none=export_none or bool(request.login),
        mail_note="" if request.quiet or not (request.mail_types or request.mail_users) else _MAIL_NOTE,
    )
    return SlurmSubmission(
        submission=submission,
        parsable=request.parsable,
        quiet=request.quiet,
        verbose=request.verbose,
        dry_run=request.dry_run,
        wait=request.wait,
        priority=request.priority or None,
        test_only=request.test_only,
        told=_told(requests) if request.verbose and not request.quiet else (),
    )


def _told(requests: Sequence[Request]) -> tuple[str, ...]:
    from hpcbatch.dialects.slurm.verbose import options_in_force

    return tuple(line for request in requests for line in options_in_force("sbatch", request))


def _read_source(line: CommandLine, script: ReadScript) -> _Source:
    operands = line.operands
    if line.wrap is not None:
        if operands:
            raise SlurmUsageError("sbatch: error: Script arguments not permitted with --wrap option")
        text = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{line.wrap}\n"
        return _Source(text.encode("utf-8", "surrogateescape"), None, "wrap", "--wrap")
    if not operands:
        _, content = script(None)
        return _Source(content, None, "sbatch", "<stdin>")
    path, content = script(operands[0])
    name = operands[0].rstrip("/").rpartition("/")[2] or operands[0]
    return _Source(content, path or operands[0], name, operands[0])


def _requests(line: CommandLine, source: _Source, environ: Mapping[str, str], context: Context) -> list[Request]:
    """A Request for each component of the job: one, unless it is heterogeneous. What is wrong is in the notebook."""
    directives = Directives(((),))
    if line.wrap is None:
        try:
            check_script(source.script)
        except SlurmUsageError as error:
            context.book.problems.append(error)
        else:
            directives = read_directives(source.script, source.shown)
            context.book.problems += directives.problems
    count = max(len(directives.components), len(line.parts))
    again = context.quiet  # for what another component has noted
    requests: list[Request] = []
    ignores_pbs = is_set(environ.get("SBATCH_IGNORE_PBS", "no")) or any(
        given.option.name == "ignore-pbs" for part in line.parts for given, _ in part
    )
    for index in range(count):
        context.book.component = index
        request = _next(requests)
        if index < len(directives.components):
            apply_script(request, directives.components[index], source.shown, context)
        if index == 0:
            request.notes += directives.notes
        if line.wrap is None and not ignores_pbs and not request.ignore_pbs:
            apply_foreign(request, source.script, source.shown, again if index else context)
        apply_environment(request, environ, again if index else context)
        part = min(index, len(line.parts) - 1)
        apply_command_line(request, line.parts[part], again if index > part else context)
        requests.append(request)
    if line.wrap is None and context.book.has_outcomes:
        _note_other_lines(directives, source, context.book)
    return requests


def _note_other_lines(directives: Directives, source: _Source, book: Notebook) -> None:
    """What stands between components, and what looks like a directive and is none."""
    for word in directives.separators:
        place = Place(source.shown, word.line, word.column)
        book.took(f"{word.text}@{word.line}", word.text, Fate.HONOURED, "another component of the job begins", place)
    for line in unread(source.script, directives):
        place = Place(source.shown, line.line, line.column)
        book.took(f"@{line.line}", shown(line.text), Fate.KEPT, line.meaning, place)


def _next(requests: Sequence[Request]) -> Request:
    if not requests:
        return Request()
    from hpcbatch.dialects.slurm.components import next_component

    return next_component(requests[-1])


def _components(requests: Sequence[Request], reader: ReadFile | None, book: Notebook) -> list[_Component | None]:
    components = []
    for book.component, request in enumerate(requests):
        components.append(_sized(request, reader, book, in_component=len(requests) > 1))
    return components


def _sized(request: Request, reader: ReadFile | None, book: Notebook, *, in_component: bool) -> _Component | None:
    """A component with its size, None where something is wrong with it."""
    before = len(book.problems)
    settle_hosts(request, reader, book)
    check_together(request, book)
    if len(book.problems) > before or book.lacks(SIZE_OPTIONS):
        return None
    try:
        settle_tasks(request)
        nodes = node_range(request)
        return _Component(request, nodes, size_of(request, nodes, in_component=in_component))
    except DirectiveError as error:
        book.wrong(error, place_of(request, SIZE_OPTIONS))
    return None


def _spec(
    request: Request,
    components: Sequence[_Component | None],
    source: _Source,
    *,
    script_args: Sequence[str],
    cwd: str,
    host: str,
    user: str,
    server: str,
    umask: int,
    image: str | None,
    limits: Mapping[str, int] | None,
) -> JobSpec:
    work_dir = _absolute(request.chdir or request.container_workdir or cwd, cwd)
    name = request.job_name or source.name
    if len(name) > MAX_NAME:
        raise located(
            failed("Pathname of a file, directory or other parameter too long"),
            place_of(request, ("job-name",)) or Place(),
        )
    size, attributes = _size_and_attributes(request, [component for component in components if component])
    mail_users = request.mail_users or ((user,) if request.mail_types else ())
    stdin = None if request.stdin in {None, "/dev/null"} else _absolute(request.stdin or "", work_dir)
    return JobSpec(
        dialect=Dialect.SLURM,
        name=name,
        queue=request.partition,
        other_queues=request.other_partitions,
        chunks=size.chunks,
        mem_per_pod_bytes=size.mem_per_pod_bytes,
        resources_per_pod=size.resources_per_pod,
        whole_node_mem=request.mem_mb == 0,
        required_hosts=request.hosts,
        excluded_hosts=tuple(dict.fromkeys(request.excluded)),
        licenses=tuple(sorted(request.licenses.items())),
        arrangement=size.arrangement,
        sharing=Sharing.EXCLUSIVE if request.exclusive else Sharing.SHARED,
        walltime_s=request.walltime_s,
        min_walltime_s=request.min_walltime_s,
        deadline=request.deadline,
        process_limits=_process_limits(request, limits or {}),
        warn_signal=request.warn_signal,
        grouping=request.grouping,
        script_args=tuple(script_args),
        script_path=source.path,
        work_dir=work_dir,
        submit_dir=cwd,
        submit_host=host,
        stdout=Output(path=output_path(request.output, work_dir), append=bool(request.append)),
        stderr=(
            None
            if request.error is None
            else Output(path=output_path(request.error, work_dir), append=bool(request.append))
        ),
        stdin=stdin,
        hold=request.hold or request.priority == 0,
        array=request.array,
        dependency=parse_dependency(request.dependency or "", kill_if_never=request.kill_if_never),
        begin_time=request.begin,
        nice=request.nice,
        rerunnable=request.requeue,
        account=request.account or None,
        mail_points=",".join(request.mail_types),
        mail_users=mail_users,
        umask=umask,
        image=image,
        server=server,
        ignored=tuple(request.ignored.values()),
        is_strict=request.strict,
        attributes=attributes,
    )


def _size_and_attributes(request: Request, components: Sequence[_Component]) -> tuple[Size, dict[str, str]]:
    first = components[0]
    attributes = _attributes(request, first.nodes)
    if len(components) == 1:
        return first.size, attributes
    from hpcbatch.dialects.slurm.components import MAX_COMPONENTS, in_component

    if len(components) > MAX_COMPONENTS:
        raise failed("Requested operation not supported on this system")
    if request.array is not None:
        raise located(failed("Invalid job array specification"), place_of(request, ("array",)) or Place())
    attributes["het_size"] = str(len(components))
    chunks = []
    for index, (of_one, nodes, size) in enumerate(components):
        other = None if of_one.partition in {None, first.request.partition} else of_one.partition
        chunks += in_component(size.chunks, index, other, of_one.hosts)
        found = {**_bound(of_one), **size_attributes(of_one, nodes), "partition": of_one.partition}
        attributes |= {f"het_{index}_{name}": value for name, value in found.items() if value is not None}
    if len(attributes) > _MOST_ATTRIBUTES:
        raise NotSupportedError(f"a heterogeneous job of {len(components)} such components is not supported yet")
    return Size(tuple(chunks), Arrangement.SCATTER), attributes


def _process_limits(request: Request, limits: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The submitter's limits that --propagate names. Where there is none, the site's stays."""
    return tuple(sorted((name, limits[name]) for name in request.limits or () if limits.get(name, -1) >= 0))


def _default_image(environ: Mapping[str, str]) -> str | None:
    """The image that the environment names, which is weaker than the script; None: the partition's."""
    for name in DEFAULT_IMAGES:
        if text := environ.get(name):
            try:
                return parse_image(text)
            except HpcBatchError as error:
                raise SlurmUsageError(f"sbatch: error: {name}: {error}", 255) from None
    return None


def _notes(request: Request) -> Iterator[str]:
    yield from request.notes
    if request.array is not None and (note := limit_note(request.array)):
        yield note


def _absolute(path: str, base: str) -> str:
    return path if path.startswith("/") else f"{base.rstrip('/')}/{path}"


def output_path(pattern: str | None, work_dir: str) -> str | None:
    if pattern is None:
        return None
    return "/dev/null" if pattern.lower() == "none" else _absolute(pattern, work_dir)


def node_range(request: Request) -> tuple[int, int] | None:
    """Nodes requested, min and max, never more than there are tasks, which the real sbatch says too."""
    if request.nodes is None or request.ntasks is None:
        return request.nodes
    low, high = request.nodes
    if request.ntasks < low:
        request.notes.append(
            f"sbatch: Warning: can't run {request.ntasks} processes on {low} nodes, setting nnodes to {request.ntasks}"
        )
    return min(low, request.ntasks), min(high, request.ntasks)


def _attributes(request: Request, nodes: tuple[int, int] | None) -> dict[str, str]:
    """What the environment of the job and `scontrol show job` need again; only what was given."""
    found: dict[str, object] = {
        **_bound(request),
        **size_attributes(request, nodes),
        "export": None if request.export is None else names_only(request.export),
        "licenses": request.given.get("licenses"),
        "get_user_env": None if request.login is None else int(request.login),
        "open_mode": None if request.append is None else "at"[not request.append],
        "propagate": None if request.limits is None else ",".join(request.limits),
    }
    found |= {name.replace("-", "_"): value for name, value in request.kept.items()}
    return {name: str(value) for name, value in found.items() if value is not None}


def _bound(request: Request) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in request.bound.items()}


def _environment_of(
    request: Request, environ: Mapping[str, str], reader: ReadFile | None
) -> tuple[dict[str, str], bool]:
    """The variables of the job, from --export-file where it is given: `NAME=value`, a NUL byte after each."""
    if request.export_file is None:
        found, export_none = _environment(request.export, environ)
        if request.dependency:
            found["SLURM_JOB_DEPENDENCY"] = request.dependency  # sbatch's own variable, as it was given
        return found, export_none
    place = request.places.get("export-file") or Place()
    try:
        if reader is None:
            raise FileNotFoundError(2, "No such file or directory")
        content = reader(request.export_file)[1]
    except OSError as error:
        text = f"sbatch: error: Could not open user environment file {request.export_file}: {error.strerror}"
        raise located(SlurmUsageError(text), place) from None
    pairs = (part.partition("=") for part in content.decode("utf-8", "surrogateescape").split("\0"))
    return {name.strip("\n"): value for name, equals, value in pairs if equals}, False


def _environment(export: str | None, environ: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """The variables that travel with the job, and whether the job gets a login environment below them.

    Without ALL only the named ones and SLURM_* travel; without ALL or NIL Slurm loads the user's environment.
    """
    items = split_export("ALL" if export is None else export)
    words = {item.upper() for item in items}
    if "ALL" in words:
        kept = dict(environ)
    else:
        kept = {name: value for name, value in environ.items() if name.startswith(("SLURM_", "SPANK_"))}
    for item in items:
        name, equals, value = item.partition("=")
        if equals:
            kept[name] = value
        elif name in environ:
            kept[name] = environ[name]
    if export is not None and any("=" in item for item in items):
        kept["SLURM_EXPORT_ENV"] = export  # the record has the names alone
    return kept, not words & {"ALL", "NIL"}
