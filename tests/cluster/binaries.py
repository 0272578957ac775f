"""Kubernetes, Volcano, etcd, CoreDNS and kwok, from Go modules: versions and sums stand in go/*/go.mod, go.sum.

Each module's programs are kept outside the checkout, in a folder named by the checksum of what they are built from, so
that only a machine's first run builds (ten minutes on two cores).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MODULES = Path(__file__).parent / "go"
VERSION_PACKAGE = "k8s.io/component-base/version"


@dataclass(frozen=True, slots=True)
class Module:
    """A folder of go/, and the programs made from it: name → main package."""

    folder: str
    programs: Mapping[str, str]
    link_flags: str = ""
    sources: tuple[str, ...] = field(default=("go.mod", "go.sum"))
    tags: tuple[str, ...] = field(default=(), repr=False)


_COMMANDS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
KUBERNETES = Module(
    "kubernetes",
    {name: f"k8s.io/kubernetes/cmd/{name}" for name in _COMMANDS},
    # without its version stamped in, clients take the server for a pre-release of v0.0.0
    f"-X {VERSION_PACKAGE}.gitVersion=v1.34.1 -X {VERSION_PACKAGE}.gitMajor=1 -X {VERSION_PACKAGE}.gitMinor=34",
)
VOLCANO = Module(
    "volcano",
    {
        "vc-scheduler": "volcano.sh/volcano/cmd/scheduler",
        "vc-controller-manager": "volcano.sh/volcano/cmd/controller-manager",
        "vc-webhook-manager": "volcano.sh/volcano/cmd/webhook-manager",
        "vcctl": "volcano.sh/volcano/cmd/cli",
    },
    "-X volcano.sh/volcano/pkg/version.Version=v1.14.1",
)
ETCD = Module("etcd", {"etcd": "."}, sources=("go.mod", "go.sum", "main.go"))
COREDNS = Module("coredns", {"coredns": "."}, sources=("go.mod", "go.sum", "main.go"))
KWOK = Module("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})
HELM = Module(
    "helm",
    {"helm": "helm.sh/helm/v3/cmd/helm"},
    # else it takes every cluster that it does not ask for Kubernetes 1.20
    " ".join(
        f"-X helm.sh/helm/v3/pkg/{package}.k8sVersion{part}={number}"
        for package in ("chartutil", "lint/rules")
        for part, number in (("Major", 1), ("Minor", 34))
    ),
)
PROMETHEUS = Module(
    "prometheus",
    {name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")},
    # without those that look for targets in clouds, which are most of it
    tags=("remove_all_sd",),
)
CLUSTER = (KUBERNETES, VOLCANO, ETCD, COREDNS)


class BuildError(Exception):
    """One line on why a program could not be built."""


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpcbatch-cluster"


def checksum(module: Module) -> str:
    digest = hashlib.sha256("".join((repr(module), *module.tags)).encode())
    for name in module.sources:
        digest.update((MODULES / module.folder / name).read_bytes())
    return digest.hexdigest()[:16]


def build(module: Module) -> Path:
    """The folder that holds the module's programs, and `source/`, a link to the module's own files."""
    folder = cache_dir() / f"{module.folder}-{checksum(module)}"
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / f"{module.folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder
        begin = time.monotonic()
        print(f"building {', '.join(module.programs)} …", flush=True)
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for name, package in module.programs.items():
            _go(
                module,
                "build",
                "-trimpath",
                "-tags",
                ",".join(module.tags),
                "-ldflags",
                f"-s -w {module.link_flags}",
                "-o",
                str(partial / name),
                package,
            )
        partial.rename(folder)
        print(f"built {module.folder} in {time.monotonic() - begin:.0f} s", flush=True)
    return folder


def module_source(module: Module, path: str) -> Path:
    """The unpacked source of one module, where the CRDs that belong to its programs lie."""
    return Path(_go(module, "list", "-m", "-f", "{{.Dir}}", path).strip())


def _go(module: Module, *arguments: str) -> str:
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not go:
        raise BuildError("go: not found; the cluster's programs are built with Go 1.24 or newer")
    done = subprocess.run(
        [go, *arguments],
        cwd=MODULES / module.folder,
        env={**os.environ, "CGO_ENABLED": "0"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"go {arguments[0]} in {module.folder}: exit {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    try:
        for wanted in CLUSTER:
            print(build(wanted))
    except BuildError as error:
        sys.exit(f"cluster: {error}")
