"""`python -m bench.cluster [NAME]...`: all of them without a name, on the cluster of `make cluster`. See README.md."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from typing import Any

from bench.cluster import interactive, latency, listing, requests, scale, throughput
from bench.cluster.rig import cluster

ALL: Mapping[str, Callable[..., None]] = {
    "throughput": throughput.main,
    "latency": latency.main,
    "interactive": interactive.main,
    "interactive-without-volcano": interactive.without_volcano,
    "listing": listing.main,
    "requests": requests.main,
    "scale": scale.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    parser.add_argument("--jobs", type=int, help="how many, in place of each benchmark's own number")
    parser.add_argument("--nodes", type=int, help=f"virtual nodes of scale; {scale.NODES}")
    parser.add_argument("--round", type=int, help=f"jobs of one round of scale; {scale.ROUND}")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in ALL]:
        parser.error(f"no benchmark {', '.join(unknown)}: expected {', '.join(ALL)}")
    load = os.getloadavg()[0]
    print(f"load of this machine before: {load:.1f}; figures are worth something below 1", flush=True)
    for name in asked.names or ALL:
        with cluster() as running:
            ALL[name](running, **_options(asked, name))


def _options(asked: argparse.Namespace, name: str) -> dict[str, Any]:
    wanted = {"jobs": asked.jobs}
    if name == "scale":
        wanted |= {"nodes": asked.nodes, "per_round": asked.round}
    if name == "requests":
        wanted = {}
    return {key: value for key, value in wanted.items() if value is not None}


main()
