"""scontrol's requests for administrators: refused as Slurm refuses users (recorded), with what is so here."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.scontrol_admin import REQUESTS
from hpcbatch.dialects.slurm.scontrol_command import Verb, read_command

RECORDED = [
    ("shutdown", "slurm_shutdown error: Invalid user id"),
    ("shutdown slurmctld", "slurm_shutdown error: Invalid user id"),
    ("shutdown foo", "invalid shutdown argument:foo"),
    ("abort", "slurm_shutdown error: Invalid user id"),
    ("setdebug info", "slurm_set_debug_level error: Permission denied"),
    ("setdebug", "too few arguments for keyword:setdebug"),
    ("setdebug 3 nodes=vm", "too many arguments for keyword:setdebug"),
    ("setdebugflags +Backfill", "slurm_set_debug_flags error: Permission denied"),
    ("schedloglevel 1", "slurm_set_schedlog_level error: Permission denied"),
    ("fsdampeningfactor 3", "slurm_set_fs_dampeningfactor error: Permission denied"),
    ("create", "too few arguments for create keyword"),
    ("create foo", "scontrol: error: Invalid creation entity: foo"),
    ("delete", "too few arguments for delete keyword"),
    ("delete foo", "scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'"),
    ("reboot", "Missing node list. Specify ALL|<NodeList>"),
    ("reboot vm", "scontrol: error: RebootProgram isn't defined"),
    ("cancel_reboot vm", "slurm_update error: Invalid user id"),
    ("cancel_reboot", "missing argument for keyword:cancel_reboot"),
    ("pidinfo", "missing argument for keyword:pidinfo"),
    ("notify 15 hello you", "job notify failure: Requested operation is presently disabled"),
    ("notify 15", "too few arguments for keyword:notify"),
    ("token", "Error fetching token"),
]


@pytest.mark.parametrize(("line", "text"), RECORDED, ids=[line for line, _ in RECORDED])
def test_refused(line: str, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_command(line.split(), {})
    assert error.value.text.splitlines()[0] == text
    assert error.value.code == 1


def test_each_says_what_is_so_here() -> None:
    for keyword, request in REQUESTS.items():
        if keyword in {"reconfigure", "create", "delete"}:  # refused to users alone
            continue
        words = ["reservation=x", "y"][: min(max(request.least_words, 0), request.most_words)]
        with pytest.raises(SlurmUsageError) as error:
            read_command([keyword, *words], {})
        assert error.value.text.endswith(f"\nscontrol: hpcbatch: {request.why}")


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("create PartitionName=x Nodes=n1", Verb.CREATE),
        ("create Nodes=n1 part=x", Verb.CREATE),
        ("delete PartitionName=x", Verb.DELETE),
        ("delete partition x", Verb.DELETE),
        ("create ReservationName=x Nodes=ALL", Verb.CREATE),
        ("create reservation StartTime=now", Verb.CREATE),
        ("delete res x", Verb.DELETE),
        ("reconfig x", Verb.RECONFIGURE),
    ],
)
def test_what_operators_may(line: str, verb: Verb) -> None:
    command = read_command(line.split(), {})
    assert (command.verb, command.words) == (verb, tuple(line.split()[1:]))
