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


def folded(table: Sequence[Sequence[str]], width: int) -> list[Sequence[str]]:
    """The rows so that `aligned` makes lines of at most `width` of them, as far as that goes: cells of the middle
    columns are cut to a third of it, and those of the last go on in further rows.
    """
    import textwrap

    most = max(16, width // 3)
    cut = [[*(cell if len(cell) <= most else f"{cell[: most - 1]}…" for cell in row[:-1]), row[-1]] for row in table]
    taken = sum(max(map(len, column)) + 2 for column in list(zip(*cut, strict=True))[:-1])
    rows: list[Sequence[str]] = []
    for row in cut:
        lines = textwrap.wrap(row[-1], max(20, width - taken)) or [""]
        rows.append([*row[:-1], lines[0]])
        rows += ([*("" for _ in row[:-1]), line] for line in lines[1:])
    return rows
