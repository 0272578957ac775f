"""What `hpcbatch explain` and the --explain of qsub and sbatch show. Most of it needs no cluster."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from hpcbatch.cli.columns import aligned, folded
from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.dataclass import replace
from hpcbatch.dialects.registry import DIALECTS, count_directives, door
from hpcbatch.errors import HpcBatchError, ObstaclesError, UnknownJobError, UsageError
from hpcbatch.model.layout import NodeSize, lay_out
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import Arrangement, JobSpec, Submission
from hpcbatch.model.text import printable, printable_tree
from hpcbatch.policy.explain import (
    REFUSES_IGNORED,
    Explanation,
    as_json,
    ignored_outcome,
    ignored_refused,
    refuses_ignored,
    shape,
)
from hpcbatch.policy.site_words import QUEUE, names_of, site_words
from hpcbatch.typed import NamedTuple, Protocol

Say = Callable[[Exception], tuple[str, int]]
Script = Callable[[str | None], tuple[str | None, bytes]]


class Wanted(Protocol):
    @property
    def submission(self) -> Submission: ...


class Read(Protocol):
    """Reads a command line and its script as the command does, and appends what became of each option."""

    def __call__(self, *, outcomes: list[Outcome] | None = None) -> Wanted: ...


class _Known(NamedTuple):
    """What is known of a site."""

    site: SiteConfig
    nodes: Collection[str] | None = None
    """Their names; None: not known."""
    is_whole: bool = True
    """Else only the queues are known."""

    def words(self, spec: JobSpec) -> tuple[Outcome, ...]:
        found = site_words(spec, self.site, self.nodes)
        return found if self.is_whole else tuple(each for each in found if each.source == QUEUE)


def explained(session: Session, command: str, read: Read, say: Say) -> int:
    """`--explain` of a command. The exit code is 1 if the job could not be submitted like this."""
    return show(_explanation(command, "", read, say, _cluster(session)), is_json=False)


def is_taken(session: Session, spec: JobSpec) -> bool:
    """Whether the site takes all that `sbatch` was given, as far as the user may know it; what it does not is told."""
    known = _cluster(session)
    words = () if known is None else known.words(spec)
    if refuses_ignored(spec, known and known.site):
        words = ignored_refused((*words, *(ignored_outcome(text, "option") for text in spec.ignored)))
    refused = [each for each in words if each.fate is Fate.REFUSED]
    for each in refused:
        complain(f"sbatch: error: {each.source} {each.option}: {each.meaning}")
    return not refused


def of_script(session: Session, script: str, dialect: str | None, site_file: Path | None) -> Explanation:
    """What becomes of a script, `-` for standard input, that is submitted without further options."""
    from hpcbatch.cli.script import read_script

    site = _cluster(session) if site_file is None else _site_of_file(site_file)
    try:
        path, content = read_script(session, script, prompt=False)
    except OSError as error:
        raise HpcBatchError(f"cannot read {script}: {error.strerror}") from None
    counts = count_directives(content)
    remarks = []
    if dialect is None:
        if not counts:
            words = " or ".join(sorted(each.directive for each in DIALECTS.values() if each.directive))
            raise UsageError(f"{script} has no lines with {words}: say with --as whose script it is")
        dialect = max(counts, key=lambda name: counts[name])
        if len(counts) > 1:
            lines = " and ".join(f"{counts[name]} {DIALECTS[name].directive}" for name in counts)
            remarks.append(f"it has {lines} lines: explained for {DIALECTS[dialect].submit_command}")
    command = door(dialect).submit_command
    options = None if site_file is None or site is None else site.site.ignored_options
    read, say = _reader(session, dialect, script, lambda _: (path, content), options)
    found = _explanation(command, script, read, say, site)
    return replace(found, remarks=(*remarks, *found.remarks))


def of_job(session: Session, text: str) -> Explanation:
    """What became of a job. The options of its script are told to those who may read its Secret."""
    from hpcbatch.cli.job_number import job_number
    from hpcbatch.client import queues, records

    number = job_number(session, text)
    found = records.exactly(session.api, session.namespace, number)
    if not found:
        raise UnknownJobError(f"unknown job {text}")
    record = found[-1]
    outcomes: list[Outcome] = []
    script = records.submitted_script(session.api, record)
    name = (record.spec.script_path or "").rpartition("/")[2] or "script"
    if script:
        options = queues.plugin_options(session.api)
        try:
            door(record.spec.dialect).read_script(name, script, session.now, outcomes, options)
        except HpcBatchError:
            pass  # what made it fit stood on the command line
    told = {each.option for each in outcomes}
    kept = (ignored_outcome(text, "submission") for text in record.spec.ignored)
    remarks = [f"job {number} of {record.status.owner or 'nobody'}: {record.status.state.value}"]
    if not script:
        remarks.append("its script is not there to read, or not for you: only what is ignored is listed")
    return Explanation(
        command=door(record.spec.dialect).submit_command,
        script=record.spec.script_path or "",
        options=(*outcomes, *(each for each in kept if each.option not in told)),
        site=tuple(ignored_outcome(text, "site") for text in record.status.ignored),
        shape=shape(record.spec, record.layout, record),
        remarks=remarks,
    )


def _explanation(command: str, script: str, read: Read, say: Say, site: _Known | None) -> Explanation:
    outcomes: list[Outcome] = []
    try:
        wanted = read(outcomes=outcomes)
    except HpcBatchError as error:
        text, code = say(error)
        if not code:
            raise EndedError(text, code) from None  # --help
        each = error.problems if isinstance(error, ObstaclesError) else (error,)
        problems = [say(problem)[0] for problem in each]
        return Explanation(command=command, script=script, options=outcomes, problems=problems)
    submission = wanted.submission
    spec = submission.spec
    outcomes = [each for each in outcomes if each.option != "--explain"]
    told = {each.option for each in outcomes}
    left = (ignored_outcome(text, "submission") for text in spec.ignored)
    cpus = os.cpu_count() or 1
    nodes = [NodeSize(cpus=cpus)] * sum(chunk.count for chunk in spec.chunks)
    remarks = [note.removeprefix(f"{command}: ") for note in submission.notes]
    if spec.arrangement is Arrangement.FILL:
        remarks.append(f"tasks are spread as on nodes of {cpus} CPUs, which is what this machine has")
    words = () if site is None else site.words(spec)
    options = (*outcomes, *(each for each in left if each.option not in told))
    if refuses_ignored(spec, site and site.site) and any(each.fate is Fate.IGNORED for each in (*options, *words)):
        options, words = ignored_refused(options), ignored_refused(words)
        remarks.append(REFUSES_IGNORED)
    known = {each.source for each in words}
    if names := [f"{each.kind} {each.text}" for each in names_of(spec) if each.kind not in known]:
        remarks.append(f"names that are the site's to know: {', '.join(names)}")
    try:
        layout = lay_out(spec, nodes)
    except HpcBatchError:  # more nodes named than there are pods, which the site's words say
        layout = spec.chunks
    return Explanation(
        command=command,
        script=script or spec.script_path or "",
        options=options,
        site=words,
        shape=shape(spec, layout),
        remarks=remarks,
    )


def _reader(
    session: Session, dialect: str, name: str, script: Script, site_options: Mapping[str, str] | None
) -> tuple[Read, Say]:
    """As the dialect's own command reads it, with its environment; of other dialects through their door."""
    if dialect == "pbs":
        from hpcbatch.cli.pbs import common, qsub

        return qsub.reader(session, [name], script), common.describe("qsub", session)
    if dialect == "slurm":
        from hpcbatch.cli.slurm import common as slurm_common
        from hpcbatch.cli.slurm import sbatch

        return sbatch.reader(session, [name], script, site_options), slurm_common.describe("sbatch", session)
    if dialect == "lsf":
        from hpcbatch.cli.lsf import bsub
        from hpcbatch.cli.lsf import common as lsf_common

        return bsub.reader(session, [name], script), lsf_common.describe("bsub", session)
    return partial(_ThroughDoor, session, dialect, name, script, site_options or {}), lambda error: (str(error), 1)


