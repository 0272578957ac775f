"""Everything that is wrong with a submission, gathered so that it is reported at once."""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.dialects.pbs.errors import PbsError
from hpcbatch.errors import HpcBatchError, raise_all
from hpcbatch.typed import TypeVar

_T = TypeVar("_T")


class Obstacles:
    """The errors in the order in which qsub finds them, each with the option that it is about."""

    def __init__(self) -> None:
        self.found: list[tuple[str, HpcBatchError]] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, option: str, error: HpcBatchError) -> None:
        self.found.append((option, error))

    def attempt(self, option: str, read: Callable[[], _T], default: _T) -> _T:
        """What `read` returns, or `default` where it raises, which is kept."""
        try:
            return read()
        except HpcBatchError as error:
            self.add(option, error)
            return default

    def raise_all(self) -> None:
        """Raise what was found; of several errors only the last one brings the usage text."""
        errors = [error for _, error in self.found]
        if len(errors) > 1:
            usage = next((error.usage for error in errors if isinstance(error, PbsError) and error.usage), "")
            errors = [_with_usage(error, "") for error in errors]
            errors[-1] = _with_usage(errors[-1], usage)
        raise_all(errors)


def _with_usage(error: HpcBatchError, usage: str) -> HpcBatchError:
    if isinstance(error, PbsError) and error.text:
        return PbsError(error.text, error.code, usage=usage, origin=error.origin)
    return error
