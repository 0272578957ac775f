"""slurm.conf, gres.conf, scontrol show and sacctmgr dump."""

from __future__ import annotations

import pytest

from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.site import QueueConfig, Translation, Word
from tests.unit.site.importing.reading import config, errors, found_in, left, planned

GI = 1 << 30
CLUSTER = """\
# a cluster
ClusterName=Pine_Tree
SlurmctldHost=pine1
killwait = 45
MaxArraySize=5001
Licenses=matlab:10,ansys*3
DefMemPerNode=2048
GresTypes=gpu
NodeName=DEFAULT CPUs=64 Feature=ib
NodeName=c[01-04] RealMemory=256000 \\
    Feature=ib,rome
NodeName=g[1-2] Gres=gpu:a100:4 Weight=50   # the dear ones
PartitionName=DEFAULT MaxTime=2-00:00:00 State=UP
PartitionName=short Nodes=c[01-04] MaxTime=60 DefaultTime=00:10:00 Default=YES MaxNodes=2
PartitionName=gpu Nodes=g[1-2] MaxMemPerNode=524288 AllowAccounts=vision MaxCPUsPerNode=UNLIMITED
PartitionName=all Nodes=ALL
"""


def test_a_cluster() -> None:
    site = config(CLUSTER)
    assert site.server_name == "pine-tree"
    assert site.kill_delay_s == 45
    assert site.max_array_size == 5000
    assert site.licenses == {"matlab": 10, "ansys": 3}
    assert site.default_queue == "short"
    assert site.queues == (
        QueueConfig(
            name="short",
            volcano_queue="short",
            is_default=True,
            max_walltime_s=3600,
            default_walltime_s=600,
            max_nodes=2,
            default_mem_per_node_bytes=2 * GI,
            node_selector={"hpcbatch.io/queue-short": "true"},
        ),
        QueueConfig(
            name="gpu",
            volcano_queue="gpu",
            max_walltime_s=2 * 86400,
            max_mem_per_node_bytes=512 * GI,
            default_mem_per_node_bytes=2 * GI,
            node_selector={"hpcbatch.io/queue-gpu": "true"},
        ),
        QueueConfig(name="all", volcano_queue="all", max_walltime_s=2 * 86400, default_mem_per_node_bytes=2 * GI),
    )
    assert site.node_properties == {
        "ib": {"hpcbatch.io/feature-ib": "true"},
        "rome": {"hpcbatch.io/feature-rome": "true"},
    }
    assert site.resources["gpu:a100"] == "nvidia.com/gpu"


def test_labels_of_a_cluster() -> None:
    every = ("c01", "c02", "c03", "c04", "g1", "g2")
    assert planned(CLUSTER).node_labels == {
        ("hpcbatch.io/feature-ib", "true"): every,
        ("hpcbatch.io/feature-rome", "true"): every[:4],
        ("hpcbatch.io/queue-short", "true"): every[:4],
        ("hpcbatch.io/queue-gpu", "true"): every[4:],
    }


def test_what_is_left_has_its_line() -> None:
    assert left(CLUSTER) == [
        "a:2: ClusterName: serverName is a host name in lower case: pine-tree",
        "a:12: Weight: which node is taken first is Volcano's: its plugin nodeorder",
        "a:15: AllowAccounts: who may use a queue has no key: every user of the cluster may use each queue",
    ]


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ("MaxTime=INFINITE", None),
        ("MaxTime=unlimited", None),
        ("MaxTime=30", 1800),
        ("MaxTime=1-12", 36 * 3600),
        ("MAXTIME=07:00:00", 7 * 3600),
        ('MaxTime="2-0"', 2 * 86400),
        ("MaxTime=0", None),
        ("", None),
    ],
)
def test_times(row: str, seconds: int | None) -> None:
    assert config(f"PartitionName=p Nodes=ALL {row}\n").queues[0].max_walltime_s == seconds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "PartitionName=p MaxTime=soon\n",
            "a:1: MaxTime=soon: expected a time such as 60, 12:00:00, 7-00:00:00 or UNLIMITED",
        ),
        ("\nNodeName=n[1- CPUs=4\n", "a:2: NodeName=n[1-: expected a host list such as n[01-20]"),
        ("PartitionName=p \\\n Nodes=n[ \n", "a:2: Nodes=n[: expected a host list such as n[01-20]"),
        (
            "ClusterName=a\nthis is no setting\n",
            "a:2: 'this' is no setting: expected Key=Value, a comment, or Include FILE",
        ),
        ("ClusterName=a\nMaxArraySize=many\n", "a:2: MaxArraySize=many: expected a whole number"),
        ("ClusterName=a\nLicenses=a:b\n", "a:2: Licenses=a:b: expected licences such as matlab:10"),
        ("PartitionName=p DefMemPerNode=4GB\n", "a:1: DefMemPerNode=4GB: expected memory in megabytes"),
    ],
)
def test_errors(text: str, error: str) -> None:
    assert errors(text) == [error]


