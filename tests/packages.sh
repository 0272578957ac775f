#!/bin/sh
# Checks for what only the tests need of the system: installs it with apt when root, else says what stays untested.
set -eu
missing=
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
echo '#include <netcdf.h>' | cc -E - >/dev/null 2>&1 || missing="$missing libnetcdf-dev"
command -v tcsh >/dev/null || missing="$missing tcsh"
command -v busybox >/dev/null || missing="$missing busybox-static"
command -v nft >/dev/null || [ -x /usr/sbin/nft ] || missing="$missing nftables"
command -v zsh >/dev/null || missing="$missing zsh"
command -v fish >/dev/null || missing="$missing fish"
command -v mandoc >/dev/null || missing="$missing mandoc"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine:$missing; without postgresql half of the history is not tested, without libnetcdf-dev" \
        "the stand-in for WRF is not, without tcsh module in csh is not, without busybox the pods' scripts are not in the shell of" \
        "small images, without zsh and fish their completion is not, without mandoc the manual pages are not, without nftables the network rules of the tests' cluster are not (as root: apt-get install --no-install-recommends$missing)" >&2
    exit 0
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# the tests start servers of their own: the system's is neither to be made nor started
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] \
    || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
# shellcheck disable=SC2086  # several names
apt-get install -y -qq --no-install-recommends $missing >/dev/null
