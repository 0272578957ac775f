"""The images, built without a registry: a Debian made here in place of the Dockerfiles' base, then those."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.cluster.binaries import cache_dir
from tests.cluster.state import CHECKOUT, RUN, STATE, run

BASE = "docker.io/library/debian:bookworm-slim"
VERSION = "0.1.0"
CONTROLLER, LOGIN = f"localhost/hpcbatch:{VERSION}", f"localhost/hpcbatch-login:{VERSION}"
MPI, WRF, PAUSE = "localhost/mpi:1", "localhost/wrf:1", "localhost/pause:1"
LOGIN_NODE = "localhost/login-node:1"

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
    """`image` as a file that containerd imports."""
    path = STATE / "images" / (image.rpartition("/")[2].replace(":", "-") + ".tar")
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    buildah("push", image, f"docker-archive:{path}:{image}")
    return path


def make_pause() -> None:
    """What holds a pod's namespaces: one static program that sleeps."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "pause.c", Path(folder) / "pause"
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
            "mmdebstrap", "--quiet", "--format=tar", "--variant=apt", "--include=ca-certificates", *unwanted,
            "bookworm", partial, limit_s=600,
        )  # fmt: skip
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
    options = ["--layers", "--pull-never", "--network", "host", "--file", dockerfile, "--tag", image]
    if "ARG BASE=" in dockerfile.read_text():
        options += ["--build-arg", f"BASE={BASE}"]
    if target:
        options += ["--target", target]
    with tempfile.TemporaryDirectory() as folder:
        buildah("build", *options, *_trust(Path(folder)), dockerfile.parent)


def _trust(folder: Path) -> list[str]:
    """Where this machine reaches the package registries through a certificate authority of its own, the build does too,
    by files that are mounted and so get into no image."""
    authorities = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if not authorities or not Path(authorities).exists():
        return []
    (folder / "pip.conf").write_text("[global]\ncert = /run/registry-ca.crt\n")
    return ["--volume", f"{authorities}:/run/registry-ca.crt:ro", "--volume", f"{folder / 'pip.conf'}:/etc/pip.conf:ro"]


def unpack(image: str, folder: Path) -> None:
    """The files of an image."""
    container = buildah("from", "--pull-never", image).strip()
    try:
        run("cp", "--archive", buildah("mount", container).strip(), folder)
    finally:
        buildah("rm", container)


def build_all() -> None:
    buildah("rm", "--all")  # what a build that was killed has left: its image could not be removed
    make_base()
    make_pause()
    build(CONTROLLER, CHECKOUT / "Dockerfile", target="controller")
    build(LOGIN, CHECKOUT / "Dockerfile", target="login")
    build(MPI, CHECKOUT / "examples/mpi/Dockerfile")
    for image, folder in ((LOGIN_NODE, "login_node"), (WRF, "wrf")):
        build(image, Path(__file__).parent / folder / "Dockerfile")
    buildah("rmi", "--prune")  # what earlier builds have left
