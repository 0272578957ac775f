"""getopt as the PBS commands use it: the C library's, with its messages and its moving of operands to the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hpcbatch.dialects.pbs.directives import Word
from hpcbatch.dialects.pbs.errors import Origin
from hpcbatch.typed import Final, NamedTuple

QSUB: Final = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"
TORQUE: Final = "b:d:D:EF:K:L:nt:T:w:x"
"""What Torque's qsub takes besides, NQSV's -b and -T among it."""
OWN: Final = frozenset({"--dry-run", "--explain", "--strict"})
"""Long options that are ours: of the command line only."""
NQSV: Final = frozenset({"--group", "--cpunum-lhost", "--gpunum-lhost", "--memsz-lhost", "--venode", "--venum-lhost"})
"""Long options of NQSV with a value. Its manual has them; the getopt of OpenPBS and Torque has none."""
QSTAT: Final = "ainpqrstwxu:fGHJMQEBW:T1F:D:"
QDEL: Final = "W:x"
QHOLD: Final = "h:-:"  # as OpenPBS has it: `-` is an option that takes a value
QRLS: Final = "h:"
QALTER: Final = "a:A:c:e:h:j:k:l:m:M:N:o:p:r:R:S:u:W:P:"
QRERUN: Final = "W:"
QSIG: Final = "s:"
QSELECT: Final = "a:A:c:h:HJl:N:p:q:r:s:t:Tu:xP:"
PBSNODES: Final = "acC:dD:F:HjlLoqrs:Sv"
QMSG: Final = "EO"
QRUN: Final = "H:a"
QMGR: Final = "ac:enz"
PBS_RSTAT: Final = "fFBS"
PBS_RSUB: Final = "D:E:I:l:m:M:N:q:r:R:u:U:g:G:H:W:"
PBS_RALTER: Final = "E:I:m:M:N:R:q:U:G:D:l:W:"
PBS_RDEL: Final = "q:"


class Option(NamedTuple):
    """One option as given: a letter, or a long option such as `--dry-run`."""

    name: str
    value: str
    origin: Origin


class Parsed(NamedTuple):
    """A command line or directive, taken apart."""

    options: tuple[Option, ...]
    operands: tuple[Word, ...]
    errors: tuple[str, ...]
    """getopt's complaints, without the command's name."""
    dashes_at: int | None
    """How many operands stood before `--`; None without `--`."""
    is_permuted: bool
    """Whether an option stood after an operand."""


def words(arguments: Iterable[str]) -> tuple[Word, ...]:
    """The arguments of a command line."""
    return tuple(Word(argument) for argument in arguments)


def getopt(
    arguments: Sequence[Word],
    letters: str,
    *,
    long_options: frozenset[str] = frozenset(),
    with_value: frozenset[str] = frozenset(),
) -> Parsed:
    """Take `arguments` apart as getopt(3) would with the option string `letters`.

    `long_options` are recognised where an option may stand, as whole words without a value; those `with_value` as
    `--name=value` or with the value in the next word.
    """
    takes_value = {letter: letters[i + 1 : i + 2] == ":" for i, letter in enumerate(letters) if letter != ":"}
    options: list[Option] = []
    operands: list[Word] = []
    errors: list[str] = []
    dashes_at: int | None = None
    permuted = False
    index = 0
    while index < len(arguments):
        word = arguments[index]
        index += 1
        if word.text == "--":
            dashes_at = len(operands)
            operands += arguments[index:]
            break
        if word.text in long_options:
            options.append(Option(word.text, "", word.origin))
        elif word.text.partition("=")[0] in with_value and ("=" in word.text or index < len(arguments)):
            name, equals, value = word.text.partition("=")
            if not equals:
                value, index = arguments[index].text, index + 1
            options.append(Option(name, value, word.origin))
        elif not word.text.startswith("-") or word.text == "-":
            operands.append(word)
            continue
        else:
            index += _cluster(word, arguments[index : index + 1], takes_value, options, errors)
        permuted = permuted or bool(operands)
    return Parsed(
        options=tuple(options),
        operands=tuple(operands),
        errors=tuple(errors),
        dashes_at=dashes_at,
        is_permuted=permuted,
    )


def _cluster(
    word: Word, following: Sequence[Word], takes_value: dict[str, bool], options: list[Option], errors: list[str]
) -> int:
    """Read `-abc` or `-ovalue`; return how many of the `following` words it used for a value."""
    for position, letter in enumerate(word.text[1:], start=1):
        if letter not in takes_value:
            errors.append(f"invalid option -- '{letter}'")
            continue
        if not takes_value[letter]:
            options.append(Option(letter, "", word.origin))
            continue
        if position + 1 < len(word.text):
            options.append(Option(letter, word.text[position + 1 :], word.origin))
            return 0
        if not following:
            errors.append(f"option requires an argument -- '{letter}'")
            return 0
        options.append(Option(letter, following[0].text, word.origin))
        return 1
    return 0
