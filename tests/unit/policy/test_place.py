"""hpcbatch.policy.place: what of the site, the queue and the owner a job's run is made with."""

from __future__ import annotations

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.place import objects, place
from hpcbatch.site.identity import Identity

ALICE = Identity(user="alice", uid=1000, gid=100, home="/home/alice", groups=((2000, "wrf"),))
LONG = QueueConfig(name="long", volcano_queue="vc-long", image="centre/mpi:2")
SITE = SiteConfig(server_name="centre", image="centre/mpi:1", queues=(LONG, QueueConfig(name="q", volcano_queue="q")))


def spec(dialect: Dialect = Dialect.PBS, image: str | None = None) -> JobSpec:
    return JobSpec(dialect=dialect, name="a", chunks=(Chunk(count=2),), submit_dir="/home/alice", image=image)


@pytest.mark.parametrize(
    ("own", "queue", "image"),
    [(None, SITE.queues[1], "centre/mpi:1"), (None, LONG, "centre/mpi:2"), ("mine:3", LONG, "mine:3")],
    ids=["site", "queue", "job"],
)
def test_the_image_is_the_jobs_else_the_queues_else_the_sites(own: str | None, queue: QueueConfig, image: str) -> None:
    assert place(1, spec(image=own), spec().chunks, queue=queue, site=SITE, owner=ALICE).image == image


def test_queue_owner_and_launcher_are_those_given() -> None:
    site = SiteConfig(launcher=Launcher.DEDICATED, queues=(LONG,))
    job = place(7, spec(), spec().chunks, queue=LONG, site=site, owner=ALICE, run_count=3)
    assert (job.volcano_queue, job.launcher, job.run_count) == ("vc-long", Launcher.DEDICATED, 3)
    assert (job.owner, job.uid, job.gid, job.home, job.groups) == ("alice", 1000, 100, "/home/alice", ALICE.groups)
    assert [pod.host for pod in job.pods] == ["job-7-mpiworker-0", "job-7-mpiworker-1"]


@pytest.mark.parametrize(("dialect", "variable"), [(Dialect.PBS, "PBS_JOBID"), (Dialect.SLURM, "SLURM_JOB_ID")])
def test_a_run_has_the_variables_of_its_dialect(dialect: Dialect, variable: str) -> None:
    job = place(7, spec(dialect), spec().chunks, queue=LONG, site=SITE, owner=ALICE)
    conf, volcano_job = objects(job, SITE, submission_secret="s", namespace="alice", owner={"uid": "u"})
    assert f"{variable}=" in conf["data"]["environment"]
    assert volcano_job["spec"]["queue"] == "vc-long"
    assert [obj["metadata"]["ownerReferences"] for obj in (conf, volcano_job)] == [[{"uid": "u"}]] * 2
