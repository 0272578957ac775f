"""Mails as they go over the wire: whatever a job is called, the headers are ours."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.controller.mail_send import compose
from hpcbatch.model.mail import Mail, MailConfig

WHEN = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Auto-Submitted",
    "Content-Type",
    "Content-Transfer-Encoding",
    "MIME-Version",
]
ANY = st.text(st.characters(exclude_categories=()), max_size=200)


def sent(subject: str, body: str = "") -> EmailMessage:
    mail = Mail(mail_id="end", when=WHEN, to=("a@b",), subject=subject, body=body)
    raw = compose(mail, ["a@b", "c"], MailConfig(sender="adm@here"), "end.1.uid@here")
    assert all(len(line) < 1000 and line.isascii() for line in raw.split(b"\r\n"))
    assert b"\n" not in raw.replace(b"\r\n", b"")
    found = message_from_bytes(raw, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


@given(ANY, ANY)
def test_headers_are_ours(subject: str, body: str) -> None:
    found = sent(f"PBS JOB {subject}", body)
    assert sorted(found.keys()) == sorted(HEADERS)
    assert (found["From"], found["To"], found["Message-ID"]) == ("adm@here", "a@b, c", "<end.1.uid@here>")
    assert str(found["Subject"]).startswith("PBS JOB")


def test_text_comes_through() -> None:
    subject = "Slurm Job_id=12 Name=größe Ended, Run time 00:00:05, COMPLETED, ExitCode 0, and so on for a long while"
    found = sent(subject, "PBS Job Id: 1.here\nJob Name:   größe\n")
    assert found["Subject"] == subject
    assert found.get_content().replace("\r\n", "\n") == "PBS Job Id: 1.here\nJob Name:   größe\n"
    assert found["Date"] == "Sat, 21 Nov 2026 03:00:00 +0000"
