"""`make audit`: what an installation consists of (CycloneDX), and whether anything of it is known to be vulnerable.

`audit.py DIRECTORY` writes a bill of materials for each image of the Dockerfile there, then looks every package up in
PyPI's advisories through pip-audit. It exits with 1 when one is known to be vulnerable. Where the advisories cannot be
reached, a line says that nothing was audited, and that is no failure: the machine has no such network.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
BIN = Path(sys.executable).parent
IMAGES = {"login": ("base",), "controller": ("base", "postgres")}
"""Image → the groups of packages that the Dockerfile installs into it, before it removes what the image never imports.
Debian's own packages are not in these bills."""


def main() -> int:
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for image, groups in IMAGES.items():
        path = target / f"hpcbatch-{image}.cdx.json"
        count = write_bill(groups, path)
        print(f"{path}: {count} packages")
    vulnerable = 0
    for group in sorted(path.stem for path in FOLDER.glob("*.txt")):
        vulnerable += audit(group)
    return 1 if vulnerable else 0


def write_bill(groups: tuple[str, ...], path: Path) -> int:
    """Write a reproducible CycloneDX bill of materials; return the number of its packages."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as together:
        together.write("".join((FOLDER / f"{group}.txt").read_text() for group in groups))
        together.flush()
        options = (
            "--output-reproducible",
            "--output-format",
            "JSON",
            "--pyproject",
            str(FOLDER.parent / "pyproject.toml"),
        )
        command = (str(BIN / "cyclonedx-py"), "requirements", together.name, *options, "--output-file", str(path))
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    bill = json.loads(path.read_text())
    for component in bill["components"]:
        component.pop("description", None)  # the line of the requirements file, hashes and all, once more
    path.write_text(json.dumps(bill, indent=1) + "\n")
    return len(bill["components"])


def audit(group: str) -> int:
    """Print what is known of the group's packages; return how many are vulnerable."""
    options = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json")
    command = (str(BIN / "pip-audit"), *options, "--requirement", str(FOLDER / f"{group}.txt"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        print(f"{group}: not audited: {done.stderr.strip().splitlines()[-1:] or ['pip-audit printed nothing']}")
        return 0
    known = [package for package in packages if "skip_reason" not in package]
    if not known:
        print(f"{group}: not audited: PyPI's advisories for its {len(packages)} packages are out of reach")
        return 0
    vulnerable = [package for package in known if package["vulns"]]
    print(f"{group}: {len(known)} of {len(packages)} packages looked up, {len(vulnerable)} known to be vulnerable")
    for package in vulnerable:
        for advisory in package["vulns"]:
            mended = ", ".join(advisory["fix_versions"]) or "no version"
            print(f"  {package['name']} {package['version']}: {advisory['id']}, mended in {mended}")
    return len(vulnerable)


if __name__ == "__main__":
    sys.exit(main())
