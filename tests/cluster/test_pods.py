"""A job's pods on a real cluster: what Pod Security says of them, whose the files are, and jobs that cannot start."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles, PlacedJob, RunSetup
from hpcbatch.model.site import Launcher, SiteConfig, Volume
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano import job_names, translate
from tests.cluster.conftest import Admin
from tests.conformance.site import Site
from tests.waiting import wait_for

CLAIM = {"persistentVolumeClaim": {"claimName": "home"}}


@pytest.fixture
def restricted(admin: Admin) -> Iterator[str]:
    """A namespace that admits only pods that keep Pod Security "restricted"."""
    name = f"try-restricted-{secrets.token_hex(3)}"
    admin.kubectl("create", "namespace", name)
    admin.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield name
    admin.kubectl("delete", "namespace", name, "--wait=false")


def pods(namespace: str, launcher: Launcher, source: dict[str, Any]) -> list[dict[str, Any]]:
    """One pod of each task of a job over three nodes, as Volcano would make it."""
    volume = Volume(name="home", mount_path="/home", source=source)
    site = SiteConfig(mounts_passwd=True, image="localhost/mpi:1", volumes=(volume,), launcher=launcher)
    spec = JobSpec(dialect=Dialect.PBS, name="x", chunks=(Chunk(count=3),))
    job = PlacedJob(
        job_id=1,
        spec=spec,
        queue="default",
        pods=job_names.pods(1, spec.chunks, launcher),
        owner="alice",
        uid=1000,
        gid=1000,
        home="/home/alice",
        groups=((2000, "wrf"),),
        cluster="rig",
        launcher=launcher,
    )
    made = translate.manifests(
        job,
        RunSetup(output=OutputFiles(stdout="/home/alice/out", stderr=None)),
        site,
        submission_secret="s",
        namespace=namespace,
        owner=None,
    )[1]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": task["name"], "namespace": namespace},
            "spec": task["template"]["spec"],
        }
        for task in made["spec"]["tasks"]
    ]


@pytest.mark.parametrize("launcher", Launcher)
def test_pod_security_restricted(admin: Admin, restricted: str, launcher: Launcher) -> None:
    for pod in pods(restricted, launcher, CLAIM):
        admin.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    host_path = pods(restricted, launcher, {"hostPath": {"path": "/home"}})[0]
    refused = admin.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(host_path), check=False)
    assert 'violates PodSecurity "restricted:latest": restricted volume types' in refused.stderr


def test_no_file_changes_hands(alice: Site) -> None:
    """A job starts on storage where files of others, and odd modes, must stay as they are."""
    kept = alice.work / "kept"
    kept.mkdir()
    for name, mode in (("others", 0o604), ("set", 0o2751), ("mine", 0o400)):
        (kept / name).touch()
        (kept / name).chmod(mode)
    before = {path: (path.stat().st_uid, path.stat().st_gid, path.stat().st_mode) for path in kept.iterdir()}
    job = alice.sbatch("-N", "2", "-o", "out", "--wrap", "umask 027; id -u; id -g; touch made; ls -ld ~/.ssh")
    alice.wait_end(job)
    assert {path: (path.stat().st_uid, path.stat().st_gid, path.stat().st_mode) for path in kept.iterdir()} == before
    uid, gid = alice.read("out").split()[:2]
    made = (alice.work / "made").stat()
    assert (str(made.st_uid), str(made.st_gid), made.st_mode & 0o777) == (uid, gid, 0o640)
    assert "No such file or directory" in alice.read("out"), "a job makes no ~/.ssh"


def test_an_image_that_cannot_be_pulled(alice: Site) -> None:
    """The reason shows while it tries; the job fails when the site's time for that is over."""
    job = alice.sbatch("--container-image=localhost/nosuch:1", "--wrap", "true")
    wait_for(
        "the reason in squeue",
        lambda: alice.run("squeue", "-h", "-j", job, "-o", "%T %R").stdout == "PENDING (ErrImagePull)\n",
        30,
    )
    assert "ErrImagePull: " in alice.run("qstat", "-s", job).stdout
    ended = alice.wait_end(job, 120)
    assert ended["Exit_status"] == -1
    assert "localhost/nosuch:1" in ended["comment"]


def test_a_quota_that_others_use_up(admin: Admin, alice: Site) -> None:
    """The reason shows while it waits; a job that the quota could never hold fails."""
    namespace = admin.kubectl(
        "get", "namespace", "-l", f"hpcbatch.io/user={alice.env['USER']}", "-o", "jsonpath={.items[0].metadata.name}"
    ).stdout
    name = f"pods-{secrets.token_hex(3)}"
    admin.kubectl("-n", namespace, "create", "quota", name, "--hard=count/pods=1")
    try:
        first = alice.sbatch("-o", "/dev/null", "--wrap", "sleep 600")
        alice.wait_state(first, "R")
        second = alice.sbatch("-o", "/dev/null", "--wrap", "true")
        wait_for("the reason", lambda: f"exceeded quota: {name}" in alice.run("qstat", "-s", second).stdout, 30)
        never = alice.sbatch("-N", "2", "-o", "/dev/null", "--wrap", "true")
        assert alice.wait_end(never, 120)["Exit_status"] == -1
        assert alice.state(second) == "Q"
        alice.run("scancel", first, second)
    finally:
        admin.kubectl("-n", namespace, "delete", "quota", name)


@pytest.mark.parametrize(("rerun", "starts"), [("y", 2), ("n", 1)])
def test_a_pod_deleted_by_force(admin: Admin, alice: Site, rerun: str, starts: int) -> None:
    script = "echo start >>$PBS_O_WORKDIR/starts; sleep 8\n"
    job = alice.qsub("-r", rerun, "-l", "select=2:ncpus=1", "-N", "forced", "-j", "oe", stdin=script)
    wait_for("the script", (alice.work / "starts").exists, 60)
    pod = f"job-{job}-mpiworker-0"
    namespace = admin.kubectl(
        "get", "pods", "-A", "--field-selector", f"metadata.name={pod}", "-o", "jsonpath={.items[0].metadata.namespace}"
    ).stdout
    admin.kubectl("-n", namespace, "delete", "pod", pod, "--force", "--grace-period=0")
    ended = alice.wait_end(job, 120)
    assert alice.read("starts") == "start\n" * starts
    if rerun == "y":
        assert ended["Exit_status"] == 0
    else:
        assert pod in ended["comment"]
