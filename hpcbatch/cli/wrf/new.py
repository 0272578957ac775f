"""What `hpcbatch wrf check` says of the run that a script of `hpcbatch new wrf` is for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hpcbatch.cli.common import Session, complain
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.new.parameters import Value
    from hpcbatch.wrf.finding import Finding
    from hpcbatch.wrf.run import Program

NAMED = ("namelist", "nodes", "ranks_per_node", "skip_real")
"""What it goes by, of the template's values."""
_MADE_BY_REAL = ("wrfinput_", "wrfbdy_", "wrflowinp_", "wrffdda_")


def is_sound(session: Session, values: Mapping[str, Value]) -> bool:
    """Print what is found in the namelist's directory, for real.exe and wrf.exe; whether none of it is an error.

    Where there is no such namelist on this machine, that is said, and nothing can be found.
    """
    from hpcbatch.cli.wrf.wrf import line_of
    from hpcbatch.wrf.check import exit_code
    from hpcbatch.wrf.finding import Severity
    from hpcbatch.wrf.run import Program

    given = str(values["namelist"])
    namelist = Path(session.absolute(given if not given.endswith("/") else f"{given}namelist.input"))
    ranks = int(values["nodes"] or 0) * int(values["ranks_per_node"] or 0)  # type: ignore[arg-type]
    try:
        if values["skip_real"]:
            found = _found(namelist, ranks, Program.WRF)
        else:
            later = [f for f in _found(namelist, ranks, Program.WRF) if not f.file.startswith(_MADE_BY_REAL)]
            both = dict.fromkeys([*_found(namelist, ranks, Program.REAL), *later])
            found = sorted(both, key=lambda f: f.severity is not Severity.ERROR)
    except HpcBatchError as error:
        complain(f"hpcbatch: the run is not checked: {error}")
        return True
    for finding in found:
        complain(line_of(finding))
    return exit_code(found) == 0


def _found(namelist: Path, ranks: int, program: Program) -> list[Finding]:
    """WRF knows a namelist by one name only; the script copies others to it, and findings name them as they are."""
    from hpcbatch.cli.wrf.directory import NAMELIST, RunDirectory
    from hpcbatch.wrf.check import check
    from hpcbatch.wrf.namelist import parse
    from hpcbatch.wrf.run import Run
    from hpcbatch.wrf.settings import Settings

    directory = RunDirectory(namelist.parent)
    try:
        text = namelist.read_text("utf-8", "replace")
    except OSError as error:
        raise HpcBatchError(f"{namelist}: {error.strerror}") from None
    run = Run(settings=Settings(parse(text)), directory=directory, program=program, ranks=ranks)
    return [replace(f, file=namelist.name) if f.file == NAMELIST else f for f in check(run)]
