"""The options in force, of command line, script and environment together, with what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hpcbatch.dialects.lsf.errors import LsfError
from hpcbatch.dialects.lsf.options import Given
from hpcbatch.dialects.lsf.table import OPTIONS
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.text import printable
from hpcbatch.typed import TypeVar

_T = TypeVar("_T")
_LONGEST_SHOWN = 200
_FROM_ENVIRONMENT = {
    "q": "LSB_DEFAULTQUEUE",
    "P": "LSB_DEFAULTPROJECT",
    "g": "LSB_DEFAULT_JOBGROUP",
    "G": "LSB_DEFAULT_USERGROUP",
}
_ADD_UP = frozenset({"env"})
"""Options of which all of one level count."""
_SAME = {"oo": "o", "eo": "e", "is": "i", "rn": "r", "Ne": "N", "tty": "Is", "ISs": "Is", "ISp": "Ip", "IS": "I"}
"""Options of which the last one given counts, by the name that stands for them."""


class Request:
    """Each option by its name. The command line goes over the script, this over the environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._given: dict[str, Given] = {}
        self._requirements: list[Given] = []
        self._outcomes: dict[int, tuple[Given, Fate, str]] = {}
        self._more: list[Outcome] = []
        self.ignored: dict[str, str] = {}
        """Options without effect, each with the reason."""
        self.problems: list[HpcBatchError] = []

    def take(self, options: Iterable[Given]) -> None:
        """One level; each is stronger than those before."""
        options = list(options)
        if any(each.name == "R" for each in options):
            self._requirements = [each for each in options if each.name == "R"]
        for each in options:
            rule = OPTIONS[each.name]
            parts = [other.value for other in options if other.name == each.name]
            self._given[_SAME.get(each.name, each.name)] = (
                each._replace(value=",".join(parts)) if each.name in _ADD_UP and len(parts) > 1 else each
            )
            self._outcomes[id(each)] = each, rule.fate, rule.meaning
            if rule.fate is Fate.IGNORED:
                self.ignored[shown(each.text)] = rule.meaning
            elif rule.fate is Fate.REFUSED:
                self.refuse(each, NotSupportedError(f"{each.text}: {rule.meaning}"))

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def given(self, name: str) -> Given | None:
        return self._given.get(name)

    @property
    def requirements(self) -> tuple[Given, ...]:
        """All -R of the strongest level that has one."""
        return tuple(self._requirements)

    def value(self, name: str) -> str | None:
        """As given, or from LSB_DEFAULT…; None without either."""
        if (each := self._given.get(name)) is not None:
            return each.value
        variable = _FROM_ENVIRONMENT.get(name)
        return (self._environ.get(variable) or None) if variable else None

    def read(self, name: str, convert: Callable[[str], _T], why: str) -> _T | None:
        """The value, converted; None without the option. A ValueError is noted in LSF's words, `why`, with what it
        expected behind.
        """
        each = self._given.get(name)
        if each is None:
            return None
        try:
            return convert(each.value)
        except ValueError as error:
            self.refuse(each, each.wrong(why, f"expected {error}"))
        except HpcBatchError as error:
            self.refuse(each, each.wrong(why, str(error)))
        return None

    def refuse(self, each: Given, error: HpcBatchError) -> None:
        """Note what is wrong with an option."""
        if isinstance(error, NotSupportedError) and error.line is None:
            word = each.word
            error = NotSupportedError(error.message, path=word.path, line=word.line, column=word.column)
        self.problems.append(error)
        reason = error.message if isinstance(error, LsfError | NotSupportedError) else str(error)
        self.tell(each, Fate.REFUSED, reason)

    def tell(self, each: Given, fate: Fate, meaning: str) -> None:
        """Say something else of an option than the table does."""
        if id(each) in self._outcomes:
            self._outcomes[id(each)] = each, fate, meaning
        if fate is Fate.IGNORED:
            self.ignored[shown(each.text)] = meaning

    def part(self, each: Given, part: str, fate: Fate, meaning: str) -> None:
        """Say what becomes of one part of an option's value."""
        option = shown(f"-{each.name} {part}")
        self._more.append(Outcome(option, fate, meaning, each.word.source, each.word.line, each.word.column))
        if fate is Fate.IGNORED:
            self.ignored[option] = meaning

    def whole(self, each: Given) -> None:
        """Its parts say it all."""
        self._outcomes.pop(id(each), None)

    def outcomes(self) -> list[Outcome]:
        """What became of each option, in order."""
        whole = [
            Outcome(shown(each.text), fate, meaning, each.word.source, each.word.line, each.word.column)
            for each, fate, meaning in self._outcomes.values()
        ]
        return sorted([*whole, *dict.fromkeys(self._more)], key=lambda each: (each.line is None, each.line or 0))


def shown(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
