# Sourced to install $missing, names of packages behind a space each: reads the lists of apt when root, else says what to install
# and ends. Where the script was started with the word `tell`, nothing is installed in any case.
if [ "$(id -u)" != 0 ] || [ "${1-}" = tell ]; then
    echo "missing on this machine:$missing (as root: apt-get install --no-install-recommends$missing)" >&2
    exit 1
fi
command -v apt-get >/dev/null || { echo "missing on this machine:$missing; there is no apt-get to install it with" >&2; exit 1; }
echo "installing with apt:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
