"""Two users on one cluster: each runs MPI jobs, and neither can read, change, delete or be the other."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster import login
from tests.cluster.conftest import Admin
from tests.conformance.site import Site
from tests.conformance.test_mpi import ranks_by_host, ring_in
from tests.waiting import wait_for

SECRET_WORDS = "alices-secret-words"


def as_user(site: Site, *argv: str, stdin: str = "") -> tuple[int, str]:
    """kubectl with the user's own kubeconfig: exit code, and all that it said."""
    done = site.run("kubectl", *argv, stdin=stdin, check=False)
    return done.returncode, done.stdout + done.stderr


def allowed(site: Site, verb: str, resource: str, namespace: str, name: str = "") -> bool:
    target = f"{resource}/{name}" if name else resource
    return as_user(site, "-n", namespace, "auth", "can-i", verb, target)[0] == 0


@pytest.fixture
def running(alice: Site) -> str:
    """A job of alice's that runs on two nodes."""
    alice.script("secret.sh", f"#!/bin/sh\n# {SECRET_WORDS}\nsleep 600\n")
    job = alice.sbatch("-N", "2", "-o", "out", "secret.sh", env={"TOKEN": SECRET_WORDS})
    alice.wait_state(job, "R")
    return job


def test_mpi_over_three_nodes_as_two_users_at_once(alice: Site, bob: Site) -> None:
    for site in (alice, bob):
        ring_in(site)
    pbs, slurm = alice.qsub("ring.pbs"), bob.sbatch("ring.slurm")
    records = alice.wait_end(pbs), bob.wait_end(slurm)
    texts = alice.read(f"ring.o{pbs}"), bob.read(f"ring.{slurm}.out")
    for record, text in zip(records, texts, strict=True):
        assert record["Exit_status"] == 0, text
        assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]]
    assert [record["Job_Owner"].partition("@")[0] for record in records] == ["alice", "bob"]
    for site, name in ((alice, f"ring.o{pbs}"), (bob, f"ring.{slurm}.out")):
        user = login.USERS[site.env["USER"]]
        assert ((site.work / name).stat().st_uid, (site.work / name).stat().st_gid) == (user.uid, user.gid)


def test_everybody_sees_the_queue_and_nobody_sees_scripts(alice: Site, bob: Site, running: str) -> None:
    assert bob.run("squeue", "-h", "-j", running, "-o", "%u %t").stdout == "alice R\n"
    assert f"{running}.{bob.server}" in bob.run("qstat").stdout
    shown = bob.run("qstat", "-f", running).stdout + bob.run("scontrol", "show", "job", running).stdout
    assert "alice" in shown
    assert SECRET_WORDS not in shown
    record = as_user(bob, "get", "batchjobs", "-A", "-o", "json")[1]
    assert SECRET_WORDS not in record
    secret = json.loads(alice.kubectl("get", "batchjobs", "-o", "json").stdout)["items"][-1]["spec"]["submissionSecret"]
    for kind, name in (("secrets", ""), ("secrets", secret), ("secrets", f"job-{running}-ssh"), ("configmaps", "")):
        code, said = as_user(bob, "-n", alice.namespace, "get", kind, *([name] if name else []), "-o", "yaml")
        assert code and "forbidden" in said.lower(), said
    for verb, kind in (("create", "pods/exec"), ("create", "pods/attach"), ("get", "pods/log"), ("watch", "secrets")):
        assert not allowed(bob, verb, kind, alice.namespace)


