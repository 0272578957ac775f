#!/bin/sh
# Checks for what the stand-in for WRF needs of the system beside MPI: installs it with apt when root, else says what to install.
set -eu
echo '#include <netcdf.h>' | cc -E - >/dev/null 2>&1 && exit 0
missing=' libnetcdf-dev'
. "$(dirname "$0")/../mpi/apt.sh"
apt-get install -y -qq --no-install-recommends $missing >/dev/null
