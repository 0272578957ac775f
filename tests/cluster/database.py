"""The site's PostgreSQL, beside the cluster, and the history on it as docs/history.md has it."""

from __future__ import annotations

import pwd
import shutil

from tests import postgres
from tests.cluster import controllers, daemons
from tests.cluster.state import BRIDGE_IP, CHECKOUT, POD_NET, STATE, kubectl, run, wait_until

DATA = STATE / "postgres"
API_SERVICE = "v1alpha1.history.hpcbatch.io"
DSN = f"host={BRIDGE_IP} port=5432 user=hpcbatch dbname=postgres"
_USER = "nobody"  # PostgreSQL does not run as root


def start() -> None:
    """A server that the pods reach."""
    programs = postgres.programs()
    assert programs is not None
    DATA.mkdir()
    shutil.chown(DATA, _USER)
    as_user = ("setpriv", "--reuid", _USER, "--regid", str(pwd.getpwnam(_USER).pw_gid), "--clear-groups")
    run(
        *as_user,
        programs / "initdb",
        "-D",
        DATA / "data",
        "-U",
        "hpcbatch",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    )
    with (DATA / "data/pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {POD_NET} trust\n")
    daemons.start(
        "postgres",
        programs / "postgres",
        "-D",
        DATA / "data",
        "-c",
        f"listen_addresses={BRIDGE_IP}",
        "-c",
        f"unix_socket_directories={DATA}",
        user=_USER,
    )


def install() -> None:
    """The history, on the cluster that hpcbatch has been installed on."""
    start()
    kubectl("-n", controllers.NAMESPACE, "create", "secret", "generic", "hpcbatch-history", f"--from-literal=dsn={DSN}")
    apply()


def apply() -> None:
    """What `deploy/history` has, also where it was taken away; nothing on a cluster made without a database."""
    if not kubectl(
        "-n", controllers.NAMESPACE, "get", "secret", "hpcbatch-history", "--ignore-not-found", "-o", "name"
    ):
        return
    kubectl("apply", "-k", CHECKOUT / "deploy/history")
    deployment = "deployment/hpcbatch-controller"
    kubectl("-n", controllers.NAMESPACE, "rollout", "restart", deployment)
    kubectl("-n", controllers.NAMESPACE, "rollout", "status", deployment, "--timeout=180s", limit_s=200)
    wait_until("the history's API", is_available)


def is_available() -> bool:
    query = 'jsonpath={.status.conditions[?(@.type=="Available")].status}'
    return kubectl("get", "apiservice", API_SERVICE, "-o", query) == "True"


def is_installed() -> bool:
    return bool(kubectl("get", "apiservice", API_SERVICE, "--ignore-not-found", "-o", "name"))
