"""Types of GPU of a site, asked for in each dialect. They are fake: an extended resource that the nodes announce and
nobody provides, whose numbers alone are given out."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.conformance.rigs import Rig
from tests.conformance.site import Site
from tests.conformance.site_file import HEAD, configure, configured, published
from tests.conformance.test_lsf import bsub
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

GPU, SLICE = "fake.example/gpu", "fake.example/slice"
METAX = "metax-tech.com/gpu"
NOTES = {"hami.io/node-scheduler-policy": "spread", "metax-tech.com/sgpu-topology-aware": "true"}
"""What the scheduler of MetaX's users reads from a pod, by HAMi's documentation."""
LABEL = "test.hpcbatch.io/gpu"
KEYS = f"""\
accelerators:
- name: fast
  aliases: ["Fake-Fast*"]
  resource: {GPU}
  visibleDevices: FAKE_DEVICES
  nodeSelector: {{{LABEL}: fast}}
- {{name: plain, resource: {GPU}, visibleDevices: FAKE_DEVICES, nodeSelector: {{{LABEL}: plain}}}}
- {{name: slice, resource: {SLICE}, visibleDevices: FAKE_SLICES}}
- {{name: c500, resource: {METAX}, annotations: {{{", ".join(f"{key}: '{text}'" for key, text in NOTES.items())}}}}}
"""
MARK = 'translations:\n- {option: "--fakes", ignored: a mark}\n'


@pytest.fixture(scope="module")
def fast(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The one node with GPUs of type fast, of a site whose other two have plain ones."""
    admin = rig.site(tmp_path_factory.mktemp("admin"))
    listed = json.loads(admin.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    nodes = [node["metadata"]["name"] for node in listed if not node["spec"].get("taints")][:3]
    before = configured(admin)
    for name, kind in zip(nodes, ("fast", "plain", "plain"), strict=True):
        admin.kubectl("label", "node", name, f"{LABEL}={kind}", "--overwrite")
        announce(admin, name, {GPU: "2", SLICE: "4", METAX: "4"})
    configure(admin, (HEAD if before is None else before) + KEYS + MARK)
    wait_for("the accelerators", lambda: "--fakes" in json.dumps(published(admin)))
    wait_for(
        "the GPUs of the nodes",
        lambda: (
            admin.run("sbatch", "-N3", "--gpus-per-node=2", "--test-only", "--wrap=true", check=False).returncode == 0
        ),
    )
    yield nodes[0]
    configure(admin, before)
    wait_for("the old configuration", lambda: "--fakes" not in json.dumps(published(admin)))
    for name in nodes:
        admin.kubectl("label", "node", name, f"{LABEL}-")
        announce(admin, name, {GPU: None, SLICE: None, METAX: None})


def announce(admin: Site, node: str, amounts: dict[str, str | None]) -> None:
    """Extended resources of a node, as a device plugin's kubelet would; None takes one away."""
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    admin.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps(status))


def test_slurm_s_tasks_see_their_own_on_each_node(site: Site, fast: str) -> None:
    del fast
    script = site.script(
        "gpus.sh",
        "#!/bin/sh\n"
        'echo "job $FAKE_DEVICES, $SLURM_JOB_GPUS, $SLURM_GPUS_ON_NODE"\n'
        "ssh $(scontrol show hostnames | tail -1) 'echo \"ssh $FAKE_DEVICES\"'\n"
        "srun --mpi=none sh -c 'echo \"task $SLURM_PROCID: $FAKE_DEVICES\"'\n"
        "srun --mpi=none --gres=gpu:1 sh -c 'echo \"step $SLURM_PROCID: $FAKE_DEVICES\"'\n",
    )
    job = site.sbatch("-N2", "--ntasks-per-node=2", "--gpus-per-task=1", "-o", "gpus.out", script)
    assert site.wait_end(job)["Exit_status"] == 0
    lines = site.read("gpus.out").splitlines()
    assert lines[:2] == ["job 0,1, 0,1, 2", "ssh 0,1"]
    assert sorted(lines[2:]) == [
        *("step 0: 0", "step 1: 0", "step 2: 0", "step 3: 0"),
        *("task 0: 0", "task 1: 1", "task 2: 0", "task 3: 1"),
    ]


