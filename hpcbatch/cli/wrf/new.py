"""What `hpcbatch new wrf` does beside its script: links, the program of the maps, a chain, and `wrf check`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from pathlib import Path

from hpcbatch.cli.common import Session, complain
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING
from hpcbatch.units import counted

if TYPE_CHECKING:
    from hpcbatch.new.parameters import Value
    from hpcbatch.new.render import ReadFile
    from hpcbatch.wrf.finding import Finding
    from hpcbatch.wrf.run import Program

NAMED = ("namelist", "nodes", "ranks_per_node", "skip_real")
"""What it goes by, of the template's values."""
_MADE_BY_REAL = ("wrfinput_", "wrfbdy_", "wrflowinp_", "wrffdda_")


_PARTS = ("real", "wrf", "maps")
_NOT_LINKED = ("namelist", "README", "rsl.", "met_em", "wrfinput_", "wrfbdy_", "wrfout_", "wrfrst_")
"""What a build's own directory may hold of a run; the template has the same."""
PROGRAM = "wrfmaps.pyz"


def prepared(session: Session, values: Mapping[str, Value]) -> Mapping[str, Value]:
    """With the build as an absolute path: links to it are made in another directory."""
    if not values.get("wrf"):
        return values
    return {**values, "wrf": posixpath.normpath(session.absolute(str(values["wrf"])))}


def chain(
    file: Path, values: Mapping[str, Value], dialect: str, script: Callable[[Mapping[str, Value]], str], read: ReadFile
) -> dict[Path, str]:
    """The file that submits, and the scripts of the parts beside it. `script` makes one of the template's values."""
    from hpcbatch.new.render import render

    parts = _PARTS[1:] if values["skip_real"] else _PARTS
    name = values["name"] or "wrf"
    found = {}
    for part in parts:
        own: dict[str, Value] = {"part": part, "name": f"{name}-{part}"}
        if part == "maps":  # one process draws
            own |= {"nodes": 1, "ranks_per_node": 1, "threads": 1, "gpus": 0}
        found[file.with_name(f"{file.stem}-{part}.{dialect}")] = script({**values, **own})
    found[file] = render("_chain", {"parts": parts, "stem": file.stem}, dialect, read)
    return found


def set_up(session: Session, values: Mapping[str, Value]) -> None:
    """Make the links, and put the program of the maps where the job looks for it; what is done or cannot be is said."""
    folder = _namelist(session, values).parent
    needs_program = values.get("post") or values.get("chain") or values.get("part") == "maps"
    if not folder.is_dir():
        if values.get("wrf") or needs_program:
            complain(f"hpcbatch: {folder} is not on this machine: nothing is put there")
        return
    if values.get("wrf"):
        _link(Path(str(values["wrf"])), folder)
    if needs_program:
        from hpcbatch.cli.wrf.maps import write_program

        write_program(folder / PROGRAM)


def _link(build: Path, folder: Path) -> None:
    place = build / "run" if (build / "run").is_dir() else build
    if not place.is_dir():
        complain(f"hpcbatch: {place} is not on this machine: the job makes the links")
        return
    count = 0
    try:
        for target in sorted(place.iterdir()):
            if target.name.startswith((".", *_NOT_LINKED)) or (folder / target.name).exists():
                continue
            (folder / target.name).unlink(missing_ok=True)  # a link that leads nowhere
            (folder / target.name).symlink_to(target)
            count += 1
    except OSError as error:
        raise HpcBatchError(f"cannot link {place} into {folder}: {error.strerror}") from None
    complain(f"hpcbatch: {counted(count, 'link')} made in {folder} to files of {place}")


def _namelist(session: Session, values: Mapping[str, Value]) -> Path:
    given = str(values["namelist"])
    return Path(session.absolute(given if not given.endswith("/") else f"{given}namelist.input"))


def is_sound(session: Session, values: Mapping[str, Value]) -> bool:
    """Print what is found in the namelist's directory, for real.exe and wrf.exe; whether none of it is an error.

    Where there is no such namelist on this machine, that is said, and nothing can be found.
    """
    from hpcbatch.cli.wrf.wrf import line_of
    from hpcbatch.wrf.check import exit_code
    from hpcbatch.wrf.finding import Severity
    from hpcbatch.wrf.run import Program

    namelist = _namelist(session, values)
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
