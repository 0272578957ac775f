"""What the job controller's worker does itself leads to no further step of it; what others do meanwhile does."""

from __future__ import annotations

import threading

from hpcbatch.gang.known import Known
from hpcbatch.gang.news import of_group


def test_only_the_worker_does_it_itself() -> None:
    known = Known()
    of_others: list[bool] = []
    with known.own_doing():
        assert known.is_own_doing
        other = threading.Thread(target=lambda: of_others.append(known.is_own_doing))
        other.start()
        other.join()
    assert of_others == [False]
    assert not known.is_own_doing


def test_a_status_that_counts_as_a_generation_is_no_news() -> None:
    meta = {"uid": "u", "generation": 1}
    group = {"metadata": meta, "spec": {"minMember": 1}, "status": {"phase": "Inqueue"}}
    runs = {"metadata": {**meta, "generation": 2}, "spec": {"minMember": 1}, "status": {"phase": "Running"}}
    assert of_group(group) == of_group(runs)
    assert of_group(group) != of_group({**group, "spec": {"minMember": 2}})
    assert of_group(group) != of_group({**group, "status": {"phase": "Pending"}})
