"""What jobs and listings ask of the API server, by client, verb and resource."""

from __future__ import annotations

from bench.cluster.rig import Cluster
from tests.cluster.audit import table
from tests.cluster.cost import COSTS


def main(cluster: Cluster) -> None:
    for name, measure in COSTS.items():
        print(f"requests of {name}:")
        print(table(measure(cluster.site)))
