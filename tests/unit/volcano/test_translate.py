"""From a placed job to manifests: names, tasks, policies, security, and that no text of a user leaves its place."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader

import hpcbatch
import hpcbatch.runner
from hpcbatch.dialects.registry import door
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.array import Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.grouping import Grouping, Level
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.placed import OutputFiles, PlacedJob
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig, SiteModule, Volume
from hpcbatch.model.spec import Arrangement, JobSpec, Sharing
from hpcbatch.volcano import job_names, translate
from hpcbatch.volcano.admission import mutate_job, validate_job
from hpcbatch.volcano.job_conf import bar_rerun
from tests.thoroughness import examples

Object = dict[str, Any]
GOLDEN = Path(__file__).parent / "data"
OWNER = {"apiVersion": "hpcbatch.io/v1alpha1", "kind": "BatchJob", "name": "pbs-x", "uid": "u-1", "controller": True}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def placed(
    *chunks: Chunk, job_id: int = 12, uid: int = 1000, launcher: Launcher = Launcher.SHARED, **spec: Any
) -> PlacedJob:
    layout = chunks or (Chunk(),)
    asked = JobSpec(**{"dialect": Dialect.PBS, "name": "test", "chunks": layout, **spec})
    return PlacedJob(
        job_id=job_id,
        spec=asked,
        queue="default",
        pods=job_names.pods(job_id, layout, launcher),
        owner="alice",
        uid=uid,
        gid=uid,
        home="/home/alice",
        cluster="test",
        launcher=launcher,
    )


def build(job: PlacedJob, **changed: Any) -> list[Object]:
    setup: dict[str, Any] = {
        "output": OutputFiles(stdout="/home/alice/test.o12", stderr="/home/alice/test.e12", umask=0o077),
        "environment": {"PBS_JOBID": "12.server", "PBS_JOBNAME": "test"},
        "nodefile": "".join(f"{pod.host}\n" * pod.chunk.ranks for pod in job.pods),
        "gpufile": "",
    }
    setup |= {name: changed.pop(name) for name in setup.keys() & changed.keys()}
    values: dict[str, Any] = {
        "site": SiteConfig(),
        "submission_secret": "pbs-x",
        "namespace": "alice",
        "owner": OWNER,
        **changed,
    }
    return translate.manifests(job, replace(door(job.spec.dialect).run_setup(job), **setup), **values)


def volcano_job(job: PlacedJob, **changed: Any) -> Object:
    return build(job, **changed)[1]


def pod_spec(job: Object, task: int = 0) -> Object:
    return job["spec"]["tasks"][task]["template"]["spec"]  # type: ignore[no-any-return]


def sources(spec: Object, volume: str) -> list[Object]:
    """Of a projected volume."""
    return next(one["projected"]["sources"] for one in spec["volumes"] if one["name"] == volume)


def sourced(files: Mapping[str, str], shell: str) -> bytes:
    """What `shell` prints after it has sourced the runner's files."""
    script = "set --\n" + files["job.sh"] + files["environment"] + files["arguments"] + shell
    return subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout


# The Job


@pytest.mark.parametrize(
    ("scheduler", "pods", "spec", "awaits"),
    [
        ("volcano", 3, {}, "no"),
        ("volcano", 1, {"rerunnable": False}, "yes"),
        ("volcano", 1, {"rerunnable": False, "interactive": Interactive.TERMINAL}, "no"),
        ("none", 1, {}, "no"),
        ("none", 2, {}, "yes"),
        ("coscheduling", 2, {}, "yes"),
        ("kueue", 2, {"rerunnable": False, "interactive": Interactive.TERMINAL}, "yes"),
    ],
)
def test_who_waits_for_the_word(scheduler: str, pods: int, spec: dict[str, Any], awaits: str) -> None:
    """Whose script starts when the controller lets it, not as soon as its first pod runs."""
    conf = build(placed(Chunk(count=pods), **spec), site=SiteConfig(scheduler=Scheduler(scheduler)))[0]
    assert sourced(conf["data"], 'echo "$awaits_word"').decode().strip() == awaits


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("one", placed(Chunk(cpus=2, ranks=2, mem_bytes=1 << 30))),
        ("three", placed(Chunk(count=3, cpus=2, ranks=2), rerunnable=False)),
    ],
)
def test_golden(name: str, job: PlacedJob) -> None:
    """To write the files anew: print what `dry_run_yaml` gives here, and look at each difference."""
    text = translate.dry_run_yaml(build(job)).replace(translate.runner_configmap("x")["metadata"]["name"], "RUNNER")
    assert text == (GOLDEN / f"{name}.yaml").read_text()


