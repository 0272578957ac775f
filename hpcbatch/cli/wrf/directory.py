"""Reads a WRF run directory for hpcbatch.wrf."""

from __future__ import annotations

import os
from pathlib import Path

from hpcbatch.errors import HpcBatchError
from hpcbatch.wrf.namelist import Namelist, parse
from hpcbatch.wrf.netcdf import Header, NotClassicError, ShortError, parse_header
from hpcbatch.wrf.run import DataFile

NAMELIST = "namelist.input"
_LARGEST_NAMELIST = 4 << 20  # bytes
_HEADER_PARTS = (1 << 18, 1 << 22, 1 << 26)
"""So many bytes are read for a header, the next where they did not do."""
_DATE_BYTES = 19
_MOST_TIMES = 100_000


class RunDirectory:
    """Implements hpcbatch.wrf.run.Directory."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise HpcBatchError(f"{path}: {'not a directory' if path.exists() else 'no such directory'}")
        self.path = path

    def has(self, path: str) -> bool:
        found = self._at(path)
        return found is not None and found.is_file() and os.access(found, os.R_OK)

    def data_file(self, path: str) -> DataFile:
        try:
            return _data_file(self.path / path)
        except OSError as error:
            return DataFile(header=None, size_bytes=0, problem=error.strerror or str(error), is_readable=False)

    def program_problem(self, name: str) -> str:
        path = self.path / name
        if not path.is_file():
            return "missing"
        return "" if os.access(path, os.X_OK) else "not executable"

    def folder_problem(self, path: str) -> str:
        folder = self._at(path)
        if folder is None or not folder.exists():
            return "no such directory"
        if not folder.is_dir():
            return "not a directory"
        return "" if os.access(folder, os.W_OK | os.X_OK) else "you may not write there"

    def _at(self, path: str) -> Path | None:
        """None for what can be no path."""
        return None if "\0" in path or len(os.fsencode(path)) > 4000 else self.path / path


def read_namelist(directory: Path) -> Namelist:
    """Raises HpcBatchError if there is none, or it cannot be read."""
    path = directory / NAMELIST
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_NAMELIST + 1)
    except OSError as error:
        raise HpcBatchError(f"{path}: {error.strerror}") from None
    if len(data) > _LARGEST_NAMELIST:
        raise HpcBatchError(f"{path}: more than {_LARGEST_NAMELIST >> 20} MiB: not a namelist")
    return parse(data.decode("utf-8", "replace"))


def _data_file(path: Path) -> DataFile:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = None
        for part in _HEADER_PARTS:
            file.seek(0)
            try:
                header = parse_header(file.read(part))
                break
            except ShortError as error:
                if size <= part or part == _HEADER_PARTS[-1]:
                    return DataFile(header=None, size_bytes=size, problem=str(error))
            except NotClassicError as error:
                if "HDF5" in str(error):
                    return _netcdf4(path, size)
                return DataFile(header=None, size_bytes=size, problem=str(error))
        if header is None:
            return DataFile(header=None, size_bytes=size, problem="no netCDF")

        def dates(name: str) -> tuple[str, ...]:
            found = []
            for offset, length in header.places(name)[:_MOST_TIMES] if name in header.variables else ():
                file.seek(offset)
                raw = file.read(min(length, _DATE_BYTES))
                if len(raw) == _DATE_BYTES:
                    found.append(raw.decode("ascii", "replace"))
            return tuple(found)

        return DataFile(
            header=header, size_bytes=size, times=dates("Times"), next_times=dates(_next_time_name(header.variables))
        )


def _next_time_name(variables: object) -> str:
    """Of the boundary file's variable with the end of each interval, whose name has the kind of variable in front."""
    names = variables if isinstance(variables, dict) else {}
    return next((name for name in names if name.startswith("md___nextbdytime")), "")


def _netcdf4(path: Path, size: int) -> DataFile:
    """Through the netCDF4 library, where it is installed."""
    try:
        import netCDF4
    except ImportError:
        problem = "a netCDF-4 (HDF5) file, and Python's netCDF4 is not installed (pip install 'hpcbatch[wrf]')"
        return DataFile(header=None, size_bytes=size, problem=problem, is_readable=False)
    try:
        with netCDF4.Dataset(path) as file:
            header = Header(
                dimensions={name: len(dimension) for name, dimension in file.dimensions.items()},
                attributes={name: _plain(file.getncattr(name)) for name in file.ncattrs()},
                variables={},
                records=None,
                record_bytes=0,
            )
            names = {"Times": "", "next": _next_time_name(dict.fromkeys(file.variables))}
            times, next_times = (
                tuple(b"".join(row).decode("ascii", "replace") for row in file.variables[name][:].filled(b" "))
                if name in file.variables
                else ()
                for name in ("Times", names["next"])
            )
    except (OSError, RuntimeError) as error:
        return DataFile(header=None, size_bytes=size, problem=f"a netCDF-4 file that cannot be read: {error}")
    return DataFile(header=header, size_bytes=size, times=times, next_times=next_times)


def _plain(value: object) -> str | int | float:
    """An attribute as Python has it; of several numbers the first."""
    first = value[0] if hasattr(value, "__len__") and not isinstance(value, str) else value  # type: ignore[index]
    return first.item() if hasattr(first, "item") else first if isinstance(first, str | int | float) else str(first)
