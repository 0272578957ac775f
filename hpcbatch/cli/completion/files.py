"""The files that a wheel installs below `share`, where the shells look for the completion of a command."""

from __future__ import annotations

from pathlib import Path

from hpcbatch.cli.completion import bash, fish, zsh
from hpcbatch.cli.own_lines import known_commands

_BASH = Path("bash-completion/completions")
_ZSH = Path("zsh/site-functions/_hpcbatch")
_FISH = Path("fish/vendor_completions.d")
_OTHER = '. "${BASH_SOURCE[0]%/*}/hpcbatch"\n'
"""bash reads a file by the command's name: one has it all."""


def files() -> dict[Path, str]:
    found = {_BASH / "hpcbatch": bash.script(), _ZSH: zsh.script()}
    for name in known_commands():
        found.setdefault(_BASH / name, _OTHER)
        found[_FISH / f"{name}.fish"] = fish.script(name)
    return found


def write(target: Path) -> None:
    for name, text in files().items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
