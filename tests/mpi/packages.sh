#!/bin/sh
# What `make test-mpi` needs of Debian: its Open MPI, which is installed with apt when root, and apt's lists, by which it gets MPICH
# (that is not installed; what it is linked to comes with Open MPI). Else says what is missing.
set -eu
missing=
[ -x /usr/bin/mpirun.openmpi ] && ls /usr/lib/*-linux-gnu/openmpi/include/mpi.h >/dev/null 2>&1 || missing="openmpi-bin libopenmpi-dev"
if [ -z "$missing" ] && apt-cache show mpich 2>/dev/null | grep -q ^Filename; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: ${missing:-the package lists of apt} (as root, on Debian 12: apt-get update &&" \
        "apt-get install --no-install-recommends openmpi-bin libopenmpi-dev)" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
[ -n "$missing" ] || exit 0
echo "installing: $missing"
# shellcheck disable=SC2086  # several names
apt-get install -y -qq --no-install-recommends $missing >/dev/null
