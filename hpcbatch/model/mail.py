"""Mail on what becomes of a job: how a site sends it, and one letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# No control characters, blanks or commas, which would begin another header or address; no `|`, and no `-` or `/` in
# front, which mail programs take for a command, an option or a file.
_ADDRESS = re.compile(rf"(?![-/]){_ATOM}(?:\.{_ATOM})*(?:@{_LABEL}(?:\.{_LABEL})*\.?)?", re.ASCII)
_MAX_ADDRESS = 254


@dataclass(frozen=True, slots=True, kw_only=True)
class MailConfig:
    """A site's way of sending mail: a mail server, or a program that takes a letter on standard input."""

    smtp_host: str = ""
    """Empty: `sendmail` is given."""
    smtp_port: int = 25
    sendmail: str = ""
    """Absolute path of a program that is called as sendmail is: `PATH -i -f FROM -- TO...`."""
    sender: str = "adm"
    """PBS mail_from."""
    starttls: bool = False
    secret: str = ""
    """A Secret in the controller's namespace with `username` and `password` for the mail server; "": no login."""
    domain: str = ""
    """Behind names without one, and instead of the submit host's: PBS_MAIL_HOST_NAME and Slurm's MailDomain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One letter about one job."""

    mail_id: str
    """What happened and in which run, as `begin.1`; each is sent once."""
    when: datetime
    to: tuple[str, ...]
    """As the user gave them or the dialect has them by default; not checked yet."""
    subject: str
    body: str = ""


def is_address(text: str) -> bool:
    """Whether `text` is a plain mail address, `name` or `name@host`, that can do no harm in a header or as an argument
    of a mail program."""
    return len(text) <= _MAX_ADDRESS and _ADDRESS.fullmatch(text) is not None
