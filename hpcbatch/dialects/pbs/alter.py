"""qalter, qmove and qrerun: their command lines, and what they change in a job's record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.depend import replaced
from hpcbatch.dialects.pbs.errors import (
    COMMAND_LINE,
    PBSE_MODATRRUN,
    PBSE_UNKRESC,
    USAGE_CODE,
    PbsError,
    PbsUsageError,
    not_supported,
)
from hpcbatch.dialects.pbs.limits import NAMES as LIMITS
from hpcbatch.dialects.pbs.option_values import OptionReader
from hpcbatch.dialects.pbs.read_chunk import IN_CHUNK, JOB_WIDE, MEMORY
from hpcbatch.dialects.pbs.resource_list import ResourceRequest
from hpcbatch.dialects.pbs.resources import Resources, read_resources
from hpcbatch.dialects.pbs.select import parse_select
from hpcbatch.dialects.pbs.settings import MAX_RUN, Settings, illegal
from hpcbatch.dialects.pbs.site_words import SITE_WORDS
from hpcbatch.dialects.pbs.table import RESOURCES
from hpcbatch.errors import HpcBatchError, ObstaclesError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.model.state import JobState
from hpcbatch.typed import Final, NamedTuple, TypeVar
from hpcbatch.units import hms

_T = TypeVar("_T")
_LIST = "Resource_List."
_GPUS = "ngpus"
_STAYING = (LIMITS | {*SITE_WORDS}) - {"walltime", "min_walltime", "max_walltime"}
"""What a job requests beside its chunks."""
_TIMES = frozenset({"walltime", "cput"})
"""The limits of the whole job that a running one takes."""
ATTRIBUTE: Final[Mapping[str, str]] = {
    "account": "Account_Name",
    "dependency": "depend",
    "queue": "queue",
    "removeOutput": "Remove_Files",
    "stderr": "Error_Path",
    "stdout": "Output_Path",
    "stdoutToStderr": "Join_Path",
    "umask": "umask",
    "chunks": "Resource_List.select",
    "arrangement": "Resource_List.place",
    "sharing": "Resource_List.place",
    "grouping": "Resource_List.place",
    "memPerPodBytes": "Resource_List.mem",
    "resourcesPerPod": "Resource_List.select",
    "workDir": "jobdir",
    "otherQueues": "queue",
    "otherwise": "Resource_List.select",
    "wholeNodeMemory": "Resource_List.mem",
    "requiredHosts": "Resource_List.select",
    "excludedHosts": "Resource_List.select",
    "licenses": "Resource_List.software",
    "words": "Resource_List",
    "deadline": "Resource_List.deadline",
    "minWalltimeSeconds": "Resource_List.min_walltime",
    "processLimits": "Resource_List.pvmem",
    "processNice": "Resource_List.nice",
    "stdin": "Input_Path",
}
"""PBS's name of each field that a running job takes no more."""
# PBS itself takes -o and -e, since it delivers the output at the end; here it is written where it goes.
_NOT_WHILE_RUNNING = {
    "A": "Account_Name",
    "depend": "depend",
    "e": "Error_Path",
    "j": "Join_Path",
    "k": "Keep_Files",
    "o": "Output_Path",
    "P": "project",
    "R": "Remove_Files",
    "sandbox": "sandbox",
    "umask": "umask",
}


class HoldChange(NamedTuple):
    """`-h` of qalter: letters of u, o and s are added; none of them (`n`): all are taken off."""

    letters: str

    @property
    def user(self) -> bool:
        return "u" in self.letters or not self.letters

    @property
    def admin(self) -> str:
        return "".join(letter for letter in "os" if letter in self.letters)


class Alteration(NamedTuple):
    """A qalter command line, read."""

    job_ids: tuple[str, ...]
    settings: Settings
    reader: OptionReader
    hold: HoldChange | None

    def apply(self, record: JobRecord) -> JobSpec:
        """The job as it is to be. Raises PbsError in qalter's words without the id; with exit code 2 and the usage text
        where no job could be so.
        """
        if record.status.state in {JobState.RUNNING, JobState.SUSPENDED} and record.spec.array is None:
            self._check_running()
        return _with_qalter_errors(lambda: _altered(self, record.spec))

    def _check_running(self) -> None:
        """Refuse what a running job cannot be given, even where it has it already."""
        for request in self.settings.resources.values():
            if request.name not in _TIMES:
                raise _too_late(f"{_LIST}{request.name}")
        for letter, name in _NOT_WHILE_RUNNING.items():
            if letter in self.settings.given:
                raise _too_late(name)

    @property
    def array_limit(self) -> int | None:
        """How many members of an array may run at once; None: not requested."""
        value = self.reader.value(MAX_RUN)
        if value is not None and not re.fullmatch(r"0*[1-9][0-9]{0,8}", value):
            raise _of_qalter(illegal("W", self.reader.origin(MAX_RUN)))
        return None if value is None else int(value)


