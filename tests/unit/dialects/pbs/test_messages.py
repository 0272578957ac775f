"""qmsg: its command line, and where a running job's messages go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.errors import PbsUsageError, describe
from hpcbatch.dialects.pbs.messages import Message, Written, parse_qmsg, written
from hpcbatch.model.spec import Output

from .jobs import QUEUE

RUNNING = QUEUE[0]


def test_command_line() -> None:
    assert parse_qmsg(["hello you", "1", "2"]) == Message("hello you", "e", ("1", "2"))
    assert parse_qmsg(["-O", "x", "1"]).streams == "o"
    assert parse_qmsg(["-EO", "x" * 300, "1"]) == Message("x" * 255, "eo", ("1",))
    for argv in ([], ["text"], ["-x", "text", "1"]):
        with pytest.raises(PbsUsageError) as caught:
            parse_qmsg(argv)
        assert describe(caught.value, "qmsg")[1] == 2
        assert caught.value.usage == usage.QMSG


def test_files() -> None:
    job_id, directory = RUNNING.job_id, RUNNING.spec.submit_dir
    name = f"{RUNNING.spec.name}"
    full = f"{job_id}.{RUNNING.spec.server}"
    spec = replace(RUNNING.spec, stdout=Output(), stderr=Output())
    apart = replace(RUNNING, spec=spec)
    assert written(apart, "o") == Written(f"{directory}/{name}.o{job_id}", f"{full}.OU", f"{full}.OU.running")
    assert written(apart, "e") == Written(f"{directory}/{name}.e{job_id}", f"{full}.ER", f"{full}.ER.running")
    joined = replace(RUNNING, spec=replace(spec, stderr=None))
    assert written(joined, "e") == written(joined, "o") == written(apart, "o")
