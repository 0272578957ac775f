"""Finding the `#PBS` lines of a script and splitting them into words, each with the place where it stands.

The rules are those of OpenPBS's get_script(), pbs_ispbsdir(), pbs_isexecutable() and make_argv(). Two are added, from
Torque: ` # comment` at the end of a directive is dropped, as some 2 % of real scripts have one, and so is the prefix of
a line that continues another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from hpcbatch.dialects.pbs.errors import COMMAND_LINE, DIRECTIVE_CODE, Origin, PbsError
from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.unread import UnreadLine

DEFAULT_PREFIX = "#PBS"
_BLANK = " \t\n\v\f\r"  # C's isspace(); Python's str.isspace() knows more


class Word(NamedTuple):
    """One word of a directive or of the command line, quotes removed."""

    text: str
    origin: Origin = COMMAND_LINE


class Directive(NamedTuple):
    """The words of one directive, continuation lines joined; at least one."""

    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


def scan(
    script: bytes, *, prefix: str = DEFAULT_PREFIX, path: str | None = None, obstacles: Obstacles | None = None
) -> Iterator[Directive]:
    """Yield the directives of `script` in order, up to its first command.

    Raises PbsError at a line that ends in CR LF (wherever it stands: the script would not run), at an unmatched
    quote, and at a directive that is not text; with `obstacles` these are added there, the line ends once.
    An empty `prefix` means that there are no directives.
    """
    lines = _split(script)
    has_crlf = False
    for first, last, is_directive in _stretches(lines, prefix):
        if is_directive:
            try:
                words = _words(lines[first : last + 1], prefix, first + 1, path)
            except PbsError as error:
                if obstacles is None:
                    raise
                words = ()
                obstacles.add(lines[first].strip(), error)
            if words:
                yield Directive(words)
        if last + 1 < len(lines) and lines[last].endswith("\r"):
            origin = Origin(path, last + 1, len(lines[last]))
            crlf = PbsError("script contains cr, lf", DIRECTIVE_CODE, origin=origin)
            if obstacles is None:
                raise crlf
            if not has_crlf:
                has_crlf = True
                obstacles.add("", crlf)


def unread(script: bytes, prefix: str) -> Iterator[UnreadLine]:
    """The lines that look like directives and that qsub does not read."""
    from hpcbatch.model.unread import unread_lines

    lines = _split(script)
    first_command = len(lines) + 1
    for first, _, is_directive in _stretches(lines, prefix):
        if not is_directive and _is_command(lines[first]):
            first_command = first + 1
            break
    return unread_lines(lines, prefix, "qsub", first_command=first_command, only_in_column_1=False)


def _split(script: bytes) -> list[str]:
    return script.decode("utf-8", "surrogateescape").split("\n")


def _stretches(lines: Sequence[str], prefix: str) -> Iterator[tuple[int, int, bool]]:
    """The first and the last line of each directive, and all other lines; whether it is a directive."""
    ended = False
    number = 0
    while number < len(lines):
        first = last = number
        is_directive = not ended and bool(prefix) and lines[number].lstrip(_BLANK).startswith(prefix)
        if is_directive:
            while lines[last].rstrip(_BLANK).endswith("\\") and last + 1 < len(lines):
                last += 1
        else:
            ended = ended or _is_command(lines[first])
        yield first, last, is_directive
        number = last + 1


def _is_command(line: str) -> bool:
    """Whether `line` ends the directives: neither blank, a comment, nor a label of old shells (`:`)."""
    if line.startswith((":", "#!")):
        return False
    return not line.lstrip(_BLANK).startswith("#") and bool(line.strip(_BLANK))


def _words(lines: list[str], prefix: str, first_line: int, path: str | None) -> tuple[Word, ...]:
    """Split the joined `lines` of one directive into words. A further prefix, with which a continuation may begin, is
    none of them: OpenPBS takes it for a word and refuses the directive, Torque passes over it.
    """
    lines = [lines[0], *(_without(line, prefix) for line in lines[1:])]
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for line in lines[:-1]:
        starts.append(length)
        parts.append(line.rstrip(_BLANK)[:-1])
        length += len(parts[-1])
    starts.append(length)
    parts.append(lines[-1])
    text = "".join(parts)

    def origin(offset: int) -> Origin:
        index = bisect_right(starts, offset) - 1
        return Origin(path, first_line + index, offset - starts[index] + 1)

    words: list[Word] = []
    position = len(text) - len(text.lstrip(_BLANK)) + len(prefix)
    while position < len(text):
        if text[position] in _BLANK:
            position += 1
        elif text.startswith(prefix, position):
            position += len(prefix)
        elif text[position] == "#":  # of a comment that is continued, the next line is none
            position = next((start for start in starts if start > position), len(text))
        else:
            word, end = _word(text, position, origin)
            words.append(Word(word, origin(position)))
            _check_text(word, origin(position))
            position = end
    return tuple(words)


def _without(line: str, prefix: str) -> str:
    """The line with blanks in place of the prefix, so that all else stays in its column."""
    body = line.lstrip(_BLANK)
    if not body.startswith(prefix):
        return line
    return line[: len(line) - len(body)] + " " * len(prefix) + body.removeprefix(prefix)


def _word(text: str, start: int, origin: Callable[[int], Origin]) -> tuple[str, int]:
    """Read the word at `start`: its text without quotes and escapes, and where it ends."""
    word: list[str] = []
    position = start
    while position < len(text) and text[position] not in _BLANK:
        char = text[position]
        if char in "\"'":
            end = text.find(char, position + 1)
            if end < 0:
                raise PbsError(f"unmatched {char}", DIRECTIVE_CODE, origin=origin(position))
            word.append(text[position + 1 : end])
            position = end + 1
        elif char == "\\":
            word.append(text[position + 1 : position + 2])
            position += 2
        else:
            word.append(char)
            position += 1
    return "".join(word), position


def _check_text(word: str, origin: Origin) -> None:
    """Refuse what no option can hold: NUL, and bytes that are not UTF-8."""
    if any(char == "\0" or "\udc80" <= char <= "\udcff" for char in word):
        raise PbsError("directive error: not UTF-8 text", DIRECTIVE_CODE, origin=origin)