def read_qalter(
    argv: Sequence[str], *, environ: Mapping[str, str], cwd: str, host: str, server: str, now: datetime
) -> Alteration:
    """Read qalter's command line. `now` is aware, in the user's time zone. Raises PbsError in its words."""
    parsed = options.getopt(options.words(argv), options.QALTER)
    settings = Settings(environ, now)
    settings.read_command_line(parsed)
    for option in settings.ignored():
        settings.obstacles.add(option, not_supported(option, COMMAND_LINE))
    _with_qalter_errors(settings.obstacles.raise_all)
    job_ids = tuple(word.text for word in parsed.operands)
    if not job_ids:
        raise PbsUsageError("", usage.QALTER)
    reader = OptionReader(settings, cwd=cwd, host=host, server=server)
    return Alteration(job_ids, settings, reader, _with_qalter_errors(lambda: _hold(reader)))


def read_qmove(argv: Sequence[str], server: str) -> tuple[str, tuple[str, ...]]:
    """Read `destination job_identifier...`: the queue, "" for the server's default one, and the ids."""
    if len(argv) < 2:
        raise PbsUsageError("", usage.QMOVE)
    queue, at, named = argv[0].partition("@")
    if (at and not named) or any(char.isspace() or char == "@" for char in queue + named) or not (queue or named):
        raise PbsError(f"illegally formed destination: {argv[0]}", USAGE_CODE)
    if at and named.partition(".")[0] != server.partition(".")[0]:
        raise HpcBatchError(f"the server {named} is not supported yet: jobs stay on {server}")
    return queue, tuple(argv[1:])


def read_qrerun(argv: Sequence[str]) -> tuple[str, ...]:
    """Read `[-W force] job_identifier...`."""
    parsed = options.getopt(options.words(argv), options.QRERUN)
    job_ids = tuple(word.text for word in parsed.operands)
    if parsed.errors or not job_ids or any(option.value != "force" for option in parsed.options):
        raise PbsUsageError("\n".join(parsed.errors), usage.QRERUN)
    return job_ids


def _with_qalter_errors(read: Callable[[], _T]) -> _T:
    """The options are qsub's, and read as there."""
    try:
        return read()
    except PbsError as error:
        raise _of_qalter(error) from None
    except ObstaclesError as error:
        raise ObstaclesError([_of_qalter(e) if isinstance(e, PbsError) else e for e in error.problems]) from None


def _too_late(attribute: str) -> PbsError:
    return PbsError(f"Cannot modify attribute while job running  {attribute}", PBSE_MODATRRUN & 0xFF)


def _of_qalter(error: PbsError) -> PbsError:
    return PbsError(error.text, error.code, usage=usage.QALTER if error.usage else "")


def _hold(reader: OptionReader) -> HoldChange | None:
    value = reader.value("h")
    if value is None:
        return None
    if not re.fullmatch(r"[uos]+|n", value):
        raise illegal("h", reader.origin("h"))
    return HoldChange("" if value == "n" else value)


def _altered(asked: Alteration, spec: JobSpec) -> JobSpec:
    given, reader = asked.settings.given, asked.reader
    attributes: dict[str, str | None] = {}
    if asked.settings.begin_time is not None:
        spec = replace(spec, begin_time=asked.settings.begin_time)
    if "A" in given:
        spec = replace(spec, account=reader.value("A") or None)
    if "N" in given:
        spec = replace(spec, name=reader.name(""))
    if "p" in given:
        spec = replace(spec, priority=reader.priority())
    if "r" in given:
        spec = replace(spec, rerunnable=reader.one_of("r", {"y", "n"}, "y") == "y")
    if "depend" in given:
        asked_for = reader.dependency() if given["depend"].value else None
        spec = replace(spec, dependency=None if asked_for is None else replaced(spec.dependency, asked_for))
    if "S" in given:
        spec = replace(spec, interpreter=reader.shell({}))
        attributes["Shell_Path_List"] = reader.value("S")
    if "m" in given:
        spec = replace(spec, mail_points=reader.mail_points())
        attributes["Mail_Points"] = spec.mail_points
    if "M" in given:
        spec = replace(spec, mail_users=reader.mail_users())
    if "P" in given:
        attributes["project"] = reader.value("P") or None
    if "umask" in given:
        spec = replace(spec, umask=reader.umask())
        attributes["umask"] = (reader.value("umask") or "").lstrip("0") or "0"
    if "R" in given:
        spec = replace(spec, remove_output=reader.remove_output())
    if "k" in given:
        attributes["Keep_Files"] = reader.keep_files()
    if "sandbox" in given:
        attributes["sandbox"] = reader.sandbox()
    reader.check_ignored()
    if given.keys() & {"o", "e", "j"}:
        spec = _with_output(reader, spec, attributes)
    if asked.settings.resources:
        spec = _with_resources(list(asked.settings.resources.values()), spec, attributes)
    return with_attributes(spec, attributes)


