"""Where output goes and in which form: what is wrong here makes a run that ends well without output."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding
from hpcbatch.wrf.run import Program, Run

_FORMS = {
    2: "",
    1: "WRF's internal format",
    4: "parallel HDF5",
    5: "GRIB 1",
    10: "GRIB 2",
    11: "PnetCDF",
    12: "PIO",
    13: "parallel netCDF-4",
    14: "ADIOS2",
}
_ONE_FILE_A_RANK = 100  # added to the form
_STREAMS = (("history", "history_outname"), ("restart", "rst_outname"))


def check(run: Run) -> Iterator[Finding]:
    for stream, keys in _forms(run):
        yield from _form(run, stream, keys)
    if run.program is Program.REAL:
        return
    for stream, key in [*_STREAMS, *((f"auxhist{n}", f"auxhist{n}_outname") for n in range(1, 25))]:
        if run.settings.is_set("time_control", key) and (
            stream == "restart" or any(run.settings.stream_interval_s(stream, d) for d in _domains(run))
        ):
            yield from _folder(run, key)
    if not any(run.settings.history_interval_s(domain) > 0 for domain in _domains(run)):
        yield run.warning("time_control", "history_interval", "without one wrf.exe writes no wrfout at all")


def _domains(run: Run) -> range:
    return range(1, run.settings.domains + 1)


def _forms(run: Run) -> Iterator[tuple[str, str]]:
    yield "input", "io_form_input"
    yield "boundary", "io_form_boundary"
    if run.program is Program.REAL:
        return
    yield "history", "io_form_history"
    yield "restart", "io_form_restart"
    for n in range(1, 25):
        if any(run.settings.stream_interval_s(f"auxhist{n}", domain) for domain in _domains(run)):
            yield f"auxhist{n}", f"io_form_auxhist{n}"


def _form(run: Run, stream: str, key: str) -> Iterator[Finding]:
    default = 0 if stream.startswith("auxhist") else 2
    form = run.settings.integer("time_control", key, default=default)
    plain = form - _ONE_FILE_A_RANK if form > _ONE_FILE_A_RANK else form
    if form == 0:
        if stream.startswith("auxhist"):
            yield run.warning("time_control", key, f"0, the default, writes nothing: set it to 2 (netCDF) for {stream}")
    elif plain not in _FORMS:
        yield run.error("time_control", key, "WRF has no such form; 2 is netCDF")
    elif _FORMS[plain]:
        rule = (
            f"needs a build of WRF with {_FORMS[plain]}; one without it says `error opening` and runs to its SUCCESS "
            "without output"
        )
        yield run.warning("time_control", key, rule)


def _folder(run: Run, key: str) -> Iterator[Finding]:
    folder = posixpath.dirname(run.settings.text("time_control", key)) or "."
    problem = run.directory.folder_problem(folder)
    if problem:
        rule = f"{folder}: {problem}; wrf.exe makes no directory, and runs to its SUCCESS without output"
        yield run.error("time_control", key, rule)
