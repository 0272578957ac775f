"""Reads the header of a netCDF classic file: CDF-1, CDF-2 (64-bit offset) and CDF-5.

A reader of our own: these headers are all that `hpcbatch wrf check` needs of a file, scipy or netCDF4 would bring numpy
with them, and both read a file that was cut short without a word. netCDF-4 (HDF5) is none of it.
Source: the file format specification of netCDF, appendix B of its user's guide.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 0x0A, 0x0B, 0x0C
_TYPES = {
    1: "b",
    2: "c",
    3: "h",
    4: "i",
    5: "f",
    6: "d",
    7: "B",
    8: "H",
    9: "I",
    10: "q",
    11: "Q",
}
_SIZES = {number: struct.calcsize(f">{code}") for number, code in _TYPES.items()}
_CHAR = 2
_STREAMING = {4: 0xFFFFFFFF, 8: 0xFFFFFFFFFFFFFFFF}
_MOST_ITEMS = 1_000_000
Attribute = str | int | float


class NotClassicError(Exception):
    """No netCDF classic header; the text says what was met instead."""


class ShortError(NotClassicError):
    """The bytes end within the header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    dimensions: tuple[str, ...]
    is_record: bool
    begin: int
    """Where its values begin in the file, of a record variable those of the first record."""
    record_bytes: int
    """Of its values, in one record where it has records; without padding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    dimensions: Mapping[str, int]
    """Lengths; of the record dimension the number of records."""
    attributes: Mapping[str, Attribute]
    """Global ones; of several numbers the first."""
    variables: Mapping[str, Variable]
    records: int | None
    """None: written by a stream, to be told from the size only."""
    record_bytes: int
    """From one record to the next."""

    @property
    def size_bytes(self) -> int:
        """Of the whole file, without padding at its end."""
        ends = [0]
        for variable in self.variables.values():
            if not variable.is_record:
                ends.append(variable.begin + variable.record_bytes)
            elif self.records:
                ends.append(variable.begin + (self.records - 1) * self.record_bytes + variable.record_bytes)
        return max(ends)

    def places(self, name: str) -> list[tuple[int, int]]:
        """Where the values of a variable stand: offset and bytes, of each record."""
        variable = self.variables[name]
        if not variable.is_record:
            return [(variable.begin, variable.record_bytes)]
        return [
            (variable.begin + index * self.record_bytes, variable.record_bytes) for index in range(self.records or 0)
        ]


def parse_header(data: bytes) -> Header:
    """`data` are the first bytes of a file, at least its header. Raises NotClassicError and ShortError."""
    if data[:3] != b"CDF" or data[3:4] not in {b"\x01", b"\x02", b"\x05"}:
        raise NotClassicError("netCDF-4 (HDF5)" if data.startswith(HDF5_MAGIC) else "no netCDF")
    return _Header(data).read()


class _Header:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 4
        version = data[3]
        self.count_bytes = 8 if version == 5 else 4
        self.offset_bytes = 4 if version == 1 else 8

    def _bytes(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ShortError("a file that ends within its header")
        found = self.data[self.at : self.at + size]
        self.at += size
        return found

    def _unsigned(self, size: int) -> int:
        return int.from_bytes(self._bytes(size), "big")

    def _count(self) -> int:
        count = self._unsigned(self.count_bytes)
        if count > _MOST_ITEMS:
            raise NotClassicError("a damaged netCDF header")
        return count

    def _list(self, tag: int) -> int:
        """The number of its items."""
        found, count = self._unsigned(4), self._count()
        if found != tag and (found, count) != (0, 0):
            raise NotClassicError("a damaged netCDF header")
        return count

    def _name(self) -> str:
        size = self._count()
        name = self._bytes(size)
        self._bytes(-size % 4)
        return name.decode("utf-8", "replace")

    def _type(self) -> int:
        number = self._unsigned(4)
        if number not in _TYPES:
            raise NotClassicError("a damaged netCDF header")
        return number

    def read(self) -> Header:
        records = self._unsigned(self.count_bytes)
        names: list[str] = []
        lengths: list[int] = []
        for _ in range(self._list(_DIMENSIONS)):
            names.append(self._name())
            lengths.append(self._unsigned(self.count_bytes))
        attributes = self._attributes()
        is_streaming = records == _STREAMING[self.count_bytes]
        variables = {}
        for _ in range(self._list(_VARIABLES)):
            name, variable = self._variable(names, lengths)
            variables[name] = variable
        recorded = [variable.record_bytes for variable in variables.values() if variable.is_record]
        # one record variable alone is not padded
        step = recorded[0] if len(recorded) == 1 else sum(size + -size % 4 for size in recorded)
        known = None if is_streaming else records
        dimensions = {name: length or known or 0 for name, length in zip(names, lengths, strict=True)}
        return Header(
            dimensions=dimensions, attributes=attributes, variables=variables, records=known, record_bytes=step
        )

    def _attributes(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for _ in range(self._list(_ATTRIBUTES)):
            name, number = self._name(), self._type()
            count = self._count()
            size = count * _SIZES[number]
            raw = self._bytes(size)
            self._bytes(-size % 4)
            if number == _CHAR:
                found[name] = raw.decode("utf-8", "replace").rstrip("\0")
            elif count:
                found[name] = struct.unpack_from(f">{_TYPES[number]}", raw)[0]
        return found

    def _variable(self, names: list[str], lengths: list[int]) -> tuple[str, Variable]:
        name = self._name()
        ids = [self._count() for _ in range(self._count())]
        if any(each >= len(names) for each in ids):
            raise NotClassicError("a damaged netCDF header")
        self._attributes()
        number = self._type()
        self._unsigned(self.count_bytes)  # vsize, which is of no use for large variables
        begin = self._unsigned(self.offset_bytes)
        is_record = bool(ids) and lengths[ids[0]] == 0
        size = math.prod(lengths[each] for each in ids[is_record:]) * _SIZES[number]
        return name, Variable(
            dimensions=tuple(names[each] for each in ids),
            is_record=is_record,
            begin=begin,
            record_bytes=size,
        )