def test_includes_share_defaults() -> None:
    main = "ClusterName=a\ninclude nodes.conf\nPartitionName=p Nodes=n1\n"
    nodes = "NodeName=n[1-2] CPUs=4\nPartitionName=DEFAULT MaxTime=10\n"
    queue = config(main, included={"nodes.conf": nodes}).queues[0]
    assert (queue.max_walltime_s, queue.node_selector) == (600, {"hpcbatch.io/queue-p": "true"})


def test_a_file_that_includes_itself() -> None:
    found = found_in("ClusterName=a\nInclude b.conf\n", included={"b.conf": "Include b.conf\n"})
    assert [str(error) for error in found.errors] == ["b.conf:1: Include b.conf: files include each other"]


def test_node_sets() -> None:
    text = (
        "PartitionName=p Nodes=fast,n9\nNodeSet=fast Feature=ib\nNodeName=n[1-2] Feature=ib\nNodeName=n[3-9] CPUs=1\n"
    )
    # the set stands before its nodes
    assert planned(text).node_labels[("hpcbatch.io/queue-p", "true")] == ("n1", "n2", "n9")


def test_a_comment_may_be_quoted() -> None:
    assert config("ClusterName=pine\nPartitionName=p\\#1 # a comment\n").server_name == "pine"


def test_no_default_partition() -> None:
    text = "PartitionName=closed AllowGroups=x\nPartitionName=open Nodes=ALL\n"
    assert config(text).default_queue == "open"
    assert left(text)[-1] == "a:2: queue: no queue was the default one; hpcbatch needs one, and this is the first"


def test_types_of_gpu_are_labels_where_there_are_several() -> None:
    conf = "PartitionName=p Nodes=ALL\nNodeName=g1 CPUs=8 Gres=gpu:v100:2\n"
    gres = "NodeName=g[2-3] Name=gpu Type=a100 File=/dev/nvidia[0-3]\nName=shard Count=8\nAutoDetect=nvml\n"
    plan = planned(conf, gres)
    assert plan.translations == (
        Translation(word=Word.RESOURCE, pattern="gpu:v100", labels={"hpcbatch.io/gpu-v100": "true"}, renamed="gpu"),
        Translation(word=Word.RESOURCE, pattern="gpu:a100", labels={"hpcbatch.io/gpu-a100": "true"}, renamed="gpu"),
    )
    assert plan.node_labels[("hpcbatch.io/gpu-a100", "true")] == ("g2", "g3")
    assert plan.resources == {"ngpus": "nvidia.com/gpu", "gpu": "nvidia.com/gpu", "shard": "hpcbatch.io/gres-shard"}
    assert config(conf, gres).translations == plan.translations


@pytest.mark.parametrize(
    ("kind", "resource"), [("a100", "nvidia.com/gpu"), ("mi250", "amd.com/gpu"), ("pvc", "gpu.intel.com/i915")]
)
def test_who_makes_a_gpu(kind: str, resource: str) -> None:
    resources = config(f"NodeName=g1 CPUs=8 Gres=gpu:{kind}:2\n").resources
    assert (resources["gpu"], resources[f"gpu:{kind}"]) == (resource, resource)


