"""A run that nothing is wrong with: the case of the recorded runs, and its directory in memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from hpcbatch.wrf.namelist import parse
from hpcbatch.wrf.netcdf import NotClassicError, parse_header
from hpcbatch.wrf.run import DataFile, Program, Run
from hpcbatch.wrf.settings import Settings

NAMELIST = """\
&time_control
 run_hours = 1,
 start_year = 2024, 2024, start_month = 1, 1, start_day = 15, 15, start_hour = 12, 12,
 end_year = 2024, 2024, end_month = 1, 1, end_day = 15, 15, end_hour = 13, 13,
 interval_seconds = 3600,
 input_from_file = .true., .false.,
 history_interval = 15, 15,
 frames_per_outfile = 1, 1,
 restart = .false.,
 restart_interval = 7200,
 io_form_history = 2,
/
&domains
 time_step = 60,
 max_dom = 1,
 e_we = 62, 31,
 e_sn = 52, 31,
 e_vert = 36, 36,
 dzbot = 60, dzstretch_s = 1.3, dzstretch_u = 1.1, max_dz = 1200,
 num_metgrid_levels = 20,
 dx = 12000,
 dy = 12000,
 grid_id = 1, 2,
 parent_id = 0, 1,
 i_parent_start = 1, 20,
 j_parent_start = 1, 20,
 parent_grid_ratio = 1, 3,
 parent_time_step_ratio = 1, 3,
/
&physics
 mp_physics = 6, 6, cu_physics = 1, 1, ra_lw_physics = 4, 4, ra_sw_physics = 4, 4, radt = 15, 15,
 bl_pbl_physics = 1, 1, sf_sfclay_physics = 1, 1, sf_surface_physics = 2, 2, num_land_cat = 21,
/
&dynamics
 hybrid_opt = 2, diff_opt = 2, km_opt = 4,
/
&bdy_control
 spec_bdy_width = 5,
 specified = .true.,
/
&namelist_quilt
 nio_tasks_per_group = 0,
 nio_groups = 1,
