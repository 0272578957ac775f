"""The files that a program reads: there, whole, of the namelist's times and sizes.

Sources: the recorded runs; input_wrf.F for what is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.netcdf import Header
from hpcbatch.wrf.run import DataFile, Program, Run
from hpcbatch.wrf.settings import dates

_MET_EM = "met_em.d<domain>.<date>"
_LOOK_INTO = 400
"""So many met_em files are opened, evenly spread; all are looked for."""
_DATE = "%Y-%m-%d_%H:%M:%S"
_SIZES = (
    ("e_we", "WEST-EAST_GRID_DIMENSION"),
    ("e_sn", "SOUTH-NORTH_GRID_DIMENSION"),
    ("e_vert", "BOTTOM-TOP_GRID_DIMENSION"),
)


def check(run: Run) -> Iterator[Finding]:
    if run.settings.start() is None:
        return
    yield from _real(run) if run.program is Program.REAL else _wrf(run)


# real.exe


def _real(run: Run) -> Iterator[Finding]:
    settings = run.settings
    template = settings.text("time_control", "auxinput1_inname", _MET_EM)
    for domain in range(1, settings.domains + 1):
        start, end = settings.start(domain), settings.end(domain)
        if start is None or (domain > 1 and not settings.flag("time_control", "input_from_file", domain)):
            continue
        # of a nest only the first time is read, unless it is nudged or its sea surface changes
        is_nudged = settings.integer("fdda", "grid_fdda", domain) or settings.integer("physics", "sst_update")
        whole = end is not None and settings.interval and (domain == 1 or is_nudged)
        moments = dates(start, end, settings.interval) if whole and end is not None else [start]
        names = [_met_em(run, template, domain, moment) for moment in moments]
        there = [name for name in names if run.directory.has(name)]
        missing = sorted(set(names) - set(there))
        if missing:
            read = f"{len(names)} files of domain {domain}, {moments[0]} to {moments[-1]}"
            if len(names) == 1:
                read = f"one file of domain {domain}, of {moments[0]}"
            elif len(missing) == 1:
                read += ", and this one is missing"
            else:
                read += f", and {len(missing)} are missing"
            yield Finding(
                severity=Severity.ERROR,
                key=missing[0],
                value="missing",
                file=missing[0],
                rule=f"real.exe reads {read}: bad date in the namelist, or file not in the directory",
            )
        told = set[str]()
        for name in there[:: max(1, len(there) // _LOOK_INTO)]:
            for finding in _met_em_file(run, name, domain):
                if finding.key in told:
                    continue  # the same of the next file
                told.add(finding.key)
                yield finding


def _met_em(run: Run, template: str, domain: int, moment: datetime) -> str:
    """Source: construct_filename4a()."""
    form = run.settings.integer("time_control", "io_form_auxinput1", default=2)
    extension = {1: ".int", 5: ".gb", 14: ""}.get(form, ".nc")
    return run.settings.file_name(f"{template}{extension}", domain, moment)


def _met_em_file(run: Run, name: str, domain: int) -> Iterator[Finding]:
    file = run.directory.data_file(name)
    yield from _whole(name, file)
    if file.header is None:
        return
    attributes, lengths = file.header.attributes, file.header.dimensions
    for key, attribute in _SIZES[:2]:
        yield from _same(run, name, key, domain, attributes.get(attribute))
    yield from _same(run, name, "num_metgrid_levels", 1, lengths.get("num_metgrid_levels"))
    soil = attributes.get("NUM_METGRID_SOIL_LEVELS")
    if run.settings.is_set("domains", "num_metgrid_soil_levels"):
        yield from _same(run, name, "num_metgrid_soil_levels", 1, soil)


# wrf.exe


def _wrf(run: Run) -> Iterator[Finding]:
    settings = run.settings
    start = settings.start()
    if start is None:
        return
    is_restart = settings.flag("time_control", "restart")
    for domain in range(1, settings.domains + 1):
        if is_restart:
            template = settings.text("time_control", "rst_inname", "wrfrst_d<domain>_<date>")
            name = settings.file_name(template, domain, start)
            yield from _restart(run, name, domain)
        elif domain == 1 or settings.flag("time_control", "input_from_file", domain):
            yield from _initial(run, domain)
        yield from _others(run, domain)
    if settings.flag("bdy_control", "specified"):
        yield from _boundary(run)


def _missing(run: Run, name: str, rule: str) -> Iterator[Finding]:
    if not run.directory.has(name):
        yield Finding(severity=Severity.ERROR, key=name, value="missing", file=name, rule=rule)


def _restart(run: Run, name: str, domain: int) -> Iterator[Finding]:
    gone = list(_missing(run, name, f"restart = .true., and domain {domain} starts at {run.settings.start()}"))
    yield from gone
    if not gone:
        file = run.directory.data_file(name)
        yield from _whole(name, file)
        yield from _sizes(run, name, file, domain)


def _initial(run: Run, domain: int) -> Iterator[Finding]:
    settings = run.settings
    start = settings.start(domain)
    name = settings.file_name(
        settings.text("time_control", "input_inname", "wrfinput_d<domain>"), domain, start or datetime.min
    )
    if not run.directory.has(name):
        yield from _missing(run, name, f"wrf.exe starts domain {domain} from it; real.exe makes it")
        return
    file = run.directory.data_file(name)
    yield from _whole(name, file)
    yield from _sizes(run, name, file, domain)
    if start is not None and file.times and f"{start:{_DATE}}" not in file.times:
        rule = f"{name} holds {_some(file.times)}, domain {domain} starts at {start:{_DATE}}"
        yield run.error("time_control", "start_year", rule, domain, value=str(start))


def _others(run: Run, domain: int) -> Iterator[Finding]:
    settings = run.settings
    start = settings.start(domain) or datetime.min
    if settings.integer("physics", "sst_update"):
        template = settings.text("time_control", "auxinput4_inname", "auxinput4_d<domain>_<date>")
        rule = "physics.sst_update: wrf.exe reads the sea surface from it (auxinput4_inname); real.exe makes it"
        yield from _missing(run, settings.file_name(template, domain, start), rule)
    if settings.integer("fdda", "grid_fdda", domain):
        template = settings.text("fdda", "gfdda_inname", "wrffdda_d<domain>")
        rule = "fdda.grid_fdda: wrf.exe nudges towards it (gfdda_inname); real.exe makes it"
        yield from _missing(run, settings.file_name(template, domain, start), rule)


def _boundary(run: Run) -> Iterator[Finding]:
    settings = run.settings
    start, end = settings.start(), settings.run_end()
    if start is None:
        return
    name = settings.file_name(settings.text("time_control", "bdy_inname", "wrfbdy_d<domain>"), 1, start)
    if not run.directory.has(name):
        rule = "bdy_control.specified: wrf.exe stops for want of it after its first frame; real.exe makes it"
        yield from _missing(run, name, rule)
        return
    file = run.directory.data_file(name)
    yield from _whole(name, file)
    first, last = _read(file.times[:1]), _read(file.next_times[-1:])
    if first is not None and start < first:
        yield run.error(
            "time_control", "start_year", f"{name} begins at {first}, the run at {start}", 1, value=str(start)
        )
    if last is not None and end is not None and end > last:
        rule = f"{name} ends at {last}, the run at {end}: WRF stops with `Ran out of valid boundary conditions`"
        yield run.error("time_control", "run_hours" if settings.run_length else "end_year", rule, value=str(end))


def _read(times: Sequence[str]) -> datetime | None:
    try:
        return datetime.strptime(times[0], _DATE) if times else None
    except ValueError:
        return None


# both


def _whole(name: str, file: DataFile) -> Iterator[Finding]:
    """Whether the file can be read, and none of it is missing: WRF reads what is missing as noise, without a word."""
    if file.problem:
        severity = Severity.ERROR if file.is_readable else Severity.UNKNOWN
        rule = "expected netCDF" if file.is_readable else "times and sizes in it were not looked at"
        yield Finding(severity=severity, key=name, value=file.problem, file=name, rule=rule)
    if file.header is not None and file.size_bytes < file.header.size_bytes:
        yield Finding(
            severity=Severity.ERROR,
            key=name,
            value=f"{file.size_bytes} bytes",
            file=name,
            rule=f"cut short: the header tells of {file.header.size_bytes} bytes; WRF stops with another message",
        )


def _sizes(run: Run, name: str, file: DataFile, domain: int) -> Iterator[Finding]:
    if file.header is None:
        return
    for key, attribute in _SIZES:
        yield from _same(run, name, key, domain, file.header.attributes.get(attribute))
    for key in ("dx", "dy"):
        yield from _same_distance(run, name, file.header, key, domain)
    attributes = file.header.attributes
    if " V4." in str(attributes.get("TITLE")) and run.settings.is_set("dynamics", "hybrid_opt"):
        yield from _same(run, name, "hybrid_opt", 1, attributes.get("HYBRID_OPT"), group="dynamics")


def _same(run: Run, name: str, key: str, domain: int, found: object, *, group: str = "domains") -> Iterator[Finding]:
    asked = run.settings.integer(group, key, domain)
    if isinstance(found, int) and found != asked:
        rule = (
            f"{name} has {found}: WRF stops with `SIZE MISMATCH` (domain {domain})"
            if group == "domains"
            else (f"{name} was made with {found}, and the two must agree")
        )
        yield run.error(group, key, rule, domain)


def _same_distance(run: Run, name: str, header: Header, key: str, domain: int) -> Iterator[Finding]:
    distance = run.settings.distance_m(key, domain)
    found = header.attributes.get(key.upper())
    if isinstance(found, float) and abs(found - distance) > 1e-5 * abs(found):
        rule = f"{name} has {found:g} m, domain {domain} of the namelist {distance:g} m: WRF stops"
        yield run.error("domains", key, rule)


def _some(times: Sequence[str]) -> str:
    return times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"
