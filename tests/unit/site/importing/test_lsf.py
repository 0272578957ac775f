"""lsb.queues, lsb.hosts, lsb.params and lsf.cluster."""

from __future__ import annotations

from tests.unit.site.importing.reading import config, errors, left

GI = 1 << 30
QUEUES = """\
# comment
Begin Queue
QUEUE_NAME   = normal
PRIORITY     = 30
RUNLIMIT     = 1:00 24:00
TASKLIMIT    = 1 4 64
MEMLIMIT     = 4G 16G
USERS        = all
HOSTS        = cpu+1 \\
               ~c2
DESCRIPTION  = For normal jobs
End Queue

Begin Queue
QUEUE_NAME = gpu
RUNLIMIT   = 90
USERS      = vision
HOSTS      = g1 g2
End Queue
"""
HOSTS = """\
Begin Host
HOST_NAME MXJ r1m     DISPATCH_WINDOW
default   !   ()      ()
c1        8   3.5/4.5 ()
End Host
Begin HostGroup
GROUP_NAME GROUP_MEMBER
cpu        (c[1-2] c3)
End HostGroup
"""
PARAMS = """\
Begin Parameters
DEFAULT_QUEUE = normal gpu
MAX_JOB_ARRAY_SIZE = 5000
JOB_TERMINATE_INTERVAL = 20
MBD_SLEEP_TIME = 10
End Parameters
"""
CLUSTER = """\
Begin Host
HOSTNAME model  type   server r1m mem RESOURCES
c1       XEON   X86_64 1      3.5 ()  (mg bigmem)
g1       !      !      1      3.5 ()  (gpu32gb)
End Host
"""
SHARED = """\
Begin Cluster
ClusterName
pine
End Cluster
"""


def test_a_site() -> None:
    site = config(QUEUES, HOSTS, PARAMS, CLUSTER, SHARED)
    assert (site.server_name, site.default_queue) == ("pine", "normal")
    assert (site.max_array_size, site.kill_delay_s) == (5000, 20)
    normal, gpu = site.queues
    assert (normal.default_walltime_s, normal.max_walltime_s) == (3600, 86400)
    assert (normal.max_cpus, normal.max_mem_per_node_bytes, normal.default_mem_per_node_bytes) == (64, 16 * GI, 4 * GI)
    assert (gpu.max_walltime_s, gpu.max_cpus) == (5400, None)
    assert normal.node_selector != gpu.node_selector
    assert {"bigmem", "gpu32gb"} <= site.node_properties.keys()


def test_what_is_left_is_told() -> None:
    told = "\n".join(left(QUEUES, HOSTS))
    assert "PRIORITY: the order of jobs and queues" in told
    assert "USERS: who may use a queue" in told
    assert "DESCRIPTION" not in told


def test_errors() -> None:
    wrong = (
        "Begin Queue\nRUNLIMIT = 5\nEnd Queue\nBegin Queue\nQUEUE_NAME = q\nRUNLIMIT = x\nTASKLIMIT = 0\nEnd Queue\n"
    )
    assert errors(wrong) == [
        "a:1: a queue without QUEUE_NAME",
        "a:6: RUNLIMIT=x: expected [default] maximum, as [hours:]minutes",
        "a:7: TASKLIMIT=0: expected [[minimum] default] maximum",
    ]