@pytest.mark.parametrize(
    "job",
    [
        placed(),
        placed(Chunk(count=3)),
        placed(Chunk(count=2, cpus=0, ranks=0), Chunk(cpus=4, mem_bytes=5), sharing=Sharing.EXCLUSIVE),
        placed(Chunk(count=200), arrangement=Arrangement.SCATTER, uid=0),
    ],
)
def test_volcano_admits_it(job: PlacedJob) -> None:
    queue = {"metadata": {"name": "default"}, "spec": {"parent": "root"}, "status": {"state": "Open"}}
    mutated = mutate_job(volcano_job(job))
    validate_job(mutated, find_queue={"default": queue}.get, child_queues=lambda _name: [])


def test_one_pod_has_neither_ssh_nor_service() -> None:
    job = volcano_job(placed())
    assert job["spec"]["plugins"] == {"env": []}
    assert [task["name"] for task in job["spec"]["tasks"]] == ["mpimaster"]
    assert "sysctls" not in pod_spec(job)["securityContext"]
    assert "dnsConfig" not in pod_spec(job)


def test_several_pods_start_together() -> None:
    job = volcano_job(placed(Chunk(count=2), Chunk(cpus=3)))
    assert job["spec"]["minAvailable"] == 3 == sum(task["replicas"] for task in job["spec"]["tasks"])
    assert set(job["spec"]["plugins"]) == {"env", "ssh", "svc"}
    roles = [pod_spec(job, index)["containers"][0]["command"][2] for index in range(3)]
    assert roles == ["master", "worker", "worker"]


def test_only_the_first_pod_sees_script_and_environment() -> None:
    job = volcano_job(placed(Chunk(count=3)))
    secrets = [[s["secret"]["name"] for s in sources(pod_spec(job, i), "job") if "secret" in s] for i in range(2)]
    assert secrets == [["pbs-x"], []]


@pytest.mark.parametrize(
    ("interactive", "streams"),
    [
        (None, (None, None, None)),
        (Interactive.ALLOCATION, (None, None, None)),
        (Interactive.SESSION, (True, False, True)),
        (Interactive.TERMINAL, (True, False, True)),
        (Interactive.STREAMS, (True, True, False)),
    ],
)
def test_what_somebody_is_attached_to(interactive: Interactive | None, streams: tuple[bool | None, ...]) -> None:
    """stdin, stdinOnce and tty, of the first pod alone."""
    job = volcano_job(placed(Chunk(count=2), interactive=interactive))
    found = [
        tuple(pod_spec(job, task)["containers"][0].get(name) for name in ("stdin", "stdinOnce", "tty"))
        for task in range(2)
    ]
    assert found == [streams, (None, None, None)]


@pytest.mark.parametrize(("rerunnable", "action"), [(True, "RestartJob"), (False, "TerminateJob")])
def test_policies(rerunnable: bool, action: str) -> None:
    spec = volcano_job(placed(Chunk(count=2), rerunnable=rerunnable))["spec"]
    assert spec["policies"] == [
        {"event": "PodEvicted", "action": action},
        {"event": "PodFailed", "action": "TerminateJob"},
    ]
    assert [task.get("policies") for task in spec["tasks"]] == [
        [{"event": "TaskCompleted", "action": "CompleteJob"}],
        None,
    ]


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (Chunk(cpus=2), {"requests": {"cpu": "2"}}),
        (Chunk(cpus=0), {"requests": {"cpu": "0"}}),
        (Chunk(mem_bytes=7 << 20), {"requests": {"cpu": "1", "memory": "7340032"}, "limits": {"memory": "7340032"}}),
    ],
)
def test_resources(chunk: Chunk, expected: Object) -> None:
    assert pod_spec(volcano_job(placed(chunk)))["containers"][0]["resources"] == expected


