#!/bin/sh
# Checks for what only the tests need of the system: installs it with apt when root, else says what stays untested.
set -eu
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "PostgreSQL is not installed: its half of the history will not be tested (as root: apt-get install postgresql)" >&2
    exit 0
fi
echo "installing: postgresql"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# the tests start servers of their own: the system's is neither to be made nor started
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] \
    || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
apt-get install -y -qq --no-install-recommends postgresql >/dev/null