def with_attributes(spec: JobSpec, changes: Mapping[str, str | None]) -> JobSpec:
    """The same with some of its attributes changed; None takes one away."""
    merged = {**spec.attributes, **changes}
    return replace(spec, attributes={name: value for name, value in merged.items() if value is not None})


def without_resources(spec: JobSpec) -> JobSpec:
    """The same without what was requested in PBS's words for its size, which has become another."""
    kept = {name: value for name, value in spec.attributes.items() if not name.startswith(_LIST)}
    return replace(spec, attributes=kept)


def _with_output(reader: OptionReader, spec: JobSpec, attributes: dict[str, str | None]) -> JobSpec:
    """The two paths and -j decide together where the streams go; what is not requested stays."""
    given = reader.settings.given
    stdout = reader.output("o") if "o" in given else spec.stdout
    if "e" in given:
        stderr = reader.output("e")
    else:
        stderr = spec.stderr or Output(path=spec.attributes.get("Error_Path"), append=spec.stdout.append)
    before = "eo" if spec.stdout_to_stderr else "oe" if spec.stderr is None else "n"
    join = reader.one_of("j", {"oe", "eo", "n"}, before)
    if "o" in given:
        attributes["Output_Path"] = stdout.path
    if "e" in given:
        attributes["Error_Path"] = stderr.path
    if "j" in given:
        attributes["Join_Path"] = join
    return replace(spec, stdout=stdout, stderr=None if join == "oe" else stderr, stdout_to_stderr=join == "eo")


def _with_resources(asked: Sequence[ResourceRequest], spec: JobSpec, attributes: dict[str, str | None]) -> JobSpec:
    names = {request.name for request in asked}
    if names == {"walltime"} and not asked[-1].value.strip():  # back to the queue's default
        attributes[f"{_LIST}walltime"] = None
        return replace(spec, walltime_s=None, min_walltime_s=None)
    resources = altered_resources(asked, spec)
    for request in asked:
        if request.option in resources.ignored or request.name == "signal":
            raise not_supported(request.option, request.origin)
    limits = resources.limits
    if limits.walltime_s is not None:
        spec = replace(spec, walltime_s=limits.walltime_s, min_walltime_s=limits.min_walltime_s)
        attributes[f"{_LIST}walltime"] = hms(limits.walltime_s)
    if limits.cpu_time_s is not None:
        spec = replace(spec, cpu_time_s=limits.cpu_time_s)
        attributes[f"{_LIST}cput"] = hms(limits.cpu_time_s)
    if names <= _TIMES:
        return spec
    attributes |= {f"{_LIST}{name}": None for name in _shown(spec) if name not in _TIMES}
    attributes |= {f"{_LIST}{name}": value for name, value in resources.shown.items()}
    attributes |= resources.attributes
    return replace(
        spec,
        chunks=resources.chunks,
        arrangement=resources.arrangement,
        sharing=resources.sharing,
        grouping=resources.grouping,
        words=resources.words,
        required_hosts=resources.required_hosts,
        excluded_hosts=resources.excluded_hosts,
        process_limits=limits.process_limits,
        process_nice=limits.process_nice,
        mem_per_pod_bytes=None,
        resources_per_pod=(),
    )


def altered_resources(asked: Sequence[ResourceRequest], spec: JobSpec) -> Resources:
    """What a job requests when `asked` goes over what it requested before. Raises PbsError."""
    names = {request.name for request in asked}
    shown = _shown(spec)
    before: dict[str, str] = {}
    if names <= _TIMES:
        return read_resources(asked)
    if names & {"select", "nodes"}:
        if "select" in names and "place" in shown and not _is_implicit(shown):
            before["place"] = shown["place"]
    elif _is_implicit(shown):
        before |= parse_select(shown["select"])[0].values
        if names & {*MEMORY}:  # what was there may come from such a limit too
            before.pop("mem", None)
    elif "select" in shown:
        _check_known(names, spec)
        before |= {"select": shown["select"], "place": shown["place"]}
    before |= {name: value for name, value in shown.items() if name in _STAYING} | dict(spec.words)
    requests = [ResourceRequest(name, value) for name, value in before.items() if name not in names]
    return read_resources([*requests, *asked])


def _check_known(names: set[str], spec: JobSpec) -> None:
    """Of a resource beside `select` PBS says first that there is none of that name."""
    for name in sorted(names):
        known = {*IN_CHUNK, *JOB_WIDE, *spec.resource_names, *(name for name, _ in spec.words), *RESOURCES, _GPUS}
        if name not in known:
            raise PbsError(f"Unknown resource Resource_List.{name}", PBSE_UNKRESC & 0xFF)


def _shown(spec: JobSpec) -> dict[str, str]:
    return {name.removeprefix(_LIST): value for name, value in spec.attributes.items() if name.startswith(_LIST)}


def _is_implicit(shown: Mapping[str, str]) -> bool:
    """Whether the job requested no `select`, which was made of `-l ncpus=` and its kin."""
    return shown.get("place") == "pack" and "nodes" not in shown and "+" not in shown.get("select", "+")
