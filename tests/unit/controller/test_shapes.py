"""The shapes of jobs are made once for each site."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.controller.shapes import Shapes
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.spec import Sharing
from hpcbatch.policy.planned import shape_of
from tests.unit.policy.test_planned import QUEUE, SITE, job


def test_equal_jobs_have_one_shape_and_others_their_own() -> None:
    shapes, one = Shapes(), job(7, Chunk(cpus=2))
    found = shapes.of(one, QUEUE, SITE)
    assert found == shape_of(one.status.layout, QUEUE, SITE, one)
    assert shapes.of(job(8, Chunk(cpus=2)), QUEUE, SITE) is found
    for other in (job(9, Chunk(cpus=4)), job(9, Chunk(cpus=2), sharing=Sharing.EXCLUSIVE)):
        assert shapes.of(other, QUEUE, SITE) == shape_of(other.status.layout, QUEUE, SITE, other)
    elsewhere = replace(QUEUE, name="r", node_selector={})
    assert shapes.of(one, elsewhere, SITE) == shape_of(one.status.layout, elsewhere, SITE, one)


def test_another_configuration_makes_them_anew() -> None:
    shapes, one = Shapes(), job(7, Chunk(cpus=2, properties=("ib",)))
    labels = shapes.of(one, QUEUE, SITE).parts[0].labels
    assert labels == {"kind": "batch", "net": "ib"}
    changed = replace(SITE, node_properties={"ib": {"net": "fast"}})
    assert shapes.of(one, QUEUE, changed).parts[0].labels == {"kind": "batch", "net": "fast"}
    with pytest.raises(HpcBatchError):
        shapes.of(one, QUEUE, replace(SITE, node_properties={}))
