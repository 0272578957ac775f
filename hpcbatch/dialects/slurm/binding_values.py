"""Values of sbatch's options that say where inside a node tasks, memory and GPUs are: what sbatch itself checks."""

from __future__ import annotations

import re

from hpcbatch.dialects.slurm import values

_SPREAD = {"block", "cyclic", "*"}
_WITHIN = {"block", "cyclic", "fcyclic", "*"}
HINTS = frozenset({"compute_bound", "memory_bound", "multithread", "nomultithread"})
_RANGE = r"(?:[*].*|[0-9]{1,9}[kKmM]?(?:-[0-9]{1,9}[kKmM]?)?)?"
_GOVERNORS = ("co", "onde", "perf", "pow", "user", "sche")  # as far as sbatch reads them
_WORDS_FROM = 2**31
_MEM_BIND = r"(?i)p|prefer|nosort|sort|q|quiet|v|verbose|no|none|rank|local|(?:map_?mem|mask_?mem).*[:=].+"
_GPU_BIND = r"(?i)(?:verbose,)?(?:c.*|n.*|map_gpu:[0-9,*]+|mask_gpu:[0-9a-fA-Fx,*]+|per_task:[0-9]+|single:[0-9]+)"
_GPU_CLOCK = r"(?:memory=)?(?:[0-9]+|low|medium|high|highm1)|verbose"


def check_distribution(text: str) -> None:
    """Raise ValueError for what is no --distribution. Source: verify_dist_type() of proc_args.c."""
    lower = text.lower()
    if lower.startswith("plane"):
        values.parse_positive(lower.partition("=")[2])
        return
    base, _, flags = lower.partition(",")
    parts = base.split(":")
    is_known = (
        base in {"arbitrary", "hostfile"}
        or (1 <= len(parts) <= 3 and parts[0] in _SPREAD and all(part in _WITHIN for part in parts[1:]))
        or (base in {"pack", "nopack"} and not flags)
    )
    if not is_known or flags not in {"", "pack", "nopack"}:
        raise ValueError(text)


def parse_extra_node_info(text: str) -> tuple[int | None, int | None, int | None]:
    """Read -B `S[:C[:T]]` as sockets, cores and threads; None: any. Raises ValueError with the place, `first` to
    `third`, and the part that is no number. Source: verify_socket_core_thread_count().
    """
    found: list[int | None] = []
    for place, part in zip(("first", "second", "third"), (*text.split(":", 2), "", "")[:3], strict=True):
        if not re.fullmatch(_RANGE, part):
            raise ValueError(place, part)
        number = re.match("[0-9]+", part)
        found.append(int(number[0]) if number else None)
    return found[0], found[1], found[2]


def is_cpu_freq(text: str) -> bool:
    """Source: cpu_freq_verify_cmdline() of cpu_frequency.c."""
    first, colon, governor = text.lower().partition(":")
    low, dash, high = first.partition("-")
    if low.startswith(_GOVERNORS):
        return not colon and (not dash or _clock(high) > 0)
    if not _clock(low) or (dash and _clock(high) < _clock(low)):
        return False
    return not colon or (bool(dash) and governor.startswith(_GOVERNORS))


def _clock(text: str) -> int:
    """A clock in kHz, 0 if it is none; words are above all numbers, in this order."""
    words = {"lo": 1, "med": 2, "him1": 4, "highm1": 4, "hi": 3}
    found = next((number for word, number in words.items() if text.startswith(word)), 0)
    return _WORDS_FROM + found if found else min(max(values.leading_number(text), 0), _WORDS_FROM)


def is_gpu_freq(text: str) -> bool:
    """Source: _valid_gpu_freq() of tres_frequency.c."""
    return bool(text) and all(re.fullmatch(_GPU_CLOCK, part) for part in text.split(",") if part)


def is_gpu_bind(text: str) -> bool:
    """Source: _valid_gpu_bind() of tres_bind.c."""
    return re.fullmatch(_GPU_BIND, text) is not None


def wrong_mem_bind(text: str) -> str | None:
    """The part of --mem-bind that sbatch does not know, None: none. Source: slurm_verify_mem_bind()."""
    parts = re.split(r",(?![0-9]|[0-9a-fA-F]+(?:,|$))", text)
    return next((part for part in parts if not re.fullmatch(_MEM_BIND, part)), None)
