"""A run that is to be checked: what it requests, and what lies in its directory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hpcbatch.typed import Protocol
from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.netcdf import Header
from hpcbatch.wrf.settings import Settings


class Program(StrEnum):
    REAL = "real"
    WRF = "wrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A netCDF file as far as it could be read."""

    header: Header | None
    size_bytes: int
    times: tuple[str, ...] = ()
    """Of `Times`, as `2024-01-15_12:00:00`."""
    next_times: tuple[str, ...] = ()
    """Of wrfbdy: the end of each interval."""
    problem: str = ""
    """Why there is no header, or no times: what it is instead, or the system's words."""
    is_readable: bool = True
    """False where it could not be looked at here, which says nothing about the program."""


class Directory(Protocol):
    """The run directory. Paths are relative to it, or absolute."""

    def has(self, path: str) -> bool:
        """Whether there is a file that can be opened for reading."""
        ...

    def data_file(self, path: str) -> DataFile: ...

    def program_problem(self, name: str) -> str:
        """`missing`, or why it cannot be run; "" if it can."""
        ...

    def folder_problem(self, path: str) -> str:
        """Why no file can be made in that directory; "" if one can."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    settings: Settings
    directory: Directory
    program: Program
    ranks: int | None = None
    """MPI ranks it is to be started with; None where they are not known."""

    @property
    def exe(self) -> str:
        return f"{self.program}.exe"

    def finding(
        self,
        severity: Severity,
        group: str,
        key: str,
        rule: str,
        domain: int | None = None,
        *,
        value: str | None = None,
    ) -> Finding:
        """About a key: its own value and line unless `value` says another."""
        shown, line = self.settings.shown(group, key, domain)
        return Finding(
            severity=severity, key=f"{group}.{key}", value=shown if value is None else value, rule=rule, line=line
        )

    def error(self, group: str, key: str, rule: str, domain: int | None = None, *, value: str | None = None) -> Finding:
        return self.finding(Severity.ERROR, group, key, rule, domain, value=value)

    def warning(
        self, group: str, key: str, rule: str, domain: int | None = None, *, value: str | None = None
    ) -> Finding:
        return self.finding(Severity.WARNING, group, key, rule, domain, value=value)
