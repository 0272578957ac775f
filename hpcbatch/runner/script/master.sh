# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The first pod: waits for the others, runs the script once, ends it at its walltime or when the pod is stopped, and reports.

event='' watcher='' killer=''

run_master() {
  # Stopped before the script has started: no report, so that the pod that made the job stop gives the reason.
  trap 'trap - TERM INT; deliver_output; [ -z "$sshd" ] || kill "$sshd" 2>/dev/null; exit 143' TERM INT
  give_way
  umask "$umask" || fail LaunchFailed "umask $umask is not a umask"
  open_output
  if [ "$has_peers" = yes ]; then
    start_sshd
    wait_for_hosts
  fi
  prepare_script
  write_tools
  [ "$awaits_word" != yes ] || wait_for_word
  start_script
  wait_for_script
  finish
}

# The uid of the pod that ran the script of a job that must not run twice; or the job is no longer to start.
give_way() {
  ran_in=
  { read -r ran_in <"$root/job/conf/has_run" || [ -n "$ran_in" ]; } 2>/dev/null || ran_in=$HPCBATCH_POD_UID
  [ "$ran_in" != withdrawn ] || fail Withdrawn "the job was held or changed before it could start"
  [ "$ran_in" = "$HPCBATCH_POD_UID" ] || fail LaunchFailed "the job has been started before and is not rerunnable"
}

# Of a job that must not run twice: until it is written down that this pod starts the script (controller/start_bar.py); from
# then on no other pod does. Of one that may have only some of its nodes: until it has them all.
wait_for_word() {
  until { read -r word <"$requests"; } 2>/dev/null && [ "$word" = start ]; do
    give_way
    nap
  done
}

# Everything that start.sh sources or runs.
prepare_script() {
  umask 077
  [ "$HPCBATCH_PREPARED" = yes ] && [ -e "$run/submitted.sh" ] || {
    entries "$run/pod.env" '/^PWD=/d' '/^OLDPWD=/d' '/^SHLVL=/d' '/^_=/d' '/^HPCBATCH_/d' '/^KUBERNETES_/d' >"$run/pod.sh" &&
      entries "$root/job/environment" '/^OMPI_PRTERUN=.*\/run\/job\/prterun$/d' >"$run/submitted.sh" # another job's
  } || fail LaunchFailed "cannot read the job's environment"
  [ "$kind" != script ] || [ -x "$run/$script_name" ] || cat "$root/job/script" >"$run/$script_name" || fail LaunchFailed "cannot copy the script to $run"
  umask "$umask"
}

start_script() {
  count_oom_kills
  oom_before=$oom_kills
  trap 'stop deleted' TERM INT
  trap 'stop walltime' USR1
  trap 'stop cput' USR2
  echo $$ >"$run/runner" # of own_job.sh
  time_of_day
  started=$today
  write_report "the pod was killed before its runner could report" reason Signalled started "$started"
  # setsid --wait alone distinguishes an exit code above 128 from a signal; elsewhere the shell's own message does.
  launcher='setsid --fork --wait'
  if [ "$HPCBATCH_HAS_SETSID" != wait ] && ! $launcher true 2>/dev/null; then
    launcher=setsid
    $launcher true 2>/dev/null || launcher=
  fi
  prepare_to_judge_wrf
  keep_figures
  [ "$launcher" = 'setsid --fork --wait' ] && is_raw=yes || is_raw=
  uptime
  began=$now
  case $interactive in
    session | terminal) is_raw=yes && start_on_terminal ;;
    streams) start_session 3>&6 4>&2 6>&- ;;
    *) start_session 3>>"$stdout" 4>>"$stderr" 5</dev/null ;;
  esac
  watch "$began" &
  watcher=$!
}

# start_session: the script, as the leader of a session, with its input as 5 and the other descriptors that start.sh expects.
start_session() {
  (
    trap - TERM INT USR1 USR2
    [ "$interactive" != streams ] || await_client <&5
    export LC_ALL=C HPCBATCH_ROOT="$root" HPCBATCH_SH="$sh" HPCBATCH_STARTED="$started"
    # without it this shell has to stay and say what signal it was
    # shellcheck disable=SC2093
    [ -z "$is_raw" ] || exec $launcher "$sh" "$root/runner/start.sh" <&5 5<&- 7>&- 8>&- 9>&-
    $launcher "$sh" "$root/runner/start.sh" <&5 5<&- 7>&- 8>&- 9>&-
    exit $?
  ) 2>"$run/notice" &
  child=$!
}

