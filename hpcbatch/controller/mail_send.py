"""Sends one mail: to a mail server, or to a program that is called like sendmail."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING, NamedTuple

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.mail import Mail, MailConfig

if TYPE_CHECKING:
    import smtplib

_TIMEOUT_S = 20.0
_OK, _FORWARDED, _PERMANENT = 250, 251, 500  # RFC 5321
_MAX_LINE = 990  # a subject is one line, as in the real systems; RFC 5322 allows 998
_TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h


class MailError(HpcBatchError):
    """A mail was rejected. `is_permanent`: a retry would fail too. `is_unsure`: it may have been sent."""

    def __init__(self, text: str, *, is_permanent: bool = False, is_unsure: bool = False) -> None:
        self.is_permanent, self.is_unsure = is_permanent, is_unsure
        super().__init__(text)


class ClosedError(MailError):
    """No mail at all can be sent now: the server is away, or the login fails."""


def compose(mail: Mail, to: Sequence[str], config: MailConfig, message_id: str) -> bytes:
    """The mail with its headers. Text of the user is never taken as a header."""
    message = EmailMessage(policy=SMTP.clone(max_line_length=_MAX_LINE, cte_type="7bit"))
    message["From"] = config.sender
    message["To"] = ", ".join(to)
    message["Subject"] = "".join(char if char.isprintable() else "?" for char in _utf8(mail.subject))
    message["Date"] = format_datetime(mail.when)
    message["Message-ID"] = f"<{message_id}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office replies
    message.set_content(_utf8(mail.body))
    return message.as_bytes()


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def send(
    message: bytes, to: Sequence[str], config: MailConfig, login: Mapping[str, str], commit: Callable[[], None]
) -> list[str]:
    """Send the mail. `commit` is called after everything but the mail itself has been accepted, right before that; what
    it raises ends the attempt. Returns the server's replies for rejected recipients, if others were accepted.
    Raises MailError.
    """
    return (_by_program if config.sendmail else _by_smtp)(message, to, config, login, commit)


def _by_smtp(
    message: bytes, to: Sequence[str], config: MailConfig, login: Mapping[str, str], commit: Callable[[], None]
) -> list[str]:
    import smtplib
    import ssl

    name = f"mail server {config.smtp_host}:{config.smtp_port}"
    try:
        # without a name smtplib would query the DNS, which may take long
        here = os.uname().nodename
        server = smtplib.SMTP(config.smtp_host, config.smtp_port, local_hostname=here, timeout=_TIMEOUT_S)
    except (OSError, smtplib.SMTPException) as error:
        raise ClosedError(f"{name}: {_reply(error)}") from None
    try:
        try:
            if config.starttls:
                server.starttls(context=ssl.create_default_context())
            if login:
                server.login(login["username"], login["password"])
            server.ehlo_or_helo_if_needed()
            _accepted(server.mail(config.sender))
            refused = [refusal for address in to if (refusal := _refusal(server, address)) is not None]
        except (OSError, smtplib.SMTPException) as error:
            raise ClosedError(f"{name}: {_reply(error)}") from None
        if len(refused) == len(to):
            is_permanent = all(refusal.code >= _PERMANENT for refusal in refused)
            raise MailError("; ".join(refusal.text for refusal in refused), is_permanent=is_permanent)
        commit()
        try:
            code, reply = server.data(message)
        except smtplib.SMTPDataError as error:
            code, reply = error.smtp_code, _bytes(error.smtp_error)
        except (OSError, smtplib.SMTPException) as error:
            raise MailError(f"{name}: the connection broke in the mail: {_reply(error)}", is_unsure=True) from None
        if code != _OK:
            raise MailError(f"{name}: {code} {_text(reply)}", is_permanent=code >= _PERMANENT)
    finally:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()
    return [refusal.text for refusal in refused]


class _Refusal(NamedTuple):
    code: int
    text: str


def _refusal(server: smtplib.SMTP, address: str) -> _Refusal | None:
    code, reply = server.rcpt(address)
    return None if code in {_OK, _FORWARDED} else _Refusal(code, f"{address}: {code} {_text(reply)}")


def _accepted(reply: tuple[int, bytes]) -> None:
    if reply[0] != _OK:
        raise OSError(f"{reply[0]} {_text(reply[1])}")


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _text(reply: bytes) -> str:
    return " ".join(reply.decode(errors="replace").split())


def _reply(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())


def _by_program(
    message: bytes, to: Sequence[str], config: MailConfig, _login: Mapping[str, str], commit: Callable[[], None]
) -> list[str]:
    commit()
    argv = [config.sendmail, "-i", "-f", config.sender, "--", *to]
    text = message.replace(b"\r\n", b"\n")
    try:
        done = subprocess.run(argv, input=text, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise MailError(f"{config.sendmail} did not end within {_TIMEOUT_S:.0f} s", is_unsure=True) from None
    except OSError as error:
        raise ClosedError(f"{config.sendmail}: {error.strerror}") from None
    if done.returncode:
        output = " ".join(done.stderr.decode(errors="replace").split())[:200]
        raise MailError(
            f"{config.sendmail} ended with {done.returncode}: {output}", is_permanent=done.returncode != _TEMPORARY
        )
    return []
