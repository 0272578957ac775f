"""The mails about a reservation of PBS, by its record and -m."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.reservation_mail import parse_mail_points, reservation_mails
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.reservation import Phase, ReservationSpec, ReservationStatus
from hpcbatch.record.reservation import ReservationRecord

MADE = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)
START = datetime(2026, 11, 25, 14, 0, tzinfo=UTC)
END = START + timedelta(hours=1)
CONFIRM = f"confirm.{int(MADE.timestamp())}"


def record(points: str = "", *, index: int = 1, count: int = 1, by: str = "", seen: bool = True) -> ReservationRecord:
    spec = ReservationSpec(
        dialect="pbs",
        start=START,
        end=END,
        chunks=(Chunk(),),
        mail_points=points,
        submit_host="login",
        server="pbs",
    )
    status = ReservationStatus(
        phase=Phase.CONFIRMED,
        id="R12",
        owner="ann",
        generation=2 if seen else 1,
        granted=spec,
        start=START,
        end=END,
        index=index,
        count=count,
        changed=MADE,
        confirmed=MADE,
    )
    return ReservationRecord("ann", "pbs-x", 2, "", replace(spec, removed_by=by), status)


@pytest.mark.parametrize(
    ("found", "now", "ids"),
    [
        pytest.param(record(), MADE, [CONFIRM], id="by default of its confirmation"),
        pytest.param(record(), START, [CONFIRM], id="and not of its begin"),
        pytest.param(record(), END, [CONFIRM, "abort"], id="and of its end"),
        pytest.param(record("b"), START - timedelta(seconds=1), [], id="not yet"),
        pytest.param(record("b"), START, ["begin.1"], id="begin"),
        pytest.param(record("b", index=3, count=9), START, ["begin.3"], id="begin of one of many"),
        pytest.param(record("e"), END, ["end"], id="end"),
        pytest.param(record("abce"), END, [CONFIRM, "begin.1", "end", "abort"], id="all"),
        pytest.param(record("ea", index=2, count=3), END, [], id="not of the end of one of many"),
        pytest.param(record("ea", index=3, count=3), END, ["end", "abort"], id="but of the last"),
        pytest.param(record("n"), END, [], id="none"),
        pytest.param(record("a", by="ann@login"), START, ["abort"], id="removed"),
        pytest.param(record("abe", by="ann@login"), END, ["abort"], id="removed after its begin"),
        pytest.param(record("be", by="ann@login"), END, [], id="removed, unasked for"),
        pytest.param(record("n", by="ann@login"), START, [], id="removed, none"),
        pytest.param(record("a", by="ann@login", seen=False), START, [], id="not seen yet"),
    ],
)
def test_which(found: ReservationRecord, now: datetime, ids: list[str]) -> None:
    assert [mail.mail_id for mail in reservation_mails(found, now)] == ids


def test_what_is_not_granted_has_none() -> None:
    found = record("abce")
    denied = replace(found.status, phase=Phase.DENIED, granted=None)
    assert reservation_mails(found._replace(status=denied), END) == []


def test_the_texts() -> None:
    confirm, begin, end, abort = reservation_mails(record("abce"), END)
    assert {mail.subject for mail in (confirm, begin, end, abort)} == {"PBS RESERVATION R12.pbs"}
    assert {mail.to for mail in (confirm, begin, end, abort)} == {("ann@login",)}
    head = "PBS Reservation Id: R12.pbs\nReservation Name:   NULL\n"
    assert confirm.body == f"{head}Reservation transitioned from state UNCONFIRMED to CONFIRMED\n\n"
    assert begin.body == f"{head}Reservation period starting\n\n"
    assert end.body == f"{head}Reservation period ended\n\n"
    assert abort.body == f"{head}Reservation removed\nRequesting party: root@pbs\n"
    (removed,) = reservation_mails(record("a", by="bob@login"), MADE)
    assert removed.body == f"{head}Reservation removed\nRequesting party: bob@login\n"
    assert (confirm.when, begin.when, end.when, removed.when) == (MADE, START, END, MADE)


def test_named_users_and_a_name() -> None:
    found = record("c")
    granted = found.status.granted
    assert granted is not None
    named = replace(found.status, granted=replace(granted, name="mine", mail_users=("a@b", "c")))
    (mail,) = reservation_mails(found._replace(status=named), MADE)
    assert mail.to == ("a@b", "c")
    assert "\nReservation Name:   mine\n" in mail.body


@pytest.mark.parametrize("text", ["a", "abce", "n", " ec"])
def test_mail_points(text: str) -> None:
    assert parse_mail_points(text) == text.strip()


@pytest.mark.parametrize("text", ["", " ", "an", "j", "abj", "x", "a b"])
def test_what_are_no_mail_points(text: str) -> None:
    with pytest.raises(HpcBatchError, match="no mail points"):
        parse_mail_points(text)
