"""qmgr's print, pbsnodes -a, maui.cfg and moab.cfg."""

from __future__ import annotations

import shlex

import pytest

from hpcbatch.dialects.pbs import server_limits, server_settings
from hpcbatch.dialects.pbs.qmgr_attributes import Kind
from hpcbatch.dialects.pbs.qmgr_parse import parse_request
from hpcbatch.model.site import QueueConfig, Translation, Word
from hpcbatch.site.importing import pbs_keys
from hpcbatch.site.importing.plan import plan
from hpcbatch.site.importing.write import site_yaml
from tests.unit.site.importing.reading import config, errors, found_in, left, planned

GI = 1 << 30
SERVER = """\
#
# Create queues and set their attributes.
#
create queue route
set queue route queue_type = Route
set queue route route_destinations = short
set queue route route_destinations += long@pbs1
set queue route enabled = True
set queue route started = True
create queue short
set queue short queue_type = Execution
set queue short resources_max.walltime = 04:00:00
set queue short resources_max.nodect = 4
set queue short resources_default.walltime = 00:30:00
set queue short resources_default.nodes = 1
set queue short max_running = 20
set queue short acl_user_enable = False
set queue short acl_users = ann@*
set queue short enabled = True
set queue short started = True
create queue long
set queue long resources_max.ncpus = 512
set queue long resources_max.procct = 256
set queue long resources_default.neednodes = big
set queue long resources_max.mem = 64gb
set queue long default_chunk.mem = 2gb
set queue long started = False
create queue staff queue_type=execution,enabled=true,started=true
set queue staff acl_group_enable = True
set queue staff acl_groups = "staff,admins"
set queue staff default_chunk.Qlist = owned
#
# Set server attributes.
#
set server scheduling = True
set server acl_hosts = pbs1
set server default_queue = route
set server kill_delay = 20
set server max_array_size = 3000
set server job_history_duration = 168:00:00
set server resources_default.walltime = 01:00:00
set server resources_available.matlab = 5
set server log_events = 511
"""


def test_a_server() -> None:
    site = config(SERVER)
    assert (site.default_queue, site.kill_delay_s, site.max_array_size) == ("long", 20, 3000)
    assert site.history_kept_s == 7 * 86400
    assert site.licenses == {"matlab": 5}
    assert site.queues == (
        QueueConfig(name="short", volcano_queue="short", max_walltime_s=4 * 3600, default_walltime_s=1800, max_nodes=4),
        QueueConfig(
            name="long",
            volcano_queue="long",
            is_default=True,
            aliases=("route",),
            default_walltime_s=3600,
            max_cpus=256,
            max_mem_per_node_bytes=64 * GI,
            default_mem_per_node_bytes=2 * GI,
            node_selector={"hpcbatch.io/feature-big": "true"},
        ),
        QueueConfig(
            name="staff",
            volcano_queue="staff",
            default_walltime_s=3600,
            node_selector={"hpcbatch.io/queue-owned": "true"},
        ),
    )
    assert left(SERVER) == [
        "a:25: resources_max.mem: of all nodes of a job together there; here it is of each node",
        "a:27: started: open and close the Volcano Queue with vcctl queue operate",
        "a:29,30: acl_group_enable, acl_groups: who may use a queue has no key: every user of the cluster may use each"
        " queue",
        "a:4: route_destinations: it chose the first that takes a job; here route is another name of long",
    ]


def test_limits_are_typed_by_an_operator_as_they_are() -> None:
    text = """\
create queue route queue_type = route, route_destinations = short
set queue route max_queuable = 9
create queue short queue_type = execution
set queue short max_running = 20
set queue short max_run_soft = "[u:PBS_GENERIC=3],[g:phys=8]"
set queue short max_run_soft += '[u:"ann b"=5]'
set queue short backfill_depth = 3
set server max_run_res_soft.ncpus = [u:PBS_GENERIC=64]
set server job_sort_formula = "ncpus * walltime"
set server backfill_depth = 5
set server eligible_time_enable = True
"""
    found = found_in(text)
    made = plan(found)
    assert made.limits == (
        "qmgr -c 'set queue short max_running = 20'",
        """qmgr -c 'set queue short max_run_soft = "[u:PBS_GENERIC=3],[g:phys=8]"'""",
        """qmgr -c 'set queue short max_run_soft += '"'"'[u:"ann b"=5]'"'"''""",
        """qmgr -c 'set server max_run_res_soft.ncpus = "[u:PBS_GENERIC=64]"'""",
        """qmgr -c 'set server job_sort_formula = "ncpus * walltime"'""",
        "qmgr -c 'set server backfill_depth = 5'",
        "qmgr -c 'set server eligible_time_enable = True'",
    )
    assert [left.setting.place.line for left in found.left if left.setting.key.endswith("max_queuable")] == [2]
    assert "  backfillDepth: 3" in site_yaml(made, found, ["a"], "img:1").splitlines()
    assert "# qmgr -c 'set server backfill_depth = 5'" in site_yaml(made, found, ["a"], "img:1").splitlines()
    assert all(parse_request(shlex.split(line)[2]) for line in made.limits), "qmgr's grammar takes it"