SHOWN = """\
$ scontrol show partition
PartitionName=debug
   AllowGroups=ALL AllowAccounts=ALL AllowQos=normal
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=00:30:00 DisableRootJobs=NO Hidden=NO
   MaxNodes=2 MaxTime=01:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=vm[1-2]
   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE
   DefMemPerNode=UNLIMITED MaxMemPerNode=4096

"""
NODE = """\
NodeName=vm1 Arch=x86_64 CoresPerSocket=2
   CPUAlloc=0 CPUTot=2
   AvailableFeatures=avx,ib
   ActiveFeatures=avx,ib
   Gres=gpu:t4:1(S:0)
   OS=Linux 6.1.0 #1 SMP Weight=1
   Partitions=debug
   Reason=broken fan [root@2026-01-01]
"""


def one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if not line.startswith("$")) + "\n"


@pytest.mark.parametrize("text", [SHOWN, one_line(SHOWN)])
def test_scontrol_show_partition(text: str) -> None:
    assert config(text).queues == (
        QueueConfig(
            name="debug",
            volcano_queue="debug",
            is_default=True,
            max_walltime_s=3600,
            default_walltime_s=1800,
            max_nodes=2,
            max_mem_per_node_bytes=4 * GI,
        ),
    )
    assert [line.split(": ")[1] for line in left(text)] == ["AllowQos"]


@pytest.mark.parametrize("text", [NODE, one_line(NODE)])
def test_scontrol_show_node(text: str) -> None:
    plan = planned(text)
    assert list(plan.node_properties) == ["avx", "ib"]
    assert plan.resources["gpu:t4"] == "nvidia.com/gpu"
    assert left(text) == []


def test_the_first_file_counts() -> None:
    conf = "PartitionName=debug Nodes=ALL MaxTime=30\n"
    assert config(conf, SHOWN).queues[0].max_walltime_s == 1800
    assert "b:6: MaxTime: a:1 has MaxTime=30, which counts" in left(conf, SHOWN)


DUMP = """\
# To edit this file start with a cluster line for the new cluster
Cluster - 'pine':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='physics: all of it':Organization='uni':Fairshare=20:GrpTRES=cpu=100
Parent - 'physics'
User - 'ann':DefaultAccount='physics':MaxJobs=4
"""


def test_a_dump_of_accounts() -> None:
    found = found_in(DUMP)
    assert list(found.accounts) == ["physics"]
    assert config(DUMP).server_name == "pine"
    assert left(DUMP) == [
        "a:4,7: User: users are made with hpcbatch user add",
        "a:5: Fairshare: there is no fair share between accounts or users",
        "a:5,7: GrpTRES, MaxJobs: limits of accounts, users and QOS are a namespace's quota: hpcbatch user add"
        " --quota-cpus",
    ]


PRIORITY = """\
ClusterName=pine
SlurmctldHost=pine1
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightTRES=CPU=64,Mem=2
PriorityMaxAge=2-0
PriorityDecayHalfLife=0
PriorityCalcPeriod=5
PriorityFavorSmall=YES
PriorityFlags=SMALL_RELATIVE_TO_TIME,NO_FAIR_TREE
"""


def test_who_goes_first() -> None:
    assert config(PRIORITY).priority == PriorityConfig(
        is_multifactor=True,
        weight_age=1000,
        weight_fair_share=10000,
        weight_tres={"cpu": 64.0, "mem": 2.0},
        max_age_s=2 * 86400,
        half_life_s=0,
        calc_period_s=300,
        favors_small=True,
        is_size_relative=True,
        is_fair_tree=False,
    )
    assert config("ClusterName=pine\nSlurmctldHost=x\nPriorityType=priority/basic\n").priority == PriorityConfig()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("PriorityFlags=MAX_TRES", "max_tres: there are no such flags here"),
        ("PriorityWeightTRES=CPU=0.5", "weights of resources are whole numbers"),
        ("AccountingStorageEnforce=limits", "set accountingEnforce when accounts are set up"),
    ],
)
def test_what_is_not_taken_over_of_priorities(line: str, why: str) -> None:
    assert any(why in each for each in map(str, left(f"ClusterName=pine\nSlurmctldHost=pine1\n{line}\n")))
