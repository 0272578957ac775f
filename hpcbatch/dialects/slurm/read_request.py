"""Reads script, environment and command line of sbatch, option by option, into a Request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from hpcbatch.dialects.slurm import values
from hpcbatch.dialects.slurm.directives import Word
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Given, Option, Takes, WordError
from hpcbatch.dialects.slurm.help import SBATCH_HELP, sbatch_usage
from hpcbatch.dialects.slurm.notebook import Notebook, shown
from hpcbatch.dialects.slurm.option_values import READERS
from hpcbatch.dialects.slurm.options import BOUND, BY_NAME, OPTIONS, PARSER, SCRIPT_PARSER, SbatchOption, Support
from hpcbatch.dialects.slurm.readers import Reading
from hpcbatch.dialects.slurm.request import GPU_OPTIONS, Place, Request
from hpcbatch.errors import DirectiveError, HpcBatchError
from hpcbatch.model.outcome import Fate
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.text import HIDDEN, is_printable, printable
from hpcbatch.typed import NamedTuple, TypeAlias

PluginOptions: TypeAlias = Callable[[], Mapping[str, str]]
"""The site's: patterns of names with their dashes (`--ear*`), and why each is ignored. Called only when needed."""
_ANY_TEXT = frozenset({"export", "wrap"})
"""The options whose values no listing shows."""
_ANSWERS: dict[str, Callable[[], str]] = {
    "help": lambda: SBATCH_HELP,
    "usage": sbatch_usage,
    "version": lambda: VERSION_TEXT,
}
_NOT_IN_A_SCRIPT = frozenset({"wrap", *_ANSWERS})
_NEXT_COMPONENT = ":"
_LONGEST_LINE = 4096


class Context(NamedTuple):
    """What the reading of every option needs."""

    now: datetime
    book: Notebook
    plugins: PluginOptions | None = None

    @property
    def quiet(self) -> Context:
        """The same for options that have been noted already."""
        return self._replace(book=Notebook(has_outcomes=False))


class CommandLine(NamedTuple):
    """The options of each component of the job, with the text of each, and the operands: script and arguments."""

    parts: tuple[tuple[tuple[Given, str], ...], ...]
    operands: tuple[str, ...]

    @property
    def wrap(self) -> str | None:
        return next(
            (g.value for part in reversed(self.parts) for g, _ in reversed(part) if g.option.name == "wrap"), None
        )


def read_command_line(argv: Sequence[str], plugins: PluginOptions | None, book: Notebook) -> CommandLine:
    """Split the command line. Raises SlurmAnswer for --help, --usage and --version, SlurmUsageError for a word that is
    no option.
    """
    for word in argv:
        _check_utf8(word, "command line")
    parts: list[tuple[tuple[Given, str], ...]] = []
    rest = list(argv)
    while True:
        try:
            given, operands = PARSER.parse(rest, unknown=partial(_of_a_plugin, of_site=plugins))
        except WordError as error:
            for option in error.given:
                _note(option, _text(option, rest), book)
            book.refused("", rest[error.word], error, Place())
            raise
        parts.append(tuple((option, _text(option, rest)) for option in given))
        rest = [rest[index] for index in operands]
        if rest[:1] != [_NEXT_COMPONENT]:
            break
        del rest[0]
    for option in (option for part in parts for option, _ in part):
        if option.option.name in _ANSWERS:
            raise SlurmAnswer(_ANSWERS[option.option.name]())
    return CommandLine(tuple(parts), tuple(rest))


def submit_line(argv: Sequence[str], plugins: PluginOptions | None) -> str:
    """sbatch's command line as others may read it: without what --export gives to variables and --wrap's script."""
    shown: list[str] = list(argv)
    first = 0
    while True:
        given, operands = PARSER.parse(argv[first:], unknown=partial(_of_a_plugin, of_site=plugins))
        for option in given:
            name, at = option.option.name, first + option.word
            if name in _ANY_TEXT:
                told = values.names_only(option.value or "") if name == "export" else HIDDEN
                shown[at] = f"--{name}={told}"
                if "=" not in argv[at]:
                    shown[at + 1] = ""  # its value
        if not operands or argv[first + operands[0]] != _NEXT_COMPONENT:
            break
        first += operands[0] + 1
    return printable(" ".join(["sbatch", *filter(None, shown)]))[:_LONGEST_LINE]


def apply_command_line(request: Request, part: Sequence[tuple[Given, str]], context: Context) -> None:
    """Apply the options of the command line, which go over all others."""
    for option, text in part:
        take(request, option, text, Place(), context)
        request.from_environment.discard(option.option.name)


