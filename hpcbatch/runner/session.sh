# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The script's session: everything it has started that has not left on purpose. Ending a job means ending its session, as
# pbs_mom does.

# session_processes: their process ids, read from /proc, since not every image has ps.
session_processes() {
  session=
  { read -r session <"$run/session"; } 2>/dev/null || return 0
  for file in /proc/[0-9]*/stat; do
    { read -r line <"$file"; } 2>/dev/null || continue
    # pid (command) state parent group session: the command may hold anything
    # shellcheck disable=SC2086
    set -- ${line##*) }
    [ "$4" != "$session" ] || [ "$1" = Z ] || printf '%s\n' "${line%% *}"
  done
}

# signal_session SIGNAL
signal_session() {
  # shellcheck disable=SC2046
  set -- "$1" $(session_processes)
  [ $# -eq 1 ] || kill -s "$@" 2>/dev/null || :
}

# end_session SECONDS: TERM now, KILL to what is left after that time.
end_session() {
  # a job stopped before its session exists gets no signal: wait until the script is there
  tries=0
  until [ -s "$run/session" ] || [ -s "$run/status" ] || [ $tries -ge 50 ]; do
    nap
    tries=$((tries + 1))
  done
  [ "$dialect" != slurm ] || signal_session CONT
  signal_session TERM
  (
    trap 'kill $! 2>/dev/null; exit 0' TERM
    sleep "$1" &
    wait $!
    signal_session KILL
  ) &
  killer=$!
}

# start_timer SECONDS: USR1 to this process at the walltime.
start_timer() {
  (
    trap 'kill $! 2>/dev/null; exit 0' TERM
    sleep "$1" &
    wait $! && kill -s USR1 $$
  ) &
  timer=$!
}

# Kills of the out-of-memory killer in this container, from cgroup v2; empty where it cannot be known.
oom_kills() {
  [ ! -r /sys/fs/cgroup/memory.events ] || sed -n 's/^oom_kill //p' /sys/fs/cgroup/memory.events
}
