"""`make dist`: a release of the last commit: source distribution, wheel, Helm chart, bill of
materials, checksums.

`dist.py PYTHON DIRECTORY`: PYTHON has the build system. The same commit gives the same bytes: times are those of the
commit, and the wheel is built from the source distribution, which so is known to be complete.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent


def main() -> None:
    python, target = sys.argv[1], Path(sys.argv[2])
    from audit import write_bill

    shutil.rmtree(target, ignore_errors=True)
    if fault := tag_fault(version(), _git("tag", "--points-at", "HEAD").split()):
        raise SystemExit(f"make dist: {fault}")
    made = (*build(python, target), build_chart(target))
    bill = target / f"{made[1].name.partition('-py3')[0]}.cdx.json"
    write_bill(("base",), bill)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (*made, bill))
    (target / "SHA256SUMS").write_text(sums)
    print(sums, end="")
    if _git("status", "--porcelain"):
        print("note: changes that are not committed are not in it", file=sys.stderr)


def version() -> str:
    """The one of HEAD, as the package has it."""
    return re.findall(r'(?m)^__version__ = "(.+)"$', _git("show", "HEAD:hpcbatch/__init__.py"))[0]


def tag_fault(wanted: str, tags: list[str]) -> str:
    """What is wrong with the tags of the commit; "" if one fits, or none is a version: then it is no release."""
    versions = [tag for tag in tags if re.fullmatch(r"v\d.*", tag)]
    if not versions or f"v{wanted}" in versions:
        return ""
    return f"the commit has tag {versions[0]}, and hpcbatch/__init__.py version {wanted}: one of them is wrong"


def _git(*argv: str) -> str:
    return subprocess.run(("git", *argv), cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout


def build(python: str, target: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel of HEAD."""
    target.mkdir(parents=True, exist_ok=True)
    when = _git("log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as folder:
        source, unpacked = Path(folder, "source"), Path(folder, "unpacked")
        _unpack(_archive(), source)
        sdist = target / _call(python, "build_sdist", source, target.resolve(), when)
        _repeatable(sdist, int(when))
        _unpack(gzip.decompress(sdist.read_bytes()), unpacked)
        (root,) = unpacked.iterdir()
        return sdist, target / _call(python, "build_wheel", root, target.resolve(), when)


def build_chart(target: Path) -> Path:
    """The Helm chart of HEAD as `helm package` makes it: in place of its links, which lead out of it, their files."""
    when = int(_git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        _unpack(_archive("deploy"), Path(folder))
        chart = Path(folder, "deploy/chart")
        found = dict(re.findall(r"(?m)^(name|version): (\S+)$", (chart / "Chart.yaml").read_text(encoding="utf-8")))
        if found["version"] != version():
            raise SystemExit(f"make dist: Chart.yaml has version {found['version']}, pyproject.toml {version()}")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(Path(top, name) for top, _, names in os.walk(chart, followlinks=True) for name in names):
                member = tarfile.TarInfo(f"{found['name']}/{path.relative_to(chart).as_posix()}")
                text = path.read_bytes()
                member.size, member.mtime, member.mode = len(text), when, 0o644
                tar.addfile(member, io.BytesIO(text))
    made = target / f"{found['name']}-chart-{found['version']}.tgz"
    _zip(packed.getvalue(), made, when)
    return made


def _archive(*paths: str) -> bytes:
    return subprocess.run(("git", "archive", "HEAD", *paths), cwd=CHECKOUT, capture_output=True, check=True).stdout


def _zip(content: bytes, target: Path, when: int) -> None:
    with target.open("wb") as out, gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=when) as zipped:
        zipped.write(content)


def _unpack(archive: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


def _call(python: str, hook: str, folder: Path, target: Path, when: str) -> str:
    """A hook of the build system (PEP 517); the name of the file that it made."""
    program = f"from setuptools import build_meta; print(build_meta.{hook}({str(target)!r}))"
    done = subprocess.run(
        (python, "-c", program),
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": when, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        umask=0o022,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{hook} failed\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()[-1]


def _repeatable(sdist: Path, when: int) -> None:
    """The same archive without what differs from build to build: times, owners, the order of the files."""
    with tarfile.open(sdist) as tar:
        members = sorted(tar.getmembers(), key=lambda member: member.name)
        content = [(member, tar.extractfile(member) if member.isfile() else None) for member in members]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as anew:
            for member, file in content:
                member.mtime, member.uid, member.gid, member.uname, member.gname = when, 0, 0, "", ""
                member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
                member.pax_headers = {}
                anew.addfile(member, file)
    _zip(packed.getvalue(), sdist, when)


if __name__ == "__main__":
    main()