def test_the_least_of_a_queue_is_qmgrs() -> None:
    text = "create queue big\nset queue big resources_min.walltime = 01:00:00\nset queue big resources_min.vmem = 1gb\n"
    assert planned(text).limits == ("""qmgr -c 'set queue big resources_min.walltime = "01:00:00"'""",)
    assert any("least walltimes, nodes" in line for line in left(text))


def test_every_limit_that_qmgr_takes_is_known() -> None:
    assert {*server_limits.WORDS, *server_limits._OLD} == pbs_keys.LIMITS
    assert server_settings.NAMES[Kind.SERVER] == pbs_keys.OF_SERVER


@pytest.mark.parametrize(
    "line",
    [
        "set queue q resources_max.walltime = 24:00:00",
        "set queue q resources_max.walltime=86400",
        "qmgr -c 'set queue q resources_max.walltime = 24:00:00'",
        '  sudo /opt/pbs/bin/qmgr -c "set queue q resources_max.walltime = 24:00:00" ;',
        "SET QUEUE q resources_max.walltime = 24:00:00",
        'set queue q resources_max.walltime = "24:00:00"',
        "set queue q enabled = True, resources_max.walltime = 24:00:00",
        "qmgr -c 'list queue q' || qmgr -c 'set queue q resources_max.walltime = 24:00:00'",
        "set queue q enabled = True; set queue q resources_max.walltime = 24:00:00",
        "set queue q \\\nresources_max.walltime = 24:00:00",
        "#!/bin/sh\nservice pbs start\nqmgr <<EOF\nset queue q resources_max.walltime = 24:00:00\nEOF",
    ],
)
def test_ways_to_write_a_line(line: str) -> None:
    assert config(f"create queue q\n{line}\n").queues[0].max_walltime_s == 86400


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            "set queue q resources_max.walltime = long",
            "a:2: queue q: resources_max.walltime=long: expected a time such as 24:00:00",
        ),
        ("set queue q resources_max.mem = lots", "a:2: queue q: resources_max.mem=lots: expected memory such as 4gb"),
        ("hello", "a:2: 'hello' is no line of qmgr: expected create or set, as print server gives"),
        ("set server scheduling", "a:2: 'scheduling': expected attribute = value"),
        ("set server kill_delay = soon", "a:2: kill_delay=soon: expected a time such as 10 or 336:00:00"),
    ],
)
def test_errors(line: str, error: str) -> None:
    assert errors(f"create queue q\n{line}\n") == [error]


@pytest.mark.parametrize(
    ("nodes", "limits"), [("16", (16, None)), ("16:ppn=8", (16, 128)), ("16:ppn=8:big", (16, 128))]
)
def test_nodes_of_torque(nodes: str, limits: tuple[int, int | None]) -> None:
    queue = config(f"create queue q\nset queue q resources_max.nodes = {nodes}\n").queues[0]
    assert (queue.max_nodes, queue.max_cpus) == limits


def test_routes_to_nowhere_and_in_circles() -> None:
    text = (
        "create queue a\nset queue a route_destinations = b\ncreate queue b\nset queue b route_destinations = a\n"
        "create queue q\nset server default_queue = a\n"
    )
    assert config(text).default_queue == "q"
    assert "a:1,3: route_destinations: none of them is a queue here" in left(text)
    assert "a:6: default_queue: there is no such queue" in left(text)


def test_names_that_volcano_does_not_take() -> None:
    queues = config("create queue BIG_mem\ncreate queue root\ncreate queue big-mem\n").queues
    assert [(queue.name, queue.volcano_queue) for queue in queues] == [
        ("BIG_mem", "big-mem"),
        ("root", "queue-root"),
        ("big-mem", "big-mem-2"),
    ]


TORQUE = """\
n01
     state = free
     np = 16
     properties = big,ib
     ntype = cluster
     status = rectime=1,opsys=linux,ncpus=16
     gpus = 2

n02
     state = down,offline
     np = 16
"""
PRO = """\
x1
     Mom = x1.site
     ntype = PBS
     state = free
     resources_available.cputype = rome
     resources_available.flags = avx,avx2
     resources_available.mem = 263842692kb
     resources_available.ncpus = 48
     resources_available.ngpus = 4
     resources_available.fast = True
     resources_available.slow = False
     resources_available.local = 100gb
     resources_available.Qlist = owned,other
x2
     state = free
     ntype = PBS
     queue = mine
"""


