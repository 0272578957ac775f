"""bsub's options, taken from words by the table: `-n 4`, `-n4`, `-gpu -`, `-Is`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.lsf.errors import LsfError
from hpcbatch.dialects.lsf.table import OPTIONS, Rule
from hpcbatch.dialects.lsf.words import Word
from hpcbatch.typed import NamedTuple


class Given(NamedTuple):
    """One option as it was given."""

    name: str
    value: str
    word: Word
    """Where it stands."""

    @property
    def text(self) -> str:
        dash = "" if self.name.startswith("-") else "-"
        return f"{dash}{self.name} {self.value}" if self.value else f"{dash}{self.name}"

    def wrong(self, why: str, detail: str = "") -> LsfError:
        """The error for its value, in LSF's words, and behind that what is wrong or was expected."""
        more = f": {detail}" if detail else ""
        return LsfError(f"{self.text}: {why}{more}", path=self.word.path, line=self.word.line, column=self.word.column)


class Parsed(NamedTuple):
    given: tuple[Given, ...]
    operands: tuple[Word, ...]
    problems: tuple[LsfError, ...]


def read(words: Sequence[Word], *, stops: bool) -> Parsed:
    """The options at the beginning of `words`; what follows is the command. `stops`: else there are only options."""
    given: list[Given] = []
    problems: list[LsfError] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word.text == "--" and stops:
            at += 1
            break
        if not word.text.startswith("-") or word.text == "-":
            if stops:
                break
            problems.append(_wrong(word, f"{word.text}: an option begins with -"))
            at += 1
            continue
        at += 1
        name, value = _split(word.text)
        rule = OPTIONS.get(name)
        if rule is None:
            problems.append(_wrong(word, f"{word.text}: Illegal option"))
            continue
        if rule.takes and not value:
            is_there = at < len(words) and not (rule.takes == "?" and words[at].text.startswith("-"))
            if is_there:
                value = words[at].text
                at += 1
            elif rule.takes == "=":
                problems.append(_wrong(word, f"-{name}: option requires an argument"))
                continue
        given.append(Given(name, value, word))
    return Parsed(tuple(given), tuple(words[at:]), tuple(problems))


def _wrong(word: Word, text: str) -> LsfError:
    return LsfError(text, path=word.path, line=word.line, column=word.column)


def _split(text: str) -> tuple[str, str]:
    """Name and the value in the same word, "" for none: the longest name of three letters and more, else one letter."""
    if text.startswith("--"):
        return text, ""
    body = text[1:]
    if body in OPTIONS:
        return body, ""
    fits = [name for name, rule in OPTIONS.items() if rule.takes and len(name) > 2 and body.startswith(name)]
    if fits:
        name = max(fits, key=len)
        return name, body[len(name) :]
    letter = body[:1]
    rule = OPTIONS.get(letter)
    return (letter, body[1:]) if rule is not None and rule.takes else (body, "")


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """bsub's options as tables for docs/directives.md."""
    from hpcbatch.dialects.lsf.table import SECTIONS

    head = ("Option", "Value", "", "What becomes of it")
    return {
        "options of bsub": [head, *_rows(OPTIONS, "-")],
        "resource requirements of bsub": [("Part of -R", *head[1:]), *_rows(SECTIONS, "")],
    }


def _rows(rules: Mapping[str, Rule], dash: str) -> list[tuple[str, ...]]:
    return [
        (
            f"`{'' if name.startswith('-') else dash}{name}`",
            f"`{rule.value}`" if rule.value else "",
            rule.fate.value,
            rule.meaning,
        )
        for name, rule in rules.items()
    ]
