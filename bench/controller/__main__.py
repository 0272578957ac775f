"""`python -m bench.controller [NAME]...`: the controller's process alone, on played nodes. See README.md."""

from __future__ import annotations

import argparse
import os

from bench.controller import cost, etcd, kubernetes, lists, memory, overload, rows, starts

NAMES = ("cost", "memory", "overload", "kubernetes", "starts", "etcd", "lists", "rows")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.controller", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--nodes", type=int, nargs="+", default=cost.NODES, help="numbers of nodes; memory: the most")
    parser.add_argument("--records", type=int, nargs="+", default=cost.RECORDS, help="records kept; memory: the most")
    parser.add_argument("--jobs", type=int, default=cost.JOBS, help="of cost: jobs that are measured")
    parser.add_argument(
        "--rate",
        type=float,
        default=overload.RATE,
        help="of overload and kubernetes: submissions a second; 0: as many as are answered",
    )
    parser.add_argument("--seconds", type=float, default=overload.SECONDS, help="of these two: for how long")
    parser.add_argument("--no-kills", action="store_true", help="of these two: both controllers live on")
    parser.add_argument("--ended", type=int, default=etcd.JOBS, help="of etcd: jobs that end")
    parser.add_argument("--ended-rate", type=float, default=etcd.RATE, help="of etcd: so many a second")
    parser.add_argument("--compaction", type=float, default=etcd.COMPACTION_S, help="of etcd: seconds between two")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in NAMES]:
        parser.error(f"no benchmark {', '.join(unknown)}: expected {', '.join(NAMES)}")
    load = os.getloadavg()[0]
    print(f"load of this machine before: {load:.1f}; CPU times are worth something, rates only below 1", flush=True)
    for name in asked.names or NAMES:
        if name == "cost":
            cost.main(tuple(asked.nodes), tuple(asked.records), asked.jobs)
        elif name == "memory":
            memory.main(max(asked.nodes), max(asked.records))
        elif name == "etcd":
            etcd.main(asked.ended, asked.ended_rate, asked.compaction)
        elif name == "lists":
            lists.main()
        elif name == "rows":
            rows.main()
        elif name == "starts":
            starts.main()
        elif name == "kubernetes":
            kubernetes.main(asked.rate, asked.seconds, kills=not asked.no_kills)
        else:
            overload.main(asked.rate, asked.seconds, kills=not asked.no_kills)


main()
