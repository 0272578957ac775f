#!/bin/sh
# Checks for the system's part of what pods and MPI need: installs it with apt when root, else says what to install.
set -eu
missing=
need() { # COMMAND PACKAGE...
    command=$1; shift
    PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null 2>&1 || missing="$missing $*"
}
need sshd openssh-server
need ssh openssh-client
need ip iproute2
need unshare util-linux
need cc gcc libc6-dev
[ -n "$missing" ] || exit 0
. "$(dirname "$0")/apt.sh"
# the demo starts its own sshd in each pod: the system's service is not to be started by the installation
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
    trap 'rm -f $policy' EXIT
fi
# shellcheck disable=SC2086  # several names
apt-get install -y -qq --no-install-recommends $missing >/dev/null