def apply_environment(request: Request, environ: Mapping[str, str], context: Context) -> None:
    """Apply the SBATCH_* input variables, which go over the script."""
    for option in OPTIONS:
        for variable in option.environment:
            if variable not in environ:
                continue
            value = environ[variable]
            takes_none = option.takes is Takes.NOTHING or (option.takes is Takes.OPTIONAL and not value)
            place = Place(variable)
            text = f"{variable}={value}"
            if option.name == "verbose":
                request.verbose = values.leading_number(value) if value.isascii() and value.isdigit() else 0
                context.book.took(option.name, text, Fate.HONOURED, option.meaning, place)
                break
            if option.takes is Takes.NOTHING and not is_set(value):
                context.book.took(option.name, text, Fate.KEPT, "it says no", place)
                break
            if take(request, Given(option, None if takes_none else value, 0), text, place, context):
                request.from_environment.add(option.name)
            break


def is_set(value: str) -> bool:
    """Whether the variable of an option without value asks for it. Source: slurm_process_option()."""
    return value.lower() in {"", "yes"} or (re.fullmatch("[+-]?[0-9]{1,18}", value) is not None and int(value) != 0)


def apply_script(request: Request, words: Sequence[Word], path: str, context: Context) -> None:
    """Apply the directives of one component. All that is wrong is noted; reading goes on with the next line."""
    start = 0
    while start < len(words):
        error, bad = _apply_lines(request, words[start:], path, context)
        if error is None:
            return
        word = words[start + bad]
        context.book.refused("", shown(word.text), error, Place(path, word.line, word.column))
        start = next((index for index in range(start + bad, len(words)) if words[index].line > word.line), len(words))


def _apply_lines(
    request: Request, words: Sequence[Word], path: str, context: Context
) -> tuple[SlurmUsageError | None, int]:
    """Apply the words up to the first that is no option: the error, and the index of the word."""
    texts = [word.text for word in words]
    error: SlurmUsageError | None = None
    bad = 0
    try:
        given, operands = SCRIPT_PARSER.parse(texts, unknown=partial(_of_a_plugin, of_site=context.plugins))
    except WordError as wrong:
        given, error, bad = list(wrong.given), SlurmUsageError(wrong.text, wrong.code), wrong.word
    else:
        if operands:
            bad = operands[0]
            error = SlurmUsageError(f"sbatch: error: Invalid directive found in batch script: {texts[bad]}", 255)
    for option in given:
        word = words[option.word]
        place = Place(path, word.line, word.column)
        if option.option.name in _NOT_IN_A_SCRIPT:
            note = f"sbatch: {path}:{word.line}:{word.column}: --{option.option.name} is passed over in a script"
            request.notes.append(note)
            context.book.took(
                option.option.name, _text(option, texts), Fate.KEPT, "it is passed over in a script", place
            )
            continue
        value = words[min(option.word + ("=" not in word.text), len(words) - 1)]
        if option.option.name == "container-image" and value.is_cut:
            # `registry#image`, of which a comment's `#` leaves the name of another image
            text = "sbatch: error: --container-image: an unquoted # ends the line; write \\#"
            at_value = Place(path, value.line, value.column)
            context.book.refused(option.option.name, _text(option, texts), SlurmUsageError(text, 255), at_value)
            continue
        take(request, option, _text(option, texts), place, context)
    return error, bad


def apply_foreign(request: Request, script: bytes, path: str, context: Context) -> None:
    """Apply #BSUB or #PBS lines as the real sbatch does, which go over #SBATCH lines."""
    if b"#PBS" not in script and b"#BSUB" not in script:
        return
    from hpcbatch.dialects.slurm.foreign import foreign_options

    try:
        found = foreign_options(script, path)
    except SlurmUsageError as error:  # a quote without its partner
        context.book.problems.append(error)
        return
    for option in found:
        place = Place(path, option.line, option.column)
        wrong: HpcBatchError | None = option.error
        for name, value in option.becomes if wrong is None else ():
            try:
                _apply_translated(request, name, value, context.now)
                request.places[name] = place
            except HpcBatchError as error:
                wrong = error
                break
        if wrong is not None:
            context.book.refused("", shown(option.text), wrong, place)
        else:
            fate = Fate.TRANSLATED if option.becomes else Fate.KEPT
            context.book.took(f"{option.text}@{option.line}", shown(option.text), fate, option.meaning, place)


