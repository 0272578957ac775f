"""`-l select=`, `-l nodes=` and `-l place=`: their grammar, and the old form turned into the new one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import MAX_CHUNKS
from hpcbatch.model.spec import Arrangement, Sharing
from hpcbatch.typed import NamedTuple

MAX_PARTS = 10_000
"""Of a select: what stands between `+`."""

_COUNT = r"[0-9]{1,9}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"  # a digit in front: Torque's properties, `16core`
_ITEM = r"[A-Za-z0-9][A-Za-z0-9_.=-]*"
GPU_MODES = frozenset(["default", "shared", "exclusive", "exclusive_thread", "exclusive_process", "reseterr"])
"""What Torque lets a GPU's mode be. Here it has the mode that the node gives it, and is the job's alone."""
_PLACE_WORD = r"([A-Za-z]+)(?:=([A-Za-z0-9_-]+))?"
_ARRANGEMENTS = {
    "free": Arrangement.FREE,
    "pack": Arrangement.PACK,
    "scatter": Arrangement.SCATTER,
    "vscatter": Arrangement.SCATTER,  # a node has one vnode here
}
_SHARINGS = {"shared": Sharing.SHARED, "excl": Sharing.EXCLUSIVE, "exclhost": Sharing.EXCLUSIVE}


class SelectChunk(NamedTuple):
    """`number` chunks as written: resource names with their values, quotes removed, and the text that said so."""

    number: int
    values: tuple[tuple[str, str], ...]
    text: str


def parse_select(text: str) -> tuple[SelectChunk, ...]:
    """Read `[N:]name=value[:name=value…][+…]`; `4` alone is four chunks that request nothing.

    Raises HpcBatchError if `text` is anything else, or requests no chunk, or more than MAX_CHUNKS,
    or in more than MAX_PARTS parts.
    Source: OpenPBS, decode_select() and parse_chunk().
    """
    chunks = tuple(_chunk(part) for part in _split(text.strip(), "+"))
    if len(chunks) > MAX_PARTS or not 0 < sum(chunk.number for chunk in chunks) <= MAX_CHUNKS:
        raise HpcBatchError(f"select: expected 1 to {MAX_CHUNKS} chunks")
    return chunks


def _chunk(text: str) -> SelectChunk:
    parts = list(_split(text, ":"))
    count = 1
    if parts and parts[0][:1].isdigit():
        if not re.fullmatch(_COUNT, parts[0]):
            raise HpcBatchError(f"select: {parts[0]!r} is not a number of chunks")
        count = int(parts.pop(0))
    elif not parts:
        raise HpcBatchError("select: a chunk is empty")
    values = []
    for part in parts:
        name, equals, value = part.partition("=")
        if not (re.fullmatch(_NAME, name) and equals and value and value.isprintable()):
            raise HpcBatchError(f"select: {part!r} is not resource=value")
        values.append((name, _unquote(value)))
    return SelectChunk(count, tuple(values), ":".join([str(count), *parts]))


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts of `text` between separators that stand outside quotes. An empty part is an error."""
    start, quote = 0, ""
    for position, char in enumerate(text + separator):
        if quote and position < len(text):
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == separator:
            if quote or start == position:
                raise HpcBatchError(f"select: something is missing or a quote is open in {text!r}")
            yield text[start:position]
            start = position + 1


def _unquote(value: str) -> str:
    return value.replace(value[0], "") if value[0] in "\"'" else value


class NodesForm(NamedTuple):
    """An old `nodes` specification in the new form."""

    select: str
    place: str
    counts_ncpus: bool = True
    """Whether the `ncpus` beside it says how many CPUs there are; if not, it does not divide, and `nodes` says it."""