# stop EVENT: the first one counts. USR1 comes for three reasons.
stop() {
  is_interrupted=yes
  [ -z "$event" ] || return 0
  event=$1
  [ "$event" != walltime ] || { read -r event <"$run/early"; } 2>/dev/null
  if [ "$event" = walltime ] && { read -r wish <"$run/wish"; } 2>/dev/null; then
    case $wish in requeue | cancel) event=$wish ;; esac
  fi
  kill "$watcher" 2>/dev/null
  read_clock
  used_s=$((now / 100 - began / 100 - stopped_s)) most_s=$limit
  case $event in
    walltime) text=$walltime_text ;;
    deserted) text="hpcbatch: the command of this session was not connected with it within $client_limit_s s" ;;
    idle) text="hpcbatch: nothing was done here for $idle_limit_s s, after which this site ends a session" ;;
    requeue) text=$requeued_text ;;
    cancel) text=$deleted_text ;;
    cput) text=$cput_text used_s=$((cpu_spent / 100)) most_s=$cpu_limit ;;
    *)
      text=$deleted_text
      ! grep -q '^requeue ' "$requests" 2>/dev/null || text=$requeued_text
      ! grep -q '^preempt ' "$requests" 2>/dev/null || text=$preempted_text
      ;;
  esac
  if [ -n "$summary_text" ]; then
    ended_by=$text
  else
    write_error "$text" used_s "$used_s" limit_s "$most_s" \
      job_id "$job_id" host "$host" time "$(date +%Y-%m-%dT%H:%M:%S)"
  fi
  end_job
}

# write_error TEXT NAME VALUE...: to the job's error file or who is attached, see `filled`. An empty text is not written.
write_error() {
  if [ -z "$1" ]; then
    return
  elif [ -n "$interactive" ]; then
    filled "$@" >&2
  else
    filled "$@" >>"$error_file"
  fi
}

# read_clock: what `watch` has kept: sets $limit, $cpu_limit, $cpu_spent, $stopped_s and $is_stopped; and $now.
read_clock() {
  limit=$walltime_s cpu_limit=$cpu_time_s cpu_spent=0 stopped=0 is_stopped=
  { read -r limit cpu_limit cpu_spent stopped is_stopped <"$clock"; } 2>/dev/null
  uptime
  [ -z "$is_stopped" ] || stopped=$((stopped + now - is_stopped))
  stopped_s=$((stopped / 100))
}

# end_job: TERM now, to what runs in other pods as well; KILL to what is left after the delay. When the pod is stopped so are
# the others, which see to it themselves.
end_job() {
  killed_at=$((now + kill_delay_s * 100))
  : >"$run/ending" # for srun
  await_session
  [ "$interactive" != streams ] || [ -s "$run/session" ] || kill "$child" 2>/dev/null # nobody has come yet
  [ "$continues_before_term" != yes ] || continue_all
  signal_here 15 all
  case $interactive in session | terminal) signal_here 1 all ;; esac # an interactive shell ends by that alone
  [ -z "$is_stopped" ] || continue_all
  if [ "$event" != deleted ]; then
    [ -z "$is_stopped" ] || broadcast 18
    broadcast 15 &
  fi
  (
    end_at_term
    rest "$kill_delay_s"
    kill_all
  ) &
  killer=$!
}

wait_for_script() {
  # Not through a file, which the script could write: its end is what the kernel says. A signal interrupts wait.
  status='' is_interrupted=yes
  while [ -n "$is_interrupted" ]; do
    is_interrupted=''
    wait "$child"
    code=$?
    [ -n "$status" ] && [ $code = 127 ] || status=$code # 127: the shell has reported it before
  done
  time_of_day
  ended=$today
  trap '' TERM INT USR1 USR2
  if [ -n "$event" ]; then
    # the script itself has gone, what it started may still be tidying up
    while uptime && [ "$now" -lt "$killed_at" ] && look && [ -n "$of_job" ]; do
      nap
    done
  else
    kill "$watcher" 2>/dev/null
    read_clock
  fi
  sum_up_usage
  see_steps
  kill_all
  case $event in walltime | cput | idle | deserted | requeue | cancel) broadcast 9 ;; esac
  for process in $killer $watcher $sshd; do
    kill "$process" 2>/dev/null
  done
}

