"""Resource requirements: `select[…] rusage[…] span[…] affinity[…]`, read into what a job asks of its nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.dataclass import dataclass, field
from hpcbatch.dialects.lsf import select
from hpcbatch.dialects.lsf.table import SECTIONS
from hpcbatch.dialects.lsf.values import GIB, MIB, SMALLEST, size
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.grouping import Grouping
from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Final, NamedTuple

_SECTION = re.compile(r"\s*(select|order|rusage|span|same|cu|affinity|stretch)\s*\[", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"\s*\{(.*)\}\s*(@[0-9]{1,9})?\s*", re.ASCII | re.DOTALL)
_TERM = re.compile(r"\s*(?:([0-9]{1,7})\s*\*\s*)?\{([^{}]*)\}\s*", re.ASCII)
_AMOUNT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*([0-9.]+\s*[A-Za-z]*)\s*(?:/\s*(host|task|job|slot))?", re.ASCII)
_SPENT: Final = frozenset({"duration", "decay"})
_LOAD: Final = frozenset({"r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "swp", "maxswp", "status"})
GPUS: Final = frozenset({"ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpu", "gpu"})


class BadRequirementError(HpcBatchError):
    """What bsub calls a bad resource requirement."""


class UnmetRequirementError(HpcBatchError):
    """What LSF has and hpcbatch has not."""


class Told(NamedTuple):
    """What becomes of one part."""

    part: str
    fate: Fate
    meaning: str


@dataclass(slots=True, kw_only=True)
class Requirement:
    """All -R together."""

    mem: dict[str, int] = field(default_factory=dict)
    """Bytes by what they are for: host, task, job."""
    tmp_bytes: int | None = None
    resources: dict[str, int] = field(default_factory=dict)
    """Of each host, by the site's names."""
    nodes: select.Nodes = field(default_factory=select.Nodes)
    one_host: bool = False
    ptile: int | None = None
    block: int | None = None
    cpus_per_slot: int = 1
    grouping: Grouping | None = None
    told: list[Told] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    """Of a compound requirement, `1*{…} + 8*{…}`; then it says nothing else."""
    otherwise: list[Requirement] = field(default_factory=list)
    """The further ones of `{…} || {…}`, in order."""
    is_read: bool = False


class Term(NamedTuple):
    slots: int | None
    """None: those of -n that are left."""
    need: Requirement


def read(text: str, into: Requirement) -> None:
    """Add one -R. Raises BadRequirementError, UnmetRequirementError."""
    is_compound = bool(re.search(r"[{}]", text))
    if into.terms or into.otherwise or (is_compound and into.is_read):
        raise BadRequirementError("{…} || {…}, and number*{…} + …, cannot stand beside another -R")
    if is_compound and len(parts := _alternatives(text)) > 1:
        _choice(parts, into)
        return
    into.is_read = True
    if is_compound:
        _compound(text, into)
        return
    for name, body in _sections(text):
        _READ[name](body.strip(), into)


def _alternatives(text: str) -> list[str]:
    """The parts between `||` that stands in no braces and no brackets."""
    parts, depth = [""], 0
    for piece in re.findall(r"\|\||.", text, re.DOTALL):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece, 0)
        if piece == "||" and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _choice(parts: list[str], into: Requirement) -> None:
    """`{…} || {…}@delay`: the delay has no meaning where the choice is made once."""
    for place, part in enumerate(parts):
        match = _ALTERNATIVE.fullmatch(part)
        if match is None:
            raise BadRequirementError(f"{part.strip()[:40]!r}: expected {{…}} || {{…}}")
        need = Requirement(told=into.told) if place else into
        read(match[1], need)
        if need.otherwise or need.grouping is not None:
            inner = "cu[maxcus=…]" if need.grouping is not None else "a further ||"
            raise UnmetRequirementError(f"{inner} within {{…}} || {{…}} is not supported here")
        if match[2]:
            _tell(into, match[2], "{…} || {…}@delay")
        if place:
            into.otherwise.append(need)
    _tell(into, " || ".join("{…}" for _ in parts), "{…} || {…}")


def _compound(text: str, into: Requirement) -> None:
    terms: list[Term] = []
    at = 0
    while True:
        match = _TERM.match(text, at)
        if match is None:
            raise BadRequirementError(f"{text[at:].strip()[:40]!r}: expected number*{{…}} + number*{{…}} …")
        if match[1] is not None and int(match[1]) == 0:
            raise BadRequirementError("0*{…}: expected a number of slots above 0")
        need = Requirement(told=into.told)
        terms.append(Term(None if match[1] is None else int(match[1]), need))
        read(match[2], need)
        at = match.end()
        rest = text[at:]
        if not rest:
            break
        if rest[0] != "+":
            raise BadRequirementError(f"{rest[:40]!r}: expected + behind a part in braces")
        at += 1
    if any(term.slots is None for term in terms[:-1]):
        raise BadRequirementError("only the last part may be without a number of slots")
    into.terms = terms
    into.grouping = next((term.need.grouping for term in terms if term.need.grouping is not None), None)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        match = _SECTION.match(text, at)
        if match is None:
            found = _SECTION.search(text, at)
            end = len(text) if found is None else found.start()
            if at and text[at:end].strip():
                raise BadRequirementError(f"{text[at:end].strip()!r} stands behind a section: expected name[…]")
            yield "select", text[at:end]
            at = end
            continue
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        if depth:
            raise BadRequirementError(f"{match[1]}[ is not closed")
        yield match[1].lower(), text[match.end() : end - 1]
        at = end


def _select(body: str, into: Requirement) -> None:
    if body:
        for part, rule, meaning in select.read(body, into.nodes):
            into.told.append(Told(f"select[{part}]", rule, meaning))