class _ThroughDoor:
    def __init__(
        self,
        session: Session,
        dialect: str,
        name: str,
        script: Script,
        site_options: Mapping[str, str],
        *,
        outcomes: list[Outcome] | None = None,
    ) -> None:
        told = [] if outcomes is None else outcomes
        self.submission = door(dialect).read_script(name, script(name)[1], session.now, told, site_options)


def _site_of_file(file: Path) -> _Known:
    from hpcbatch.cli.site import config_of

    return _Known(config_of(file))


def _cluster(session: Session) -> _Known | None:
    """What the user may know of the cluster's site; None without a cluster."""
    from hpcbatch.api.names import IN_FORCE_CONFIGMAP, SYSTEM_NAMESPACE
    from hpcbatch.api.resources import CONFIGMAPS, NODES
    from hpcbatch.client.queues import list_queues
    from hpcbatch.site.file import FILE_KEY, read_config

    try:
        queues = tuple(
            QueueConfig(name=row.name, volcano_queue=row.name, is_default=row.is_default, aliases=row.aliases)
            for row in list_queues(session.api)
        )
        default = next((queue.name for queue in queues if queue.is_default), "default")
        nodes = {node["metadata"]["name"] for node in session.api.list(NODES).items}
    except HpcBatchError:
        return None
    try:
        kept = session.api.get(CONFIGMAPS, IN_FORCE_CONFIGMAP, SYSTEM_NAMESPACE)
        site = read_config(str((kept.get("data") or {}).get(FILE_KEY, "")), defaults=SiteConfig())
    except HpcBatchError:
        return _Known(SiteConfig(queues=queues, default_queue=default), nodes, is_whole=False)
    return _Known(site if site.queues else replace(site, queues=queues, default_queue=default), nodes)


def show(found: Explanation, *, is_json: bool) -> int:
    """Print it, and return the exit code."""
    if is_json:
        print(json.dumps(printable_tree(as_json(found)), indent=2, ensure_ascii=False))
        return 0 if found.is_fit else 1
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    _print((("Where", "Option", "Fate", "Meaning"), *_option_rows(found.options)), width)
    _print((("Kind", "Name", "Fate", "Meaning"), *_site_rows(found.site)), width)
    rows = [(row.name, row.asked, row.granted) for row in found.shape]
    is_granted = any(granted for _, _, granted in rows)
    shaped = [("", "Asked for", "Granted"), *rows] if is_granted else [(name, asked) for name, asked, _ in rows]
    _print(shaped if is_granted else [("", "Asked for"), *shaped], width)
    for remark in found.remarks:
        print(printable(remark))
    for problem in found.problems:
        complain(problem)
    return 0 if found.is_fit else 1


def _option_rows(outcomes: Iterable[Outcome]) -> Iterable[tuple[str, str, str, str]]:
    return ((each.where, each.option, each.fate.value, each.meaning) for each in outcomes)


def _site_rows(outcomes: Iterable[Outcome]) -> Iterable[tuple[str, str, str, str]]:
    return ((each.source, each.option, each.fate.value, each.meaning) for each in outcomes)


def _print(table: Sequence[Sequence[str]], width: int | None) -> None:
    """A table and an empty line, unless it has only headings."""
    if len(table) < 2:
        return
    cells = [tuple(printable(cell) for cell in row) for row in table]
    for line in aligned(cells if width is None else folded(cells, width)):
        print(line)
    print()
