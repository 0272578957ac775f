"""The part `mail` of the site's configuration file."""

from __future__ import annotations

import re

import yaml

from hpcbatch.model.mail import MAX_PER_HOUR, MAX_RECIPIENTS, MailConfig, is_address
from hpcbatch.site.yaml_fields import Fields, UnfitError, boolean, list_of, number, text
from hpcbatch.typed import Final

MAIL_KEYS: Final = (
    "smtp",
    "sendmail",
    "from",
    "startTLS",
    "secret",
    "domain",
    "allowedDomains",
    "maxRecipients",
    "maxPerHour",
)
_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*")
_SECRET = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SMTP_PORT = 25
_MAX_PORT = 65535
_MOST = 1_000_000


def read_mail(fields: Fields) -> MailConfig | None:
    """How the site sends mail; None without that key."""
    node = fields.get("mail")
    if node is None:
        return None
    mail = Fields(node, MAIL_KEYS, fields.problems, fields.file, fields.key("mail"))
    if not mail.is_mapping:
        return None
    host, port = mail.take("smtp", _server, ("", _SMTP_PORT))
    sendmail = mail.take("sendmail", _program, "")
    if ("smtp" in mail) == ("sendmail" in mail):
        mail.complain("", "expected one of smtp and sendmail")
    for key in ("startTLS", "secret"):
        if key in mail and "sendmail" in mail:
            mail.complain(key, "goes with smtp only")
    config = MailConfig(
        smtp_host=host,
        smtp_port=port,
        sendmail=sendmail,
        sender=mail.require("from", _address, "adm"),
        starttls=mail.take("startTLS", boolean, False),
        secret=mail.take("secret", _secret, ""),
        domain=mail.take("domain", _domain, ""),
        allowed_domains=mail.take("allowedDomains", list_of(_domain), None),
        max_recipients=mail.take("maxRecipients", number(1, _MOST), MAX_RECIPIENTS),
        max_per_hour=mail.take("maxPerHour", number(1, _MOST), MAX_PER_HOUR),
    )
    if config.secret and not config.starttls:
        mail.complain("secret", "a password is sent over TLS only: startTLS: true is missing")
    return config


def _server(node: yaml.Node) -> tuple[str, int]:
    host, colon, port = text(node).partition(":")
    if not _HOST.fullmatch(host) or (colon and not re.fullmatch("[0-9]{1,5}", port, re.ASCII)):
        raise UnfitError(f"expected a mail server as host:port, found {text(node)!r}")
    number = int(port) if colon else _SMTP_PORT
    if not 1 <= number <= _MAX_PORT:
        raise UnfitError(f"expected a port from 1 to {_MAX_PORT}, found {port!r}")
    return host, number


def _program(node: yaml.Node) -> str:
    path = text(node)
    if not path.startswith("/") or any(not char.isprintable() for char in path):
        raise UnfitError(f"expected the absolute path of a program such as /usr/sbin/sendmail, found {path!r}")
    return path


def _address(node: yaml.Node) -> str:
    if not is_address(text(node)):
        raise UnfitError(f"expected a mail address, found {text(node)!r}")
    return text(node)


def _domain(node: yaml.Node) -> str:
    if not _HOST.fullmatch(text(node)):
        raise UnfitError(f"expected a domain name, found {text(node)!r}")
    return text(node)


def _secret(node: yaml.Node) -> str:
    if not _SECRET.fullmatch(text(node)):
        raise UnfitError(f"expected the name of a Secret, found {text(node)!r}")
    return text(node)
