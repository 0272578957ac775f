#!/bin/sh
# Checks for Debian's Open MPI, which `make test-mpi` tests beside others: installs it with apt when root, else says so.
set -eu
[ ! -x /usr/bin/mpirun.openmpi ] || [ ! -e /usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: openmpi-bin libopenmpi-dev (as root: apt-get install --no-install-recommends openmpi-bin" \
        "libopenmpi-dev)" >&2
    exit 1
fi
echo "installing: openmpi-bin libopenmpi-dev"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends openmpi-bin libopenmpi-dev >/dev/null
