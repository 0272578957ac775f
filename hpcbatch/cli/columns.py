"""Tables of our own commands: columns as wide as their widest cell. PBS and Slurm have widths of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def aligned(table: Sequence[Sequence[str]], *, left: int | None = None) -> Iterator[str]:
    """The rows as lines. The cells of the first `left` columns (None: of all) begin together, those of the others end
    together.
    """
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    count = len(widths) if left is None else left
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row[:count], widths, strict=False)]
        cells += [cell.rjust(width) for cell, width in zip(row[count:], widths[count:], strict=True)]
        yield "  ".join(cells).rstrip()
