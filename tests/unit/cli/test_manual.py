"""The manual: a page for each command and for site.yaml, as man can read it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hpcbatch.cli import PACKAGES
from hpcbatch.cli.groups import GROUPS
from hpcbatch.cli.hpcbatch import group
from hpcbatch.cli.manual import markdown, roff
from hpcbatch.cli.manual.pages import pages
from hpcbatch.site.file import QUEUE_KEYS, SITE_KEYS, VOLUME_KEYS

DOCUMENT = Path(__file__).parents[3] / "docs/site.md"
PAGES = pages(site_document=DOCUMENT.read_text(encoding="utf-8"), day="2026-01-31", version="1.2.3")


def test_every_command_has_a_page() -> None:
    commands = {f"man1/{name}.1" for names in PACKAGES.values() for name in names}
    own = {f"man1/hpcbatch-{name}.1" for name, command in group.commands.items() if not command.hidden}
    assert set(PAGES) == {*commands, *own, "man1/hpcbatch.1", "man5/hpcbatch-site.yaml.5"}


def test_every_own_command_stands_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(group.commands)


def test_the_page_of_the_site_has_all_keys() -> None:
    page = PAGES["man5/hpcbatch-site.yaml.5"]
    for key in (*SITE_KEYS, *QUEUE_KEYS, *VOLUME_KEYS):
        assert f"\\fB{key}\\fR" in page


def test_pages_say_what_becomes_of_directives() -> None:
    assert '.SH "RESOURCES"' in PAGES["man1/qsub.1"]
    assert "SBATCH_PARTITION" in PAGES["man1/sbatch.1"]
    assert PAGES["man1/qsub.1"].startswith('.TH "QSUB" "1" "2026-01-31" "hpcbatch 1.2.3"')


def test_man_reads_them_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("NOT TESTED: there is no mandoc here (apt-get install mandoc)")
    for name, text in PAGES.items():
        (tmp_path / Path(name).name).write_text(text, encoding="utf-8")
    command = ["mandoc", "-Tlint", "-Wwarning", *sorted(map(str, tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--nodes", "\\-\\-nodes"),
        (".profile", "\\&.profile"),
        ("'quoted'", "\\&'quoted'"),
        ("a\\nb", "a\\enb"),
    ],
)
def test_plain_text_stays_what_it_is(text: str, shown: str) -> None:
    assert roff.escaped(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Title\n\nOne [link](a.md#b) and `code`.\n", ".PP\nOne link and code.\n"),
        ("## Keys\n\nText\nof two lines.\n", '.SH "KEYS"\nText of two lines.\n'),
        ("- one\n- two\n  lines\n", ".IP \\(bu 3\none\n.IP \\(bu 3\ntwo lines\n"),
        ("```yaml\na: 1\n\nb: 2\n```\n", ".PP\n.RS 4\n.nf\na: 1\n.sp\nb: 2\n.fi\n.RE\n"),
        ("| Key | Default | |\n| --- | --- | --- |\n| `a` | `1` | b \\| c |\n", ".TP\n\\fBa\\fR\nb | c; default: 1\n"),
    ],
)
def test_markdown(text: str, shown: str) -> None:
    assert markdown.page(text) == shown
