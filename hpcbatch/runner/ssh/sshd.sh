# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# ssh between the pods of one job. Every pod runs an sshd as the job's user and has `ssh`, `scp` and `sftp` of its own
# first on PATH, rather than files in the user's home, which may be shared by many jobs at once. They know the hosts of the
# job and its key, and take the caller's environment along, as PBS's and Slurm's own launchers do; all other hosts are
# reached with the user's and the system's settings. OpenSSH wants keys that only their owner can read: they are copied.

# Starts sshd and writes the client's files. Sets $sshd to its process id.
start_sshd() {
  me=$(id -un 2>/dev/null) || me=
  case $me in
    '' | *[!0-9]*) ;;
    *) me= ;; # busybox prints the number of an unknown user
  esac
  [ -n "$me" ] || fail LaunchFailed "user id $(id -u) has no name in /etc/passwd of this image, which ssh between the pods needs"
  program=$(command -v sshd || command -v /usr/sbin/sshd || brought_along sshd) ||
    fail LaunchFailed "this image has no sshd, which a job of several pods needs (package openssh-server, or the site's sshTools)"
  [ -r "$root/ssh/id_rsa" ] || fail LaunchFailed "the job's ssh keys are not in $root/ssh"
  (
    umask 077
    cat "$root/ssh/id_rsa" >"$run/id"
    cat "$root/ssh/authorized_keys" >"$run/authorized_keys"
    # All pods have this one key as their host key: whoever holds it is of this job.
    printf '* %s\n' "$(cat "$root/ssh/id_rsa.pub")" >"$run/known_hosts"
    write_sshd_config >"$run/sshd_config"
    write_ssh_config >"$run/ssh_config"
  ) || fail LaunchFailed "cannot write the ssh files to $run"
  write_clients
  if [ "$(id -u)" = 0 ]; then
    mkdir -p /run/sshd 2>/dev/null # the privilege separation directory of Debian's build
  fi
  (
    raise_limits
    exec "$program" -D -f "$run/sshd_config" -E "$run/sshd.log" </dev/null
  ) &
  sshd=$!
}

write_sshd_config() {
  # with PAM, root may log in by key although its password is locked by `!`
  pam=no
  if [ "$(id -u)" = 0 ] && grep -q '^root:!' /etc/shadow 2>/dev/null && [ -r /etc/pam.d/sshd ]; then
    pam=yes
  fi
  cat <<CONFIG
Port $ssh_port
HostKey $run/id
AuthorizedKeysFile $run/authorized_keys
PidFile none
UsePAM $pam
StrictModes no
AuthenticationMethods publickey
PermitRootLogin prohibit-password
AllowUsers $me
AcceptEnv HPCBATCH_ENV_* HPCBATCH_PLAIN
ForceCommand HPCBATCH_ROOT=$(quote "$root") /bin/sh $(quote "$root/runner/remote.sh")
# not a top-level shell: bash then leaves ~/.bashrc alone, which may be slow, and would change the job's environment
SetEnv SHLVL=1
MaxStartups 1000
MaxSessions 1000
LoginGraceTime 60
PrintMotd no
PrintLastLog no
UseDNS no
X11Forwarding no
LogLevel ERROR
Subsystem sftp sftp-server
CONFIG
}

# sntrup takes 65 ms of CPU a connection, all in the pod that starts the ranks of the others; newer OpenSSH has ML-KEM for it.
write_ssh_config() {
  cat <<CONFIG
Host $job_name-*
  User $me
  Port $ssh_port
  IdentityFile $run/id
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile $run/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  KexAlgorithms -sntrup*
  PreferredAuthentications publickey
  BatchMode yes
  ConnectTimeout 10
  ConnectionAttempts 3
  LogLevel ERROR
  ForwardX11 no
  SendEnv HPCBATCH_ENV_* HPCBATCH_PLAIN
Host $job_name-* !$job_name-*.*
  HostName %h.$job_name
Host *
  Include ~/.ssh/config
  Include /etc/ssh/ssh_config
CONFIG
}

