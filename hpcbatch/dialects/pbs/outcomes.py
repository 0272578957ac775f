"""What became of each option of a submission, from what was read and what was found wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcbatch.dialects.pbs.directives import unread
from hpcbatch.dialects.pbs.errors import COMMAND_LINE, Origin, PbsError
from hpcbatch.dialects.pbs.option_values import DEFAULT_IMAGE
from hpcbatch.dialects.pbs.read_chunk import FALSE, TRUE, part_name
from hpcbatch.dialects.pbs.resources import Resources
from hpcbatch.dialects.pbs.select import GPU_MODES, parse_select
from hpcbatch.dialects.pbs.settings import Part, Settings, rule_of, shortened
from hpcbatch.dialects.pbs.table import AMOUNT, LACKS, PROPERTY, Rule
from hpcbatch.errors import DirectiveError, HpcBatchError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.text import printable
from hpcbatch.typed import Final

_VARIABLES: Final = {
    "PBS_DPREFIX": ("C", "how the lines of the script begin that qsub reads"),
    "PBS_SHELL": ("S", "the shell that runs the script"),
    DEFAULT_IMAGE: ("", "the image of the job, if CONTAINER_IMAGE names none"),
}
"""Variable → the option that goes over it, and its meaning."""


def made(settings: Settings, resources: Resources | None, environ: Mapping[str, str]) -> Iterator[Outcome]:
    """One outcome for each part, in the order in which they were given: variables, command line, script.
    Then one for each line of the script that looks like a directive and is none.
    """
    refused = {option: _reason(error) for option, error in settings.obstacles.found} | settings.complained
    ignored = {} if resources is None else dict(resources.ignored)
    for name, (letter, meaning) in _VARIABLES.items():
        if environ.get(name) is not None and letter not in settings.given:
            yield Outcome(name, Fate.HONOURED, meaning, name)
    told: set[str] = set()
    for part in settings.parts:
        told.add(part.option)
        if part.option in refused:
            yield _outcome(part, Fate.REFUSED, refused[part.option])
        elif part.key and settings.counting.get(part.key) is not part:
            yield _outcome(part, Fate.HONOURED, "it is given again, and the other one counts")
        elif part.option in ignored:
            yield _outcome(part, Fate.IGNORED, ignored[part.option])
        else:
            yield _outcome(part, part.rule.fate, part.rule.meaning)
            yield from _inside(part, refused, told)
    for option, error in settings.obstacles.found:  # of what no option gave: the script's name, its line ends
        is_told = option in told or (not option and isinstance(error, PbsError) and error.usage)  # by its parts
        if not is_told:
            told.add(option)
            origin = COMMAND_LINE
            if isinstance(error, DirectiveError):
                origin = Origin(error.path, error.line, error.column)
            yield _outcome(Part(option or "script", "", AMOUNT, origin), Fate.REFUSED, _reason(error))
    for line in unread(settings.script.text, settings.script.prefix):
        text = shortened(printable(line.text))
        yield Outcome(text, Fate.KEPT, line.meaning, settings.script.shown, line.line, line.column)


def _inside(part: Part, refused: Mapping[str, str], told: set[str]) -> Iterator[Outcome]:
    """One outcome for each different resource of the chunks that `-l select=` and `-l nodes=` name."""
    name, _, text = part.option.removeprefix("-l ").partition("=")
    for option, rule in _values(name, text):
        if option not in told:
            told.add(option)
            inner = part._replace(option=option)
            why = refused.get(option)
            yield _outcome(inner, rule.fate if why is None else Fate.REFUSED, rule.meaning if why is None else why)


def _values(name: str, text: str) -> Iterator[tuple[str, Rule]]:
    if name == "select":
        try:
            chunks = parse_select(text)
        except HpcBatchError:
            return
        for chunk in chunks:
            for resource, value in chunk.values:
                yield part_name(resource, value), _rule(resource, value)
    elif name == "nodes":
        for item in text.replace("#", ":").replace("+", ":").split(":"):
            resource, equals, value = item.partition("=")
            if item.isdigit() or not item:
                continue
            if equals:
                rule = _PPN if resource == "ppn" else _rule(resource, value)
            else:
                rule = _MODE if resource in GPU_MODES else _HOST if "." in resource else PROPERTY
            yield f"-l nodes: {item}", rule


_PPN: Final = Rule(Fate.TRANSLATED, "CPUs of each node, a process on each")
_MODE: Final = Rule(Fate.TRANSLATED, "the GPU is the job's alone, or the node is, as the site gives them")
_HOST: Final = Rule(Fate.HONOURED, "the node")


def _rule(name: str, value: str) -> Rule:
    if value.lower() in TRUE:
        return PROPERTY
    return LACKS if value.lower() in FALSE else rule_of(name, value)


def _outcome(part: Part, fate: Fate, meaning: str) -> Outcome:
    if part.origin == COMMAND_LINE:
        return Outcome(part.option, fate, meaning)
    return Outcome(part.option, fate, meaning, part.origin.path or "<stdin>", part.origin.line, part.origin.column)


def _reason(error: HpcBatchError) -> str:
    if isinstance(error, PbsError):
        return error.text.partition("\n")[0]
    return error.message if isinstance(error, DirectiveError) else str(error)
