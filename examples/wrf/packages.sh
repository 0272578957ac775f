#!/bin/sh
# Checks for what the stand-in for WRF needs of the system beside MPI: installs it with apt when root, else says what to install.
set -eu
echo '#include <netcdf.h>' | cc -E - >/dev/null 2>&1 && exit 0
missing=libnetcdf-dev
if [ "$(id -u)" != 0 ]; then
    echo "missing on this machine: $missing (as root: apt-get install --no-install-recommends $missing)" >&2
    exit 1
fi
command -v apt-get >/dev/null || { echo "missing on this machine: $missing; there is no apt-get to install it with" >&2; exit 1; }
echo "installing: $missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $missing >/dev/null