def test_ordinary_user_has_no_privilege() -> None:
    spec = pod_spec(volcano_job(placed(Chunk(count=2))))
    assert spec["securityContext"] == {
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "supplementalGroupsPolicy": "Strict",
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}],
    }
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
    unprivileged_port = volcano_job(placed(Chunk(count=2)), site=SiteConfig(ssh_port=2222))
    assert "sysctls" not in pod_spec(unprivileged_port)["securityContext"]


@pytest.mark.parametrize(
    ("count", "arrangement", "sharing", "expected"),
    [
        (2, Arrangement.FREE, Sharing.SHARED, []),
        (2, Arrangement.SCATTER, Sharing.SHARED, ["own"]),
        (1, Arrangement.SCATTER, Sharing.SHARED, []),
        (1, Arrangement.PACK, Sharing.EXCLUSIVE, ["others"]),
        (2, Arrangement.SCATTER, Sharing.EXCLUSIVE, ["own", "others"]),
    ],
)
def test_anti_affinity(count: int, arrangement: Arrangement, sharing: Sharing, expected: list[str]) -> None:
    spec = pod_spec(volcano_job(placed(Chunk(count=count), arrangement=arrangement, sharing=sharing)))
    terms = (
        spec.get("affinity", {}).get("podAntiAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])
    )
    assert ["own" if "matchLabels" in term["labelSelector"] else "others" for term in terms] == expected
    assert all(term["topologyKey"] == "kubernetes.io/hostname" for term in terms)


def test_grace_period_leaves_time_for_the_kill_delay() -> None:
    job = volcano_job(placed(), site=SiteConfig(kill_delay_s=30))
    assert pod_spec(job)["terminationGracePeriodSeconds"] > 30


def test_owner_and_labels_are_on_everything() -> None:
    for obj in build(placed(Chunk(count=2))):
        assert obj["metadata"]["ownerReferences"] == [OWNER]
        assert obj["metadata"]["labels"]["hpcbatch.io/job-id"] == "12"
        assert obj["metadata"]["namespace"] == "alice"
    assert all("ownerReferences" not in obj["metadata"] for obj in build(placed(), owner=None))


# What a site decides


def test_queue_and_image_are_the_placed_job_s() -> None:
    job = replace(placed(), queue="gpu", image="registry/mpi:2", volcano_queue="volcano-gpu")
    gpu = QueueConfig(name="gpu", volcano_queue="volcano-gpu", node_selector={"pool": "gpu"})
    made = volcano_job(job, site=SiteConfig(queues=(gpu,), default_queue="gpu"))
    assert made["spec"]["queue"] == "volcano-gpu"
    assert pod_spec(made)["containers"][0]["image"] == "registry/mpi:2"
    assert pod_spec(made)["nodeSelector"] == {"pool": "gpu"}
    with pytest.raises(HpcBatchError, match="this site has no queue default"):
        volcano_job(placed(), site=SiteConfig(queues=(gpu,)))


def test_properties_and_resources_make_tasks_of_their_own() -> None:
    site = SiteConfig(node_properties={"haswell": {"cpu": "haswell"}})
    chunks = [Chunk(), Chunk(count=2, properties=("haswell",)), Chunk(resources=(("ngpus", 1),))]
    made = volcano_job(placed(*chunks), site=site)
    assert [task["replicas"] for task in made["spec"]["tasks"]] == [1, 2, 1]
    assert [pod_spec(made, index).get("nodeSelector") for index in range(3)] == [None, {"cpu": "haswell"}, None]
    assert pod_spec(made, 2)["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}


def test_pods_with_an_accelerator_have_its_resource_and_annotations() -> None:
    near = Accelerator(name="c500", resource="metax-tech.com/gpu", annotations={"site.example/near": "true"})
    site = SiteConfig(accelerators=(near,), resources={"gpu:c500": near.resource})
    job = placed(Chunk(), Chunk(resources=(("gpu:c500", 4),)))
    templates = [task["template"] for task in volcano_job(job, site=site)["spec"]["tasks"]]
    assert [each["metadata"].get("annotations") for each in templates] == [None, {"site.example/near": "true"}]
    assert templates[1]["spec"]["containers"][0]["resources"]["limits"] == {"metax-tech.com/gpu": "4"}
    older = (Path(hpcbatch.__file__).parent / "templates" / translate.TEMPLATE).read_text()
    older = older.replace("        annotations: {{ task.annotations | tojson }}\n", "")
    with pytest.raises(HpcBatchError, match=r"expected annotations made from task\.annotations"):
        volcano_job(job, site=site, loader=DictLoader({translate.TEMPLATE: older}))


RACKS = SiteConfig(topology=(Level(name="rack", label="net/rack", tier=2), Level(name="row", label="net/row")))


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        (Grouping(level="rack"), {"mode": "hard", "highestTierAllowed": 2}),
        (Grouping(wait_s=60), {"mode": "soft", "highestTierAllowed": 2}),
        (Grouping(level="rack", groups=2), None),
        (Grouping(level="row"), None),
        (None, None),
    ],
    ids=["a rack", "for a minute", "two racks", "no hypernodes", "anywhere"],
)
def test_hypernodes_of_a_tier(grouping: Grouping | None, expected: Object | None) -> None:
    made = volcano_job(placed(Chunk(count=2), grouping=grouping), site=RACKS)
    assert made["spec"].get("networkTopology") == expected


