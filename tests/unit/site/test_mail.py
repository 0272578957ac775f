"""The site file's `mail`."""

from __future__ import annotations

import re

import pytest

from hpcbatch.model.mail import MailConfig
from hpcbatch.site.file import SiteFileError, read_config

HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nimage: i:1\n"
GOOD = [
    ("{smtp: mail.site, from: pbs@site}", MailConfig(smtp_host="mail.site", sender="pbs@site")),
    ('{smtp: "10.1.2.3:2525", from: adm}', MailConfig(smtp_host="10.1.2.3", smtp_port=2525)),
    (
        "{smtp: m.site:587, from: adm, startTLS: true, secret: mail-login, domain: site.org}",
        MailConfig(smtp_host="m.site", smtp_port=587, starttls=True, secret="mail-login", domain="site.org"),
    ),
    (
        "{smtp: m, from: adm, allowedDomains: [site.org, lab.org], maxRecipients: 3, maxPerHour: 20}",
        MailConfig(smtp_host="m", allowed_domains=("site.org", "lab.org"), max_recipients=3, max_per_hour=20),
    ),
    ("{smtp: m, from: adm, allowedDomains: []}", MailConfig(smtp_host="m", allowed_domains=())),
    ("{sendmail: /usr/sbin/sendmail, from: adm}", MailConfig(sendmail="/usr/sbin/sendmail")),
]
BAD = [
    ("{smtp: m, sendmail: /s, from: adm}", "mail: expected one of smtp and sendmail"),
    ("{from: adm}", "mail: expected one of smtp and sendmail"),
    ("{smtp: m}", "mail.from: missing"),
    ("{smtp: 'm:x', from: adm}", "mail.smtp: expected a mail server as host:port, found 'm:x'"),
    ("{smtp: 'm:70000', from: adm}", "mail.smtp: expected a port from 1 to 65535, found '70000'"),
    ("{smtp: m, from: 'a b'}", "mail.from: expected a mail address, found 'a b'"),
    ("{smtp: m, from: adm, secret: login}", "mail.secret: a password is sent over TLS only: startTLS: true is missing"),
    ("{smtp: m, from: adm, startTLS: yes}", "mail.startTLS: expected true or false, found 'yes'"),
    ("{sendmail: mail, from: adm}", "mail.sendmail: expected the absolute path of a program"),
    ("{sendmail: /s, from: adm, startTLS: true}", "mail.startTLS: goes with smtp only"),
    ("{smtp: m, from: adm, domain: '@x'}", "mail.domain: expected a domain name, found '@x'"),
    ("{smtp: m, from: adm, allowedDomains: ['*.org']}", "mail.allowedDomains: expected a domain name, found '*.org'"),
    ("{smtp: m, from: adm, maxRecipients: 0}", "mail.maxRecipients: expected a whole number from 1 to 1000000"),
    ("{smtp: m, from: adm, maxPerHour: many}", "mail.maxPerHour: expected a whole number from 1 to 1000000"),
    ("{smpt: m, from: adm}", "mail.smpt: unknown key; did you mean smtp?"),
    ("yes", "mail: expected keys and values, found 'yes'"),
]


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_mail(text: str, expected: MailConfig) -> None:
    assert read_config(f"{HEAD}mail: {text}\n").mail == expected


def test_off_by_default() -> None:
    assert read_config(HEAD).mail is None


@pytest.mark.parametrize(("text", "problem"), BAD, ids=[b[0] for b in BAD])
def test_faults(text: str, problem: str) -> None:
    with pytest.raises(SiteFileError) as caught:
        read_config(f"{HEAD}mail: {text}\n")
    shown = [str(found) for found in caught.value.problems]
    assert any(re.match(rf"site\.yaml:4:\d+: {re.escape(problem)}", line) for line in shown), shown