def _apply_translated(request: Request, name: str, value: str, now: datetime) -> None:
    if name == "umask":
        try:
            request.umask = int(value, 0 if value[:2].lower() == "0x" else 8 if value[:1] == "0" else 10)
        except ValueError:
            request.umask = 0
        if not 0 <= request.umask <= 0o777:
            raise SlurmUsageError("sbatch: error: Invalid -W umask= specification", 255)
        return
    before = {"export": request.export, "gres": request.given.get("gres"), "constraint": request.constraint}.get(name)
    if before:
        value = f"{value},{before}" if name == "constraint" else f"{before},{value}"
    apply(request, Given(BY_NAME[name], value or None, 0), "", now)


def read_option(request: Request, name: str, value: str, now: datetime) -> None:
    """Read one option that is honoured, by its long name."""
    READERS[name](request, value, now)


def request_of(spec: JobSpec) -> Request:
    """What a job requested that says how large it is, read again from its attributes (`sizes.size_attributes`)."""
    given = spec.attributes
    request = Request()
    for name in _SAME_NUMBER:
        if name in given:
            setattr(request, name, int(given[name]))
    if "mem_per_node_mb" in given:
        request.mem_mb = int(given["mem_per_node_mb"])
    if "nodes" in given:
        low, _, high = given["nodes"].partition("-")
        request.nodes = int(low), int(high)
    request.overcommit = "overcommit" in given
    no_time = datetime.min  # these readers look at no clock
    for name in GPU_OPTIONS:
        if text := given.get(name.replace("-", "_")):
            read_option(request, name, text, no_time)
    if text := given.get("constraint"):
        read_option(request, "constraint", text, no_time)
    of_node = given.get("tres_per_node", "").removesuffix(request.tres.get("tres_per_node", "")).rstrip(",")
    if of_node:
        read_option(request, "gres", of_node, no_time)
    for name in BOUND:
        if (attribute := name.replace("-", "_")) in given:
            request.bound[name] = given[attribute]
    return request


_SAME_NUMBER = (
    "ntasks",
    "ntasks_per_node",
    "cpus_per_task",
    "mem_per_cpu_mb",
    "cpus_per_gpu",
    "mem_per_gpu_mb",
    "mincpus",
    "ntasks_per_gpu",
    "sockets_per_node",
    "tmp_mb",
)


def take(request: Request, given: Given, text: str, place: Place, context: Context) -> bool:
    """Apply an option, and note what became of it; whether it was read."""
    name = given.option.name
    text = shown(text)
    try:
        fate, meaning = apply(request, given, text, context.now, what=place.source if place.line is None else "")
    except HpcBatchError as error:
        context.book.refused(name, text, error, place)
        return False
    request.places[name] = place
    context.book.took(name, text, fate, meaning, place)
    return True


def apply(request: Request, given: Given, text: str, now: datetime, what: str = "") -> Reading:
    """Put an option into the request. Raises HpcBatchError for a value that is none."""
    option, value = given.option, given.value
    assert isinstance(option, SbatchOption)  # noqa: S101  for the type checker: PARSER holds no other
    if value is not None:
        _check_utf8(value, what if what.startswith(("SBATCH_", "SLURM_")) else f"--{option.name}")
        if option.name not in _ANY_TEXT and not is_printable(value):
            raise SlurmUsageError(
                f"sbatch: error: Invalid --{option.name} specification: {printable(value)}: "
                "it has a character that cannot be printed",
                255,
            )
    reader: Callable[[Request, str, datetime], Reading | None] | None = READERS.get(option.name)
    found = None if reader is None else reader(request, "" if value is None else value, now)
    reading = found or Reading(Fate(option.support.value), option.meaning)
    request.texts[option.name] = value
    request.ignored.pop(option.name, None)
    if reading.fate is Fate.IGNORED:
        request.ignored[option.name] = f"{text}: {reading.meaning}"
    elif option.support is Support.KEPT:
        request.kept[option.name] = "" if value is None else value
    return reading


def _of_a_plugin(name: str, of_site: PluginOptions | None) -> Option | None:
    from hpcbatch.dialects.slurm.plugins import plugin_option

    return plugin_option(name, of_site)


def _note(given: Given, text: str, book: Notebook) -> None:
    """Note an option that is not read, because of another one."""
    option = given.option
    assert isinstance(option, SbatchOption)  # noqa: S101
    book.took(option.name, shown(text), Fate(option.support.value), option.meaning, Place())


def _text(given: Given, words: Sequence[str]) -> str:
    """An option as it was given; of short ones in one word its own part."""
    word, value = words[given.word], given.value
    if word.startswith("--"):
        return word if value is None or "=" in word else f"{word} {value}"
    return f"-{given.option.short}" + ("" if value is None else f" {value}")


def _check_utf8(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        shown_text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise DirectiveError(f"{what}: {shown_text} is not valid UTF-8") from None
