"""qmgr: what it lists, what operators change with it, what it refuses."""

from __future__ import annotations

import secrets

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for


def says(site: Site, request: str) -> tuple[int, str, str]:
    done = site.run("qmgr", "-c", request, check=False)
    return done.returncode, done.stdout, done.stderr


def test_lists(site: Site) -> None:
    text = site.run("qmgr", "-c", "list queue default").stdout
    assert text.startswith("Queue default\n    queue_type = Execution\n    total_jobs = ")
    assert text.endswith("    enabled = True\n    started = True\n\n")
    names = [line for line in site.run("qmgr", "-c", "l q @default").stdout.splitlines() if line.startswith("Queue ")]
    assert "Queue default" in names
    assert site.run("qmgr", "-c", "list server default_queue").stdout == (
        f"Server {site.server}\n    default_queue = default\n\n"
    )
    nodes = site.run("qmgr", "-c", "list node @default state").stdout
    assert nodes.count("Node ") == nodes.count("    state = ") == 3
    for nothing in ("list hook", "print hook @default"):
        assert site.run("qmgr", "-c", nothing).stdout == ""


def test_lists_resources(site: Site) -> None:
    heading, gpus = "#\n# Create resources and set their properties.\n#\n", "    type = long\n    flag = hn\n"
    assert site.run("qmgr", "-c", "list resource").stdout.startswith(heading + "Resource ")
    assert site.run("qmgr", "-c", "list resource ngpus").stdout == f"Resource ngpus\n{gpus}\n"
    assert site.run("qmgr", "-c", "list resource mem").stdout == "Resource mem\n    type = size\n    flag = hqnm\n\n"
    printed = "create resource ngpus\nset resource ngpus type = long\nset resource ngpus flag = hn\n"
    for request in ("print resource ngpus", "print server"):
        assert f"#\n# Create and define resource ngpus\n#\n{printed}" in site.run("qmgr", "-c", request).stdout


def test_what_is_printed_can_be_read_again(site: Site) -> None:
    printed = site.run("qmgr", "-c", "print server").stdout
    assert "\ncreate queue default\nset queue default queue_type = Execution\n" in printed
    assert "\n# Set server attributes.\n#\nset server scheduling = True\n" in printed
    again = "".join(line for line in printed.splitlines(keepends=True) if not line.startswith("create "))
    done = site.run("qmgr", stdin=again)
    assert (done.stdout, done.stderr) == ("Max open servers: 49\n", "")


def test_requests_from_standard_input(site: Site) -> None:
    requests = "# one\nactive queue default; list queue enabled\nlist queue \\\n  started # rest\nactive queue\n"
    requests += "quit\nlist server\n"
    assert site.run("qmgr", stdin=requests).stdout == (
        "Max open servers: 49\nQueue default\n    enabled = True\n\nQueue default\n    started = True\n\n"
        "Active queues:\ndefault@default\n"
    )
    assert site.run("qmgr", "-e", "-n", "-c", "delete queue default").stdout == "delete queue default\n"


REFUSED = [
    ("foo", 1, "qmgr: Illegal operation: foo\nTry 'help' if you are having trouble.\n"),
    ("list", 2, "qmgr: No object type given\n"),
    ("list foo", 2, "qmgr: Illegal object type: foo.\n"),
    ("set queue default", 4, "qmgr: Syntax error\nset queue default\n                 ^\n"),
    ("list queue nosuch", 1, "qmgr obj=nosuch svr=default: Unknown queue\nqmgr: Error (15018) returned from server\n"),
    (
        "delete queue nosuch",
        170,
        "qmgr obj=nosuch svr=default: Unknown queue\nqmgr: Error (15018) returned from server\n",
    ),
    ("list node nosuch", 1, "qmgr obj=nosuch svr=default: Unknown node \nqmgr: Error (15062) returned from server\n"),
    (
        "set sched job_sort_formula_threshold=7",
        155,
        "qmgr obj= svr=default: "
        "Cannot set attribute, read only or insufficient permission  job_sort_formula_threshold\n"
        "qmgr: Error (15003) returned from server\n"
        "qmgr: hpcbatch: there is one scheduler; set server scheduling = False stops it "
        "(docs/accounts.md has its rules)\n",
    ),
    (
        "list resource nosuch",
        1,
        "qmgr obj=nosuch svr=default: Unknown resource\nqmgr: Error (15035) returned from server\n",
    ),
    (
        "set queue default foo=1",
        154,
        "qmgr obj=default svr=default: Undefined attribute  foo\nqmgr: Error (15002) returned from server\n",
    ),
    (
        "set queue default resources_max.ngpus=1",
        155,
        "qmgr obj=default svr=default: "
        "Cannot set attribute, read only or insufficient permission  resources_max.ngpus\n"
        "qmgr: Error (15003) returned from server\n"
        "qmgr: hpcbatch: the site's administrator sets it in site.yaml (docs/site.md)\n",
    ),
]


