"""The text of `qstat -f` of many jobs, of which most were submitted alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.dialects.pbs.qstat_full import Attributes, format_full, full_lines, numbered_attributes
from hpcbatch.model.record import JobRecord
from hpcbatch.typed import NamedTuple


class _Made(NamedTuple):
    record: JobRecord
    environment: Mapping[str, str] | None
    """These two are kept so that the ids of their parts stay theirs."""
    parts: tuple[tuple[str, str], ...] = ()
    """Lines, and the name of the attribute that follows them and has the job's number."""
    rest: str = ""
    """Empty: it was the first of its kind, and may stay the only one."""


class FullTexts:
    """As `format_full` of each job. Of jobs with one spec, status and environment (`shown_record` and
    `environments_of` let equal ones be one) it makes only what has their number anew, from the third on.
    """

    def __init__(self, *, wide: bool = False) -> None:
        self._wide = wide
        self._made: dict[tuple[int, int, int, str], _Made] = {}

    def of(
        self,
        heading: str,
        record: JobRecord,
        environment: Mapping[str, str] | None,
        attributes: Callable[[], Attributes],
    ) -> str:
        """`attributes` is called for the first two jobs of those that are alike."""
        if record.spec.array is not None or record.spec.member_of is not None:
            return format_full(heading, attributes(), wide=self._wide)
        key = id(record.spec), id(record.status), id(environment), record.queue
        made = self._made.get(key)
        if made is None:
            self._made[key] = _Made(record, environment)
            return format_full(heading, attributes(), wide=self._wide)
        if not made.rest:
            made = self._made[key] = self._split(made, attributes())
        numbered = numbered_attributes(record)
        text = [heading, "\n"]
        for lines, name in made.parts:
            text += lines, full_lines([(name, numbered[name])], wide=self._wide)
        return "".join([*text, made.rest])

    def _split(self, made: _Made, attributes: Attributes) -> _Made:
        names = numbered_attributes(made.record).keys()
        parts, since = [], 0
        for place, (name, _) in enumerate(attributes):
            if name in names:
                parts.append((full_lines(attributes[since:place], wide=self._wide), name))
                since = place + 1
        return made._replace(parts=tuple(parts), rest=full_lines(attributes[since:], wide=self._wide) + "\n")
