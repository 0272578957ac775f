#!/bin/sh
# What some clients need of the system: installs it with apt when root, else says what stays untested.
set -eu
missing=
command -v ruby >/dev/null || missing="ruby ruby-fog-openstack"
command -v rsync >/dev/null || missing="$missing rsync"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: $missing; without ruby Open OnDemand's ood_core is not tested, without rsync Cylc fails" >&2
    exit 0
fi
echo "installing:" $missing
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
