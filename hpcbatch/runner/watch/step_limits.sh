# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and watch.sh
# The ends of srun's steps that are not their own: by request, and at their time limit.
#   $run/steps/STEP.step        the process of its srun
#   $run/steps/STEP.limit       `SECONDS START [STOPPED]`: its limit, when it began, and how long the job had been suspended until then,
#                               in hundredths of a second. srun and `limit_step` write it, `end_late_steps` adds the third.
#   $run/steps/STEP.cancelled   for srun: why it is ended, `cancel` or `timeout`

# end_step STEP WHY: its srun ends the tasks on all hosts
end_step() {
  { read -r owner _ <"$run/steps/$1.step"; } 2>/dev/null && kill -0 "$owner" 2>/dev/null || return 0
  echo "$2 $1" >>"$run/steps/log"
  echo "$2" >"$run/steps/$1.cancelled"
  kill -s TERM "$owner" 2>/dev/null || :
}

# limit_step STEP.SECONDS: of a step that runs
limit_step() {
  [ -e "$run/steps/${1%.*}.step" ] || return 0
  before=
  { read -r _ begun before <"$run/steps/${1%.*}.limit"; } 2>/dev/null ||
    begun=$(awk -v step="${1%.*}" '$1 == "start" && $2 == step { print $4 }' "$run/steps/log")
  [ -n "$begun" ] || return 0
  echo "limit ${1%.*} ${1#*.}" >>"$run/steps/log"
  if [ "${1#*.}" = 0 ]; then
    rm -f "$run/steps/${1%.*}.limit"
  else
    echo "${1#*.} $begun $before" >"$run/steps/${1%.*}.limit"
  fi
}

# end_late_steps: those whose time is up; it stands still while the job is suspended
end_late_steps() {
  for file in "$run"/steps/*.limit; do
    { read -r seconds begun before <"$file"; } 2>/dev/null || continue
    if [ -z "$before" ]; then
      before=$stopped
      echo "$seconds $begun $before" >"$file"
    fi
    [ -z "$stopped_since" ] || continue
    if [ $(($(date +%s) - begun - (stopped - before) / 100)) -ge "$seconds" ]; then
      rm -f "$file"
      step=${file##*/}
      end_step "${step%.limit}" timeout
    fi
  done
}
