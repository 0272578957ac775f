"""The site's file: what its keys become, and every fault with its line, its key and what was expected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.priority import ShortJobs
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import Launcher, Policy, QueueConfig, SiteConfig, Volume
from hpcbatch.site import file as site_file
from hpcbatch.site.accelerators import ACCELERATOR_KEYS
from hpcbatch.site.file import CLUSTER_DEFAULTS, SiteFileError, read_config, read_site
from hpcbatch.site.modules import MODULE_KEYS
from hpcbatch.site.topology import LEVEL_KEYS
from hpcbatch.site.vocabulary import TRANSLATION_KEYS

DOCS = (Path(__file__).parents[3] / "docs/site.md").read_text()
EXAMPLE = re.findall(r"^```yaml\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)[0]
HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"
GI = 1 << 30


def problems(body: str, defaults: SiteConfig | None = None) -> list[str]:
    """What is wrong with `body`, which stands below the two lines of HEAD."""
    with pytest.raises(SiteFileError) as raised:
        read_config(HEAD + body, defaults=SiteConfig() if defaults is None else defaults)
    return [str(problem) for problem in raised.value.problems]


def test_the_documented_example() -> None:
    config = read_site(EXAMPLE).config
    assert config.server_name == "pbs1"
    assert config.image == "registry.site:5000/mpi/openmpi:4.1"
    assert config.mounts_passwd
    assert config.default_queue == "workq"
    assert config.queues == (
        QueueConfig(
            name="workq",
            aliases=("normal", "debug*"),
            volcano_queue="default",
            is_default=True,
            max_walltime_s=86400,
            default_walltime_s=3600,
            max_nodes=16,
            max_cpus=512,
            max_mem_per_node_bytes=192 * GI,
            default_mem_per_node_bytes=4 * GI,
        ),
        QueueConfig(
            name="gpu",
            volcano_queue="gpu",
            image="registry.site:5000/mpi/cuda:12.4",
            max_walltime_s=2 * 86400,
            node_selector={"pool": "gpu"},
        ),
    )
    assert config.volumes == (
        Volume(name="home", mount_path="/home", source={"persistentVolumeClaim": {"claimName": "home"}}),
        Volume(
            name="scratch",
            mount_path="/scratch",
            source={"nfs": {"server": "nfs.site", "path": "/export/scratch"}},
        ),
        Volume(
            name="software",
            mount_path="/software",
            source={"nfs": {"server": "nfs.site", "path": "/export/software"}},
            read_only=True,
        ),
        Volume(name="shm", mount_path="/dev/shm", source={"emptyDir": {"medium": "Memory"}}),
    )
    assert config.node_properties["ib"] == {"network.site/fabric": "infiniband"}
    assert config.resources == {"ngpus": "nvidia.com/gpu", "gpu": "nvidia.com/gpu"}
    assert config.history_kept_s == 14 * 86400


def test_all_keys_are_documented() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", DOCS, re.MULTILINE))
    sources = {word for word in site_file.SOURCES if f"`{word}`" in DOCS}
    of_parts = {
        *site_file.QUEUE_KEYS,
        *site_file.VOLUME_KEYS,
        *MODULE_KEYS,
        *TRANSLATION_KEYS,
        *ACCELERATOR_KEYS,
        *LEVEL_KEYS,
    }
    assert documented == {*site_file.SITE_KEYS, *of_parts}
    assert sources == site_file.SOURCES.keys()


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", HEAD, HEAD + "queues:\nvolumes:\n"])
def test_what_is_missing_has_its_default(text: str) -> None:
    defaults = SiteConfig(server_name="here", mounts_passwd=False, kill_delay_s=3)
    assert read_config(text, defaults=defaults) == defaults


def test_a_real_cluster_needs_an_image() -> None:
    assert problems("", CLUSTER_DEFAULTS) == ["site.yaml:1:1: image: missing: jobs need an image to run in"]
    queues = "queues: [{name: a, default: true, image: x}, {name: b}]"
    assert problems(queues, CLUSTER_DEFAULTS) == [
        "site.yaml:3:46: queues[1].image: missing: neither the queue nor the site names an image for its jobs"
    ]
    read_config(HEAD + "queues: [{name: a, default: true, image: x}]")  # all its queues have one


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("12h", 43200),
        ("14d", 14 * 86400),
        ("2w", 14 * 86400),
        ("24:00:00", 86400),
        ("01:00:00", 3600),
        ("1:00:00", 3600),
        ("100:00:01", 360001),
        ("7-00:00:00", 604800),
        ('"30m"', 1800),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert read_config(f"{HEAD}startTimeout: {text}\n", defaults=SiteConfig()).start_timeout_s == seconds


@pytest.mark.parametrize("text", ["1:30", "-5", "1.5h", "5x", "0", "00:00:00", "1:60:00", "soon", "[1]", "٣", "''"])
def test_no_durations(text: str) -> None:
    (problem,) = problems(f"startTimeout: {text}\n")
    assert problem.startswith("site.yaml:3:15: startTimeout: expected")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("launcher: dedicated", "launcher", Launcher.DEDICATED),
        ("launcherCPU: 250m", "launcher_cpu_milli", 250),
        ("launcherCPU: 1", "launcher_cpu_milli", 1000),
        ("mountPasswd: false", "mounts_passwd", False),
        ("strictGroups: false", "strict_groups", False),
        ("loginShell: false", "login_shell", False),
        ("judgeWRF: false", "judges_wrf", False),
        ("autoscaling: true", "autoscaling", True),
        ("autoscaling: true", "policy", Policy.VOLCANO),
        ("policy: volcano", "policy", Policy.VOLCANO),
        ("policy: backfill", "policy", Policy.BACKFILL),
        ("backfillDepth: 10000", "backfill_depth", 10000),
        ("judgeWRF: true", "short_first", None),
        ("shortFirst: {}", "short_first", ShortJobs(walltime_s=30, delay_s=1800)),
        ("shortFirst: {walltime: 2m, delay: 1h}", "short_first", ShortJobs(walltime_s=120, delay_s=3600)),
        ("scheduler: volcano", "scheduler", Scheduler.VOLCANO),
        ("scheduler: none", "scheduler", Scheduler.NONE),
        ("scheduler: none", "scheduler_name", "default-scheduler"),
        ("scheduler: koordinator", "scheduler_name", "koord-scheduler"),
        ("policy: volcano\nscheduler: coscheduling", "scheduler", Scheduler.COSCHEDULING),
        ("judgeWRF: true", "scheduler_name", "volcano"),
        ("schedulerName: my.volcano-2", "scheduler_name", "my.volcano-2"),
        ("interactiveScheduler: volcano", "interactive_scheduler", "volcano"),
        ("judgeWRF: true", "interactive_scheduler", "default-scheduler"),
        ("placeTimeout: 2m", "place_timeout_s", 120),
        ("sshPort: 2222", "ssh_port", 2222),
        ("killDelay: 0", "kill_delay_s", 0),
        ("interactiveIdleLimit: 30m", "interactive_idle_limit_s", 1800),
        ("historyKept: 0", "history_kept_s", 0),
        ("mostRecords: 1000", "most_records", 1000),
        ("imagePullTimeout: 10m", "image_pull_timeout_s", 600),
        ("clusterDomain: k8s.site", "cluster_domain", "k8s.site"),
        ("serverName: 123", "server_name", "123"),
        ("resources: {}", "resources", {}),
        ("resources: {'gpu:a100': nvidia.com/a100}", "resources", {"gpu:a100": "nvidia.com/a100"}),
        ("allowedImages: ['*']", "allowed_images", ("*",)),
        ("image: a/b@sha256:" + "0" * 64, "image", "a/b@sha256:" + "0" * 64),
    ],
)
def test_keys(text: str, field: str, value: object) -> None:
    assert (
        getattr(read_config(HEAD + text, defaults=CLUSTER_DEFAULTS if "image:" in text else SiteConfig()), field)
        == value
    )


QUEUE = "queues:\n- name: q\n  default: true\n"
VOLUME = "volumes:\n- name: v\n  mountPath: /v\n  emptyDir: {}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("images: x", ["3:1: images: unknown key; did you mean image?"]),
        ("IMAGE: x", ["3:1: IMAGE: unknown key; did you mean image?"]),
        ("xyzzy: 1", ["3:1: xyzzy: unknown key; known here: apiVersion, kind,"]),
        ("killDelay: 1\nkillDelay: 2", ["4:1: killDelay: given twice, first in line 3"]),
        ("image: Not An Image", ["3:8: image: expected an image such as"]),
        ("image: [a]", ["3:8: image: expected a text, found a list"]),
        ("allowedImages: x", ["3:16: allowedImages: expected a list, found 'x'"]),
        ("allowedImages:\n- a*\n- b c", ["5:3: allowedImages: expected an image, with `*`"]),
        ("allowedImages: ['a[bc]']", ["3:17: allowedImages: expected an image, with `*`"]),
        ("serverName: a_b", ["3: serverName: expected a host name"]),
        ("sshPort: 0", ["3:10: sshPort: expected a whole number from 1 to 65535"]),
        ("sshPort: 0x16", ["3:10: sshPort: expected a whole number"]),
        ("mountPasswd: yes", ["3:14: mountPasswd: expected true or false, found 'yes'"]),
        ("launcher: both", ["3:11: launcher: expected shared or dedicated"]),
        ("policy: fifo", ["3:9: policy: expected backfill or volcano, found 'fifo'"]),
        ("autoscaling: true\npolicy: backfill", ["4:9: policy: with autoscaling: true only volcano"]),
        ("scheduler: x", ["3:12: scheduler: expected volcano, coscheduling, koordinator, kueue or none, found 'x'"]),
        ("policy: volcano\nscheduler: none", ["4:12: scheduler: none needs policy: backfill, without autoscaling"]),
        ("autoscaling: true\nscheduler: kueue", ["4:12: scheduler: kueue needs policy: backfill"]),
        ("autoscaling: true\nscheduler: none", ["4:12: scheduler: none needs policy: backfill, without autoscaling"]),
        ("schedulerName: My_Own", ["3:16: schedulerName: expected the schedulerName of pods, a name in lower case"]),
        ("placeTimeout: 0", ["3:15: placeTimeout: expected"]),
        ("backfillDepth: 0", ["3:16: backfillDepth: expected a whole number from 1 to 10000"]),
        ("shortFirst: 1m", ["3:13: shortFirst: expected keys and values"]),
        ("shortFirst: {walltime: 30m}", ["3:13: shortFirst: expected a delay that is longer than the walltime"]),
        ("shortFirst: {walltime: 0}", ["3:24: shortFirst.walltime: expected 1 second at least"]),
        ("shortFirst: {walltime: 1h, delay: soon}", ["3:35: shortFirst.delay: expected a duration"]),
        ("policy: volcano\nshortFirst: {}", ["4:13: shortFirst: needs policy: backfill"]),
        ("launcherCPU: -1", ["3:14: launcherCPU: expected CPUs such as"]),
        ("queues: {}", ["3:9: queues: expected a list, found keys and values"]),
        ("queues:\n- q", ["4:3: queues[0]: expected keys and values, found 'q'", "no default"]),
        ("queues:\n- default: true", ["4:3: queues[0].name: missing"]),
        ("queues:\n- name: q", ["4:1: queues: no default queue: one of them needs `default: true`"]),
        (QUEUE + "- name: q", ["6:9: queues[1].name: a second queue 'q', the first is in line 4"]),
        (QUEUE + "- {name: r, default: true}", ["6:22: queues[1].default: a second default queue"]),
        (QUEUE + "- name: Big", ["6:9: queues[1].name: no Volcano Queue can be called 'Big'"]),
        (QUEUE + "- name: a b", ["6:9: queues[1].name: expected up to 63", "can be called"]),
        (QUEUE + "  volcanoQueue: root", ["6:17: queues[0].volcanoQueue: Volcano's queue root takes no jobs"]),
        (QUEUE + "  maxNodes: 0", ["6:13: queues[0].maxNodes: expected a whole number from 1"]),
        (QUEUE + "  maxMemoryPerNode: 4gb", ["6:21: queues[0].maxMemoryPerNode: expected an amount of memory such as"]),
        (QUEUE + "  maxMemoryPerNode: 1e999", ["6:21: queues[0].maxMemoryPerNode: expected an amount of memory"]),
        (
            QUEUE + "  maxWalltime: 1h\n  defaultWalltime: 2h",
            ["7:20: queues[0].defaultWalltime: more than maxWalltime"],
        ),
        (
            QUEUE + "  maxMemoryPerNode: 1Gi\n  defaultMemoryPerNode: 2Gi",
            ["7:25: queues[0].defaultMemoryPerNode: more than maxMemoryPerNode allows"],
        ),
        (QUEUE + "  nodeSelector: {a: b c}", ["6:17: queues[0].nodeSelector: a: expected a label's value"]),
        (QUEUE + "  nodeSelector: {a/b/c: d}", ["6:17: queues[0].nodeSelector: 'a/b/c' is no label key"]),
        (VOLUME + "  readOnly: 1", ["7:13: volumes[0].readOnly: expected true or false"]),
        (VOLUME + "  subPath: ../x", ["7:12: volumes[0].subPath: expected a relative path"]),
        (VOLUME + "  nfs: {server: s, path: /p}", ["6:13: volumes[0].emptyDir: a second source beside nfs"]),
        (VOLUME + "- {name: v, mountPath: /w, emptyDir: {}}", ["7:10: volumes[1].name: a second volume 'v'"]),
        (VOLUME + "- {name: w, mountPath: /v/, emptyDir: {}}", ["7:24: volumes[1].mountPath: volume 'v' is"]),
        ("volumes:\n- {name: v, mountPath: /v}", ["4:3: volumes[0]: no source: expected one of persist"]),
        ("volumes:\n- {name: V, mountPath: /v, emptyDir: {}}", ["4:10: volumes[0].name: expected up to 58 lower-case"]),
        ("volumes:\n- {name: v, mountPath: /v, nfs: {server: s}}", ["4:33: volumes[0].nfs.path: missing"]),
        ("volumes:\n- {name: v, mountPath: /v, nfs: {server: s, path: p}}", ["nfs.path: expected an absolute"]),
        (
            "volumes:\n- {name: v, mountPath: /v, persistentVolumeClaim: {claim: c}}",
            [
                "4:52: volumes[0].persistentVolumeClaim.claim: unknown key; did you mean claimName?",
                "claimName: missing",
            ],
        ),
        ("volumes:\n- {name: v, mountPath: /v, emptyDir: {sizeLimit: 2026-01-01}}", ["expected what JSON has"]),
        ("nodeProperties: {a: {}}", ["3:21: nodeProperties.a: expected one label at least"]),
        ("nodeProperties: {a b: {c: d}}", ["3: nodeProperties.a b: 'a b' cannot be a property"]),
        ("nodeProperties: {a: {c: d, c: e}}", ["3:28: nodeProperties.a.c: given twice"]),
        ("resources: {ngpus: gpu}", ["3:12: resources: ngpus: expected an extended resource such as nvidia.com/gpu"]),
        ("resources: {x: kubernetes.io/x}", ["3:12: resources: x: expected an extended resource"]),
        ("resources: [a]", ["3:12: resources: expected keys and values, found a list"]),
        ("<<: {killDelay: 1}", ["3:1: <<: unknown key"]),
    ],
)
def test_faults(body: str, expected: list[str]) -> None:
    found = problems(body)
    assert len(found) == len(expected), found
    for line, part in zip(found, expected, strict=True):
        assert part in line
        assert line.startswith("site.yaml:")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "v",
        "/",
        "/..",
        "/a/../..",
        "/a:b",
        "/etc",
        "//etc/",
        "/etc/passwd",
        "/etc/volcano/x",
        "/hpcbatch",
        "/hpcbatch/run",
        "/proc/x",
        "/dev",
        "/dev/sda",
        "/sys",
    ],
)
def test_paths_that_belong_to_the_pod(path: str) -> None:
    (problem,) = problems(f"volumes:\n- {{name: v, mountPath: '{path}', emptyDir: {{}}}}\n")
    assert problem.startswith("site.yaml:4:24: volumes[0].mountPath: ")


def test_all_faults_of_a_file_in_its_order() -> None:
    found = problems("sshPort: x\nqueues:\n- name: q\n  defalt: true\nkillDelay: y\n")
    assert [line.split(":")[1] for line in found] == ["3", "5", "6", "7"]


def test_a_text_that_is_no_site_file() -> None:
    cases = {
        "a: [": "site.yaml:1:5: not YAML: ",
        "a: 1\nb:\n\t- x": "site.yaml:3:1: not YAML: ",
        "a: 1\n---\nb: 2\n": "site.yaml:2:1: not YAML: ",
        "- a": "site.yaml:1:1: expected keys and values, found a list",
        "kind: SiteConfiguration": "site.yaml:1:1: apiVersion: missing",
        "apiVersion: v1\nkind: SiteConfiguration": (
            "site.yaml:1:13: apiVersion: expected hpcbatch.io/v1alpha1, found 'v1'"
        ),
        "&a [*a]": "site.yaml:1:1: expected keys and values, found a list",
        "[" * 5000: "site.yaml: not YAML: nested too deeply",
        "a: \x01": "site.yaml: not YAML: ",
    }
    for text, expected in cases.items():
        with pytest.raises(SiteFileError) as raised:
            read_config(text)
        assert str(raised.value.problems[0]).startswith(expected)


def test_the_error_is_one_line() -> None:
    with pytest.raises(SiteFileError, match=r"^f:\d+:\d+: .* \(and 1 more\)$") as raised:
        read_config(HEAD + "image: a\nsshPort: x\nkillDelay: y\n", file="f")
    assert str(raised.value) == "f:4:10: sshPort: expected a whole number from 1 to 65535, found 'x' (and 1 more)"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["1h", "/v", "q", "1Gi", "a/b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*site_file.SITE_KEYS, *site_file.QUEUE_KEYS, *site_file.VOLUME_KEYS, *site_file.SOURCES, "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(_VALUES)
def test_any_yaml_is_read_or_refused(value: object) -> None:
    try:
        config = read_config(yaml.safe_dump(value))
    except SiteFileError as error:
        assert error.problems
        assert all("\n" not in str(problem) or "'" in str(problem) for problem in error.problems)
    else:
        assert config == CLUSTER_DEFAULTS or config.image or config.queues


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_config(text)
    except SiteFileError as error:
        assert error.problems