def test_each_dialect_s_word_for_a_type(site: Site, fast: str) -> None:
    """Slurm's with the number, PBS's and LSF's beside it: all three on the one node that has it."""
    body = "#!/bin/sh\necho $FAKE_DEVICES\n"
    slurm = site.sbatch("--gres=gpu:fast:2", "-o", "slurm.out", stdin=body)
    pbs = site.qsub("-l", "select=1:ngpus=2:gpu_model=fast", "-j", "oe", "-o", "pbs.out", stdin=body)
    lsf = bsub(site, "-gpu", "num=2:gmodel=Fake-Fast_40GB", "-o", "lsf.out", "echo", "$FAKE_DEVICES")
    jobs = [slurm, pbs, lsf]
    for job in jobs:
        record = site.wait_end(job)
        assert record["Exit_status"] == 0
        assert f"({fast}:ncpus=1" in record["exec_vnode"]
        assert ":ngpus=2)" in record["exec_vnode"]
    assert (site.read("slurm.out"), site.read("pbs.out")) == ("0,1\n", "0,1\n")
    assert "0,1" in site.read("lsf.out").splitlines()


def test_slices_are_a_resource_of_their_own(site: Site, fast: str) -> None:
    del fast
    body = '#!/bin/sh\necho "$FAKE_SLICES $FAKE_DEVICES"\n'
    job = site.sbatch("--gpus-per-node=slice:3", "-o", "slices.out", stdin=body)
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.read("slices.out") == "0,1,2 \n"


def test_pods_have_the_annotations_that_a_maker_s_scheduler_reads(site: Site, fast: str) -> None:
    del fast
    body = "#!/bin/sh\necho $MACA_VISIBLE_DEVICES\nsleep 600\n"
    slurm = site.sbatch("--gres=gpu:c500:2", "-o", "slurm.out", stdin=body)
    lsf = bsub(site, "-gpu", "num=2:gmodel=c500", "-o", "lsf.out", stdin=body)
    plain = site.sbatch("-o", "/dev/null", stdin=body)
    for job, noted in ((slurm, NOTES), (lsf, NOTES), (plain, {})):
        site.wait_state(job, "R")
        listed = json.loads(site.kubectl("get", "pods", "-l", f"hpcbatch.io/job-id={job}", "-o", "json").stdout)
        (pod,) = listed["items"]
        assert {key: text for key, text in pod["metadata"]["annotations"].items() if key in NOTES} == noted
        requested = pod["spec"]["containers"][0]["resources"].get("limits", {}).get(METAX)
        assert requested == ("2" if noted else None)
    wait_for("their devices", lambda: site.written("slurm.out") == site.written("lsf.out") == "0,1\n")
    site.run("scancel", slurm, lsf, plain)


def test_sinfo_and_scontrol_show_what_a_node_has(site: Site, fast: str) -> None:
    job = site.sbatch("--gres=gpu:fast:1", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(job, "R")
    has = "gpu:c500:4,gpu:fast:2,gpu:slice:4"
    lines = dict(line.split() for line in site.run("sinfo", "-N", "-h", "-o", "%N %G").stdout.splitlines())
    assert [name for name, gres in lines.items() if gres == has] == [fast]
    assert list(lines.values()).count(has.replace("fast", "plain")) == 2
    used = site.run("sinfo", "-h", "-n", fast, "-O", "GresUsed:80").stdout.strip()
    assert used == "gpu:c500:0(IDX:N/A),gpu:fast:1(IDX:N/A),gpu:slice:0(IDX:N/A)"
    shown = site.run("scontrol", "show", "node", fast).stdout
    assert f"   Gres={has}\n" in shown
    assert ",gres/gpu=10\n" in shown and "AllocTRES=cpu=1,gres/gpu=1\n" in shown
    assert json.loads(site.run("sinfo", "--json").stdout)["nodes"]
    site.run("scancel", job)


REFUSED = {
    ("sbatch", "--gres=gpu:none:1"): (
        "sbatch: error: there is no generic resource gpu:none\n"
        "sbatch: error: Invalid generic resource (gres) specification\n"
    ),
    ("qsub", "-lselect=1:ngpus=1:gpu_model=none"): "qsub: Unknown resource Resource_List.gpu_model=none\n",
    ("bsub", "-gpu", "num=1:gmodel=none"): "Bad resource requirement syntax: gpu_model=none. Job not submitted.\n",
}


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: command[0])
def test_a_type_that_the_site_does_not_have(site: Site, fast: str, command: tuple[str, ...]) -> None:
    del fast
    done = site.run(*command, *(["true"] if command[0] == "bsub" else []), stdin="#!/bin/sh\ntrue\n", check=False)
    assert (done.returncode != 0, done.stdout, done.stderr) == (True, "", REFUSED[command])