def test_an_older_template_does_not_lose_the_topology() -> None:
    text = (Path(hpcbatch.__file__).parent / "templates" / translate.TEMPLATE).read_text()
    older = text.replace("  networkTopology: {{ network_topology | tojson }}\n", "")
    with pytest.raises(HpcBatchError, match="expected networkTopology made from network_topology"):
        volcano_job(placed(grouping=Grouping(level="rack")), site=RACKS, loader=DictLoader({translate.TEMPLATE: older}))


HOME = Volume(name="home", mount_path="/home", source={"persistentVolumeClaim": {"claimName": "home"}})
RUN = Volume(name="run", mount_path="/opt", source={"hostPath": {"path": "/x"}}, read_only=True, sub_path="soft")


def test_volumes_are_in_every_pod() -> None:
    made = volcano_job(placed(Chunk(count=3)), site=SiteConfig(volumes=(HOME, RUN)))
    for index in range(2):
        spec = pod_spec(made, index)
        assert {"name": "site-home", "persistentVolumeClaim": {"claimName": "home"}} in spec["volumes"]
        assert {"name": "site-run", "hostPath": {"path": "/x"}} in spec["volumes"]
        mounts = {mount["name"]: mount for mount in spec["containers"][0]["volumeMounts"]}
        assert mounts["site-home"] == {"name": "site-home", "mountPath": "/home"}
        assert mounts["site-run"] == {
            "name": "site-run",
            "mountPath": "/opt",
            "subPath": "soft",
            "readOnly": True,
        }
        assert mounts["run"]["mountPath"] == "/hpcbatch/run"
        assert len({volume["name"] for volume in spec["volumes"]}) == len(spec["volumes"])


def test_accounts() -> None:
    job = replace(placed(Chunk(count=2)), groups=((2000, "wrf"),))
    conf, made = build(job, site=SiteConfig(mounts_passwd=True))
    assert "alice:x:1000:1000::/home/alice:/bin/sh\n" in conf["data"]["passwd"]
    assert "wrf:x:2000:alice\n" in conf["data"]["group"]
    for index in range(2):
        spec = pod_spec(made, index)
        assert spec["securityContext"]["supplementalGroups"] == [2000]
        mounts = {mount["mountPath"]: mount for mount in spec["containers"][0]["volumeMounts"]}
        for file in ("passwd", "group"):
            expected = {"name": "job", "mountPath": f"/etc/{file}", "subPath": f"conf/{file}", "readOnly": True}
            assert mounts[f"/etc/{file}"] == expected
    assert sourced(conf["data"], "echo $knows_shell") == b"no\n"
    plain = build(job)
    assert "passwd" not in plain[0]["data"]
    assert sourced(plain[0]["data"], "echo $knows_shell") == b"yes\n"


