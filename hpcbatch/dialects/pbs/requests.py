"""The command lines of qdel, qhold and qrls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PBSE_PERM, PbsError, PbsUsageError
from hpcbatch.typed import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    job_ids: tuple[str, ...]
    """Operands as given, unchecked: one bad id does not stop the others."""
    force: bool = False
    delete_history: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOptions:
    """`hold_types` holds letters of u, o, s, p, or n alone, which sets and clears nothing. A user may set and clear
    only u: for any other letter the answer is `Unauthorized Request` for every id.
    """

    job_ids: tuple[str, ...]
    hold_types: str = "u"

    @property
    def is_permitted(self) -> bool:
        """p, of a bad password, the server alone sets; we have no passwords."""
        return "p" not in self.hold_types

    @property
    def user(self) -> bool:
        return "u" in self.hold_types

    @property
    def admin(self) -> str:
        """Letters of o (operator) and s (system)."""
        return "".join(letter for letter in "os" if letter in self.hold_types)


def record_stays(shown_id: str) -> PbsError:
    """`qdel -x` of one who may not remove records. Real PBS lets users remove those of their own jobs."""
    why = f"{shown_id} has ended, and its record stays: accounting is told from it, and only the site removes it"
    return PbsError(f"Unauthorized Request  {shown_id}\n{why}", PBSE_PERM & 0xFF)


def parse_qdel(argv: Sequence[str]) -> DeleteOptions:
    """Read qdel's command line; PbsUsageError for anything but `[-W force|suppress_email=N] [-x] id…`."""
    parsed = options.getopt(options.words(argv), options.QDEL)
    complaints = list(parsed.errors)
    force = delete_history = False
    for option in parsed.options:
        if option.name == "x":
            delete_history = True
        elif option.value == "force":
            force = True
        elif not re.fullmatch(r"suppress_email=.*|[0-9]+", option.value, re.DOTALL):
            complaints.append("illegal -W value")
    job_ids = tuple(word.text for word in parsed.operands)
    if complaints or not job_ids:
        raise PbsUsageError("\n".join(complaints), usage.QDEL)
    return DeleteOptions(job_ids=job_ids, force=force, delete_history=delete_history)


def parse_qorder(argv: Sequence[str]) -> tuple[str, str]:
    """Two job ids, and nothing else."""
    if len(argv) != 2:
        raise PbsUsageError("", usage.QORDER)
    return argv[0], argv[1]


class RunOptions(NamedTuple):
    job_ids: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    """-H: where the chunks of the job go, in their order."""


def parse_qrun(argv: Sequence[str]) -> RunOptions:
    """`[-a] [-H host+host] id…`; the usage has exit code 1."""
    parsed = options.getopt(options.words(argv), options.QRUN)
    job_ids = tuple(word.text for word in parsed.operands)
    values = {option.name: option.value for option in parsed.options}
    if parsed.errors or not job_ids or values.get("H") == "":
        illegal = ["illegal -H value"] if values.get("H") == "" else []
        raise PbsUsageError("\n".join([*parsed.errors, *illegal]), usage.QRUN, code=1)
    return RunOptions(job_ids, _hosts(values["H"]) if "H" in values else ())


def _hosts(text: str) -> tuple[str, ...]:
    """`n1+n2`, `(n1)+(n2)`. Raises PbsError for amounts."""
    if text == "-":
        raise PbsError("No support for requested service\n-H -: every job holds what it runs on", 2)
    names = tuple(part.strip("()") for part in text.split("+"))
    if any(":" in name for name in names):
        why = "-H names hosts alone: what the job gets of them is what its select says"
        raise PbsError(f"No support for requested service\n{why}", 2)
    if not all(names):
        raise PbsUsageError("illegal -H value", usage.QRUN, code=1)
    return names


def parse_qhold(argv: Sequence[str]) -> HoldOptions:
    """Read qhold's command line; PbsUsageError for anything but `[-h hold_list] id…`."""
    return _parse_hold(argv, options.QHOLD, usage.QHOLD)


def parse_qrls(argv: Sequence[str]) -> HoldOptions:
    """Read qrls's command line; PbsUsageError for anything but `[-h hold_list] id…`."""
    return _parse_hold(argv, options.QRLS, usage.QRLS)


def _parse_hold(argv: Sequence[str], letters: str, text: str) -> HoldOptions:
    parsed = options.getopt(options.words(argv), letters)
    complaints = list(parsed.errors)
    hold_types = "u"
    wrong_option = False
    for option in parsed.options:
        hold_types = option.value.lstrip()
        if option.name != "h":
            wrong_option = True
        elif not re.fullmatch(r"[uosp]+|n+", hold_types) or {"p"} < set(hold_types):
            complaints.append("illegal -h value")
    job_ids = tuple(word.text for word in parsed.operands)
    if complaints or wrong_option or not job_ids:
        raise PbsUsageError("\n".join(complaints), text)
    return HoldOptions(job_ids=job_ids, hold_types="n" if "n" in hold_types else hold_types)
