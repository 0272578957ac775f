"""sprio: the factors of jobs' priorities, of which there are none here, as with Slurm's priority/basic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SPRIO_HELP, SPRIO_USAGE
from hpcbatch.dialects.slurm.ids import parse_id, split_ids

PARSER = Parser(
    "sprio",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("clusters", "M", Takes.VALUE, ("cluster",)),
            ("federation", "", Takes.NOTHING, ()),
            ("format", "o", Takes.VALUE, ()),
            ("help", "", Takes.NOTHING, ()),
            ("jobs", "j", Takes.OPTIONAL, ()),
            ("local", "", Takes.NOTHING, ()),
            ("long", "l", Takes.NOTHING, ()),
            ("noheader", "h", Takes.NOTHING, ()),
            ("norm", "n", Takes.NOTHING, ()),
            ("partition", "p", Takes.VALUE, ()),
            ("sibling", "", Takes.NOTHING, ()),
            ("sort", "S", Takes.VALUE, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("users", "u", Takes.VALUE, ("user",)),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
            ("weights", "w", Takes.NOTHING, ()),
        )
    ],
)
_NO_FACTORS = """\
You are not running a supported priority plugin
(priority/basic).
Only 'priority/multifactor' is supported."""
_HERE = "sprio: hpcbatch: jobs start in the order of the Priority that `scontrol show job` shows: by --nice, then by id"


def refusal(argv: Sequence[str], uid_of: Callable[[str], int | None]) -> tuple[str, SlurmUsageError]:
    """What sprio says on standard output, and as an error. Raises SlurmUsageError for a bad option, SlurmAnswer for
    help and version.
    """
    given, operands = PARSER.parse(argv, permute=True)
    asked = {option.option.name: option.value for option in given}
    for name, text in (("help", SPRIO_HELP), ("usage", SPRIO_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    rest = [argv[index] for index in operands]
    if "jobs" in asked and asked["jobs"] is None and rest:
        asked["jobs"] = rest.pop(0)
    if rest:
        return f"{SPRIO_USAGE}\n", SlurmUsageError(f"sprio: error: Unrecognized option: {rest[0]}")
    for text in split_ids(asked.get("jobs") or ""):
        try:
            parse_id(text)
        except ValueError:
            return "", SlurmUsageError(f"sprio: error: Invalid job id: {text}")
    unknown = [
        f"sprio: error: Invalid user: {name}\n"
        for name in (asked.get("users") or "").split(",")
        if name and not name.isdecimal() and uid_of(name) is None
    ]
    return "", SlurmUsageError("\n".join([*unknown, _NO_FACTORS, _HERE]))
