#!/bin/sh
# What sshd runs for every command that arrives from another pod of the job (ForceCommand): restores the caller's environment
# and the limits, and starts the command as sshd would have, by the user's shell in the home directory.

root=${HPCBATCH_ROOT:-/hpcbatch}
. "$root/runner/common.sh"
. "$root/runner/become.sh"
. "$root/runner/limits.sh"
. "$root/runner/devices.sh"
. "$root/job/conf/job.sh"
unset HPCBATCH_ROOT

raise_limits
umask "$umask"
case $SSH_ORIGINAL_COMMAND in
  sftp-server*)
    for server in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server /usr/libexec/sftp-server \
      ${ssh_tools:+"$ssh_tools/bin/sftp-server"}; do
      [ ! -x "$server" ] || exec "$server"
    done
    echo "hpcbatch: this image has no sftp-server" >&2
    exit 127
    ;;
esac
shell=${SHELL:-/bin/sh}
[ -z "$HPCBATCH_PLAIN" ] || exec "$shell" -c "$SSH_ORIGINAL_COMMAND"

set --
source=$run/pod.env
if [ -n "$HPCBATCH_ENV_1" ]; then
  source=$run/remote.$$
  count=1
  (
    umask 077
    while eval "piece=\$HPCBATCH_ENV_$count" && [ -n "$piece" ]; do
      printf %s "$piece"
      count=$((count + 1))
    done | base64 -d >"$source"
  )
fi
# What belongs to a host, a shell or a connection stays behind.
(umask 077 && entries "$source" '/^PWD=/d' '/^OLDPWD=/d' '/^SHLVL=/d' '/^_=/d' '/^HOSTNAME=/d' '/^SSH_/d' '/^HPCBATCH_/d' \
  '/^SLURMD_NODENAME=/d' '/^SLURM_NODEID=/d' '/^SLURM_CPUS_ON_NODE=/d' '/^V[CK]_TASK_INDEX=/d' >"$run/remote.$$.sh") ||
  { echo "hpcbatch: cannot restore the environment on $host" >&2; exit 255; }
. "$run/remote.$$.sh"
rm -f "$run/remote.$$" "$run/remote.$$.sh"
set -- "$@" "HOSTNAME=$host"
for entry in $(tr '\000' '\n' <"$run/pod.env" | grep '^V[CK]_TASK_INDEX=[0-9]*$'); do
  set -- "$@" "$entry"
done
index=0
for peer in $hosts; do
  [ "$peer" != "$host" ] || break
  index=$((index + 1))
done
for entry in $host_variables; do
  case ${entry#*:} in
    host) value=$host ;;
    index) value=$index ;;
    cpus) value=$(echo "$cpus" | cut -d ' ' -f $((index + 1))) ;;
  esac
  set -- "$@" "${entry%%:*}=$value"
done
# Which devices are this host's own. What the caller has chosen of its own by numbers counts here too.
devices_here
if [ -n "$devices" ] && [ -n "$visible" ]; then
  given=
  for entry in "$@"; do
    case $entry in "$visible="*) given=${entry#*=} ;; esac
  done
  case $given in *[!0-9,]*) given= ;; esac # ids of another host's
  for entry in $accelerators; do # all that a host has
    # shellcheck disable=SC2046
    with_commas $(bound_to 0 all "${entry%%:*}")
    [ "$given" != "$list" ] || given=
  done
  # shellcheck disable=SC2086
  with_commas $devices
  [ -n "$given" ] || set -- "$@" "$visible=$list"
fi
hold "$@"
apply_limits
if [ -n "$untold" ] && mkdir "$run/told_of_limits" 2>/dev/null; then
  echo "hpcbatch: warning: $host: $untold" >&2
fi
# shellcheck disable=SC2086
[ -z "$SSH_ORIGINAL_COMMAND" ] || become $nicely "$shell" -c "$SSH_ORIGINAL_COMMAND"
# shellcheck disable=SC2086
become $nicely "$shell" -l
