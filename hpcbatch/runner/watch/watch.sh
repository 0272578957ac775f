# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and processes.sh
# While the script runs: a loop in the first pod that keeps the time and carries out the requests to the running job. It needs
# neither the API nor a controller. The requests stand in a file that the kubelet writes anew when an annotation of
# the pod changes (controller/pod_requests.py):
#   start                             first, and once it may: a job that must not run twice waits for it (master.sh)
#   signal SEQUENCE NUMBER SCOPE ID   each once, in the order of their sequence numbers
#   walltime SECONDS                  another limit than the job's first one; `none` for no limit
#   requeue TIME                      the run is about to be ended, to be queued again: for Slurm's line in the output
#   suspend                           while this line stands there, the job is stopped, and its walltime with it

requests=$root/requests/lines

# watch STARTED: STARTED is the uptime at which the script was started. USR1 to the runner when its time is up.
watch() {
  end_at_term
  began=$1 limit=$walltime_s warned='' stopped_since='' stopped=0 handled=0 pause=10 next_sample=$((began + 30))
  keep_clock
  expect_real
  while runner_lives; do
    uptime
    read_requests
    if [ -n "$limit" ] && [ -z "$stopped_since" ]; then
      left=$((began + stopped + limit * 100 - now))
      if [ $left -le 0 ]; then
        kill -s USR1 $$
        return
      fi
      warn
      [ $pause -le $left ] || pause=$left
    fi
    if [ $now -ge $next_sample ]; then
      look
      keep_usage
      tell_usage "$began"
      look_at_worlds
      look_at_links
      see_wrf
      next_sample=$((now + 100 + count / 2)) # more seldom where a walk takes longer
    elif [ $now -lt $((began + 300)) ]; then # a script's first launch may be over before the next sample
      look
      look_at_links
    fi
    keep_words
    [ -z "$real_due" ] || [ $pause -le 25 ] || pause=25 # wrf.exe overwrites what real.exe said
    [ $now -ge $((began + 300)) ] || [ $pause -le 25 ] || pause=25
    rest "$((pause / 100)).$((pause / 10 % 10))$((pause % 10))"
    pause=$((pause < 50 ? pause * 2 : 100))
  done
}

# keep_clock: for the runner: the limit in force, hundredths of a second spent suspended, and since when it is suspended.
keep_clock() { echo "${limit:-none} $stopped $stopped_since" >"$clock"; }

# warn: the signal that was requested for some time before the limit, once; again if the limit moves away.
warn() {
  [ -n "$warn_signal" ] || return 0
  if [ "$left" -gt $((warn_before_s * 100)) ]; then
    warned=
    [ "$pause" -le $((left - warn_before_s * 100)) ] || pause=$((left - warn_before_s * 100))
  elif [ -z "$warned" ]; then
    warned=yes
    deliver "$warn_signal" "$warn_scope"
  fi
}

read_requests() {
  wanted_limit=$walltime_s wanted_stop=
  if [ -s "$requests" ]; then
    while read -r word first second third _ || [ -n "$word" ]; do
      case $word in
        signal)
          if [ "$first" -gt "$handled" ] 2>/dev/null; then
            handled=$first
            deliver "$second" "$third"
          fi
          ;;
        walltime) wanted_limit=$first ;;
        suspend) wanted_stop=yes ;;
      esac
    done <"$requests"
  fi
  [ "$wanted_limit" != none ] || wanted_limit=
  if [ "$wanted_limit" != "$limit" ]; then
    limit=$wanted_limit
    keep_clock
  fi
  if [ "$wanted_stop" = yes ]; then
    if [ -z "$stopped_since" ]; then
      stopped_since=$now
      keep_clock
    fi
    # each time: what was started from outside, or woken by somebody else, is stopped again
    stop_all
    [ "$stopped_since" != "$now" ] || broadcast 19
  elif [ -n "$stopped_since" ]; then
    stopped=$((stopped + now - stopped_since)) stopped_since=
    keep_clock
    continue_all
    broadcast 18
  fi
}

# deliver NUMBER SCOPE
deliver() {
  await_session
  case $2 in
    steps) signal_here "$1" steps && broadcast "$1" steps ;;
    all) signal_here "$1" full && broadcast "$1" full ;;
    *) signal_here "$1" "$2" ;;
  esac
}

# A signal before its session exists would be lost: until then the script is on its way.
await_session() {
  tries=0
  until [ -s "$run/session" ] || ! kill -0 "$child" 2>/dev/null || [ $tries -ge 50 ]; do
    nap
    tries=$((tries + 1))
  done
}

# broadcast NUMBER [SCOPE]: to what the job runs in its other pods. A host that does not answer is reported in the pod's log.
broadcast() {
  [ "$has_peers" = yes ] || return 0
  (
    trap - TERM INT USR1
    for peer in $hosts; do
      [ "$peer" = "$host" ] || reach "$peer" "$@" &
    done
    wait
  )
}

reach() {
  HPCBATCH_PLAIN=1 "$bin/ssh" -n -o ConnectTimeout=5 -o ConnectionAttempts=1 -o ServerAliveInterval=5 -o ServerAliveCountMax=1 "$1" \
    "env HPCBATCH_ROOT=$(quote "$HPCBATCH_ROOT") sh $(quote "$root/runner/signal.sh") $2 $3" </dev/null ||
    echo "hpcbatch: signal $2 did not reach host $1" >&2
}