/
"""
TABLES = (
    "LANDUSE.TBL",
    "VEGPARM.TBL",
    "SOILPARM.TBL",
    "GENPARM.TBL",
    "RRTMG_LW_DATA",
    "RRTMG_SW_DATA",
    "ozone.formatted",
    "ozone_lat.formatted",
    "ozone_plev.formatted",
    "CAMtr_volume_mixing_ratio",
)
_CHAR, _FLOAT = 2, 5
_DATE_BYTES = 19
NEXT = "md___nextbdytimee_x_t_d_o_m_a_i_n_m_e_t_a_data_"


def classic(
    attributes: Mapping[str, int | float | str],
    lengths: Mapping[str, int],
    dates: Mapping[str, tuple[str, ...]],
) -> bytes:
    """A netCDF file of 64-bit offsets: character variables over Time with one date a record, and their values."""

    def name(text: str) -> bytes:
        raw = text.encode()
        return struct.pack(">i", len(raw)) + raw + b"\0" * (-len(raw) % 4)

    def listed(tag: int, items: list[bytes]) -> bytes:
        return struct.pack(">ii", tag if items else 0, len(items)) + b"".join(items)

    def attribute(key: str, value: int | float | str) -> bytes:
        if isinstance(value, str):
            raw = value.encode()
            return name(key) + struct.pack(">ii", _CHAR, len(raw)) + raw + b"\0" * (-len(raw) % 4)
        kind, code = (4, "i") if isinstance(value, int) else (_FLOAT, "f")
        return name(key) + struct.pack(f">ii{code}", kind, 1, value)

    records = max((len(values) for values in dates.values()), default=0)
    all_lengths = {"Time": 0, "DateStrLen": _DATE_BYTES, **lengths}
    dimensions = listed(0x0A, [name(key) + struct.pack(">i", length) for key, length in all_lengths.items()])
    globals_ = listed(0x0C, [attribute(key, value) for key, value in attributes.items()])
    step = _DATE_BYTES if len(dates) == 1 else _DATE_BYTES + 1

    def variables(begin: int) -> bytes:
        items = [
            name(key)
            + struct.pack(">iii", 2, 0, 1)
            + listed(0, [])
            + struct.pack(">iiq", _CHAR, 20, begin + index * step)
            for index, key in enumerate(dates)
        ]
        return listed(0x0B, items)

    start = b"CDF\x02" + struct.pack(">i", records) + dimensions + globals_
    head = start + variables(len(start) + len(variables(0)))
    values = [
        (each[index] if index < len(each) else "\0" * _DATE_BYTES).encode().ljust(step, b"\0")
        for index in range(records)
        for each in dates.values()
    ]
    return head + b"".join(values)


def data_file(content: bytes) -> DataFile:
    """As a command reads it from a disk."""
    try:
        header = parse_header(content)
    except NotClassicError as error:
        return DataFile(header=None, size_bytes=len(content), problem=str(error))

    def dates(name: str) -> tuple[str, ...]:
        places = header.places(name) if name in header.variables else []
        return tuple(content[at : at + size].decode() for at, size in places)

    return DataFile(header=header, size_bytes=len(content), times=dates("Times"), next_times=dates(NEXT))


def initial(e_we: int = 62, e_sn: int = 52, e_vert: int = 36, time: str = "2024-01-15_12:00:00") -> bytes:
    """A wrfinput or wrfrst."""
    attributes: dict[str, int | float | str] = {
        "TITLE": " OUTPUT FROM REAL_EM V4.7.1 PREPROCESSOR",
        "WEST-EAST_GRID_DIMENSION": e_we,
        "SOUTH-NORTH_GRID_DIMENSION": e_sn,
        "BOTTOM-TOP_GRID_DIMENSION": e_vert,
        "DX": 12000.0,
        "DY": 12000.0,
        "HYBRID_OPT": 2,
    }
    return classic(attributes, {"west_east": e_we - 1}, {"Times": (time,)})


def met_em(levels: int = 20) -> bytes:
    attributes = {"WEST-EAST_GRID_DIMENSION": 62, "SOUTH-NORTH_GRID_DIMENSION": 52, "NUM_METGRID_SOIL_LEVELS": 4}
    return classic(attributes, {"num_metgrid_levels": levels}, {"Times": ("2024-01-15_12:00:00",)})


def boundary(hours: int = 1) -> bytes:
    times = tuple(f"2024-01-15_{12 + hour}:00:00" for hour in range(hours + 1))
    return classic({}, {}, {"Times": times[:-1], NEXT: times[1:]})


@dataclass
class MemoryDirectory:
    files: dict[str, bytes] = field(default_factory=dict)
    folders: frozenset[str] = frozenset({"."})

    def has(self, path: str) -> bool:
        return path in self.files

    def data_file(self, path: str) -> DataFile:
        return data_file(self.files[path])

    def program_problem(self, name: str) -> str:
        if name not in self.files:
            return "missing"
        return "not executable" if self.files[name] == b"not executable" else ""

    def folder_problem(self, path: str) -> str:
        return "" if path in self.folders else "no such directory"


def good_files() -> dict[str, bytes]:
    return {
        "met_em.d01.2024-01-15_12:00:00.nc": met_em(),
        "met_em.d01.2024-01-15_13:00:00.nc": met_em(),
        "wrfinput_d01": initial(),
        "wrfbdy_d01": boundary(),
        **dict.fromkeys((*TABLES, "real.exe", "wrf.exe"), b""),
    }


def run_of(
    program: Program, namelist: str = NAMELIST, files: Mapping[str, bytes] | None = None, ranks: int | None = 4
) -> Run:
    directory = MemoryDirectory(dict(good_files() if files is None else files))
    return Run(settings=Settings(parse(namelist)), directory=directory, program=program, ranks=ranks)


def changed(old: str, new: str) -> str:
    """The good namelist with something else in one place."""
    assert NAMELIST.count(old) == 1, old
    return NAMELIST.replace(old, new)