def test_nodes_of_torque_printed() -> None:
    plan = planned(TORQUE)
    assert plan.node_labels == {
        ("hpcbatch.io/feature-big", "true"): ("n01",),
        ("hpcbatch.io/feature-ib", "true"): ("n01",),
    }
    assert plan.resources == {}
    assert left(TORQUE) == []


def test_nodes_of_pbs_pro() -> None:
    plan = planned(PRO, SERVER, "create queue mine\n")
    assert plan.translations == (
        Translation(
            word=Word.RESOURCE, pattern="cputype", value="rome", labels={"hpcbatch.io/resource-cputype": "rome"}
        ),
        Translation(
            word=Word.RESOURCE, pattern="flags", value="avx", labels={"hpcbatch.io/resource-flags-avx": "true"}
        ),
        Translation(
            word=Word.RESOURCE, pattern="flags", value="avx2", labels={"hpcbatch.io/resource-flags-avx2": "true"}
        ),
        Translation(word=Word.RESOURCE, pattern="fast", value="?rue", labels={"hpcbatch.io/resource-fast": "true"}),
    )
    assert plan.node_labels[("hpcbatch.io/queue-owned", "true")] == ("x1",)
    assert plan.node_labels[("hpcbatch.io/queue-mine", "true")] == ("x2",)
    assert config(PRO, SERVER, "create queue mine\n").translations == plan.translations
    assert left(PRO) == [
        "a:12: resources_available.local: an amount on nodes: name its extended resource under resources"
    ]


MAUI = """\
# maui.cfg
SERVERHOST            pbs1.site
RMCFG[pbs1.site]      TYPE=PBS
BACKFILLPOLICY        FIRSTFIT
CLASSCFG[DEFAULT]     DEFAULT.WCLIMIT=1:00:00
CLASSCFG[short]       MAX.WCLIMIT=4:00:00 MAX.PROC=64 PRIORITY=10
CLASSCFG[gpu]         DEFAULT.FEATURES=tesla
NODECFG[n01]          FEATURES=tesla,big
NODECFG[GLOBAL]       GRES=matlab:4,idl:2
USERCFG[ann]          MAXJOB=4 FSTARGET=10
"""


def test_maui() -> None:
    site = config(MAUI)
    assert (site.server_name, site.licenses) == ("pbs1", {"matlab": 4, "idl": 2})
    assert site.queues == (
        QueueConfig(
            name="short",
            volcano_queue="short",
            is_default=True,
            max_walltime_s=4 * 3600,
            default_walltime_s=3600,
            max_cpus=64,
        ),
        QueueConfig(
            name="gpu",
            volcano_queue="gpu",
            default_walltime_s=3600,
            node_selector={"hpcbatch.io/feature-tesla": "true"},
        ),
    )
    assert [line.split(": ")[:2] for line in left(MAUI)] == [
        ["a:4,6,10", "BACKFILLPOLICY, PRIORITY, FSTARGET"],
        ["a:6", "queue"],
    ]


def test_limits_of_maui_are_qmgrs() -> None:
    lines = (
        "USERCFG[DEFAULT] MAXJOB=4 MAXPROC=8,16",
        "GROUPCFG[staff] MAXNODE=2",
        "CLASSCFG[short] MAXJOB=9 MAXPROCPERUSER=3",
    )
    made = planned(MAUI + "\n".join(lines))
    assert made.limits == (
        """qmgr -c 'set server max_run += "[u:ann=4]"'""",
        """qmgr -c 'set server max_run += "[u:PBS_GENERIC=4]"'""",
        """qmgr -c 'set server max_run_res.ncpus += "[u:PBS_GENERIC=16]"'""",
        """qmgr -c 'set server max_run_res.nodect += "[g:staff=2]"'""",
        """qmgr -c 'set queue short max_run += "[o:PBS_ALL=9]"'""",
        """qmgr -c 'set queue short max_run_res.ncpus += "[u:PBS_GENERIC=3]"'""",
    )
    assert all(parse_request(shlex.split(line)[2]) for line in made.limits), "qmgr's grammar takes it"
    more = "USERCFG[a;b] MAXJOB=1\nCLASSCFG[DEFAULT] MAXJOB=2\nCLASSCFG[short] MAXJOB[USER]=2\n"
    assert planned(MAUI + more).limits == made.limits[:1]
    assert errors(f"{MAUI}USERCFG[ann] MAXPROC=many\n")


def test_a_class_that_is_a_queue_too() -> None:
    queue = config("create queue short\nset queue short resources_max.walltime = 02:00:00\n", MAUI).queues[0]
    assert (queue.name, queue.max_walltime_s, queue.max_cpus) == ("short", 7200, 64)
