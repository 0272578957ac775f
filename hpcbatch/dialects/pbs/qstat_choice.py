"""Which of the jobs qstat shows, by the options that choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hpcbatch.dialects.pbs.qstat_options import QstatOptions
from hpcbatch.dialects.pbs.states import BEGUN
from hpcbatch.model.row import JobRow


def chosen(rows: Iterable[JobRow], options: QstatOptions) -> list[JobRow]:
    """Those that -u, -i, -r, -H and -J leave."""
    return [
        row
        for row in rows
        if (options.users is None or row.user in options.users)
        and not (options.not_running and (row.state in BEGUN or row.state.is_final))
        and not (options.running and (row.state not in BEGUN or row.array_indices))
        and not (options.finished and not row.state.is_final)
        and not (options.arrays_only and not (row.array_indices or row.array_id is not None))
    ]


def unfolded(rows: Sequence[JobRow], options: QstatOptions, *, is_filtered: bool) -> list[JobRow]:
    """The jobs and arrays among `rows`, with -t also the members of these. Real qstat leaves the arrays themselves
    out then if it was to choose (-r, -u … or a queue).
    """
    if not options.subjobs:
        return [row for row in rows if row.array_id is None]
    from hpcbatch.model.members import by_array, rows_of  # most listings do without

    found: list[JobRow] = []
    own = by_array(rows)
    for row in rows:
        if row.array_id is not None or (row.state.is_final and not options.history):
            continue
        if not row.array_indices:
            found.append(row)
            continue
        found += [*([] if is_filtered else [row]), *rows_of(row, own.get(row.job_id, {}))]
    return found


def living(rows: Iterable[JobRow]) -> set[int]:
    """Numbers of the arrays among `rows` that have not ended."""
    return {row.job_id for row in rows if row.array_indices and row.array_id is None and not row.state.is_final}
