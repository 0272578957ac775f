"""Interactive jobs beside kubectl: how long to the first prompt, and how long a key takes to be echoed."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect
import yaml

from bench.cluster.made import Made
from bench.cluster.rig import RAW, Cluster, as_list, plainest
from bench.cluster.throughput import QSUB, SCRIPT
from hpcbatch.api.names import IN_FORCE_CONFIGMAP
from hpcbatch.api.resources import PODS
from tests.cluster import daemons
from tests.cluster.install import SITE
from tests.cluster.state import ADMIN_CONF, CHECKOUT, STATE, kubectl
from tests.conformance.terminals import Terminal, terminal
from tests.waiting import wait_for

ROUNDS = 7
KEYS = 200
_SHELL = ("bash", "--norc", "--noprofile", "-i")
_VOLCANO = "Volcano Job, kubectl attach -it"
_OURS = ("qsub -I", "srun --pty")
_DAEMONS = ("vc-controller-manager", "vc-scheduler")
_RBAC = "rbac.authorization.k8s.io/"
NAMESPACE = "hpcbatch-system"
_PROMPT = r"\$ (\x1b\S*)?$"


def main(cluster: Cluster, jobs: int = ROUNDS, *, has_volcano: bool = True) -> None:
    """`jobs` prompts of each kind, in turns; the first turn warms up and is not counted."""
    image = Made(cluster, (*QSUB, "true.pbs"), SCRIPT).image
    run = ("run", "-it", "--rm", f"--image={image}", "--command", "--restart=Never")
    prompts: dict[str, list[float]] = {}
    echoes: dict[str, list[float]] = {}
    for turn in range(jobs + 1):
        kinds = {
            "kubectl run -it": _kubectl(*run, f"shell-{turn}", "--", *_SHELL),
            "qsub -I": terminal(cluster.site, "qsub", "-I", "-l", "select=1:ncpus=1"),
            "srun --pty": terminal(cluster.site, "srun", "-n1", "--pty", *_SHELL),
        }
        if has_volcano:
            kinds[_VOLCANO] = _volcano(cluster, image, f"bare-{turn}")
        for name, opening in kinds.items():
            began = time.perf_counter()
            with opening as shell:
                shell.expect(_PROMPT)
                took = time.perf_counter() - began
                if turn:
                    prompts.setdefault(name, []).append(took)
                if turn == jobs and name in _OURS:
                    echoes[name] = _echoes(shell)
                shell.sendline("exit")
                shell.expect(pexpect.EOF)
    cluster.kubectl("run", "stays", f"--image={image}", "--command", "--", "sleep", "1000")
    try:
        cluster.kubectl("wait", "--for=condition=Ready", "pod/stays", "--timeout=120s")
        with _kubectl("exec", "-it", "stays", "--", *_SHELL) as shell:
            shell.expect(_PROMPT)
            echoes["kubectl exec -it"] = _echoes(shell)
    finally:
        cluster.kubectl("delete", "pod", "stays", "--now")
    print(f"seconds to the first prompt, median of {jobs} (least, most), and times `kubectl run -it`:")
    _table(prompts, statistics.median(prompts["kubectl run -it"]), "s", 1)
    print(f"milliseconds from a key to its echo, median of {KEYS} (least, most), and times `kubectl exec -it`:")
    _table(echoes, statistics.median(echoes["kubectl exec -it"]), "ms", 1000)


def without_volcano(cluster: Cluster, jobs: int = ROUNDS) -> None:
    """The same with `scheduler: none`, while Volcano's controllers and scheduler are stopped."""
    folders = [CHECKOUT / "deploy" / name for name in ("controller", "without-volcano")]
    usual, more = ([each for each in _made(folder) if each["apiVersion"].startswith(_RBAC)] for folder in folders)
    try:
        kubectl("apply", "-f", "-", stdin=as_list(more))
        _put_site(SITE.read_text() + "scheduler: none\n")
        for name in _DAEMONS:
            daemons.kill(name)
        main(cluster, jobs, has_volcano=False)
    finally:
        for name in _DAEMONS:
            daemons.restart(name)
        _put_site(SITE.read_text())
        kubectl("apply", "-f", "-", stdin=as_list(usual))


def _made(folder: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(kubectl("kustomize", str(folder))) if each]


def _put_site(text: str) -> None:
    data = json.dumps({"data": {"site.yaml": text}})
    kubectl("-n", NAMESPACE, "patch", "configmap", "hpcbatch-site", "--type=merge", "-p", data)

    def is_in_force() -> bool:
        found = json.loads(kubectl("-n", NAMESPACE, "get", "configmap", IN_FORCE_CONFIGMAP, "-o", "json"))
        return bool(found["data"].get("site.yaml") == text)

    wait_for("the configuration in force", is_in_force, 60)


def _table(times: dict[str, list[float]], bar: float, unit: str, factor: int) -> None:
    for name, taken in times.items():
        median = statistics.median(taken)
        spread = f"({min(taken) * factor:.2f}, {max(taken) * factor:.2f})"
        print(f"  {name:32} {median * factor:7.2f} {unit} {spread:18} {median / bar:5.2f}")


@contextmanager
def _volcano(cluster: Cluster, image: str, name: str) -> Iterator[Terminal]:
    """The plainest Volcano Job with a shell, and the way to it that somebody would take by hand."""
    job = plainest(image)
    container = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container |= {"command": list(_SHELL), "stdin": True, "tty": True}
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(job | {"metadata": {"name": name}}))
    pod = f"{name}-t-0"

    def runs() -> bool:
        return any(
            one["metadata"]["name"] == pod and one["status"]["phase"] == "Running"
            for one in cluster.api.list(PODS, RAW).items
        )

    wait_for(f"pod {pod} to run", runs, 120)
    with _kubectl("attach", "-it", pod) as shell:
        shell.sendline()
        yield shell


@contextmanager
def _kubectl(*words: str) -> Iterator[Terminal]:
    argv = ["--kubeconfig", str(ADMIN_CONF), "-n", RAW, *words]
    started = Terminal(str(STATE / "bin/kubectl"), argv, encoding="utf-8", timeout=120, dimensions=(31, 97))
    started.delaybeforesend = None
    try:
        yield started
    finally:
        started.close(force=True)


def _echoes(shell: Terminal) -> list[float]:
    """Of one key after the other."""
    taken = []
    for number in range(KEYS):
        key = "abcdefghij"[number % 10]
        began = time.perf_counter()
        shell.send(key)
        shell.expect_exact(key)
        taken.append(time.perf_counter() - began)
        if number % 50 == 49:
            shell.sendcontrol("u")
    shell.sendcontrol("u")
    return taken
