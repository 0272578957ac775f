"""Completion and the manual know every command, and every option by which the commands read."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hpcbatch.cli import PACKAGES
from hpcbatch.cli.completion import bash, fish, zsh
from hpcbatch.cli.completion.paths import At, all_paths
from hpcbatch.cli.own_lines import known_commands
from hpcbatch.dialects.pbs import options as pbs_options
from hpcbatch.dialects.slurm.getopt import Parser
from hpcbatch.model.command_line import Flag, Word, help_page, value_of

COMMANDS = known_commands()
PATHS = all_paths()


def test_every_command_is_known() -> None:
    assert set(COMMANDS) == {"hpcbatch", *(name for names in PACKAGES.values() for name in names)}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_says_what_it_is_for(name: str) -> None:
    assert COMMANDS[name].line.name == name
    assert COMMANDS[name].line.about
    assert "sage: " in COMMANDS[name].line.usage or name in COMMANDS[name].line.usage


@pytest.mark.parametrize("at", PATHS, ids=lambda at: at.path)
def test_an_option_says_what_it_does(at: At) -> None:
    for flag in at.line.flags:
        assert flag.about, flag
        assert "\n" not in flag.about
        assert all(re.fullmatch(r"-[A-Za-z0-9]\w*|--[A-Za-z][\w-]*", name) for name in flag.names), flag.names
        assert (flag.word in (Word.ONE_OF, Word.DEPENDENCY)) == bool(flag.choices)
        assert all(re.fullmatch(r"[\w./=-]+", choice) for choice in flag.choices), "a shell takes it as one word"


@pytest.mark.parametrize("name", sorted(PACKAGES["slurm"]))
def test_every_option_that_slurms_commands_read(name: str) -> None:
    if name == "seff":
        return  # it has letters alone
    modules = {"salloc": "allocation", "srun": "allocation", "sbatch": "options", "scontrol": "scontrol_command"}
    modules |= {command: f"{command}_options" for command in ("sacct", "sacctmgr", "squeue", "sreport")}
    module = importlib.import_module(f"hpcbatch.dialects.slurm.{modules.get(name, name)}")
    parser: Parser = getattr(module, {"srun": "SRUN", "salloc": "SALLOC"}.get(name, "PARSER"))
    known = {each for flag in COMMANDS[name].line.flags for each in flag.names}
    for option in parser.options:
        assert f"--{option.name}" in known
        assert not option.short or f"-{option.short}" in known


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        (name, getattr(pbs_options, name.upper()))
        for name in ("pbsnodes", "qalter", "qdel", "qmgr", "qrerun", "qrls", "qselect", "qsig", "qstat", "qsub")
    ],
)
def test_every_letter_that_pbss_commands_read(name: str, letters: str) -> None:
    known = {flag.names[0][1:]: flag.takes for flag in COMMANDS[name].line.flags}
    for index, letter in enumerate(letters):
        if letter != ":":
            assert known[letter] == ("=" if letters[index + 1 : index + 2] == ":" else "")


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        (Flag(("-x",)), ""),
        (Flag(("-q",), "=", word=Word.QUEUE), " QUEUE"),
        (Flag(("-p", "--partition"), "=", word=Word.QUEUE), "=QUEUE"),
        (Flag(("--nice",), "?", value="value"), "[=value]"),
        (Flag(("-r",), "=", word=Word.ONE_OF, choices=("y", "n")), " y|n"),
    ],
)
def test_the_value_of_an_option_in_the_manual(flag: Flag, text: str) -> None:
    assert value_of(flag) == text


def test_every_command_stands_in_the_scripts() -> None:
    scripts = bash.script(), zsh.script(), fish.script()
    for at in PATHS:
        assert f"'{at.path}')" in scripts[0]
        assert f"'{at.path}')" in scripts[1]
        assert f"complete -c {at.path.partition(' ')[0]}" in scripts[2]


def test_bash_reads_its_script() -> None:
    subprocess.run(["bash", "-n", "-c", bash.script()], check=True)


@pytest.mark.parametrize("name", sorted((*PACKAGES["pbs"], *PACKAGES["lsf"])))
def test_help_of_pbs_and_lsf(name: str) -> None:
    line = COMMANDS[name].line
    text = help_page(line)
    assert text.startswith(line.usage)
    for flag in line.flags:
        assert re.search(rf"^  {re.escape(', '.join(flag.names))}\b.*(\n {{27}}\S.*| \S.*)$", text, re.MULTILINE), flag


@pytest.mark.parametrize(
    ("command", "option", "line"),
    [
        ("qsub", "--help", "  -N jobname               the name of the job"),
        ("qstop", "--help", "qstop: have no more jobs of queues start"),
        ("pbsfs", "--help", "  --version                print the version"),
        ("qhold", "--help", "qhold: keep jobs from starting"),
        ("bkill", "-h", "  -s signal                send this signal"),
        ("bmod", "-h", "bmod: change a job"),
        ("srun", "--help", "  -N, --nodes=N                  the number of nodes"),
    ],
)
def test_help_needs_no_cluster(command: str, option: str, line: str) -> None:
    lost = {**os.environ, "HPCBATCH_KUBECONFIG": "/nowhere", "KUBECONFIG": "/nowhere"}
    program = Path(sys.executable).parent / command
    done = subprocess.run([program, option], env=lost, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert line in done.stdout.splitlines()