def test_another_users_job_cannot_be_touched(alice: Site, bob: Site, running: str) -> None:
    full = f"{running}.{bob.server}"
    refused = bob.run("qdel", running, check=False)
    assert (refused.returncode, refused.stderr) == (159, f"qdel: Unauthorized Request  {full}\n")
    refused = bob.run("scancel", running, check=False)
    assert refused.returncode == 1
    assert refused.stderr == f"scancel: error: Kill job error on job id {running}: Access/permission denied\n"
    refused = bob.run("qhold", running, check=False)
    assert (refused.returncode, refused.stderr) == (159, f"qhold: Unauthorized Request  {full}\n")
    assert bob.run("scontrol", "hold", running, check=False).returncode == 1
    name = alice.kubectl("get", "batchjobs", "-o", "name").stdout.split()[-1].partition("/")[2]
    for verb in ("delete", "patch", "update"):
        assert not allowed(bob, verb, "batchjobs.hpcbatch.io", alice.namespace, name)
        assert not allowed(bob, verb, "jobs.batch.volcano.sh", alice.namespace, f"job-{running}")
        assert not allowed(bob, verb, "pods", alice.namespace)
    assert alice.state(running) == "R"


def test_nobody_submits_as_somebody_else(alice: Site, bob: Site) -> None:
    before = alice.kubectl("get", "batchjobs", "-o", "name").stdout
    done = bob.run("kubectl", "config", "view", "--raw", "-o", "json")
    config = json.loads(done.stdout)
    config["contexts"][0]["context"]["namespace"] = alice.namespace
    (bob.work / "forged").write_text(json.dumps(config))
    refused = bob.run("sbatch", "--wrap", "id", check=False, env={"KUBECONFIG": str(bob.work / "forged")})
    assert refused.returncode == 1
    assert refused.stderr.count("\n") <= 2, refused.stderr
    assert alice.kubectl("get", "batchjobs", "-o", "name").stdout == before
    for annotation in ("hpcbatch.io/uid=0", "hpcbatch.io/user=alice"):
        assert as_user(bob, "annotate", "--overwrite", "namespace", bob.namespace, annotation)[0]


def test_nobody_makes_pods_or_volcano_jobs(bob: Site) -> None:
    for kind in (
        "pods",
        "jobs.batch.volcano.sh",
        "jobs.batch",
        "deployments.apps",
        "commands.bus.volcano.sh",
        "configmaps",
    ):
        assert not allowed(bob, "create", kind, bob.namespace), kind
    for kind in ("rolebindings", "serviceaccounts/token", "networkpolicies", "resourcequotas"):
        assert not allowed(bob, "create", kind, bob.namespace), kind
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mine"},
        "type": "kubernetes.io/service-account-token",
    }
    assert as_user(bob, "create", "-f", "-", stdin=json.dumps(secret))[0]


def test_what_was_submitted_cannot_be_changed(bob: Site) -> None:
    job = bob.qsub("-h", "-N", "fixed", stdin="echo as submitted\n")
    (obj,) = [
        item
        for item in json.loads(bob.kubectl("get", "batchjobs", "-o", "json").stdout)["items"]
        if item["status"]["jobId"] == job
    ]
    name, secret = obj["metadata"]["name"], obj["spec"]["submissionSecret"]
    forged = base64.b64encode(b"echo changed\n").decode()
    attempts = [
        ("secret", secret, {"data": {"script": forged}}, ""),
        ("batchjob", name, {"spec": {"command": ["id"]}}, ""),
        ("batchjob", name, {"spec": {"submissionSecret": "another"}}, ""),
        ("batchjob", name, {"spec": {"image": "localhost/evil:1"}}, ""),
        ("batchjob", name, {"status": {"uid": 0}}, "status"),
        ("batchjob", name, {"metadata": {"ownerReferences": []}, "status": {"owner": "alice"}}, "status"),
    ]
    for kind, target, patch, subresource in attempts:
        more = [f"--subresource={subresource}"] if subresource else []
        code, said = as_user(bob, "patch", kind, target, "--type=merge", "-p", json.dumps(patch), *more)
        assert code, f"{kind} {patch}: {said}"
    bob.run("qrls", job)
    bob.wait_end(job)
    assert bob.read(f"fixed.o{job}") == "as submitted\n"