def test_strict_groups() -> None:
    security = pod_spec(volcano_job(placed(), site=SiteConfig(strict_groups=False)))["securityContext"]
    assert "supplementalGroupsPolicy" not in security  # by default it is there: test_ordinary_user_has_no_privilege


def test_nobody_runs_as_root_on_a_site_with_users() -> None:
    with pytest.raises(HpcBatchError, match="jobs do not run as root"):
        build(placed(uid=0), site=SiteConfig(mounts_passwd=True))


def test_cluster_domain() -> None:
    made = volcano_job(placed(Chunk(count=2)), site=SiteConfig(cluster_domain="hpc.example"))
    assert pod_spec(made)["dnsConfig"] == {"searches": ["job-12.alice.svc.hpc.example"]}


@pytest.mark.parametrize("count", [1, 3])
def test_a_dedicated_launcher(count: int) -> None:
    job = placed(Chunk(count=count, cpus=2, ranks=2), launcher=Launcher.DEDICATED, arrangement=Arrangement.SCATTER)
    conf, made = build(job, site=SiteConfig(launcher_cpu_milli=50))
    assert made["metadata"]["labels"]["hpcbatch.io/launcher"] == "dedicated"
    assert made["spec"]["minAvailable"] == count + 1
    assert set(made["spec"]["plugins"]) == {"env", "ssh", "svc"}
    tasks = [(task["name"], task["replicas"]) for task in made["spec"]["tasks"]]
    assert tasks == [("mpimaster", 1), ("mpiworker", count)]
    assert pod_spec(made, 0)["containers"][0]["resources"] == {"requests": {"cpu": "50m"}}
    assert pod_spec(made, 1)["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert "affinity" not in pod_spec(made, 0), "it may stand on a node of its workers"
    workers = [f"job-12-mpiworker-{index}" for index in range(count)]
    assert sourced(conf["data"], 'echo "$hosts|$has_peers"').decode() == f"{' '.join(workers)}|yes\n"
    assert conf["data"]["hostfile"] == "".join(f"{host} slots=2\n" for host in workers)


# The runner's ConfigMap


def test_hostfiles_of_both_families() -> None:
    data = build(placed(Chunk(cpus=1, ranks=2), Chunk(count=2, ranks=0), Chunk(ranks=1)))[0]["data"]
    assert data["hostfile"] == "job-12-mpimaster-0 slots=2\njob-12-mpiworker2-0 slots=1\n"
    assert data["hydra"] == "job-12-mpimaster-0:2\njob-12-mpiworker2-0:1\n"
    assert data["nodefile"] == "job-12-mpimaster-0\n" * 2 + "job-12-mpiworker2-0\n"


@settings(max_examples=examples(40), deadline=None)
@given(
    paths=st.lists(TEXT, min_size=3, max_size=3),
    arguments=st.lists(TEXT, max_size=5),
    environment=st.dictionaries(st.from_regex(r"[A-Z_]{1,6}", fullmatch=True), TEXT, max_size=5),
)
def test_no_text_breaks_out_of_its_quotes(paths: list[str], arguments: list[str], environment: dict[str, str]) -> None:
    job = placed(dialect=Dialect.SLURM, work_dir=paths[0], script_args=tuple(arguments))
    output = OutputFiles(stdout=paths[1], stderr=None, stdout_in_dir=paths[2])
    data = build(job, output=output, environment=environment)[0]["data"]
    # as the API and PyYAML carry it
    data = yaml.safe_load(translate.dry_run_yaml([{"data": data}]))["data"]
    got = sourced(data, 'printf "%s\\0" "$work_dir" "$stdout" "$stdout_in_dir" "$@"')
    words = [*paths, *(f"{name}={value}" for name, value in environment.items()), *arguments]
    assert got == b"".join(word.encode() + b"\0" for word in words)


@pytest.mark.parametrize(
    ("asked", "export_none", "site", "expected"),
    [
        ({"dialect": Dialect.PBS}, False, SiteConfig(login_shell=False), "system"),
        ({"dialect": Dialect.PBS}, False, SiteConfig(), "user"),
        ({"dialect": Dialect.SLURM}, False, SiteConfig(), "no"),
        ({"dialect": Dialect.SLURM}, True, SiteConfig(login_shell=False), "system"),
    ],
)
def test_login(asked: dict[str, Any], export_none: bool, site: SiteConfig, expected: str) -> None:
    data = build(placed(**asked), export_none=export_none, site=site)[0]["data"]
    assert sourced(data, "echo $login").decode().strip() == expected


def test_defaults_of_the_start() -> None:
    data = build(placed(), output=OutputFiles(stdout="/x", stderr=None))[0]["data"]
    assert sourced(data, 'echo "$work_dir|$umask|$walltime_s|$kind|$stderr"') == b"/home/alice|0022||script|\n"
    data = build(placed(command=("echo", "a b"), walltime_s=90))[0]["data"]
    assert sourced(data, 'echo "$kind|$walltime_s|$#|$4"') == b"command|90|4|a b\n"


# What is refused


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"namespace": "Not_a_name"}, "'Not_a_name' cannot be a name in Kubernetes"),
        ({"environment": {"a-b": "1"}}, "'a-b' is not the name of a variable"),
        ({"environment": {"A": "x\0y"}}, "holds a NUL byte"),
        ({"environment": {"A": "caf\udce9"}}, "is not UTF-8 text"),
        ({"nodefile": "host\n" * 300_000}, "the limit is 1048576"),
    ],
)
def test_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(HpcBatchError, match=re.escape(said)):
        build(placed(), **changed)


