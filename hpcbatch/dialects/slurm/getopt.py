"""GNU getopt_long as Slurm's commands use it: abbreviations, `--x=v`, `--x v`, `-xv`, `-x v`, optional values.

Source: getopt(3), and what the real commands answered to every prefix of one letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.errors import USAGE_EXIT, SlurmUsageError
from hpcbatch.typed import NamedTuple


class Takes(Enum):
    """Whether an option has a value."""

    NOTHING = "nothing"
    VALUE = "value"
    OPTIONAL = "optional"  # only with `=`, or glued to the short option


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. `name` is its long name and its key."""

    name: str
    short: str = ""
    takes: Takes = Takes.VALUE
    aliases: tuple[str, ...] = ()
    """Other long names, which may be abbreviated too."""
    exact: tuple[str, ...] = ()
    """Long names that must be written out: retired ones, and ours."""


class Given(NamedTuple):
    """An option as it was given, `value` None where there is none; `word` is the index of its first word."""

    option: Option
    value: str | None
    word: int


class Parser:
    """The options of one command."""

    def __init__(self, command: str, options: Iterable[Option]) -> None:
        self.command = command
        self.options = tuple(options)
        self._short: dict[str, Option] = {}
        self._long: dict[str, Option] = {}
        """In the order in which getopt_long lists what an abbreviation may stand for."""
        self._exact: dict[str, Option] = {}
        for option in self.options:
            if option.short:
                self._short[option.short] = option
            names = (option.name, *option.aliases)
            self._long |= {name: option for name in names if name not in option.exact}
            self._exact |= dict.fromkeys(option.exact, option)

        self._long = dict(sorted(self._long.items()))

    def parse(
        self, words: Sequence[str], *, permute: bool = False, unknown: Callable[[str], Option | None] | None = None
    ) -> tuple[list[Given], list[int]]:
        """The options of `words` in order, and the indices of the words that are none. `unknown` may know further long
        names, which cannot be abbreviated.

        Without `permute` the first such word ends the options; so does `--` in any case.
        Raises SlurmUsageError with getopt's own text.
        """
        given: list[Given] = []
        try:
            return given, self._parse(words, permute, given, unknown)
        except WordError as error:
            error.given = tuple(given)
            raise

    def _parse(
        self,
        words: Sequence[str],
        permute: bool,
        given: list[Given],
        unknown: Callable[[str], Option | None] | None,
    ) -> list[int]:
        """Put the options into `given`, and answer the rest."""
        operands: list[int] = []
        index = 0
        while index < len(words):
            word = words[index]
            if word == "--":
                return operands + list(range(index + 1, len(words)))
            if word.startswith("--"):
                found, used = self._long_option(words, index, unknown)
                given.append(found)
            elif word.startswith("-") and len(word) > 1:
                some, used = self._short_options(words, index)
                given += some
            elif permute:
                operands.append(index)
                used = 1
            else:
                return operands + list(range(index, len(words)))
            index += used
        return operands

    def refuse(self, text: str, word: int) -> WordError:
        """getopt's two lines, for the word of that index."""
        hint = f'Try "{self.command} --help" for more information'
        return WordError(f"{self.command}: {text}\n{hint}", USAGE_EXIT.get(self.command, 1), word)

    def _long_option(
        self, words: Sequence[str], index: int, unknown: Callable[[str], Option | None] | None
    ) -> tuple[Given, int]:
        text = words[index][2:]
        name, equals, value = text.partition("=")
        option = self._resolve(name, text, index, unknown)
        if equals:
            if option.takes is Takes.NOTHING:
                raise self.refuse(f"option '--{self._full(name)}' doesn't allow an argument", index)
            return Given(option, value, index), 1
        if option.takes is not Takes.VALUE:
            return Given(option, None, index), 1
        if index + 1 >= len(words):
            raise self.refuse(f"option '--{self._full(name)}' requires an argument", index)
        return Given(option, words[index + 1], index), 2

    def _resolve(self, name: str, text: str, index: int, unknown: Callable[[str], Option | None] | None) -> Option:
        known = self._long.get(name) or self._exact.get(name)
        if known is not None:
            return known
        fits = [full for full in self._long if full.startswith(name)]
        if not fits:
            if unknown is not None and (option := unknown(name)) is not None:
                return option
            raise self.refuse(f"unrecognized option '--{text}'", index)
        # getopt_long does not count names of the same option as ambiguous.
        if len({id(self._long[full]) for full in fits}) > 1:
            list_ = " ".join(f"'--{full}'" for full in fits)
            raise self.refuse(f"option '--{text}' is ambiguous; possibilities: {list_}", index)
        return self._long[fits[0]]

    def _full(self, name: str) -> str:
        if name in self._long or name in self._exact:
            return name
        return next((full for full in self._long if full.startswith(name)), name)

    def _short_options(self, words: Sequence[str], index: int) -> tuple[list[Given], int]:
        word = words[index]
        given: list[Given] = []
        for position, letter in enumerate(word[1:], start=1):
            option = self._short.get(letter)
            if option is None:
                raise self.refuse(f"invalid option -- '{letter}'", index)
            rest = word[position + 1 :]
            if option.takes is Takes.NOTHING:
                given.append(Given(option, None, index))
                continue
            if rest or option.takes is Takes.OPTIONAL:
                return [*given, Given(option, rest or None, index)], 1
            if index + 1 >= len(words):
                raise self.refuse(f"option requires an argument -- '{letter}'", index)
            return [*given, Given(option, words[index + 1], index)], 2
        return given, 1


class WordError(SlurmUsageError):
    """getopt refuses one of the words; `word` is its index, from which a script's line is found.
    `given` are the options before it: a bad value among them is reported first.
    """

    def __init__(self, text: str, code: int, word: int) -> None:
        self.word = word
        self.given: tuple[Given, ...] = ()
        super().__init__(text, code)