@pytest.mark.parametrize("command", ["sbatch", "qsub"])
def test_an_image_that_is_not_allowed(bob: Site, command: str) -> None:
    image = "docker.io/library/debian:evil"
    if command == "sbatch":
        done = bob.run("sbatch", f"--container-image={image}", "--wrap", "true", check=False)
        assert done.returncode == 1
    else:
        done = bob.run("qsub", "-v", f"CONTAINER_IMAGE={image}", stdin="true\n", check=False)
        assert done.returncode
    assert image in done.stderr, done.stderr
    assert done.stdout == ""


def test_what_a_job_is_in_its_pod(alice: Site) -> None:
    probe = (
        "id -u; id -g; id -G; umask; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t '; "
        "ls /var/run/secrets/kubernetes.io 2>&1; pwd; touch made; echo $HOME; ls -la $HOME/.ssh 2>&1 | head -1"
    )
    job = alice.sbatch("-o", "probe", "--wrap", probe)
    alice.wait_end(job)
    lines = alice.read("probe").splitlines()
    assert lines[:2] == ["1000", "1000"]
    assert set(lines[2].split()) == {"1000", "2000"}
    assert lines[3] == "0022"
    assert set(lines[4:8]) == {"CapEff:0000000000000000", "CapBnd:0000000000000000", "NoNewPrivs:1", "Seccomp:2"}
    assert "No such file" in lines[8]
    assert lines[9] == str(alice.work)
    assert lines[10] == alice.env["HOME"]
    made = (alice.work / "made").stat()
    assert (made.st_uid, made.st_gid, made.st_mode & 0o777) == (1000, 1000, 0o644)


def test_pods_pass_pod_security_restricted(admin: Admin, alice: Site, running: str) -> None:
    labels = json.loads(admin.kubectl("get", "namespace", alice.namespace, "-o", "json").stdout)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    pods = json.loads(alice.kubectl("get", "pods", "-l", f"hpcbatch.io/job-id={running}", "-o", "json").stdout)["items"]
    assert len(pods) == 2
    for pod in pods:
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert not [volume for volume in spec["volumes"] if "hostPath" in volume or "projected" in volume]
        assert spec["securityContext"]["runAsUser"] == 1000
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_home_ssh_is_never_touched(alice: Site) -> None:
    folder = Path(alice.env["HOME"]) / ".ssh"
    before = sorted(folder.iterdir()) if folder.exists() else None
    job = alice.qsub(
        "-l",
        "select=2:ncpus=1",
        "-N",
        "keys",
        "-j",
        "oe",
        stdin="for h in $(cat $PBS_NODEFILE); do ssh $h id -u; done\n",
    )
    assert alice.wait_end(job)["Exit_status"] == 0
    assert alice.read(f"keys.o{job}").split() == ["1000", "1000"]
    assert (sorted(folder.iterdir()) if folder.exists() else None) == before


def test_no_key_shows_in_process_lists_or_records(alice: Site, running: str) -> None:
    def words() -> str:
        texts = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                texts.append((process / "cmdline").read_bytes().decode("utf-8", "replace"))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return "\n".join(texts)

    assert SECRET_WORDS not in words()
    assert "PRIVATE KEY" not in words()
    shown = alice.run("qstat", "-f", running).stdout
    assert "PRIVATE KEY" not in shown


def test_a_disabled_user_submits_nothing_and_keeps_what_runs(admin: Admin, bob: Site) -> None:
    job = bob.sbatch("-o", "/dev/null", "--wrap", "sleep 600")
    bob.wait_state(job, "R")
    admin.run("hpcbatch", "user", "disable", "bob")
    try:

        def refusal() -> subprocess.CompletedProcess[str] | None:
            done = bob.run("sbatch", "--wrap", "true", check=False)
            return done if done.returncode else None

        refused = wait_for("the refusal", refusal)
        assert refused.stdout == ""
        state = admin.run("hpcbatch", "user", "list").stdout
        assert "disabled" in state
    finally:
        admin.run("hpcbatch", "user", "enable", "bob")
    assert bob.state(job) == "R"
    bob.run("scancel", job)
    bob.wait_end(job)
