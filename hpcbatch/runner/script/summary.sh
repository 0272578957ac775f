# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and master.sh
# What a dialect writes below the output of a run that has ended: LSF's report of the job.

ended_by= # the text of what ended the run

write_summary() {
  if [ -z "$summary_text" ] || [ -n "$interactive" ]; then
    return 0
  fi
  result=$ended_by ended_state=$exited_state
  if [ -n "$result" ]; then
    :
  elif [ -n "$signal" ]; then
    result=$(filled "$signal_text" signal "$signal")
  elif [ "$exit_code" = 0 ]; then
    result=$done_text ended_state=$done_state
  else
    result=$(filled "$exit_text" exit_code "$exit_code")
  fi
  most=-
  [ -z "$max_rss_bytes" ] || most="$(((max_rss_bytes + 1048575) / 1048576)) MB"
  looked=
  [ "$kind" != script ] || looked=$(head -c 65536 "$run/$script_name" 2>/dev/null | tr -d '\000')
  {
    filled "$summary_text" state "$ended_state" result "$result" started_at "$(clock_time "$started")" ended_at "$(clock_time "$ended")" \
      now "$(clock_time "$(date +%s)")" cpu_s "$cpu_s" max_mem "$most" run_s "$((ended - started - stopped_s))" script "$looked" >>"$stdout"
  } 2>/dev/null || : # a full disk is told by output_problem
}

# clock_time SECONDS: `Thu Nov 26 06:12:13 2026`
clock_time() { LC_ALL=C date -d "@$1" '+%a %b %e %H:%M:%S %Y' 2>/dev/null || LC_ALL=C date '+%a %b %e %H:%M:%S %Y'; }
