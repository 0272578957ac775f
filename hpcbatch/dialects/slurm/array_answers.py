"""What scontrol says of a change to an array: a line for all members that were answered alike."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.dialects.slurm.errors import ArrayError, change_refusal
from hpcbatch.model.indices import Indices

_NO_ERROR = "No error"
_MOST_SHOWN = 31
"""Characters of a line's indices."""


def check_answers(number: int, answers: Iterable[tuple[Indices, Exception | None]]) -> None:
    """Raise ArrayError with the lines unless all was done; an error that has no text of Slurm's is raised itself.
    Sources: scontrol_update_job(), _resp_array_add().
    """
    more: list[str] = []
    alike: dict[str, Indices] = {}
    for indices, error in answers:
        if error is None:
            text = _NO_ERROR
        elif (said := change_refusal(error)) is not None:
            text = said.text
            more += [line for line in said.more if line not in more]
        else:
            raise error
        alike[text] = alike.get(text, Indices()) | indices
    if alike.keys() - {_NO_ERROR}:
        lines = (f"{number}_{_cut(str(indices))}: {text}" for text, indices in alike.items())
        raise ArrayError("\n".join([*more, *lines]))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
