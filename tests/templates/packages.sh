#!/bin/sh
# PyTorch for CPUs, which PyPI has not, and what DeepSpeed and Horovod are compiled with: installs Debian's with apt when root, else
# says what stays untested.
set -eu
missing=
for package in python3-torch python3-venv libtorch-dev pybind11-dev cmake g++ make; do
    dpkg-query --show --showformat '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine, of Debian:$missing; without python3-torch the templates are not tested with PyTorch," \
        "without all of them not with DeepSpeed and Horovod" >&2
    exit 0
fi
echo "installing:$missing (PyTorch: 180 MB)"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # several names
apt-get install -y -qq --no-install-recommends $missing >/dev/null
