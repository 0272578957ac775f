"""Mails about jobs, from the records to a mail server: each once, whatever fails on the way."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, SECRETS
from hpcbatch.api.transport import LostError
from hpcbatch.controller import mail as mail_module
from hpcbatch.controller import mail_limit
from hpcbatch.controller.mail import Mailer
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.mail import MailConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from tests.component.batchjobs import NS, put_job, record_of
from tests.mail_server import DROP, MailServer
from tests.waiting import wait_for


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_module, "_FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(mail_module, "_FIRST_TRY_AGAIN_S", 0.05)


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


class Controllers:
    """Mailers as several controllers have them, one after the other or at once."""

    def __init__(self, registry: Registry, config: MailConfig) -> None:
        self.registry, self.config = registry, config
        self.made: list[Mailer] = []

    def start(self, api: Any = None) -> Mailer:
        mailer = Mailer(api or self.registry, lambda: self.config)
        mailer.start()
        self.made.append(mailer)
        return mailer

    def end(self) -> None:
        for mailer in self.made:
            mailer.stop()


@pytest.fixture
def controllers(registry: Registry, server: MailServer) -> Iterator[Controllers]:
    made = Controllers(registry, MailConfig(smtp_host="127.0.0.1", smtp_port=server.port, sender="adm@here"))
    yield made
    made.end()


def ended_job(registry: Registry, number: int = 1, *, users: tuple[str, ...] = ("a@b",), name: str = "j") -> str:
    """One that has ended with 0 a moment ago and wants mail about that; the name of its object."""
    spec = JobSpec(dialect=Dialect.SLURM, name=name, mail_points="END", mail_users=users, server="here")
    now = datetime.now(UTC).replace(microsecond=0)
    put_job(
        registry,
        number,
        JobState.FINISHED,
        spec=spec,
        start_time=now - timedelta(seconds=5),
        end_time=now,
        exit_code=0,
        run_count=1,
    )
    return f"pbs-{number}"


def look(mailer: Mailer, registry: Registry, name: str) -> None:
    mailer.look(registry.get(BATCHJOBS, name, NS), record_of(registry, name))


def mailed(registry: Registry, name: str) -> list[str]:
    return list(registry.get(BATCHJOBS, name, NS)["status"].get("mailed", ()))


def test_sent_once_by_whichever_controller(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    name = ended_job(registry)
    first = controllers.start()
    assert first.owes(record_of(registry, name))
    look(first, registry, name)
    wait_for("the mail", lambda: first.sent)
    mail = server.mails[0]
    assert (mail.sender, mail.to) == ("adm@here", ("a@b",))
    assert mail.subject == "Slurm Job_id=1 Name=j Ended, Run time 00:00:05, COMPLETED, ExitCode 0"
    assert mail.body.strip() == ""
    uid = registry.get(BATCHJOBS, name, NS)["metadata"]["uid"]
    assert mail.message["Message-ID"] == f"<end.1.{uid}@here>"
    assert mail.message["Auto-Submitted"] == "auto-generated"
    assert mailed(registry, name) == ["end"]
    assert not first.owes(record_of(registry, name))
    second = controllers.start()
    for mailer in (first, second):
        look(mailer, registry, name)
    other = ended_job(registry, 2)
    look(second, registry, other)
    wait_for("the other mail", lambda: len(server.mails) == 2)
    assert [mail.subject[:14] for mail in server.mails] == ["Slurm Job_id=1", "Slurm Job_id=2"]


def test_two_controllers_at_once(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    mailers = [controllers.start() for _ in range(3)]
    names = [ended_job(registry, number) for number in range(1, 11)]
    for name in names:
        for mailer in mailers:
            look(mailer, registry, name)
    wait_for("all mails", lambda: sum(mailer.sent for mailer in mailers) >= 10)
    wait_for("all queues empty", lambda: not any(len(mailer._queue) for mailer in mailers))
    assert len({mail.subject for mail in server.mails}) == len(server.mails) == 10


REFUSALS = [
    ("MAIL", "451 later"),
    ("RCPT", "450 greylisted"),
    ("DATA", "421 busy"),
    (".", "452 no room"),
    ("EHLO", DROP),
    ("RCPT", DROP),
]


@pytest.mark.parametrize(("command", "answer"), REFUSALS)
def test_tried_again(
    registry: Registry, server: MailServer, controllers: Controllers, command: str, answer: str
) -> None:
    server.refusals[command].extend([answer, answer])
    mailer, name = controllers.start(), ended_job(registry)
    look(mailer, registry, name)
    wait_for("the mail", lambda: mailer.sent)
    assert (len(server.mails), mailer.failed, mailer.waiting) == (1, 0, 0)
    assert mailed(registry, name) == ["end"]


@pytest.mark.parametrize(("command", "answer"), [("RCPT", "550 nobody"), (".", "554 spam"), (".", DROP)])
def test_given_up(
    registry: Registry,
    server: MailServer,
    controllers: Controllers,
    command: str,
    answer: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """For good, where another try would end the same; and where the mail may have been taken."""
    server.refusals[command].append(answer)
    mailer, name = controllers.start(), ended_job(registry)
    look(mailer, registry, name)
    wait_for("an end", lambda: mailer.failed)
    wait_for("the mark", lambda: mailed(registry, name) == ["end"])
    look(mailer, registry, name)
    other = ended_job(registry, 2)
    look(mailer, registry, other)
    wait_for("the other mail", lambda: mailer.sent)
    assert [mail.subject[:14] for mail in server.mails] == ["Slurm Job_id=2"]
    assert "mail end about job default/pbs-1 given up" in caplog.text


def test_one_good_recipient_is_enough(
    registry: Registry, server: MailServer, controllers: Controllers, caplog: pytest.LogCaptureFixture
) -> None:
    server.refusals["RCPT"].append("550 nobody")
    mailer = controllers.start()
    look(mailer, registry, ended_job(registry, users=("gone@b", "here@b")))
    wait_for("the mail", lambda: mailer.sent)
    assert server.mails[0].to == ("here@b",)
    assert "gone@b: 550 nobody" in caplog.text


def test_waits_for_a_server_that_is_away(registry: Registry, controllers: Controllers) -> None:
    with MailServer() as gone:
        port = gone.port
    controllers.config = MailConfig(smtp_host="127.0.0.1", smtp_port=port)
    mailer = controllers.start()
    for number in (1, 2, 3):
        look(mailer, registry, ended_job(registry, number))
    wait_for("a try", lambda: mailer.waiting)
    with MailServer(port=port) as server:
        wait_for("the mails", lambda: mailer.sent == 3)
        assert len(server.mails) == 3
    assert (mailer.waiting, mailer.failed) == (0, 0)


def test_nothing_of_the_users_gets_into_the_headers(
    registry: Registry, server: MailServer, controllers: Controllers
) -> None:
    evil = ("a@b Bcc: c@d", "-oX/tmp/x", "|sh", "/etc/passwd", "good@here")
    mailer = controllers.start()
    look(mailer, registry, ended_job(registry, users=evil, name="n Bcc: victim@example.org body ä"))
    wait_for("the mail", lambda: mailer.sent)
    mail = server.mails[0]
    assert mail.to == ("good@here",)
    assert mail.message["Bcc"] is None
    assert mail.message["To"] == "good@here"
    assert "Name=n Bcc: victim@example.org body ä Ended" in mail.subject
    look(mailer, registry, ended_job(registry, 2, users=("|sh",)))
    wait_for("the other to be given up", lambda: mailer.failed)
    assert mailed(registry, "pbs-2") == ["end"]


def test_domain_of_the_site(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    controllers.config = MailConfig(smtp_host="127.0.0.1", smtp_port=server.port, domain="site.org")
    mailer = controllers.start()
    look(mailer, registry, ended_job(registry, users=("bare", "full@else.org")))
    wait_for("the mail", lambda: mailer.sent)
    assert server.mails[0].to == ("bare@site.org", "full@else.org")
    spec = JobSpec(dialect=Dialect.PBS, name="x", mail_points="a", server="here", submit_host="login-1")
    put_job(registry, 2, JobState.TIMEOUT, spec=spec, reason=Reason.TIME_LIMIT, end_time=datetime.now(UTC))
    look(mailer, registry, "pbs-2")
    wait_for("the other", lambda: mailer.sent == 2)
    assert server.mails[1].to == ("alice@site.org",)


class Breaking:
    """The API over a connection that breaks once, after a mark was written, or that ends the process there."""

    def __init__(self, registry: Registry, error: Callable[[], BaseException]) -> None:
        self._registry, self._error = registry, error
        self.has_broken = threading.Event()

    def patch(self, *args: Any, **options: Any) -> Object:
        changed = self._registry.patch(*args, **options)
        if not self.has_broken.is_set():
            self.has_broken.set()
            raise self._error()
        return changed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)


def test_a_mark_whose_answer_was_lost(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    mailer = controllers.start(Breaking(registry, lambda: LostError("broke")))
    name = ended_job(registry)
    look(mailer, registry, name)
    wait_for("the mail", lambda: mailer.sent)
    assert (len(server.mails), mailed(registry, name)) == (1, ["end"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_killed_between_mark_and_mail(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    """The mail is lost, and no other controller sends it: it might have been on its way."""
    api = Breaking(registry, SystemExit)
    name = ended_job(registry)
    look(controllers.start(api), registry, name)
    wait_for("the kill", api.has_broken.is_set)
    next_one = controllers.start()
    look(next_one, registry, name)
    look(next_one, registry, ended_job(registry, 2))
    wait_for("the other mail", lambda: next_one.sent)
    assert len(server.about("Job_id=1 ")) == 0


def test_login_over_tls(
    registry: Registry,
    controllers: Controllers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    certificate = ensure_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.ca_file))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate.cert_file, certificate.key_file)
    with MailServer(tls=tls, users={"hpc": "pass word"}) as server:
        controllers.config = MailConfig(smtp_host="127.0.0.1", smtp_port=server.port, starttls=True, secret="login")
        mailer = controllers.start()
        look(mailer, registry, ended_job(registry))
        wait_for("a complaint", lambda: "no Secret login in namespace hpcbatch-system" in caplog.text)
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "login"},
            "stringData": {"username": "hpc", "password": "wrong"},
        }
        registry.create(SECRETS, secret, SYSTEM_NAMESPACE)
        wait_for("the refusal", lambda: "who are you" in caplog.text)
        registry.patch(SECRETS, "login", {"stringData": {"password": "pass word"}}, SYSTEM_NAMESPACE)
        wait_for("the mail", lambda: mailer.sent)
    assert len(server.mails) == 1
    assert "pass word" not in caplog.text


def test_an_unknown_certificate_is_not_trusted(
    registry: Registry, controllers: Controllers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate = ensure_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate.cert_file, certificate.key_file)
    with MailServer(tls=tls) as server:
        controllers.config = MailConfig(smtp_host="127.0.0.1", smtp_port=server.port, starttls=True)
        mailer = controllers.start()
        look(mailer, registry, ended_job(registry))
        wait_for("the complaint", lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
        assert (mailer.sent, server.mails) == (0, [])


PROGRAM = """#!/bin/sh
echo "$@" >>{0}/arguments
[ ! -e {0}/code ] || { read -r code <{0}/code; rm {0}/code; echo no >&2; exit "$code"; }
cat >>{0}/mails
"""


@pytest.fixture
def program(tmp_path: Path, controllers: Controllers) -> Path:
    path = tmp_path / "sendmail"
    path.write_text(PROGRAM.replace("{0}", str(tmp_path)))
    path.chmod(0o755)
    controllers.config = MailConfig(sendmail=str(path), sender="adm@here")
    return tmp_path


def test_by_a_program(registry: Registry, controllers: Controllers, program: Path) -> None:
    (program / "code").write_text("75\n")  # a temporary failure
    mailer = controllers.start()
    look(mailer, registry, ended_job(registry, users=("a@b", "c")))
    wait_for("the mail", lambda: mailer.sent)
    assert (program / "arguments").read_text() == "-i -f adm@here -- a@b c\n" * 2
    mail = (program / "mails").read_text()
    assert "\r" not in mail
    assert mail.count("Subject: Slurm Job_id=1 Name=j Ended, Run time 00:00:05, COMPLETED, ExitCode 0\n") == 1


def test_by_a_program_that_fails(registry: Registry, controllers: Controllers, program: Path) -> None:
    (program / "code").write_text("67\n")
    mailer = controllers.start()
    look(mailer, registry, ended_job(registry))
    wait_for("an end", lambda: mailer.failed)
    (program / "sendmail").rename(program / "elsewhere")
    look(mailer, registry, ended_job(registry, 2))
    wait_for("a try", lambda: mailer.waiting)
    (program / "elsewhere").rename(program / "sendmail")
    wait_for("the other mail", lambda: mailer.sent)
    assert (program / "mails").read_text().count("Subject:") == 1


def test_what_is_long_past_is_not_mailed(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    """Neither when a site begins to send mail, nor after days without its server."""
    spec = JobSpec(dialect=Dialect.SLURM, name="old", mail_points="END", mail_users=("a@b",), server="here")
    long_ago = datetime.now(UTC) - timedelta(hours=5)
    put_job(registry, 1, JobState.FINISHED, spec=spec, start_time=long_ago, end_time=long_ago, exit_code=0)
    mailer = controllers.start()
    assert not mailer.owes(record_of(registry, "pbs-1"))
    look(mailer, registry, "pbs-1")
    look(mailer, registry, ended_job(registry, 2))
    wait_for("the other mail", lambda: mailer.sent)
    assert len(server.mails) == 1


def test_mails_that_only_time_brings(registry: Registry, server: MailServer, controllers: Controllers) -> None:
    spec = JobSpec(
        dialect=Dialect.SLURM,
        name="t",
        walltime_s=4,
        mail_points="TIME_LIMIT_80,TIME_LIMIT_50",
        mail_users=("a@b",),
        server="here",
    )
    put_job(registry, 1, JobState.RUNNING, spec=spec, start_time=datetime.now(UTC), walltime_s=4, run_count=1)
    mailer = controllers.start()
    look(mailer, registry, "pbs-1")
    wait_for("both mails", lambda: len(server.mails) == 2)
    assert [mail.subject.rpartition(",")[0] for mail in server.mails] == [
        "Slurm Job_id=1 Name=t Reached 50% of time limit",
        "Slurm Job_id=1 Name=t Reached 80% of time limit",
    ]


def test_a_silent_server_holds_nobody_up(registry: Registry, controllers: Controllers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        controllers.config = MailConfig(smtp_host="127.0.0.1", smtp_port=silent.getsockname()[1])
        mailer = controllers.start()
        began = time.monotonic()
        for number in range(1, 21):
            look(mailer, registry, ended_job(registry, number))
        assert time.monotonic() - began < 60, "each would wait for as long"


@pytest.mark.slow
def test_a_user_has_so_many_mails_an_hour(
    registry: Registry, server: MailServer, controllers: Controllers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait for their time, and hold up nobody else's."""
    monkeypatch.setattr(mail_limit, "_WINDOW_S", 6.0)
    controllers.config = replace(controllers.config, max_per_hour=4)
    mailer = controllers.start()
    for number in range(1, 5):
        look(mailer, registry, ended_job(registry, number, users=("a@b", "c@d")))
    wait_for("what may go at once", lambda: mailer.sent == 2)
    wait_for("the others to wait", lambda: mailer.waiting == 2)
    assert len(server.mails) == 2
    wait_for("the others", lambda: mailer.sent == 4, limit_s=30)
    assert mailer.waiting == 0
    assert len({mail.subject for mail in server.mails}) == len(server.mails) == 4