@pytest.mark.parametrize(("request_text", "code", "stderr"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(site: Site, request_text: str, code: int, stderr: str) -> None:
    assert says(site, request_text) == (code, "", stderr)


def test_options(site: Site) -> None:
    quiet = site.run("qmgr", "-z", "-c", "list queue nosuch", check=False)
    assert (quiet.returncode, quiet.stderr) == (1, "")
    for options, stdin, code, count in (
        ((), "foo\nlist queue nosuch\nl q default", 0, 1),
        (("-a",), "foo\nl q default", 1, 0),
    ):
        done = site.run("qmgr", *options, stdin=stdin, check=False)
        assert (done.returncode, done.stdout.count("Queue default")) == (code, count)
    done = site.run("qmgr", "nosuch", check=False)
    assert (done.returncode, done.stderr) == (3, "qmgr: cannot connect to server nosuch\n")


def test_a_name_that_no_queue_can_have(site: Site) -> None:
    done = as_operator(site, "qmgr", "-c", "create queue Long/Name", check=False)
    first, second, note = done.stderr.splitlines()
    assert (done.returncode, first) == (156, "qmgr obj=Long/Name svr=default: Invalid request")
    assert (second, note[:16]) == ("qmgr: Error (15004) returned from server", "qmgr: hpcbatch: ")


@pytest.mark.alone
def test_an_operator_makes_and_removes_a_queue(site: Site) -> None:
    name = f"made-{secrets.token_hex(3)}"
    as_operator(site, "qmgr", "-c", f"create queue {name} queue_type = Execution")
    try:
        assert site.run("qstat", "-Q", name).stdout.splitlines()[2].split()[3:5] == ["no", "no"]
        again = as_operator(site, "qmgr", "-c", f"create queue {name}", check=False)
        assert again.returncode == 177
        assert again.stderr.startswith(f"qmgr obj={name} svr=default: Queue already exists\n")
        as_operator(site, "qmgr", stdin=f"set queue {name} enabled = True; set queue {name} started = True\n")
        assert site.run("qstat", "-Q", name).stdout.splitlines()[2].split()[3:5] == ["yes", "yes"]
        assert site.wait_end(site.qsub("-q", name, "-o", "/dev/null", "-j", "oe", stdin="true\n"))["Exit_status"] == 0
        held = site.qsub("-h", "-q", name, stdin="true\n")
        busy = as_operator(site, "qmgr", "-c", f"delete queue {name}", check=False)
        assert busy.returncode == 179
        assert busy.stderr.startswith(f"qmgr obj={name} svr=default: Cannot delete busy object\n")
        site.run("qdel", held)
        site.wait_end(held)
    finally:
        as_operator(site, "qmgr", "-c", f"delete queue {name}")
    assert f"\n{name} " not in site.run("qstat", "-Q").stdout


@pytest.mark.alone
def test_a_resource_without_flags_only_describes(site: Site) -> None:
    name = f"note{secrets.token_hex(3)}"
    as_operator(site, "qmgr", "-c", f"create resource {name} type=boolean")
    try:
        held = ("-h", "-l", f"{name}=True", "-l", "select=1:ncpus=1")

        def submitted() -> str:
            return site.run("qsub", *held, stdin="true\n", check=False).stdout.strip()

        job = wait_for("it to be in force", submitted)
        site.run("qdel", job)
        site.wait_end(job)
    finally:
        as_operator(site, "qmgr", "-c", f"delete resource {name}")


@pytest.mark.alone
@pytest.mark.slow
def test_resources_that_operators_make(site: Site) -> None:
    counted, of_nodes = (f"{word}{secrets.token_hex(3)}" for word in ("lic", "rack"))
    node = site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()[-1]
    as_operator(site, "qmgr", stdin=f"create resource {counted} type=long,flag=q\ncreate resource {of_nodes} flag=h\n")
    try:
        again = as_operator(site, "qmgr", "-c", f"create resource {counted}", check=False)
        assert (again.returncode, again.stderr.splitlines()[-1]) == (207, "qmgr: Error (15055) returned from server")
        as_operator(site, "qmgr", "-c", f"set server resources_available.{counted} = 3")
        as_operator(site, "qmgr", "-c", f"set node {node} resources_available.{of_nodes} = r7")
        assert f"\n     resources_available.{of_nodes} = r7\n" in site.run("pbsnodes", node).stdout
        assert f"    resources_available.{counted} = 3\n" in site.run("qstat", "-B", "-f").stdout
        quiet = ("-o", "/dev/null", "-j", "oe")

        def submitted() -> str:
            asked = ("-l", f"select=1:ncpus=1:{of_nodes}=r7", "-l", f"{counted}=2")
            return site.run("qsub", *asked, *quiet, stdin="sleep 600\n", check=False).stdout.strip()

        job = wait_for("the resources to be in force", submitted)
        site.wait_state(job, "R")
        assert node in site.attributes(job)["exec_host"]
        assert f"    resources_assigned.{counted} = 2\n" in site.run("qstat", "-B", "-f").stdout
        for name in (counted, of_nodes):
            busy = as_operator(site, "qmgr", "-c", f"delete resource {name}", check=False)
            assert (busy.returncode, busy.stderr.splitlines()[0]) == (
                70,
                f"qmgr obj={name} svr=default: Resource busy on job",
            )
        site.run("qdel", job)
        site.wait_end(job)
    finally:
        as_operator(site, "qmgr", stdin=f"delete resource {counted}\ndelete resource {of_nodes}\n")
    assert of_nodes not in site.run("qmgr", "-c", "print server").stdout + site.run("pbsnodes", node).stdout


@pytest.mark.alone
def test_an_operator_lets_no_job_start(site: Site) -> None:
    as_operator(site, "qmgr", "-c", "set server scheduling = False")
    try:
        assert site.run("qstat", "-B").stdout.splitlines()[2].split()[-1] == "Idle"
        assert "\n    scheduling = False\n" in site.run("qmgr", "-c", "list server").stdout
        job = site.qsub("-o", "/dev/null", "-j", "oe", stdin="true\n")
        wait_for("its reason", lambda: "an operator lets no job start" in site.run("qstat", "-s", job).stdout)
        assert site.run("qstat", "-Q", "default").stdout.splitlines()[2].split()[3:5] == ["yes", "yes"]
    finally:
        as_operator(site, "qmgr", "-c", "set server scheduling = True")
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.run("qstat", "-B").stdout.splitlines()[2].split()[-1] == "Active"


@pytest.mark.alone
def test_an_operator_marks_a_node(site: Site) -> None:
    node = site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()[-1]
    as_operator(site, "qmgr", "-c", f'set node {node} state=offline,comment="a, b"')
    try:
        assert site.run("pbsnodes", "-l").stdout == f"{node:<20} offline a, b\n"
        assert f'\nset node {node} comment = "a, b"\n' in site.run("qmgr", "-c", f"print node {node}").stdout
    finally:
        as_operator(site, "qmgr", stdin=f"set node {node} state -= offline\nunset node {node} comment\n")
    wait_for("it to be back", lambda: site.run("pbsnodes", "-l").stdout == "")


def test_users_are_refused(site: Site) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    assert says(site, "create resource mine")[0] == 159
    code, _, stderr = says(site, "set queue default started=False")
    assert code == 159
    assert stderr.startswith(
        "qmgr obj=default svr=default: Unauthorized Request \n"
        "qmgr: Error (15007) returned from server\nqmgr: hpcbatch: "
    )
