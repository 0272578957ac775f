#!/bin/sh
# A browser and a proxy for the cases of the page: installs them with apt when root, else says what stays untested.
set -eu
command -v chromium >/dev/null && command -v chromedriver >/dev/null && command -v nginx >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: chromium chromium-driver nginx-light; without them the page is not tested in a browser" >&2
    exit 0
fi
echo "installing: chromium chromium-driver nginx-light (300 MB)"
# RUNLEVEL: nginx is not started as a service
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
RUNLEVEL=1 apt-get install -y -qq --no-install-recommends chromium chromium-driver nginx-light fonts-dejavu-core >/dev/null
