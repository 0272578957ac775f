"""`python -m bench.engine [--most N] [NAME]...`: all of them without a name. See README.md."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.engine import arrays, chain, forecast, halo, history, launch, lists, memory, startup, throughput, waiting

ALL: Mapping[str, Callable[..., None]] = {
    "startup": startup.main,
    "throughput": throughput.main,
    "memory": memory.main,
    "history": history.main,
    "halo": halo.main,
    "forecast": forecast.main,
}
GROWING: Mapping[str, Callable[..., None]] = {
    "arrays": arrays.main,
    "waiting": waiting.main,
    "chain": chain.main,
    "launch": launch.main,
    "lists": lists.main,
}
EVERY = {**ALL, **GROWING}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.engine", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EVERY))
    parser.add_argument("--most", type=int, metavar="N", help=f"no more than N jobs or pods in {', '.join(GROWING)}")
    text = "startup: measure the programs of DIR too, such as /before/.venv/bin, in the same run"
    parser.add_argument("--beside", type=Path, metavar="DIR", help=text)
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in EVERY]:
        parser.error(f"no benchmark {', '.join(unknown)}: expected {', '.join(EVERY)}")
    load = os.getloadavg()[0]
    print(f"load of this machine before: {load:.1f}; figures are worth something below 1", flush=True)
    limit = {} if asked.most is None else {"most": asked.most}
    options = {"startup": {"beside": asked.beside}, **dict.fromkeys(GROWING, limit)}
    for name in asked.names or EVERY:
        EVERY[name](**options.get(name, {}))


main()