def test_name_of_a_pod_that_would_be_too_long() -> None:
    with pytest.raises(HpcBatchError, match="cannot be a name"):
        build(placed(job_id=10**60))


# A site's own template, and the runner's files


def test_site_template() -> None:
    text = "kind: Job\nmetadata: {name: {{ name | tojson }}, namespace: {{ namespace | tojson }}}\nspec: {tasks: []}\n"
    job = volcano_job(placed(), loader=DictLoader({"volcano/job.yaml.j2": text}))
    assert job["metadata"]["name"] == "job-12"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {{ unknown }}", "template volcano/job.yaml.j2: 'unknown' is undefined"),
        ("\na: {% if %}", "template volcano/job.yaml.j2:2: "),
        ("a: [", "template volcano/job.yaml.j2 gives no YAML: "),
        ("just text", "template volcano/job.yaml.j2 gives no object"),
        (None, "template volcano/job.yaml.j2: not found"),
    ],
)
def test_site_template_that_is_wrong(text: str | None, said: str) -> None:
    with pytest.raises(HpcBatchError, match=re.escape(said)):
        volcano_job(placed(), loader=DictLoader({} if text is None else {"volcano/job.yaml.j2": text}))


def test_runner_configmap_is_named_after_its_content() -> None:
    configmap = translate.runner_configmap("alice")
    assert re.fullmatch(r"hpcbatch-runner-[0-9a-f]{10}", configmap["metadata"]["name"])
    assert {"run.sh", "start.sh", "remote.sh", "common.sh"} <= configmap["data"].keys()
    assert configmap["immutable"] is True
    used = sources(pod_spec(volcano_job(placed())), "runner")
    assert used == [{"configMap": {"name": configmap["metadata"]["name"]}}]


