"""Mail about a job: how a site sends it, and one mail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hpcbatch.dataclass import dataclass

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# No control characters, blanks or commas, which would begin another header or address; no `|`, and no `-` or `/` in
# front, which mail programs take for a command, an option or a file.
_ADDRESS = re.compile(rf"(?![-/]){_ATOM}(?:\.{_ATOM})*(?:@{_LABEL}(?:\.{_LABEL})*\.?)?", re.ASCII)
_MAX_ADDRESS = 254
MAX_RECIPIENTS, MAX_PER_HOUR = 10, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MailConfig:
    """A site's way of sending mail: a mail server, or a program that takes a mail on standard input."""

    smtp_host: str = ""
    """Empty: `sendmail` is set."""
    smtp_port: int = 25
    sendmail: str = ""
    """Absolute path of a program that is called like sendmail: `PATH -i -f FROM -- TO...`."""
    sender: str = "adm"
    """PBS mail_from."""
    starttls: bool = False
    secret: str = ""
    """A Secret in the controller's namespace with `username` and `password` for the mail server; "": no login."""
    domain: str = ""
    """Appended to names without domain, replaces the submit host's: PBS_MAIL_HOST_NAME and Slurm's MailDomain."""
    allowed_domains: tuple[str, ...] | None = None
    """Allowed domains and their subdomains; None: any. Bare names are left to the mail server."""
    max_recipients: int = MAX_RECIPIENTS
    """Recipients of one job."""
    max_per_hour: int = MAX_PER_HOUR
    """Mails about one user's jobs, each counted once per recipient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One mail about one job."""

    mail_id: str
    """Event and run, as `begin.1`; each is sent once."""
    when: datetime
    to: tuple[str, ...]
    """From the user or the dialect's default; not checked yet."""
    subject: str
    body: str = ""


def recipients(given: Sequence[str], config: MailConfig, owner: str) -> tuple[list[str], list[str]]:
    """The addresses to send to, and the errors of the others. The site's domain is appended to bare names, and replaces
    the submit host's in `owner`, the default address.
    """
    good: list[str] = []
    bad: list[str] = []
    over: list[str] = []
    for named in dict.fromkeys(given):
        is_bare = config.domain and ("@" not in named or named == owner)
        address = f"{named.partition('@')[0]}@{config.domain}" if is_bare else named
        if not is_address(address):
            bad.append(f"{named!r} is no mail address; nothing is sent to it")
        elif not _is_allowed(address, config):
            where = " and ".join(config.allowed_domains or ()) or "this site"
            bad.append(f"mail goes to {where} only; nothing is sent to {address}")
        elif address not in good:
            (good if len(good) < config.max_recipients else over).append(address)
    if over:
        more = f" and {len(over) - 1} more" if len(over) > 1 else ""
        bad.append(f"a job's mail goes to {config.max_recipients} addresses; nothing is sent to {over[0]}{more}")
    return good, bad


def _is_allowed(address: str, config: MailConfig) -> bool:
    _, at, host = address.lower().rstrip(".").partition("@")
    if not at or config.allowed_domains is None:
        return True
    allowed = (*config.allowed_domains, *([config.domain] if config.domain else []))
    return any(host == domain.lower() or host.endswith(f".{domain.lower()}") for domain in allowed)


def is_address(text: str) -> bool:
    """Whether `text` is a plain mail address, `name` or `name@host`, that is harmless in a header or as an argument of
    a mail program."""
    return len(text) <= _MAX_ADDRESS and _ADDRESS.fullmatch(text) is not None
