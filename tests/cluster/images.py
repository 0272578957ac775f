"""The images, built without a registry: a Debian made here in place of the Dockerfiles' base, then those.

They are kept, beside the cluster's other build products and over `make cluster-down`, until something changes of what
they are made of: as archives that containerd imports, the login node's as the tar of its files.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.cluster.binaries import cache_dir
from tests.cluster.state import CHECKOUT, RUN, run

BASE = "docker.io/library/debian:bookworm-slim"
VERSION = "0.1.0"
CONTROLLER, LOGIN = f"localhost/hpcbatch:{VERSION}", f"localhost/hpcbatch-login:{VERSION}"
MPI, WRF, PAUSE = "localhost/mpi:1", "localhost/wrf:1", "localhost/pause:1"
LOGIN_NODE = "localhost/login-node:1"
JOBS = LOGIN, MPI, WRF
"""On the nodes for jobs alone, if that makes a difference."""
IMPORTED = PAUSE, CONTROLLER, *JOBS
_HERE = Path(__file__).parent
_STAGES = "build-controller", "build-login"
"""Of the Dockerfile. They have names, so that what they hold is not built anew for each change of the sources."""

_PAUSE_C = """\
#include <signal.h>
#include <unistd.h>
static void quit(int signum) { _exit(0); }
int main(void) { signal(SIGTERM, quit); signal(SIGINT, quit); for (;;) pause(); }
"""


def buildah(*argv: str | Path, limit_s: float = 900) -> str:
    """With a store of its own, beside the cluster's other build products."""
    store = ("--root", str(cache_dir() / "images"), "--runroot", str(RUN / "buildah"), "--storage-driver", "overlay")
    return run("buildah", *store, *argv, env={**os.environ, "BUILDAH_ISOLATION": "chroot"}, limit_s=limit_s)


def archive(image: str) -> Path:
    """`image` as a file that containerd imports; that of the login node holds its files."""
    return folder() / (image.rpartition("/")[2].replace(":", "-") + ".tar")


def folder() -> Path:
    """Where the images are kept that are made of what is in the checkout now."""
    return cache_dir() / f"images-{_checksum()}"


@cache
def _checksum() -> str:
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.relative_to(CHECKOUT)} {path.stat().st_mode & 0o777:o}\0".encode())
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    """Dockerfiles, and what .dockerignore lets into their builds."""
    yield from (Path(__file__), _HERE / "login_node/Dockerfile", _HERE / "wrf/Dockerfile")
    for name in ("Dockerfile", ".dockerignore", "pyproject.toml", "setup.py", "README.md", "docs/site.md"):
        yield CHECKOUT / name
    yield from sorted((CHECKOUT / "requirements").glob("*.txt"))
    for name in ("hpcbatch", "scripts", "templates", "examples/mpi", "deploy/crd"):
        for path in sorted((CHECKOUT / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def keep() -> None:
    """Build all images where they are not kept yet. Those of other sources go."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / "images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder().exists():
            return
        for old in cache_dir().glob("images-*"):
            shutil.rmtree(old)
        partial = folder().with_suffix(".partial")
        partial.mkdir()
        build_all()
        for image in IMPORTED:
            buildah("push", image, f"docker-archive:{partial / archive(image).name}:{image}")
        _write_files(LOGIN_NODE, partial / archive(LOGIN_NODE).name)
        partial.rename(folder())


def make_pause() -> None:
    """What holds a pod's namespaces: one static program that sleeps."""
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work) / "pause.c", Path(work) / "pause"
        source.write_text(_PAUSE_C)
        run("gcc", "-static", "-O2", "-o", program, source)
        container = buildah("from", "scratch").strip()
        buildah("copy", container, program, "/pause")
        buildah("config", "--entrypoint", '["/pause"]', container)
        buildah("commit", "--rm", container, PAUSE)


def make_base() -> None:
    """Debian 12 with apt and without manuals and translations, as the image of that name has it."""
    root = cache_dir() / "debian-bookworm-slim.tar"
    if not root.exists():
        partial = root.with_suffix(".partial")
        unwanted = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")]
        run(
            "mmdebstrap",
            "--quiet",
            "--format=tar",
            "--variant=apt",
            "--include=ca-certificates",
            *unwanted,
            "bookworm",
            partial,
            limit_s=600,
        )
        partial.rename(root)
    if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}"):
        return
    container = buildah("from", "scratch").strip()
    buildah("add", container, root, "/")
    buildah("config", "--cmd", '["bash"]', container)
    buildah("commit", "--rm", container, BASE)


def build(image: str, dockerfile: Path, *, target: str = "") -> None:
    """`docker build` for one Dockerfile; its context is the folder that the file lies in.

    The Debian made here stands in for the one whose digest the file names.
    """
    options: list[str | Path] = ["--layers", "--pull-never", "--network", "host", "--file", dockerfile, "--tag", image]
    if "ARG BASE=" in dockerfile.read_text():
        options += ["--build-arg", f"BASE={BASE}"]
    if target:
        options += ["--target", target]
    with tempfile.TemporaryDirectory() as trusted:
        buildah("build", *options, *_trust(Path(trusted)), dockerfile.parent)


def _trust(work: Path) -> list[str]:
    """Where this machine reaches the package registries through a certificate authority of its own, the build does too,
    by files that are mounted and so get into no image."""
    authorities = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if not authorities or not Path(authorities).exists():
        return []
    (work / "pip.conf").write_text("[global]\ncert = /run/registry-ca.crt\n")
    return ["--volume", f"{authorities}:/run/registry-ca.crt:ro", "--volume", f"{work / 'pip.conf'}:/etc/pip.conf:ro"]


def _write_files(image: str, archive: Path) -> None:
    container = buildah("from", "--pull-never", image).strip()
    try:
        run("tar", "-C", buildah("mount", container).strip(), "--numeric-owner", "--xattrs", "-cf", archive, ".")
    finally:
        buildah("rm", container)


def unpack(image: str, root: Path) -> None:
    """The files of the login node's image."""
    root.mkdir()
    run("tar", "-C", root, "--numeric-owner", "--xattrs", "-xpf", archive(image))


def build_all() -> None:
    buildah("rm", "--all")  # what a build that was killed has left: its image could not be removed
    make_base()
    make_pause()
    for stage in _STAGES:
        build(f"localhost/{stage}:1", CHECKOUT / "Dockerfile", target=stage)
    build(CONTROLLER, CHECKOUT / "Dockerfile", target="controller")
    build(LOGIN, CHECKOUT / "Dockerfile", target="login")
    build(MPI, CHECKOUT / "examples/mpi/Dockerfile")
    build("localhost/maps:1", _HERE / "wrf/Dockerfile", target="maps")
    build(WRF, _HERE / "wrf/Dockerfile")
    build(LOGIN_NODE, _HERE / "login_node/Dockerfile")
    buildah("rmi", "--prune")  # what earlier builds have left
