#!/bin/sh
# PyTorch for CPUs, which PyPI has not: installs Debian's with apt when root, else says what stays untested.
set -eu
/usr/bin/python3 -c 'import torch' 2>/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: python3-torch of Debian; without it the templates are not tested with PyTorch" >&2
    exit 0
fi
echo "installing: python3-torch (180 MB)"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-torch >/dev/null
