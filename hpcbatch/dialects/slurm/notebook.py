"""What became of every option of a submission, and all that is wrong with it, as it is read."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.request import Place
from hpcbatch.errors import DirectiveError, HpcBatchError, NotSupportedError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.text import printable

_LONGEST_SHOWN = 200
_ADD_UP = frozenset({"mail-type", "verbose"})


class Notebook:
    """`problems` are all that is wrong, in order. Outcomes are only made with `has_outcomes`."""

    def __init__(self, *, has_outcomes: bool) -> None:
        self.problems: list[HpcBatchError] = []
        self.component = 0
        """The component of a heterogeneous job that is being read."""
        self._unread: set[tuple[int, str]] = set()
        self._outcomes: list[tuple[str, Outcome]] | None = [] if has_outcomes else None

    @property
    def has_outcomes(self) -> bool:
        return self._outcomes is not None

    def took(self, name: str, option: str, fate: Fate, meaning: str, place: Place) -> None:
        """Note an option that was read; `name` is its long name."""
        if self._outcomes is not None:
            self._outcomes.append((f"{name} {self.component}", Outcome(option, fate, meaning, *place)))

    def refused(self, name: str, option: str, error: HpcBatchError, place: Place) -> None:
        """Note an option that cannot be read, as it was given."""
        error = located(error, place)
        self._unread.add((self.component, name))
        self.problems.append(error)
        reason = error.message if isinstance(error, DirectiveError) else str(error)
        self.took(name, option, Fate.REFUSED, reason.removeprefix("sbatch: ").removeprefix("error: "), place)

    def lacks(self, names: Iterable[str]) -> bool:
        """Whether any of these options of the component could not be read; "" stands for a word that is none."""
        return any((self.component, name) in self._unread for name in names)

    def wrong(self, error: HpcBatchError, place: Place | None) -> None:
        """Note what is wrong with options together."""
        self.problems.append(located(error, place or Place()))

    def overrules(self, name: str, meaning: str) -> None:
        """Say something else of all options of this name that were read."""
        if self._outcomes is not None:
            self._outcomes = [
                (other, outcome._replace(meaning=meaning) if other == f"{name} {self.component}" else outcome)
                for other, outcome in self._outcomes
            ]

    def outcomes(self) -> list[Outcome]:
        """All of them, those of the script first, then those of the environment and of the command line. The last of
        several with the same name is in force.
        """
        noted = sorted(self._outcomes or [], key=lambda pair: _rank(pair[1]))
        last = {name: index for index, (name, outcome) in enumerate(noted) if outcome.fate is not Fate.REFUSED}
        return [
            outcome
            if outcome.fate is Fate.REFUSED or name.partition(" ")[0] in _ADD_UP or last[name] == index
            else outcome._replace(meaning=f"{outcome.meaning}; a later one counts")
            for index, (name, outcome) in enumerate(noted)
        ]


def _rank(outcome: Outcome) -> int:
    return 0 if outcome.line is not None else 2 if outcome.source == Place().source else 1


def shown(option: str) -> str:
    """An option as it was given, not too long."""
    text = printable(option.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def located(error: HpcBatchError, place: Place) -> HpcBatchError:
    """The same error, with the place at which the option stands."""
    if not isinstance(error, DirectiveError) or error.line is not None:
        return error
    source, line, column = place
    if line is None:
        if isinstance(error, NotSupportedError) and source != Place().source:
            return NotSupportedError(f"{source} in the environment: {error.message}")
        return error
    if isinstance(error, SlurmUsageError):
        return error.at(source, line, column)
    return type(error)(error.message, path=source, line=line, column=column)
