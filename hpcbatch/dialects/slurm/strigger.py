"""strigger: programs that slurmctld starts on events. There is none that would start them: they are refused."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import STRIGGER_HELP, STRIGGER_USAGE

EVENTS = (
    ("backup_slurmctld_assumed_control", "C"),
    ("backup_slurmctld_failure", "B"),
    ("backup_slurmctld_resumed_operation", "c"),
    ("burst_buffer", ""),
    ("down", "d"),
    ("drained", "D"),
    ("fail", "F"),
    ("fini", "f"),
    ("idle", "I"),
    ("primary_database_failure", "h"),
    ("primary_database_resumed_operation", "H"),
    ("primary_slurmctld_acct_buffer_full", "e"),
    ("primary_slurmctld_failure", "a"),
    ("primary_slurmctld_resumed_control", "b"),
    ("primary_slurmctld_resumed_operation", "A"),
    ("primary_slurmdbd_failure", "g"),
    ("primary_slurmdbd_resumed_operation", "G"),
    ("reconfig", "r"),
    ("time", "t"),
    ("up", "u"),
)
PARSER = Parser(
    "strigger",
    [
        *(Option(name=name, short=short, takes=Takes.NOTHING) for name, short in EVENTS),
        *(
            Option(name=name, short=short, takes=takes, aliases=aliases)
            for name, short, takes, aliases in (
                ("clear", "", Takes.NOTHING, ()),
                ("clusters", "M", Takes.VALUE, ("cluster",)),
                ("flags", "", Takes.VALUE, ()),
                ("front_end", "", Takes.NOTHING, ()),
                ("get", "", Takes.NOTHING, ()),
                ("help", "", Takes.NOTHING, ()),
                ("id", "i", Takes.VALUE, ()),
                ("jobid", "j", Takes.VALUE, ()),
                ("node", "n", Takes.OPTIONAL, ()),
                ("noheader", "N", Takes.NOTHING, ()),
                ("offset", "o", Takes.VALUE, ()),
                ("program", "p", Takes.VALUE, ()),
                ("quiet", "Q", Takes.NOTHING, ()),
                ("set", "", Takes.NOTHING, ()),
                ("usage", "", Takes.NOTHING, ()),
                ("user", "", Takes.VALUE, ()),
                ("verbose", "v", Takes.NOTHING, ()),
                ("version", "V", Takes.NOTHING, ()),
            )
        ),
    ],
)
_NO_EVENT = """\
strigger: error: You must specify a trigger (--down, --up, --reconfig, --time, --fini, --burst_buffer,
--primary_slurmctld_failure,
--primary_slurmctld_resumed_operation,
--primary_slurmctld_resumed_control,
--primary_slurmctld_acct_buffer_full,
--backup_slurmctld_failure,
--backup_slurmctld_resumed_operation,
--backup_slurmctld_as_ctrl,
--primary_slurmdbd_failure,
--primary_slurmdbd_resumed_operation,
--primary_database_failure, or{space}
--primary_database_resumed_operation)
"""
_HERE = "strigger: hpcbatch: nothing starts programs here: sbatch --dependency, --mail-type or `hpcbatch watch` may do"


def answer(argv: Sequence[str]) -> None:
    """Returns where there is nothing to say, as of no triggers. Raises SlurmUsageError, SlurmAnswer."""
    given, _ = PARSER.parse(argv, permute=True)
    asked = {option.option.name for option in given}
    for name, text in (("help", STRIGGER_HELP), ("usage", STRIGGER_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    if len(asked & {"set", "get", "clear"}) != 1:
        raise SlurmUsageError(
            "strigger: error: You must use exactly one of the following options: --set, --get or --clear"
        )
    if "clear" in asked:
        if not asked & {"id", "jobid", "user"}:
            raise SlurmUsageError("strigger: error: You must specify a --id, --jobid, or --user to clear")
        raise SlurmUsageError("slurm_clear_trigger: No such process")
    if "set" in asked:
        if not asked & {name for name, _ in EVENTS}:
            raise SlurmUsageError(_NO_EVENT.format(space=" "))
        if "program" not in asked:
            raise SlurmUsageError("strigger: error: You must specify a --program value")
        raise SlurmUsageError(f"slurm_set_trigger: Access/permission denied\n{_HERE}")