def test_each_file_of_the_jobs_configmap_reaches_the_pod() -> None:
    """A volume of some of its keys has no others; those that a job may lack must be optional."""
    site = SiteConfig(mounts_passwd=True, modules=(SiteModule(name="wrf/4.7"),))
    conf, made = build(placed(), site=site, gpufile="0\n")
    always, at_times = (one["configMap"] for one in sources(pod_spec(made), "job") if "configMap" in one)
    assert {one["name"] for one in (always, at_times)} == {"job-12-conf"}
    assert (always.get("optional"), at_times["optional"]) == (None, True)
    keys = [{item["key"] for item in one["items"]} for one in (always, at_times)]
    assert keys[0] == build(placed())[0]["data"].keys()
    assert keys[0] | keys[1] == conf["data"].keys() | bar_rerun("uid")["data"].keys()


def test_the_runners_files_have_names_of_their_own() -> None:
    """A pod has them in one directory, whatever folder they are in here."""
    here = Path(hpcbatch.runner.__file__).parent
    found = [path.name for path in here.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    assert sorted(found) == list(translate.runner_configmap("alice")["data"])


def test_dry_run_is_readable_yaml() -> None:
    objects = build(placed(Chunk(count=2)))
    text = translate.dry_run_yaml(objects)
    assert list(yaml.safe_load_all(text)) == objects
    assert "  job.sh: |\n    job_id='12'\n" in text
    assert "&id" not in text


def test_named_nodes_become_affinities() -> None:
    """Pods on named nodes stay apart, so that each of the nodes gets one; pods without such wishes have no affinity."""
    chunks = Chunk(count=2, hosts=("n1", "n2")), Chunk(excluded_hosts=("n1", "n2"))
    job = volcano_job(placed(*chunks, required_hosts=("n1", "n2")))
    affinities = [pod_spec(job, task)["affinity"] for task in range(len(job["spec"]["tasks"]))]
    wanted = [a["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] for a in affinities]
    assert [term["nodeSelectorTerms"][0]["matchExpressions"] for term in wanted] == [
        [{"key": "kubernetes.io/hostname", "operator": operator, "values": ["n1", "n2"]}]
        for operator in ("In", "In", "NotIn")
    ]
    assert all(
        len(affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]) == 1
        for affinity in affinities
    )
    assert "affinity" not in pod_spec(volcano_job(placed()))
    assert list(pod_spec(volcano_job(placed(Chunk(hosts=("n1",)))))["affinity"]) == ["nodeAffinity"]


def test_a_template_that_leaves_out_the_nodes() -> None:
    """One that a site made before there were any."""
    source = (Path(hpcbatch.__path__[0]) / "templates/volcano/job.yaml.j2").read_text()
    old = re.sub(r"{% if task.node_terms %}.*?{% endif %}\n", "", source, flags=re.DOTALL)
    loader = DictLoader({translate.TEMPLATE: old.replace("task.node_terms or ", "")})
    assert volcano_job(placed(), loader=loader)
    with pytest.raises(HpcBatchError, match=r"expected a nodeAffinity made from task\.node_terms"):
        volcano_job(placed(Chunk(hosts=("n1",))), loader=loader)


def test_a_template_from_before_volumes_were_projected() -> None:
    source = (Path(hpcbatch.__path__[0]) / "templates/volcano/job.yaml.j2").read_text()
    older = source.replace("name: job\n          projected", "name: conf\n          projected")
    with pytest.raises(HpcBatchError, match="expected a projected volume job made from conf_items"):
        volcano_job(placed(), loader=DictLoader({translate.TEMPLATE: older}))


def test_a_template_from_before_there_were_interactive_jobs() -> None:
    source = (Path(hpcbatch.__path__[0]) / "templates/volcano/job.yaml.j2").read_text()
    loader = DictLoader({translate.TEMPLATE: source.replace("task.is_master and stdio", "false")})
    assert volcano_job(placed(), loader=loader)
    with pytest.raises(HpcBatchError, match="expected stdin and tty made from stdio"):
        volcano_job(placed(interactive=Interactive.SESSION), loader=loader)


def test_members_of_arrays_are_not_interactive() -> None:
    member = Membership(array_id=1, array_name="a", index=1)
    with pytest.raises(HpcBatchError, match="not interactive"):
        volcano_job(placed(interactive=Interactive.SESSION, member_of=member))
