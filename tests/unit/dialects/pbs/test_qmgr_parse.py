"""qmgr's command line and requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.dialects.pbs.qmgr_attributes import PUBLIC, READ_ONLY, Kind, set_elsewhere
from hpcbatch.dialects.pbs.qmgr_parse import (
    BadRequestError,
    Name,
    QmgrOptions,
    Request,
    Setting,
    Verb,
    parse_qmgr,
    parse_request,
    requests_in,
)


def test_command_line() -> None:
    assert parse_qmgr(["-aenz", "-c", "list server", "s1"]) == QmgrOptions(
        ("s1",), "list server", abort=True, echo=True, parse_only=True, quiet=True
    )
    with pytest.raises(PbsUsageError) as caught:
        parse_qmgr(["-x"])
    assert caught.value.code == 1


REQUESTS = [
    ("list queue workq", Request(Verb.LIST, Kind.QUEUE, (Name("workq"),))),
    ("  l q @default ", Request(Verb.LIST, Kind.QUEUE, (Name("", ""),))),
    ("p n @d", Request(Verb.PRINT, Kind.NODE, (Name("", ""),))),
    ("p n @active", Request(Verb.PRINT, Kind.NODE, (Name(""),))),
    ("p s", Request(Verb.PRINT, Kind.SERVER)),
    ("print nodes 1a,b@s1", Request(Verb.PRINT, Kind.NODE, (Name("1a"), Name("b", "s1")))),
    ("list server default_queue", Request(Verb.LIST, Kind.SERVER, None, (Setting("default_queue"),))),
    ("list queue q enabled,resources_max.mem", Request(
        Verb.LIST, Kind.QUEUE, (Name("q"),), (Setting("enabled"), Setting("resources_max", "mem")))),
    ("set server scheduling=True", Request(Verb.SET, Kind.SERVER, None, (Setting("scheduling", value="True"),))),
    ("set queue q1 enabled = True , started=false", Request(
        Verb.SET, Kind.QUEUE, (Name("q1"),), (Setting("enabled", value="True"), Setting("started", value="false")))),
    ("s n n1 state+=offline,comment='a, b'", Request(
        Verb.SET, Kind.NODE, (Name("n1"),),
        (Setting("state", op="+=", value="offline"), Setting("comment", value="a, b")))),
    ("unset node n1 comment", Request(Verb.UNSET, Kind.NODE, (Name("n1"),), (Setting("comment"),))),
    ("list server Default_Queue", Request(Verb.LIST, Kind.SERVER, None, (Setting("default_queue"),))),
    ("create queue q", Request(Verb.CREATE, Kind.QUEUE, (Name("q"),))),
    ("active queue", Request(Verb.ACTIVE, Kind.QUEUE)),
    ("e h x", Request(Verb.EXPORT, Kind.HOOK, (Name("x"),))),
    ("? set", Request(Verb.QUESTION, topic="set")),
    ("q", Request(Verb.QUIT)),
    ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REQUESTS, ids=[text for text, _ in REQUESTS])
def test_requests(text: str, expected: Request | None) -> None:
    assert parse_request(text) == expected


BAD = [
    ("foo", 1, "qmgr: Illegal operation: foo\nTry 'help' if you are having trouble."),
    ("list", 2, "qmgr: No object type given"),
    ("list foo", 2, "qmgr: Illegal object type: foo."),
    ("list queue 1q", 3, "qmgr: Syntax error\nlist queue 1q\n           ^"),
    ("list queue a@", 3, None),
    ("list queue a,", 3, None),
    ("set queue q", 4, "qmgr: Syntax error\nset queue q\n           ^"),
    ("set queue q enabled", 4, "qmgr: Syntax error\nset queue q enabled\n                   ^"),
    ("set queue q enabled=", 4, None),
    ("set queue q comment='a", 4, None),
    ("set queue q comment=a b", 4, None),
    ("unset queue q enabled=1", 4, None),
    ("active queue q enabled=1", 4, None),
]


@pytest.mark.parametrize(("text", "code", "said"), BAD, ids=[row[0] for row in BAD])
def test_bad_requests(text: str, code: int, said: str | None) -> None:
    with pytest.raises(BadRequestError) as caught:
        parse_request(text)
    assert caught.value.code == code
    assert said is None or caught.value.text == said


@given(st.text(alphabet="lsetquprinode @,.=+-'\"ab1;#\\", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for request in requests_in([text]):
        try:
            parse_request(request)
        except BadRequestError as error:
            assert error.text.startswith("qmgr: ")


def test_requests_of_an_input() -> None:
    lines = ["# comment\n", "\n", "a; b ';' c;d # rest\n", "set x = \\\n", "  1\n", "n#1"]
    assert list(requests_in(lines)) == ["a", " b ';' c", "d ", "set x =    1", "n#1"]


def test_tables() -> None:
    for kind in READ_ONLY:
        assert not PUBLIC[kind] & READ_ONLY[kind]
    for kind in Kind:
        assert set_elsewhere(kind)
