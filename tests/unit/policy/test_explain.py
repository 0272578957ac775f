"""What a submission comes to, for people and for programs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hpcbatch.model.array import Array
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.indices import Indices
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import Arrangement, JobSpec, Output, Sharing
from hpcbatch.policy.explain import Explanation, as_json, ignored_outcome, piece, shape

GIB = 1 << 30
PIECES = [
    (Chunk(), "1 × 1 CPU, 1 rank"),
    (
        Chunk(count=3, cpus=4, mem_bytes=8 * GIB, ranks=4, resources=(("gpu", 2),)),
        "3 × 4 CPUs, 8Gi, 2 gpu, 4 ranks",
    ),
    (Chunk(words=(("gpu_model", "a100"),), tmp_bytes=GIB), "1 × 1 CPU, gpu_model=a100, 1Gi of temporary files, 1 rank"),
    (
        Chunk(properties=("ib",), alternatives=(("a", "b"), ("c",)), lacks=("old",)),
        "1 × 1 CPU, 1 rank, on ib, a+b or c, not old",
    ),
    (Chunk(hosts=("n1", "n2")), "1 × 1 CPU, 1 rank, on node n1 or n2"),
]


@pytest.mark.parametrize(("chunk", "text"), PIECES, ids=[text for _, text in PIECES])
def test_piece(chunk: Chunk, text: str) -> None:
    assert piece(chunk) == text


SPEC = JobSpec(
    dialect="slurm",
    name="a",
    queue="long",
    other_queues=("short",),
    chunks=(Chunk(count=2, cpus=2, mem_bytes=GIB, resources=(("gpu", 1),)),),
    arrangement=Arrangement.SCATTER,
    sharing=Sharing.EXCLUSIVE,
    array=Array(indices=Indices.of(range(10)), limit=3),
    walltime_s=3600,
    deadline=datetime(2026, 11, 21, tzinfo=UTC),
    licenses=(("matlab", 2),),
    excluded_hosts=("n1",),
    stdout=Output(path="/a", append=True),
)


def test_shape() -> None:
    assert {row.name: row.asked for row in shape(SPEC, SPEC.chunks)} == {
        "queue": "long or short",
        "array": "10 members, at most 3 at once",
        "chunks": "2 × 2 CPUs, 1Gi, 1 gpu, 1 rank",
        "pods": "2 × 2 CPUs, 1Gi, 1 gpu, 1 rank",
        "in all": "2 pods, 4 CPUs, 2Gi, 2 gpu, 2 ranks",
        "placement": "no two pods on one node, without other jobs",
        "walltime": "01:00:00",
        "nodes excluded": "n1",
        "licences": "2 matlab",
        "ends by": "2026-11-21T00:00:00Z",
        "stdout": "/a (appended)",
        "stderr": "with stdout",
        "starts in": "the home directory",
    }


def test_what_an_admitted_job_got_stands_beside_what_it_asked_for() -> None:
    job = JobRecord(
        job_id=1, namespace="n", object_name="o", spec=SPEC, status=JobStatus(walltime_s=1800), queue="short"
    )
    rows = {row.name: (row.asked, row.granted) for row in shape(SPEC, SPEC.chunks, job)}
    assert rows["queue"] == ("long or short", "short")
    assert rows["walltime"] == ("01:00:00", "00:30:00")
    same = replace(job, spec=replace(SPEC, other_queues=()), queue="long", status=JobStatus(walltime_s=3600))
    assert {row.granted for row in shape(same.spec, same.layout, same)} == {""}


def test_a_directory_of_its_own() -> None:
    spec = replace(SPEC, attributes={"sandbox": "PRIVATE"})
    assert {row.name: row.asked for row in shape(spec, spec.chunks)}["starts in"] == "a directory of its own"


def test_json() -> None:
    found = Explanation(
        command="sbatch",
        script="a.sh",
        options=[Outcome("-n4", Fate.HONOURED, "tasks", "a.sh", 2, 9), ignored_outcome("-x: why: so", "submission")],
        site=[Outcome("long", Fate.REFUSED, "none", "queue")],
    )
    assert as_json(found) == {
        "command": "sbatch",
        "script": "a.sh",
        "fit": False,
        "options": [
            {"option": "-n4", "fate": "honoured", "meaning": "tasks", "source": "a.sh", "line": 2, "column": 9},
            {"option": "-x", "fate": "ignored", "meaning": "why: so", "source": "submission"},
        ],
        "site": [{"kind": "queue", "name": "long", "fate": "refused", "meaning": "none"}],
        "shape": {},
        "problems": [],
        "remarks": [],
    }
