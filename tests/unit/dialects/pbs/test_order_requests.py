"""The command lines of qorder and qrun."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError, describe
from hpcbatch.dialects.pbs.requests import parse_qorder, parse_qrun


def test_qorder() -> None:
    assert parse_qorder(["1", "2"]) == ("1", "2")
    for argv in ([], ["1"], ["1", "2", "3"]):
        with pytest.raises(PbsUsageError) as caught:
            parse_qorder(argv)
        assert describe(caught.value, "qorder") == (usage.QORDER, 2)


def test_qrun() -> None:
    assert parse_qrun(["-a", "1", "2"]) == (("1", "2"), ())
    for hosts in ("n1+n2", "(n1)+(n2)"):
        assert parse_qrun(["-H", hosts, "1"]) == (("1",), ("n1", "n2"))
    for argv in ([], ["-x", "1"], ["-H", "", "1"], ["-H", "n1+", "1"]):
        with pytest.raises(PbsUsageError) as caught:
            parse_qrun(argv)
        assert caught.value.code == 1
    for hosts in ("-", "n1:ncpus=2"):
        with pytest.raises(PbsError) as refused:
            parse_qrun(["-H", hosts, "1"])
        assert describe(refused.value, "qrun")[0].splitlines()[0] == "qrun: No support for requested service"