finish() {
  if [ -z "$cpu_s" ]; then
    times >"$run/times"
    child_ticks "$run/times"
    cpu_s=$((spent_ticks / 100))
  fi
  session='' notice=''
  { read -r session <"$run/session"; } 2>/dev/null
  { read -r notice <"$run/notice"; } 2>/dev/null
  case $session:$event in
    :) fail LaunchFailed "cannot start a process for the script: $notice" ;;
    :deserted) fail LaunchFailed "the command that submitted the job was not connected with it within $client_limit_s s" ;;
  esac
  exit_code=$status signal='' reason='' message=''
  if [ -s "$run/launch_failed" ]; then
    error_file= # start.sh has reported it there
    fail LaunchFailed "$(cat "$run/launch_failed")" "$status"
  fi
  case $is_raw:$notice in
    yes:*'did not exit normally'*) signal=$((status % 128)) exit_code= ;;
    :?*)
      if [ "$status" -gt 128 ]; then
        signal=$((status - 128)) exit_code=
      fi
      ;;
  esac
  count_oom_kills
  killed=$((${oom_kills:-0} - ${oom_before:-0}))
  held='' most=''
  [ -z "$HPCBATCH_MEMORY_EVENTS" ] || [ $killed = 0 ] || {
    held=$(sed -n 's/^held_bytes //p' "$HPCBATCH_MEMORY_EVENTS")
    most=$(sed -n 's/^limit_bytes //p' "$HPCBATCH_MEMORY_EVENTS")
  }
  if [ -n "$summary_text" ] && [ $killed -gt 0 ]; then
    ended_by=$memory_text
  elif [ -n "$held" ]; then
    write_error "$memory_text" job_id "$job_id" used_bytes "$held" limit_bytes "$most" \
      used_kib "$((held / 1024))" limit_kib "$((most / 1024))"
  elif [ $killed -gt 0 ]; then
    write_error "$oom_kill_text" job_id "$job_id" count "$killed" s "$([ $killed = 1 ] || echo s)"
  fi
  if [ "$event" = walltime ]; then
    reason=TimeLimit message="walltime $((ended - started - stopped_s)) s exceeded limit $limit s"
  elif [ "$event" = idle ]; then
    reason=IdleLimit message="idle for $idle_limit_s s, after which this site ends a session"
  elif [ "$event" = cput ]; then
    reason=CpuTimeLimit message="CPU time $((cpu_spent / 100)) s exceeded limit $cpu_limit s"
  elif [ $killed -gt 0 ]; then
    # whether the script bore it is for the rules of the dialect to judge (policy/run_over.py)
    reason=OutOfMemory message="killed: the job used more memory than it asked for"
  elif [ -n "$signal" ]; then
    reason=Signalled message="killed by signal $signal"
  else
    [ -n "$event" ] || judge_wrf
    if [ -n "$message" ]; then
      reason=ProgramFailed
    elif [ "$exit_code" != 0 ]; then
      reason=NonZeroExit
    fi
  fi
  [ -z "$private_dir" ] || rm -rf "$private_dir"
  tell_of_worlds
  [ -z "$reason" ] || tell_of_links
  write_summary
  deliver_output
  if [ -z "$event" ] && [ "$reason" != OutOfMemory ]; then
    output_problem
    if [ -n "$lost" ]; then
      reason=OutputFailed message=$lost
    elif [ "$exit_code" = 0 ]; then
      take_output_away
    fi
  fi
  { read -r untold || [ -n "$untold" ]; } 2>/dev/null <"$run/untold" && warning="$untold${warning:+; $warning}"
  [ -z "$warning" ] || message="${message:+$message; }warning: $warning"
  note_lost_steps 143
  tells=4 && tell_steps # all that are kept: a termination message has room for some
  steps='' spent=''
  [ ! -s "$run/steps/log" ] || steps=$(step_words 1900)
  [ ! -s "$run/step_usage" ] || spent=$(spent_words 600)
  wish= # of its own script
  case $event in requeue | cancel) wish=$event ;; esac
  write_report "$message" wish "$wish" exit_code "$exit_code" signal "$signal" reason "$reason" walltime_s "$((ended - started - stopped_s))" \
    cpu_s "$cpu_s" max_rss_bytes "$max_rss_bytes" started "$started" ended "$ended" session_id "$session" \
    steps "$steps" spent "$spent"
  # a pod that was stopped has not done its work, whatever its script made of the signal
  case $event in deleted | requeue | cancel) exit 143 ;; esac
  exit "${exit_code:-$((128 + signal))}"
}
