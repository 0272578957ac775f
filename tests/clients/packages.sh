#!/bin/sh
# What some clients need of the system: installs it with apt when root, else says what stays untested.
set -eu
command -v ruby >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: ruby; without it Open OnDemand's ood_core is not tested" >&2
    exit 0
fi
echo "installing: ruby"
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ruby ruby-fog-openstack >/dev/null
