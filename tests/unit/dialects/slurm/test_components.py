"""Heterogeneous jobs: the components of a script and of a command line become one job."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import NotSupportedError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.spec import Arrangement
from tests.unit.dialects.slurm.submit_parts import PLAIN, directives, read, spec, submit


def test_in_a_script() -> None:
    found = spec(
        script=directives(
            "-J a -o out -t 5 -N2 --ntasks-per-node=4 -c2 -C x --mem=1G",
            "hetjob",
            "-n 6 -J b -o other --gres=gpu:1 -L m:2",
            "packjob",
            "-N1-3 --licenses=m",
        )
    )
    assert (found.name, found.stdout.path, found.walltime_s) == ("a", "/work dir/out", 300)
    assert found.arrangement is Arrangement.SCATTER
    shapes = [(c.component, c.count, c.cpus, c.ranks, c.properties, c.resources) for c in found.chunks]
    assert shapes == [
        (0, 2, 8, 4, ("x",), ()),
        (1, 1, 6, 6, (), (("gpu", 1),)),
        (2, 1, 1, 1, (), ()),
    ]
    assert {c.mem_bytes for c in found.chunks} == {1024**3}  # --mem is carried over
    assert found.licenses == (("m", 3),)
    het = {name: value for name, value in found.attributes.items() if name.startswith("het_")}
    assert het == {
        "het_size": "3",
        "het_0_ntasks_per_node": "4",
        "het_0_cpus_per_task": "2",
        "het_0_nodes": "2-2",
        "het_0_mem_per_node_mb": "1024",
        "het_0_constraint": "x",
        "het_1_ntasks": "6",
        "het_1_mem_per_node_mb": "1024",
        "het_1_tres_per_node": "gres:gpu:1",
        "het_2_nodes": "1-3",
        "het_2_mem_per_node_mb": "1024",
    }
    assert "ntasks" not in found.attributes


def test_on_a_command_line() -> None:
    found = read("-n1 -J x : -n2 : -n 3 job.sh arg".split(), PLAIN.encode()).submission.spec
    assert [(c.component, c.ranks) for c in found.chunks] == [(0, 1), (1, 2), (2, 3)]
    assert (found.name, found.script_args) == ("x", ("arg",))


def test_both() -> None:
    """The options of the last part hold for the components of the script that are left."""
    found = read("-c2 job.sh".split(), directives("-n1", "hetjob", "-n2").encode()).submission.spec
    assert [(c.ranks, c.cpus) for c in found.chunks] == [(1, 2), (2, 4)]


def test_a_variable_holds_for_every_component() -> None:
    outcomes: list[Outcome] = []
    script = directives("-n1", "hetjob", "-n2")
    found = submit(script=script, environ={"SBATCH_GRES": "gpu:1"}, outcomes=outcomes).submission.spec
    assert {c.resources for c in found.chunks} == {(("gpu", 1),)}
    assert [o.option for o in outcomes] == ["-n 1", "-n 2", "hetjob", "SBATCH_GRES=gpu:1"]
    assert not any("a later one counts" in o.meaning for o in outcomes)


def test_partitions_of_components() -> None:
    """The job is in the first one's; another is for the site to translate."""
    found = spec(script=directives("-p a -n1", "hetjob", "-p b -n1", "hetjob", "-n1", "hetjob", "-p a"))
    assert found.queue == "a"
    assert [c.words for c in found.chunks] == [(), (("partition", "b"),), (), ()]


def test_many_components() -> None:
    lines = ["-N2 -c2 --mem=1G -C x", "hetjob"] * 15
    assert len(spec(script=directives(*lines)).chunks) == 16
    with pytest.raises(NotSupportedError, match="a heterogeneous job of 61 such components"):
        submit(script=directives(*lines * 4))


def test_nodes_of_components() -> None:
    found = spec(script=directives("-N3 -w n[1-2]", "hetjob", "-N1 -w m"))
    assert [(c.component, c.count, c.hosts) for c in found.chunks] == [
        (0, 2, ("n1", "n2")),
        (0, 1, ()),
        (1, 1, ("m",)),
    ]
    assert found.required_hosts == ()


def test_no_arrays_of_heterogeneous_jobs() -> None:
    with pytest.raises(SlurmUsageError, match="Invalid job array specification") as error:
        submit(script=directives("-n1", "-a 1-3", "hetjob", "-n1"))
    assert (error.value.line, error.value.column) == (3, 9)


def test_each_component_is_checked() -> None:
    outcomes: list[Outcome] = []
    with pytest.raises(ObstaclesError) as error:
        submit(script=directives("-N1 -n2 --ntasks-per-node=1", "hetjob", "-n x"), outcomes=outcomes)
    assert [(p.line, p.column) for p in error.value.problems] == [(4, 9), (2, 17)]  # type: ignore[attr-defined]
    assert [o.option for o in outcomes if o.fate is Fate.REFUSED] == ["-n x"]


def test_memory_excludes_across_components() -> None:
    with pytest.raises(SlurmUsageError, match="mutually exclusive"):
        submit(script=directives("--mem=1", "hetjob", "--mem-per-cpu=1"))
