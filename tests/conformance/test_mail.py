"""Mail about jobs in both dialects, through the site's mail server: who gets which mail, and each once."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import pytest

from tests.conformance.rigs import Rig
from tests.conformance.site import Site
from tests.conformance.site_file import HEAD, configure, configured, published
from tests.mail_server import MailServer, Received
from tests.waiting import wait_for

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def server(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    """A mail server, which the site sends its mail through as long as these cases run."""
    admin = rig.site(tmp_path_factory.mktemp("admin"))
    is_cluster = os.environ.get("HPCBATCH_RIG") == "cluster"
    with MailServer("0.0.0.0" if is_cluster else "127.0.0.1") as server:
        host = address_of_node(admin) if is_cluster else "127.0.0.1"
        given = configured(admin)
        keys = "from: pbs@site.example, domain: site.example, allowedDomains: [example.org], maxRecipients: 3"
        mail = f'mail: {{smtp: "{host}:{server.port}", {keys}, maxPerHour: 500}}\n'
        configure(admin, (given if given is not None else HEAD) + mail)
        wait_for("the configuration", lambda: published(admin).get("mail"))
        yield server
        configure(admin, given)
        wait_for("the old configuration", lambda: not published(admin).get("mail"))


def address_of_node(admin: Site) -> str:
    """Of this machine, whose nodes they all are, as pods reach it."""
    path = "jsonpath={.items[0].status.addresses[?(@.type=='InternalIP')].address}"
    return admin.kubectl("get", "nodes", "-o", path).stdout


def mails(server: MailServer, subject: str, count: int) -> list[Received]:
    """Those whose subject has this; waits for `count` of them, and for no more than these."""
    wait_for(f"{count} mails {subject!r}", lambda: len(server.about(subject)) >= count)
    found = server.about(subject)
    assert len(found) == count, [mail.subject for mail in found]
    return found


def test_pbs(site: Site, server: MailServer) -> None:
    done = site.run("qsub", "-m", "abe", "-M", "me@example.org,you", "-N", "post", "-j", "oe", stdin="exit 3\n")
    assert done.stderr == ""
    shown = done.stdout.strip()
    site.wait_end(shown)
    begin, end = mails(server, f"PBS JOB {shown}", 2)
    assert begin.sender == end.sender == "pbs@site.example"
    assert begin.to == end.to == ("me@example.org", "you@site.example")
    head = f"PBS Job Id: {shown}\nJob Name:   post\n"
    assert begin.body == f"{head}Begun execution\n"
    assert end.body.startswith(f"{head}Execution terminated\nExit_status=3\nresources_used.cpupercent=")
    assert re.search(r"\nresources_used\.walltime=\d\d:\d\d:\d\d\n\Z", end.body)


@pytest.mark.slow
def test_reservations_of_pbs(site: Site, server: MailServer) -> None:
    start = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 10))
    asked = ("pbs_rsub", "-l", "select=1:ncpus=1", "-M", "me@example.org,you", "-R", start, "-D")
    done = site.run(*asked, "10", "-m", "abce", "-N", "mine")
    assert done.stderr == ""
    shown = done.stdout.split()[0]
    full = site.run("pbs_rstat", "-f", shown).stdout
    assert "\nMail_Points = abce\nMail_Users = me@example.org,you\n" in full
    found = mails(server, f"PBS RESERVATION {shown}", 4)
    head = f"PBS Reservation Id: {shown}\nReservation Name:   mine\n"
    assert [mail.body for mail in found] == [
        f"{head}Reservation transitioned from state UNCONFIRMED to CONFIRMED\n\n",
        f"{head}Reservation period starting\n\n",
        f"{head}Reservation period ended\n\n",
        f"{head}Reservation removed\nRequesting party: root@{site.server}\n",
    ]
    assert {mail.to for mail in found} == {("me@example.org", "you@site.example")}


def test_a_reservation_of_pbs_that_is_removed(site: Site, server: MailServer) -> None:
    start = time.strftime("%Y%m%d%H%M", time.localtime(time.time() + 7200))
    asked = ("pbs_rsub", "-l", "select=1:ncpus=1", "-R", start, "-D", "60")
    shown, quiet = (site.run(*asked, *more).stdout.split()[0] for more in ((), ("-m", "n")))
    (confirmed,) = mails(server, f"PBS RESERVATION {shown}", 1)
    assert confirmed.to == (f"{site.env['USER']}@site.example",)
    altered = site.run("pbs_ralter", "-m", "a", "-M", "you", shown)
    assert (altered.stdout, altered.stderr) == (f"pbs_ralter: {shown} ALTER REQUESTED\n", "")
    assert "\nMail_Points = a\nMail_Users = you\n" in site.run("pbs_rstat", "-f", shown).stdout
    site.run("pbs_rdel", quiet, shown)
    gone = site.run("pbs_rdel", shown, check=False)
    assert (gone.returncode, gone.stderr) == (236, f"pbs_rdel: Unknown Reservation Id {shown}\n")
    _, removed = mails(server, f"PBS RESERVATION {shown}", 2)
    assert removed.to == ("you@site.example",)
    assert f"\nReservation removed\nRequesting party: {site.env['USER']}@" in removed.body
    assert not server.about(f"PBS RESERVATION {quiet}")
    bad = site.run(*asked, "-m", "j", check=False)
    assert (bad.returncode, bad.stderr.splitlines()[0]) == (2, "pbs_rsub: illegal -m value")


def test_slurm(site: Site, server: MailServer) -> None:
    job = site.sbatch("--mail-type=ALL", "--mail-user=me@example.org", "-J", "s", "-o", "/dev/null", "--wrap", "exit 4")
    good = site.sbatch("--mail-type=end,fail", "-J", "g", "-o", "/dev/null", "--wrap", "true")
    began, failed = mails(server, f"Slurm Job_id={job} ", 2)
    assert re.fullmatch(rf"Slurm Job_id={job} Name=s Began, Queued time \d\d:\d\d:\d\d", began.subject)
    assert re.fullmatch(rf"Slurm Job_id={job} Name=s Failed, Run time [\d:]+, FAILED, ExitCode 4", failed.subject)
    assert began.to == ("me@example.org",)
    (ended,) = mails(server, f"Slurm Job_id={good} ", 1)
    assert re.fullmatch(rf"Slurm Job_id={good} Name=g Ended, Run time [\d:]+, COMPLETED, ExitCode 0", ended.subject)
    assert ended.to == (f"{site.env['USER']}@site.example",)


def test_what_is_cut_off_at_its_walltime(site: Site, server: MailServer) -> None:
    """PBS tells the owner of that without being asked."""
    pbs = site.qsub("-l", "walltime=1", "-N", "slow", "-j", "oe", stdin="sleep 600\n")
    site.wait_end(pbs)
    (mail,) = mails(server, f"PBS JOB {pbs}.", 1)
    assert mail.to == (f"{site.env['USER']}@site.example",)
    assert mail.body.endswith("\nAborted by PBS Server \nJob exceeded resource walltime\nSee job standard error file\n")


def test_who_asks_for_none_gets_none(site: Site, server: MailServer) -> None:
    quiet = [
        site.qsub("-m", "n", "-N", "q", "-j", "oe", stdin="exit 1\n"),
        site.qsub("-N", "q", "-j", "oe", stdin="exit 1\n"),
        site.sbatch("--mail-user=me@example.org", "-o", "/dev/null", "--wrap", "false"),
        site.sbatch("--mail-type=NONE", "-o", "/dev/null", "--wrap", "false"),
    ]
    for job in quiet:
        site.wait_end(job)
    last = site.qsub("-m", "e", "-N", "q", "-j", "oe", stdin="true\n")
    mails(server, f"PBS JOB {last}.", 1)
    for job in quiet:
        assert not server.about(f"PBS JOB {job}.")
        assert not server.about(f"Job_id={job} ")


def test_arrays(site: Site, server: MailServer) -> None:
    slurm = site.sbatch(
        "--mail-type=BEGIN,END,FAIL", "--array=0-2", "-J", "a", "-o", "/dev/null", "--wrap", "exit $SLURM_ARRAY_TASK_ID"
    )
    tasks = site.sbatch("--mail-type=END,ARRAY_TASKS", "--array=7,8", "-J", "t", "-o", "/dev/null", "--wrap", "true")
    began, ended = mails(server, f"Slurm Array Summary Job_id={slurm}_* ({slurm}) Name=a ", 2)
    assert began.subject.endswith(" Began")
    assert re.search(r" Failed, Mixed, ExitCode \[0-\d\]\Z", ended.subject)
    for index in (7, 8):
        (mail,) = mails(server, f"Slurm Array Task Job_id={tasks}_{index} (", 1)
        assert mail.subject.endswith(", COMPLETED, ExitCode 0")
    assert not server.about(f"Array Task Job_id={slurm}_")


def test_a_user_can_only_send_mail(site: Site, server: MailServer) -> None:
    """Not mails of one's own making, and not to what is no address."""
    bad = site.run("qsub", "-m", "e", "-M", "|sh,ok@example.org", "-N", "evil", "-j", "oe", stdin="true\n")
    assert bad.stderr == "qsub: '|sh' is no mail address; nothing is sent to it\n"
    (mail,) = mails(server, f"PBS JOB {bad.stdout.strip()}", 1)
    assert mail.to == ("ok@example.org",)
    job = site.sbatch("--mail-type=END", "-J", "x Bcc: victim@example.org", "-o", "/dev/null", "--wrap", "true")
    (mail,) = mails(server, f"Slurm Job_id={job} ", 1)
    assert mail.to == (f"{site.env['USER']}@site.example",)
    assert mail.message["Bcc"] is None


def test_a_job_writes_to_few_and_where_the_site_allows(site: Site, server: MailServer) -> None:
    users = "a@example.org,b@evil.example,c@lab.example.org,d,d@site.example,e@example.org"
    told = site.run("qsub", "-m", "e", "-M", users, "-N", "far", "-j", "oe", stdin="true\n")
    assert told.stderr == (
        "qsub: mail goes to example.org only; nothing is sent to b@evil.example\n"
        "qsub: a job's mail goes to 3 addresses; nothing is sent to e@example.org\n"
    )
    (mail,) = mails(server, f"PBS JOB {told.stdout.strip()}", 1)
    assert mail.to == ("a@example.org", "c@lab.example.org", "d@site.example")
    many = ",".join(f"v{n}@example.org" for n in range(200))
    done = site.run("sbatch", "--mail-type=END", f"--mail-user={many}", "-o", "/dev/null", "--wrap", "true")
    assert done.stderr == "sbatch: a job's mail goes to 3 addresses; nothing is sent to v3@example.org and 196 more\n"
    (mail,) = mails(server, f"Slurm Job_id={done.stdout.split()[-1]} ", 1)
    assert mail.to == ("v0@example.org", "v1@example.org", "v2@example.org")
