"""An API server."""

from collections.abc import Iterator

import pytest

from hpcbatch.api import resources
from tests.component.api_server import Cluster, cluster


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("api")) as running:
        yield running


@pytest.fixture
def api(shared: Cluster) -> Iterator[Cluster]:
    yield shared
    for kind in (resources.PODS, resources.CONFIGMAPS, resources.SECRETS, resources.BATCHJOBS, resources.VOLCANO_JOBS):
        for item in shared.registry.list(kind).items:
            shared.registry.patch(
                kind, item["metadata"]["name"], {"metadata": {"finalizers": None}}, item["metadata"]["namespace"]
            )
            shared.registry.delete(kind, item["metadata"]["name"], item["metadata"]["namespace"], grace_period_s=0)
