"""Small generated clusters, and what a plan would make of them, counted by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from hpcbatch.policy.plan.outcome import Expected, Plan, Release
from hpcbatch.policy.plan.snapshot import (
    JOBS,
    NODES,
    Limit,
    Node,
    Owner,
    Part,
    Reservation,
    RunningJob,
    Scope,
    Shape,
    Snapshot,
    Vector,
    WaitingJob,
)

NAMES = ("n0", "n1", "n2", "n3")
OWNERS = tuple(
    Owner(user=user, groups=("g",), accounts=accounts, queue=queue, qos=("normal",))
    for user, queue, accounts in (
        ("ann", "q", ("physics", "root")),
        ("bob", "q", ("physics", "root")),
        ("eve", "p", ("root",)),
    )
)
DEPTHS: tuple[Mapping[str, int], ...] = ({}, {}, {"q": 1}, {"q": 2, "p": 1}, {"p": 0, "x": 3})


def nodes(name: str) -> st.SearchStrategy[Node]:
    has = st.fixed_dictionaries({"cpu": st.integers(0, 4)}, optional={"gpu": st.integers(1, 2)})
    labels = st.sampled_from(({}, {"kind": "fat"}, {"kind": "thin"}))
    return st.builds(
        Node, name=st.just(name), has=has, labels=labels, is_open=st.sampled_from((True, True, True, False))
    )


def parts() -> st.SearchStrategy[Part]:
    needs = st.fixed_dictionaries({"cpu": st.integers(0, 3)}, optional={"gpu": st.just(1)})
    return st.builds(
        Part,
        count=st.integers(1, 3),
        needs=needs,
        labels=st.sampled_from(({}, {}, {"kind": "fat"})),
        hosts=st.sampled_from((None, None, frozenset({"n0", "n1"}))),
        excluded_hosts=st.sampled_from((frozenset[str](), frozenset({"n0"}))),
    )


def shapes() -> st.SearchStrategy[Shape]:
    some = st.lists(parts(), min_size=1, max_size=2).map(tuple)
    return st.builds(Shape, parts=some, is_scattered=st.booleans(), is_exclusive=st.sampled_from((False, False, True)))


def waiting(number: int) -> st.SearchStrategy[WaitingJob]:
    return st.builds(
        WaitingJob,
        job_id=st.just(f"w{number}"),
        order=st.tuples(st.integers(0, 3), st.just(number)),
        shapes=st.lists(shapes(), min_size=1, max_size=2).map(tuple),
        walltime_s=st.integers(1, 12),
        min_walltime_s=st.sampled_from((None, None, None, 1, 3)),
        owner=st.sampled_from(OWNERS),
        reservation=st.sampled_from(("", "", "", "R1", "R2")),
        earliest_s=st.sampled_from((-1, -1, -1, 4)),
    )


def running(number: int) -> st.SearchStrategy[RunningJob]:
    """Alone on a node that no other job of these has, so that none is over its node's capacity."""
    vector = st.fixed_dictionaries({"cpu": st.integers(0, 2)})
    return st.builds(
        RunningJob,
        job_id=st.just(f"r{number}"),
        placed=st.fixed_dictionaries({NAMES[number]: vector}),
        ends_s=st.integers(0, 12),
        owner=st.sampled_from(OWNERS),
        is_exclusive=st.booleans(),
    )


def reservations() -> st.SearchStrategy[tuple[Reservation, ...]]:
    def of(name: str, some: tuple[str, ...]) -> st.SearchStrategy[Reservation]:
        kept = st.sampled_from((None, None, {"cpu": 1}))
        return st.builds(
            lambda start, length, nodes, users: Reservation(
                name=name, start_s=start, end_s=start + length, nodes=nodes, users=users
            ),
            st.integers(-3, 10),
            st.integers(1, 15),
            st.dictionaries(st.sampled_from(some), kept, min_size=1),
            st.sampled_from((frozenset[str](), frozenset({"ann"}))),
        )

    both = st.tuples(of("R1", NAMES[:2]), of("R2", NAMES[2:]))
    return st.one_of(st.just(()), both, both.map(lambda two: two[:1]))


LIMITS = (
    Limit(code="user", what=JOBS, amount=1, of={Scope.QOS: "normal"}, per=(Scope.USER,)),
    Limit(code="account", what="cpu", amount=4, of={Scope.ACCOUNT: "physics"}),
    Limit(code="queue", what=NODES, amount=3, of={Scope.QUEUE: "q"}, apart_from={Scope.USER: frozenset({"eve"})}),
    Limit(code="times", what="cpu", amount=60, of={Scope.ACCOUNT: "physics"}, is_time=True),
)


def snapshots(jobs: int = 6) -> st.SearchStrategy[Snapshot]:
    return st.builds(
        Snapshot,
        now_s=st.just(0),
        nodes=st.tuples(*map(nodes, NAMES)),
        running=st.tuples(*(st.one_of(st.none(), running(number)) for number in range(4))).map(_present),
        waiting=st.tuples(*(st.one_of(st.none(), waiting(number)) for number in range(jobs))).map(_present),
        reservations=reservations(),
        limits=st.lists(st.sampled_from(LIMITS), unique_by=lambda limit: limit.code).map(tuple),
        depth=st.sampled_from((1, 1, 2, None)),
        depths=st.sampled_from(DEPTHS),
    )


def _present(some):  # type: ignore[no-untyped-def]
    return tuple(one for one in some if one is not None)


@dataclass(frozen=True)
class Use:
    """What a job takes of a node for some time."""

    job_id: str
    node: str
    start_s: float
    end_s: float
    vector: Vector
    pool: str
    is_exclusive: bool
    is_planned: bool = True


def uses(snapshot: Snapshot, plan: Plan) -> list[Use]:
    """Of running, released and planned jobs."""
    found = [
        Use(
            job.job_id, name, -1000, max(job.ends_s, snapshot.now_s + 1), vector, "", job.is_exclusive, is_planned=False
        )
        for job in snapshot.running
        for name, vector in job.placed.items()
    ]
    jobs = {job.job_id: job for job in snapshot.waiting}
    for release in plan.releases:
        job = jobs[release.job_id]
        found += _uses(job, release, snapshot.now_s, release.walltime_s)
    for job_id, expected in plan.expected.items():
        found += _uses(jobs[job_id], expected, expected.start_s, jobs[job_id].walltime_s)
    return found


def placed(job: WaitingJob, start: Release | Expected) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for place in start.places:
        here = found.setdefault(place.node, {})
        for name, amount in job.shapes[start.shape].parts[place.part].needs.items():
            here[name] = here.get(name, 0) + amount * place.count
    return found


def _uses(job: WaitingJob, start: Release | Expected, start_s: float, walltime_s: float) -> Iterator[Use]:
    for node, vector in placed(job, start).items():
        is_exclusive = job.shapes[start.shape].is_exclusive
        yield Use(job.job_id, node, start_s, start_s + walltime_s, vector, job.reservation, is_exclusive)
