"""Mail about reservations of PBS, through their whole life: each once, also under controllers that are killed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.api.resources import RESERVATIONS
from hpcbatch.client.reservations import (
    begin_reservation,
    change_reservation,
    list_reservations,
    make_reservation,
    remove_reservation,
)
from hpcbatch.controller.controller import Controller
from hpcbatch.dataclass import replace
from hpcbatch.model.mail import MailConfig
from hpcbatch.model.reservation import Phase, ReservationSpec
from hpcbatch.model.site import SiteConfig
from hpcbatch.record.reservation import ReservationRecord
from tests.component.life.mortal import Fate, Mortal, Succession
from tests.component.test_reservations import HOUR, all_records, cluster, spec
from tests.component.volcano_cluster import NS, Cluster
from tests.mail_server import MailServer
from tests.waiting import wait_for

SECOND = timedelta(seconds=1)


def asked(points: str, *, begins: timedelta = HOUR, lasts: timedelta = HOUR) -> ReservationSpec:
    found = spec(begins=begins, lasts=lasts)
    start = found.start.replace(microsecond=0)
    return replace(found, start=start, end=start + lasts, mail_points=points, mail_users=("ann@here",), server="pbs")


def site(server: MailServer) -> SiteConfig:
    return SiteConfig(mail=MailConfig(smtp_host="127.0.0.1", smtp_port=server.port, sender="adm@here"))


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def world(server: MailServer) -> Iterator[Cluster]:
    with cluster() as found:
        controller = Controller(found.registry, site(server))
        controller.start()
        try:
            yield found
        finally:
            controller.stop()


def lines(server: MailServer) -> list[str]:
    """Of each mail the line that says what happened."""
    return [mail.body.splitlines()[2] for mail in server.mails]


def confirmed(world: Cluster) -> list[ReservationRecord]:
    return [record for record in all_records(world) if record.status.phase is Phase.CONFIRMED]


CONFIRMED = "Reservation transitioned from state UNCONFIRMED to CONFIRMED"


def test_from_its_confirmation_to_its_end(world: Cluster, server: MailServer) -> None:
    made = make_reservation(world.registry, NS, asked("abce", begins=SECOND, lasts=6 * SECOND), "a")
    wait_for("it is gone", lambda: not all_records(world))
    expected = [CONFIRMED, "Reservation period starting", "Reservation period ended", "Reservation removed"]
    wait_for("the last mail", lambda: len(server.mails) >= len(expected))
    assert lines(server) == expected
    assert {(mail.sender, mail.to) for mail in server.mails} == {("adm@here", ("ann@here",))}
    assert {mail.subject for mail in server.mails} == {f"PBS RESERVATION {made.status.id}.pbs"}


def test_of_a_change_and_of_its_removal(world: Cluster, server: MailServer) -> None:
    """A change that needs no other nodes or times is none that PBS mails about."""
    made = make_reservation(world.registry, NS, asked("a"), "a")
    granted = made.status.granted
    assert granted is not None
    changed = change_reservation(world.registry, made, replace(granted, mail_points="ac", name="other"))
    assert changed.status.confirmed == made.status.confirmed
    wait_for("the mail of its confirmation, which is asked for now", lambda: lines(server) == [CONFIRMED])
    confirmed = made.status.confirmed
    assert confirmed is not None
    wait_for("the next second", lambda: datetime.now(UTC) >= confirmed + SECOND)
    change_reservation(world.registry, changed, replace(granted, mail_points="ac", end=granted.end + HOUR))
    wait_for("the mail about its new end", lambda: lines(server) == [CONFIRMED] * 2)
    remove_reservation(world.registry, made, "bob@login")
    assert list_reservations(world.registry) == [], "at once"
    wait_for("it is gone", lambda: not all_records(world))
    wait_for("the last mail", lambda: len(server.mails) >= 3)
    assert server.mails[-1].body.endswith("\nReservation removed\nRequesting party: bob@login\n")
    assert len(server.mails) == 3


@pytest.mark.slow
def test_what_the_mail_server_does_not_take_yet(server: MailServer) -> None:
    """The reservation is over for everybody, and its record stays until the next controller has told of it."""
    server.refusals["RCPT"].extend(["450 later"] * 100)
    with cluster() as world:
        first = Controller(world.registry, site(server))
        first.start()
        try:
            make_reservation(world.registry, NS, asked("e", begins=SECOND, lasts=6 * SECOND), "a")
            wait_for("a try", lambda: first.mailer.waiting)
            wait_for("it is over", lambda: not list_reservations(world.registry))
        finally:
            first.stop()
        assert len(all_records(world)) == 1
        assert not server.mails
        server.refusals.clear()
        second = Controller(world.registry, site(server))
        second.start()
        try:
            wait_for("it is gone", lambda: not world.registry.list(RESERVATIONS).items)
            wait_for("the mail", lambda: server.mails)
        finally:
            second.stop()
        assert lines(server) == ["Reservation period ended"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("seed", range(2))
def test_kills(server: MailServer, seed: int) -> None:
    """With each death one mail may be lost, and none comes twice."""
    dice = random.Random(seed)
    kills, count = 6, 8
    with cluster() as world:

        def make(fate: Fate) -> Controller:
            return Controller(Mortal(world.registry, fate), site(server))

        succession = Succession(dice, make, kills=kills, lives=12)
        succession.start()
        try:
            for number in range(count):
                begin_reservation(world.registry, NS, asked("ac", begins=HOUR * (number + 1)), f"r{number}")
            wait_for("all decisions", lambda: len(confirmed(world)) == count, limit_s=60)
            for record in list_reservations(world.registry):
                remove_reservation(world.registry, record, "ann@login")
            wait_for("all are gone", lambda: not all_records(world), limit_s=60)
            wait_for("all that was begun", lambda: len(server.mails) >= 2 * count - kills)
        finally:
            succession.stop()
    found = Counter(str(mail.message["Message-ID"]) for mail in server.mails)
    assert max(found.values()) == 1
    assert len(found) >= 2 * count - kills
