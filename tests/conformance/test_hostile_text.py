"""Names, accounts and comments that would steer another user's terminal or forge a row: refused, or shown as text."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.conformance.site import Site
from tests.conformance.test_bad_input import submissions

ESCAPE = "x\x1b[31m"
ROW = "x\n99.pbs1"
WHY = "it has a character that cannot be printed"
SLURM_OPTIONS = ["job-name", "comment", "account", "output", "mail-user", "partition", "qos", "chdir"]


@pytest.mark.parametrize("option", SLURM_OPTIONS)
def test_sbatch_refuses_the_option(site: Site, option: str) -> None:
    before = submissions(site)
    for value, shown in ((ESCAPE, "x^[[31m"), (ROW, "x^J99.pbs1"), ("a\u202eb", "a?b")):
        done = site.run("sbatch", f"--{option}={value}", "--wrap", "true", check=False)
        said = f"sbatch: error: Invalid --{option} specification: {shown}: {WHY}\n"
        assert (done.returncode, done.stdout, done.stderr) == (255, "", said)
    assert submissions(site) <= before


@pytest.mark.parametrize("letter", ["A", "N", "P", "q", "o", "M", "S"])
def test_qsub_refuses_the_option(site: Site, letter: str) -> None:
    before = submissions(site)
    for value in (ESCAPE, ROW):
        done = site.run("qsub", f"-{letter}", value, stdin="true\n", check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"qsub: illegal -{letter} value\n")
    assert submissions(site) <= before


def test_what_is_no_option_is_refused_too(site: Site) -> None:
    name = f"{ESCAPE}.sh"
    site.script(name, "#!/bin/sh\ntrue\n")
    done = site.run("sbatch", name, check=False)
    said = "sbatch: error: job name 'x^[[31m.sh' has a character that cannot be printed\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    done = site.run("qsub", "-N", "x", name, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("qsub: script's path '")
    assert done.stderr.endswith("has a character that cannot be printed\n")


def test_a_job_is_not_altered_so(site: Site) -> None:
    job = site.sbatch("--hold", "--wrap", "true")
    done = site.run("scontrol", "update", f"jobid={job}", f"name={ROW}", check=False)
    assert done.returncode == 1
    assert done.stderr == f"scontrol: error: Invalid Name value: x^J99.pbs1: {WHY}\n"
    done = site.run("qalter", "-A", ESCAPE, job, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("qalter: illegal -A value\n")
    patch = json.dumps({"spec": {"alteration": {"id": "i", "fields": {"name": ROW}}}})
    done = site.run("kubectl", "patch", "batchjob", name_of(site, job), "--type=merge", "-p", patch, check=False)
    assert done.returncode == 1
    assert "spec.alteration.fields.name in body should match" in done.stderr
    site.run("scancel", job)


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"server": "pbs1\n11/21/2026 20:24:03;E;1.pbs1;user=bob"}, id="line in server"),
        pytest.param({"server": "pbs1\n"}, id="newline ends server"),
        pytest.param({"server": "pbs1;E"}, id="field in server"),
        pytest.param({"submitHost": "a b=c"}, id="field in host"),
        pytest.param({"name": ESCAPE}, id="name"),
        pytest.param({"account": ROW}, id="account"),
        pytest.param({"workDir": "/a\rb"}, id="directory"),
        pytest.param({"stdout": {"path": "/a\tb"}}, id="output"),
        pytest.param({"attributes": {"comment": ROW}}, id="attribute"),
        pytest.param({"mailUsers": ["a\x9bb"]}, id="mail"),
    ],
)
def test_the_api_refuses_the_record(site: Site, field: dict[str, Any]) -> None:
    done = create(site, "hostile", field)
    assert done.returncode == 1
    assert "should match" in done.stderr


def test_the_controller_refuses_an_attribute_that_is_no_name(site: Site) -> None:
    """The definition cannot say so."""
    assert create(site, "hostile-key", {"attributes": {"Resource_List.x user=bob": "1"}}).returncode == 0
    site.kubectl("wait", "--for=jsonpath={.status.state}=Refused", "batchjob/hostile-key", "--timeout=60s")
    refusal = site.kubectl("get", "batchjob", "hostile-key", "-o", "jsonpath={.status.refusal.message}").stdout
    assert refusal == "'Resource_List.x user=bob' is not the name of an attribute"


def test_names_in_any_language_are_shown_as_they_are(site: Site) -> None:
    name = "výpočet 模拟"
    job = site.sbatch("-J", name, "--comment", "größer | kleiner", "--hold", "--wrap", "true")
    assert site.run("squeue", "-h", "-o", "%j", "-j", job).stdout == f"{name}\n"
    assert f"JobName={name}\n" in site.run("scontrol", "show", "job", job).stdout
    assert f"    Job_Name = {name}\n" in site.run("qstat", "-f", job).stdout
    site.run("scancel", job)


def test_a_bar_in_a_name_makes_no_field(site: Site) -> None:
    job = site.sbatch("-J", "x|bob|victim", "--hold", "--wrap", "true")
    told = site.run("sacct", "-X", "-n", "-P", "-o", "jobid,jobname,state", "-j", job).stdout
    assert told == f"{job}|x?bob?victim|PENDING\n"
    assert site.run("squeue", "-h", "-o", "%i|%j|%t", "-j", job).stdout == f"{job}|x?bob?victim|PD\n"
    assert site.run("squeue", "-h", "-o", "%j", "-j", job).stdout == "x|bob|victim\n"
    site.run("scancel", job)


def test_a_name_forges_no_field_of_the_accounting_log(site: Site) -> None:
    name, account = "x user=bob account=victim queue=gold", 'a" user=eve b="'
    job = site.sbatch("-J", name, "-A", account, "-o", "/dev/null", "--wrap", "true")
    site.wait_end(job)
    found = [line.split(";", 3) for line in site.run("hpcbatch", "accounting").stdout.splitlines()]
    told = {letter: text for _, letter, named, text in found if named.startswith(f"{job}.")}
    assert told.keys() == {"Q", "S", "E"}
    for text in told.values():
        names = [word.partition("=")[0] for word in text.split()]
        assert (names.count("user"), names.count("account"), names.count("queue")) == (1, 1, 1)
        assert r'jobname="x user\075bob account\075victim queue\075gold" ' in text
        assert r'account="a\042 user\075eve b\075\042" ' in text
    assert r'"x user\075bob' in site.run("tracejob", job).stdout


def test_the_words_of_a_command_may_be_lines(site: Site) -> None:
    """They are the job's own; listings show each on its line."""
    text = "echo one\necho \x1b[31mtwo\nexit 3"
    job = site.qsub("-o", "lines.out", "-e", "/dev/null", "--", "/bin/sh", "-c", text)
    assert site.wait_end(job)["Exit_status"] == 3
    assert site.read("lines.out") == "one\n\x1b[31mtwo\n"
    shown = site.run("qstat", "-x", "-f", job).stdout
    assert "\x1b" not in shown
    assert all(line.startswith(("Job Id", "    ", "\t")) or not line for line in shown.splitlines())


def name_of(site: Site, job: str) -> str:
    fields = ("get", "batchjobs", f"--field-selector=status.jobId={job}", "-o", "jsonpath={.items[0].metadata.name}")
    return site.kubectl(*fields).stdout


def create(site: Site, name: str, more: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """As the user."""
    chunk = {"count": 1, "cpus": 1, "ranks": 1}
    spec = {"dialect": "slurm", "name": "x", "chunks": [chunk], "server": "s", **more}
    record = {"apiVersion": "hpcbatch.io/v1alpha1", "kind": "BatchJob", "metadata": {"name": name}, "spec": spec}
    return site.run("kubectl", "create", "-f", "-", stdin=json.dumps(record), check=False)