write_clients() {
  for client in ssh scp sftp; do
    real=$(command -v "$client" || brought_along "$client") || continue
    {
      printf '#!/bin/sh\nreal=%s run=%s\n' "$(quote "$real")" "$(quote "$run")"
      cat "$root/runner/ssh.sh"
    } >"$bin/$client" && chmod 700 "$bin/$client"
  done
  # not where PATH leads: mpirun alone is to find it
  {
    printf '#!/bin/sh\nrun=%s\n' "$(quote "$run")"
    cat "$root/runner/await.sh" "$root/runner/prterun.sh"
  } >"$run/prterun" && chmod 700 "$run/prterun"
  [ -x "$bin/ssh" ] || fail LaunchFailed "this image has no ssh, which a job of several pods needs (package openssh-client, or the site's sshTools)"
}

# brought_along PROGRAM: the site's own, for images that have it not
brought_along() { [ -n "$ssh_tools" ] && command -v "$ssh_tools/bin/$1"; }

sshd_problem() { tail -n 1 "$run/sshd.log" 2>/dev/null || :; }

# Runs until it is stopped, which is no failure: the first pod has ended, or the job was deleted.
run_worker() {
  sampler=
  trap 'end_worker' TERM INT
  start_sshd
  count_oom_kills
  oom_before=$oom_kills
  keep_figures
  sample_usage &
  sampler=$!
  wait "$sshd"
  [ -z "$sampler" ] || kill "$sampler" 2>/dev/null
  fail LaunchFailed "sshd on $host has ended: $(sshd_problem)"
}

# What other pods have started here gets its time to tidy up.
end_worker() {
  trap '' TERM INT
  [ -z "$sampler" ] || kill "$sampler" 2>/dev/null
  signal_here 18 all
  signal_here 15 all
  tries=0
  while look && [ -n "$of_job" ] && [ $tries -lt $((kill_delay_s * 10)) ]; do
    nap
    tries=$((tries + 1))
  done
  sum_up_usage
  see_steps
  kill_all
  [ -z "$sshd" ] || kill "$sshd" 2>/dev/null
  reason=''
  count_oom_kills
  [ "${oom_kills:-0}" -le "${oom_before:-0}" ] || reason=OutOfMemory
  write_report '' reason "$reason" cpu_s "$cpu_s" max_rss_bytes "$max_rss_bytes" spent "$(spent_words 3000)"
  exit 0
}

# Waits for all hosts of the job; fails with the names of those that do not answer in time. For this one too: the cluster's
# name server may learn of it last. Asking costs some 10 ms of CPU, which on one machine pods that are still starting need
# more: as long as some of those requested do not answer, only a few are asked at once, and more seldom the longer it takes.
wait_for_hosts() {
  began=$(date +%s) silent=$hosts width=8
  # shellcheck disable=SC2086
  while ask_some $silent && [ -n "$silent" ]; do
    waited=$(($(date +%s) - began))
    [ $waited -lt "$start_timeout_s" ] || fail LaunchFailed "$(silent_hosts)"
    if [ -z "$late" ]; then
      width=$((width * 2))
    else
      width=8
      case $waited in
        0) nap 0.1 ;;
        ?) nap "0.$waited" ;;
        *) nap 1 ;;
      esac
    fi
  done
}

# ask_some HOST...: asks the first $width of these; sets $silent to those that are left, the ones in vain asked, $late, last.
ask_some() {
  asked='' late='' count=0
  while [ $# -gt 0 ] && [ $count -lt "$width" ]; do
    ask_host "$1" &
    asked="$asked $1:$!"
    count=$((count + 1))
    shift
  done
  for one in $asked; do
    wait "${one#*:}" || late="$late ${one%:*}"
  done
  silent="$*$late"
}

ask_host() {
  trap - TERM
  HPCBATCH_PLAIN=1 exec "$bin/ssh" -n -o ConnectionAttempts=1 "$1" true 2>"$run/waiting.$1"
}

# Three of them at most, each with what ssh said.
silent_hosts() {
  for one in $silent; do
    echo "host $one did not answer ssh within $start_timeout_s s: $(tail -n 1 "$run/waiting.$one" 2>/dev/null | tr -d '\r')"
  done | sort | head -n 3 | tr '\n' ';' | sed 's/;$//; s/;/; /g'
}