def _rusage(body: str, into: Requirement) -> None:
    if "||" in body:
        raise UnmetRequirementError("a choice of requirements, rusage[… || …], is not supported here")
    if "(" in body:
        raise UnmetRequirementError(
            "amounts that change in the course of a job, rusage[name=(…)], are not supported here"
        )
    for part in filter(None, (part.strip() for part in re.split("[:,]", body))):
        match = _AMOUNT.fullmatch(part)
        if match is None:
            raise BadRequirementError(f"rusage[{part}]: expected name=amount")
        _use(match[1], match[2].strip(), match[3] or "host", into)


def _use(name: str, text: str, scope: str, into: Requirement) -> None:
    part = f"rusage[{name}={text}]"
    scope = "task" if scope == "slot" else scope
    if name in _SPENT:
        _tell(into, part, "rusage[…:duration=…:decay=…]")
    elif name == "mem":
        amount = _bytes(text, part)
        of = {"host": "memory of each host", "task": "memory of each slot", "job": "memory of the job"}[scope]
        fate = Fate.HONOURED
        if 0 < amount < SMALLEST and text[-1:].isdigit():
            amount, fate, of = size(text, GIB), Fate.TRANSLATED, f"{text} GB, {of}: no program runs in {text} MB"
        into.mem[scope] = into.mem.get(scope, 0) + amount
        into.told.append(Told(part, fate, of))
    elif name == "tmp":
        into.tmp_bytes = _bytes(text, part)
        _tell(into, part, "rusage[tmp=size]")
    elif name in {"swp", "maxswp"}:
        _tell(into, part, "rusage[swp=size]")
    elif name in _LOAD:
        _tell(into, part, "select[load index]")
    else:
        if not text.isdigit():
            raise BadRequirementError(f"{part}: expected a whole number")
        known = "gpu" if name in GPUS else name
        if int(text):
            into.resources[known] = into.resources.get(known, 0) + int(text)
        _tell(into, part, "rusage[ngpus_physical=n]" if known == "gpu" else "rusage[name=n]")


def _bytes(text: str, part: str) -> int:
    try:
        return size(text, MIB)
    except ValueError as error:
        raise BadRequirementError(f"{part}: expected {error}") from None


def _span(body: str, into: Requirement) -> None:
    if "||" in body:
        raise UnmetRequirementError("a choice of requirements, span[… || …], is not supported here")
    for part in filter(None, (part.strip() for part in body.split())):
        name, _, text = (word.strip() for word in part.partition("="))
        if name == "stripe":
            _tell(into, f"span[{part}]", "span[stripe]")
        elif name == "hosts" and text in {"1", "-1"}:
            into.one_host = text == "1"
            meaning = SECTIONS["span[hosts=1]"].meaning if into.one_host else "the slots are on any nodes"
            into.told.append(Told(f"span[{part}]", Fate.HONOURED, meaning))
        elif name in {"ptile", "block"} and text.isascii() and text.isdigit() and int(text) > 0:
            setattr(into, name, int(text))
            _tell(into, f"span[{part}]", f"span[{name}=n]")
        elif name in {"ptile", "hosts", "gtile", "block"}:
            raise UnmetRequirementError(
                f"span[{part}] is not supported here: hosts=1, ptile=number and block=number are"
            )
        else:
            raise BadRequirementError(f"span[{part}]: expected hosts=1, ptile=number or block=number")


def _affinity(body: str, into: Requirement) -> None:
    match = re.match(
        r"(core|thread|numa|socket)\s*(?:\(\s*([0-9]{1,6})\s*(?:,[^)]*)?\))?\s*(?:\*\s*([0-9]{1,6}))?", body
    )
    if match is None:
        raise BadRequirementError(f"affinity[{body}]: expected core(number)")
    unit, count = match[1], int(match[2] or 1) * int(match[3] or 1)
    if unit in {"numa", "socket"} or count < 1:
        raise UnmetRequirementError(
            f"affinity[{body}] is not supported here: pods get CPUs, not sockets; core(number) is"
        )
    into.cpus_per_slot = count
    into.told.append(Told(f"affinity[{match[0].strip()}]", Fate.TRANSLATED, f"{count} CPUs of each slot"))
    if rest := body[match.end() :].strip():
        _tell(into, f"affinity[{rest}]", "affinity[…:cpubind=…:membind=…:distribute=…]")


def _tell(into: Requirement, part: str, rule: str) -> None:
    into.told.append(Told(part, SECTIONS[rule].fate, SECTIONS[rule].meaning))


def _order(body: str, into: Requirement) -> None:
    if body:
        _tell(into, f"order[{body}]", "order[…]")


def _same(body: str, into: Requirement) -> None:
    if body:
        _tell(into, f"same[{body}]", "same[…]")


def _cu(body: str, into: Requirement) -> None:
    """`type=switch:maxcus=2`; preferences and balance among the units are the scheduler's."""
    words = dict(part.strip().partition("=")[::2] for part in body.split(":") if part.strip())
    most = words.get("maxcus", "")
    if "maxcus" in words and not (most.isascii() and most.isdigit() and 0 < int(most) < 10**6):
        raise BadRequirementError(f"cu[maxcus={most}]: expected a number from 1 on")
    if most:
        into.grouping = Grouping(level=words.get("type", "").strip(), groups=int(most))
        _tell(into, f"cu[{body}]", "cu[maxcus=n]")
    elif body:
        _tell(into, f"cu[{body}]", "cu[…]")


_READ = {
    "select": _select,
    "rusage": _rusage,
    "span": _span,
    "affinity": _affinity,
    "order": _order,
    "stretch": _order,
    "same": _same,
    "cu": _cu,
}