def nodes_to_select(text: str, ncpus: int | None) -> NodesForm:
    """Turn an old `nodes` specification into a select text and a place text.

    `N[:ppn=P][:ncpus=C][:gpus=G][:property…]` becomes `N:ncpus=P*C[:property=True…][:mpiprocs=P][:ngpus=G]`; `ncpus`,
    where it was requested beside it, is spread over the processes. A word with a dot is the name of a host; any other
    is a property, also where a host has that name: only the site knows. Raises HpcBatchError if `text` is not a
    specification. Source: OpenPBS, validate_nodespec() and cvt_nodespec_to_select(); gpus and mics are Torque's, and
    that an `ncpus` which does not divide is passed over.
    """
    spec, *modifiers = text.strip().split("#")
    place = "scatter"
    for modifier in modifiers:
        if modifier.lower() in {"excl", "shared"}:
            place = f"scatter:{modifier.lower()}"
        else:  # a global item: it belongs to every part
            spec = "+".join(f"{part}:{modifier}" for part in spec.split("+"))
    parts = [_NodesPart.parse(part) for part in spec.split("+")]
    processes = sum(part.number * part.ppn * part.cpp for part in parts)
    has_cpp = any(part.has_cpp for part in parts)
    counts = ncpus is None or not (ncpus % processes or (ncpus != processes and has_cpp))
    each = max(1, (ncpus or 1) // processes) if counts and not has_cpp else 1
    return NodesForm("+".join(part.select(each) for part in parts), place, counts)


class _NodesPart(NamedTuple):
    """`number` nodes of an old specification."""

    number: int
    ppn: int
    cpp: int
    has_cpp: bool
    gpus: int | None
    more: tuple[str, ...]
    """Further resources, as a chunk has them: `haswell=True`, `host=n01.site`, `mics=1`."""

    @classmethod
    def parse(cls, text: str) -> _NodesPart:
        items = text.split(":")
        count = cls._whole(items.pop(0)) if re.fullmatch(_COUNT, items[0]) else 1
        ppn, cpp, has_cpp, gpus = 1, 1, False, None
        more: dict[str, None] = {}
        for item in items:
            if not re.fullmatch(_ITEM, item):
                raise HpcBatchError(f"nodes: {item!r} is not a property or ppn=, ncpus=")
            name, equals, value = item.partition("=")
            match name.lower():
                case "ppn" if equals:
                    ppn = cls._whole(value)
                case "cpp" | "ncpus" if equals:
                    cpp, has_cpp = cls._whole(value), True
                case "gpus" if equals:
                    gpus = cls._whole(value)
                case mode if gpus is not None and mode in GPU_MODES and not equals:
                    continue  # a GPU is the job's alone
                case _ if equals:
                    more[item] = None
                case _ if "." in name:
                    more[f"host={item}"] = None
                case _:
                    more[f"{item}=True"] = None
        return cls(count, ppn, cpp, has_cpp, gpus, tuple(more))

    @staticmethod
    def _whole(text: str) -> int:
        if not re.fullmatch(_COUNT, text) or int(text) == 0:
            raise HpcBatchError(f"nodes: {text!r} is not a number from 1")
        return int(text)

    def select(self, cpus_each: int) -> str:
        items = [str(self.number), f"ncpus={self.ppn * self.cpp * cpus_each}", *self.more]
        items += [f"mpiprocs={self.ppn}"] if self.ppn != 1 else []
        return ":".join(items + ([f"ngpus={self.gpus}"] if self.gpus is not None else []))


class Place(NamedTuple):
    arrangement: Arrangement
    sharing: Sharing
    group: str | None
    """Resource that all nodes should have the same value of (`group=`)."""


def parse_place(text: str) -> Place:
    """Read `-l place=`: an arrangement, a sharing and `group=resource`, joined by colons in any order.
    Raises HpcBatchError if `text` is anything else. Source: OpenPBS, decode_place().
    """
    words: Sequence[re.Match[str] | None] = [re.fullmatch(_PLACE_WORD, part.strip()) for part in text.split(":")]
    arrangement: Arrangement | None = None
    sharing: Sharing | None = None
    group: str | None = None
    for word in words:
        name = word[1].lower() if word else ""
        if word is not None and name == "group" and word[2]:
            group = word[2]
        elif word is not None and name in _ARRANGEMENTS and not word[2] and arrangement is None:
            arrangement = _ARRANGEMENTS[name]
        elif word is not None and name in _SHARINGS and not word[2] and sharing is None:
            sharing = _SHARINGS[name]
        else:
            raise HpcBatchError(f"place: {text!r} is not [arrangement][:sharing][:group=resource]")
    return Place(arrangement or Arrangement.FREE, sharing or Sharing.SHARED, group)
