# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and processes.sh
# While the script runs: a loop in the first pod that keeps the time and carries out the requests to the running job. It needs
# neither the API nor a controller. The requests stand in a file that the kubelet writes anew when an annotation of
# the pod changes (controller/pod_requests.py):
#   start                             first, and once it may: a job that must not run twice waits for it (master.sh)
#   signal SEQUENCE NUMBER SCOPE ID   each once, in the order of their sequence numbers; SCOPE cancel.STEP ends a step of srun,
#                                     limit.STEP.SECONDS sets its time limit, from its start; 0 for none
#   walltime SECONDS                  another limit than the job's first one; `none` for no limit
#   cput SECONDS                      the same of the CPU time of all its processes together
#   requeue TIME                      the run is about to be ended, to be queued again: for Slurm's line in the output
#   preempt TIME                      the same where it is ended for another job
#   suspend                           while this line stands there, the job is stopped, and its walltime with it

requests=$root/job/requests/lines

# watch STARTED: STARTED is the uptime at which the script was started. USR1 to the runner when its time is up, USR2 when its CPU
# time is.
watch() {
  end_at_term
  began=$1 limit=$walltime_s warned='' stopped_since='' stopped=0 handled=0 pause=10 next_sample=$((began + 30))
  cpu_limit=$cpu_time_s cpu_spent=0 others=0 asked=0 next_question=0
  did=none idle_since=$began idle_ticks=0 idle_look=$began
  keep_clock
  expect_real
  while runner_lives; do
    uptime
    read_requests
    end_late_steps
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
      see_steps
      if is_out_of_cpu_time; then
        keep_clock
        kill -s USR2 $$
        return
      fi
      early=
      ! is_idle || early=idle
      ! is_deserted || early=deserted
      if [ -n "$early" ]; then
        keep_clock
        echo "$early" >"$run/early" # for master.sh's `stop`
        kill -s USR1 $$
        return
      fi
      tell_usage "$began"
      look_at_worlds
      look_at_links
      see_wrf
      next_sample=$((now + 100 + count / 2)) # more seldom where a walk takes longer
    elif [ $now -lt $((began + 300)) ] && [ $pause -gt 10 ]; then # a script's first launch may be over before the next sample
      look
      look_at_links
    fi
    tell_new_steps "$began"
    keep_words
    [ -z "$real_due" ] || [ $pause -le 25 ] || pause=25 # wrf.exe overwrites what real.exe said
    [ $now -ge $((began + 300)) ] || [ $pause -le 25 ] || pause=25
    rest "$((pause / 100)).$((pause / 10 % 10))$((pause % 10))"
    pause=$((pause < 50 ? pause * 2 : 100))
  done
}

# keep_clock: for the runner: the limits in force, hundredths of a second of CPU used and of time spent suspended, and since when it
# is suspended.
keep_clock() { echo "${limit:-none} ${cpu_limit:-none} $cpu_spent $stopped $stopped_since" >"$clock"; }

# is_out_of_cpu_time: whether all processes of all hosts together have used more than the job may. What the last `look` saw is that
# of this host.
is_out_of_cpu_time() {
  [ -n "$cpu_limit" ] || return 1
  [ "$has_peers" != yes ] || count_others
  cpu_spent=$((max_ticks + others))
  [ $((cpu_spent / 100)) -gt "$cpu_limit" ]
}

# is_idle: whether an interactive job has done nothing for as long as the site lets it, as the last `look` saw it: nothing typed or
# written on its terminal, and less than a fifth of a CPU used on this host; an allocation: no step.
is_idle() {
  [ -n "$idle_limit_s" ] || return 1
  case $interactive in
    session | terminal)
      does=$(stat -L -c '%X %Y' "/proc/$terminal/fd/0" 2>/dev/null)
      [ $(((ticks - idle_ticks) * 5)) -le $((now - idle_look)) ] || did=
      idle_ticks=$ticks idle_look=$now
      ;;
    allocation)
      does=yes
      for pid in $of_job; do [ "$pid" = "$leader" ] || did=; done
      ;;
    *) return 1 ;;
  esac
  [ -z "$stopped_since" ] || did=
  if [ "$does" != "$did" ]; then
    did=$does idle_since=$now
  fi
  [ $((now - idle_since)) -ge $((idle_limit_s * 100)) ]
}

# is_deserted: whether nobody has come to an interactive job, or, to a session, the connection with whose end it ends (enter.sh live).
is_deserted() {
  [ -n "$client_limit_s" ] && [ "$now" -ge $((began + client_limit_s * 100)) ] || return 1
  case $interactive in
    session) [ ! -e "$run/live" ] ;;
    *) [ ! -s "$run/session" ] ;;
  esac
}

# count_others: sets $others to what the other hosts have said to the last question, and asks again: the sooner, the less is left for
# all CPUs of the job.
count_others() {
  answered='' sum=0
  { read -r answered sum <"$shares"; } 2>/dev/null
  [ "${sum:-0}" -le "$others" ] || others=$sum
  if [ "${answered:-0}" = "$asked" ] && [ "$now" -ge "$next_question" ]; then
    asked=$((asked + 1))
    ask_others $asked &
    width=0
    for one in $cpus; do width=$((width + (one > 0 ? one : 1))); done
    next_question=$(((cpu_limit * 100 - max_ticks - others) / (2 * width)))
    [ $next_question -ge 100 ] || next_question=100
    [ $next_question -le 3000 ] || next_question=3000
    next_question=$((now + next_question))
  fi
}

# ask_others NUMBER: writes that, and the CPU time of all other hosts that answer.
ask_others() {
  trap - TERM INT USR1 USR2
  {
    for peer in $hosts; do
      [ "$peer" = "$host" ] || reach "$peer" ticks &
    done
    wait
  } | {
    sum=0
    while read -r one; do
      case $one in
        '' | *[!0-9]*) ;;
        *) sum=$((sum + one)) ;;
      esac
    done
    echo "$1 $sum" >"$shares"
  }
}

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
  wanted_limit=$walltime_s wanted_cpu=$cpu_time_s wanted_stop=
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
        cput) wanted_cpu=$first ;;
        suspend) wanted_stop=yes ;;
      esac
    done <"$requests"
  fi
  [ "$wanted_cpu" != none ] || wanted_cpu=
  cpu_limit=$wanted_cpu
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
    step.*) signal_here "$1" "$2" && broadcast "$1" "$2" ;;
    cancel.*) end_step "${2#cancel.}" cancel ;;
    limit.*) limit_step "${2#limit.}" ;;
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
    trap - TERM INT USR1 USR2
    for peer in $hosts; do
      [ "$peer" = "$host" ] || reach "$peer" "$@" &
    done
    wait
  )
}

reach() {
  HPCBATCH_PLAIN=1 "$bin/ssh" -n -o ConnectTimeout=5 -o ConnectionAttempts=1 -o ServerAliveInterval=5 -o ServerAliveCountMax=1 "$1" \
    "env HPCBATCH_ROOT=$(quote "$HPCBATCH_ROOT") sh $(quote "$root/runner/signal.sh") $2 $3" </dev/null ||
    echo "hpcbatch: $2 did not reach host $1" >&2
}
