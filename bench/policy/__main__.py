"""`python -m bench.policy --swf FILE | --lublin JOBS [WAY]...`, `python -m bench.policy cost`. See README.md."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.policy import cost, lublin, trace, ways


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.policy", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="WAY", help=f"{', '.join(ways.ALL)}; or cost")
    parser.add_argument("--swf", type=Path, metavar="FILE", help="a trace in the Standard Workload Format")
    parser.add_argument("--lublin", type=int, metavar="JOBS", help="a trace of the Lublin-Feitelson model")
    parser.add_argument("--seed", type=int, default=1, help="of the model, and of cost")
    parser.add_argument("--load", type=float, help="of the model: the jobs' work by the machine's; as it comes: None")
    parser.add_argument("--processors", type=int, metavar="N", help="of the machine; default: the header's, or 256")
    parser.add_argument("--per-node", type=int, metavar="N", help="processors of a node; default: one node has all")
    parser.add_argument("--most", type=int, metavar="N", help="no more than the first N jobs")
    parser.add_argument("--depth", type=int, default=1, help="of cost: how many jobs have planned starts")
    parser.add_argument("--preemptors", type=float, default=0.0, help="of cost: the part of jobs that preempt others")
    parser.add_argument("--short-first", action="store_true", help="of cost: with short jobs first, within a bound")
    parser.add_argument("--accasim", type=Path, metavar="PYTHON", help="one that has accasim: its two ways as well")
    asked = parser.parse_args()
    if asked.names == ["cost"]:
        cost.main(depth=asked.depth, seed=asked.seed, preemptors=asked.preemptors, short_first=asked.short_first)
        return
    if (asked.swf is None) == (asked.lublin is None):
        parser.error("one of --swf FILE and --lublin JOBS, or cost")
    if unknown := [name for name in asked.names if name not in ways.ALL]:
        parser.error(f"no way {', '.join(unknown)}: expected {', '.join(ways.ALL)}")
    if asked.swf is not None:
        jobs = trace.read(asked.swf, asked.processors, asked.most)
    else:
        jobs = lublin.generate(asked.lublin, asked.processors or 256, seed=asked.seed, load=asked.load)
    known = {**ways.ALL, **(ways.of_accasim(asked.accasim) if asked.accasim else {})}
    names = asked.names or [*ways.DEFAULT, *(name for name in known if name not in ways.ALL)]
    ways.show(jobs, {name: known[name] for name in names}, per_node=asked.per_node)


main()
