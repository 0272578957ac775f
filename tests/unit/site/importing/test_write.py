"""The text that is written: quotes, comments, labels. Any text that is read gives a file in order, or an error."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.site.file import read_config
from hpcbatch.site.importing import gres_conf, slurm_conf
from hpcbatch.site.importing.found import Found, Place, Setting
from hpcbatch.site.importing.plan import plan
from hpcbatch.site.importing.recognise import _READ, Format, recognised
from hpcbatch.site.importing.write import braces, comment, duration, scalar, site_yaml
from tests.unit.site.importing.reading import found_in
from tests.unit.site.importing.test_lsf import QUEUES
from tests.unit.site.importing.test_pbs import MAUI, PRO, SERVER, TORQUE
from tests.unit.site.importing.test_preemption import SCHED
from tests.unit.site.importing.test_slurm import CLUSTER, DUMP, NODE, SHOWN

GRES = "Name=gpu Type=a100 File=/dev/nvidia0\n"
SAMPLES = {
    Format.SLURM_CONF: CLUSTER,
    Format.GRES_CONF: GRES,
    Format.SCONTROL: SHOWN + NODE,
    Format.SACCTMGR: DUMP,
    Format.QMGR: SERVER,
    Format.PBSNODES: TORQUE + "\n" + PRO,
    Format.SCHED_CONFIG: SCHED,
    Format.MAUI: MAUI,
    Format.LSF: QUEUES,
}


@pytest.mark.parametrize("name", Format)
def test_each_format_is_recognised(name: Format) -> None:
    assert recognised(SAMPLES[name]) is name


@pytest.mark.parametrize(
    "text", ["", "hello\n", "DbdHost=db\nSlurmUser=slurm\n", "CgroupPlugin=x\n", "include plugstack.conf.d/*.conf\n"]
)
def test_other_files_are_not(text: str) -> None:
    with pytest.raises(HpcBatchError, match="not recognised; expected slurm"):
        found_in(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90, "00:01:30"), (86400, "24:00:00"), (172800, "2-00:00:00"), (100000 * 86400 - 1, "99999-23:59:59")],
)
def test_durations(seconds: int, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("workq", "workq"),
        ("no", '"no"'),
        ("a: b", '"a: b"'),
        ("1e3", '"1e3"'),
        ("nvidia.com/gpu", "nvidia.com/gpu"),
        ("", '""'),
    ],
)
def test_scalars(text: str, shown: str) -> None:
    assert scalar(text) == shown


@given(st.text())
def test_a_scalar_is_read_as_it_was(text: str) -> None:
    node = yaml.compose(f"- {scalar(text)}\n", Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.SequenceNode)
    assert node.value[0].value == text


@given(st.text())
def test_a_comment_stays_one(text: str) -> None:
    assert yaml.safe_load(f"a: 1\n# {comment(text)}\nb: 2\n") == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (["n1"], ["n1"]),
        (["n1", "n2"], ["n1", "n2"]),
        (["n08", "n09", "n10", "m1"], ["n{08..10}", "m1"]),
        (["n9", "n10", "n11"], ["n{9..11}"]),
        (["a1-ib", "a2-ib", "a3-ib", "a5-ib"], ["a{1..3}-ib", "a5-ib"]),
    ],
)
def test_braces(nodes: list[str], words: list[str]) -> None:
    assert braces(nodes) == words


def test_names_of_users_cannot_leave_their_place() -> None:
    text = 'NodeName=n1 CPUs=1 Feature="a\u2028b: ["\nNodeName="n;reboot" Feature=ok\nNodeName=n2 Feature=ok\n'
    found = found_in(text)
    made = site_yaml(plan(found), found, ["x\nqueues: []"], "img:1")
    assert read_config(made).node_properties == {"ok": {"hpcbatch.io/feature-ok": "true"}}
    assert "# kubectl label nodes n2 hpcbatch.io/feature-ok=true" in made
    assert "reboot" not in made


def test_reasons_that_quote_a_value_stay_comments() -> None:
    found = found_in('ClusterName="a\x1b[2J"\nClusterName="b\x1b"\nKillWait=10\n')
    found.value("kill_delay_s", 20, Setting(Place("a", 4), "KillWait\x1b", "20\u2028queues: []"))
    found.leave(Setting(Place("a\x1b", 5), "x", "y"), "a reason\x1b with\nqueues: []")
    assert read_config(site_yaml(plan(found), found, ["a"], "img:1")).kill_delay_s == 10


def check(found: Found) -> None:
    """What was found makes a file that the site's reader takes."""
    if not found.errors:
        read_config(site_yaml(plan(found, checks_accounts=True), found, ["a"], None))


def read(name: Format, text: str) -> Found:
    found = Found()
    if name is Format.SLURM_CONF:
        slurm_conf.read(text, "a", found, lambda *_: [])
    elif name is Format.GRES_CONF:
        gres_conf.read(text, "a", found, lambda *_: [])
    else:
        _READ[name](text, "a", found)
    return found


@given(st.sampled_from(list(Format)), st.text())
def test_any_text_is_read_or_refused(name: Format, text: str) -> None:
    check(read(name, text))


WORDS = sorted({word for text in SAMPLES.values() for word in text.replace("=", " = ").replace(".", " . ").split()})


@given(st.sampled_from(list(Format)), st.data())
def test_any_words_of_a_file_are_read_or_refused(name: Format, data: st.DataObject) -> None:
    """Lines of real files, of which some words were taken out, moved, or replaced by others."""
    lines = SAMPLES[name].splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.sampled_from(["cut", "double", "word", "character"]))
        if kind == "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
        elif kind == "double":
            lines.insert(data.draw(st.integers(0, len(lines))), lines[at])
        else:
            found = data.draw(st.sampled_from(WORDS) if kind == "word" else st.characters())
            place = data.draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:place] + found + lines[at][place:]
    check(read(name, "".join(lines)))


KEYS = ("NodeName", "PartitionName", "Nodes", "Feature", "Gres", "Licenses", "MaxTime", "ClusterName")


@given(st.dictionaries(st.sampled_from(KEYS), st.text(st.characters(exclude_characters='"\n\r'), max_size=20)))
def test_any_values_of_slurm_conf(values: dict[str, str]) -> None:
    row = " ".join(f'{key}="{value}"' for key, value in values.items())
    check(read(Format.SLURM_CONF, f"{row}\n"))
