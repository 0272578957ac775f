#!/bin/sh
# A browser for the cases of the page: installs it with apt when root, else says what stays untested.
set -eu
command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: chromium chromium-driver; without them the page is not tested in a browser" >&2
    exit 0
fi
echo "installing: chromium chromium-driver (300 MB)"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null
