"""`python -m bench.controller [NAME]...`: the controller's process alone, on played nodes. See bench/README.md."""

from __future__ import annotations

import argparse
import os

from bench.controller import cost


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.controller", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cost")
    parser.add_argument("--nodes", type=int, nargs="+", default=cost.NODES, help="of cost: numbers of nodes")
    parser.add_argument("--records", type=int, nargs="+", default=cost.RECORDS, help="of cost: records kept")
    parser.add_argument("--jobs", type=int, default=cost.JOBS, help="of cost: jobs that are measured")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"load of this machine before: {load:.1f}; CPU times are worth something, rates only below 1", flush=True)
    cost.main(tuple(asked.nodes), tuple(asked.records), asked.jobs)


main()
