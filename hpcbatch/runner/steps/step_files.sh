# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh, srun.sh and task.sh
# The files of a step: $out and $err are what `srun -o` and `-e` say: a pattern, a task's number, all, or nothing. A file begins anew, unless --open-mode says that it goes on: before any task may write to it.

# pattern TEXT TASK NODE: Slurm's %t %n %N %s %j %J %A %a %u %x and %%; what else there is stays
pattern() {
  rest=$1 text=
  while :; do
    case $rest in
      *%*) ;;
      *) break ;;
    esac
    text=$text${rest%%\%*}
    rest=${rest#*%}
    width=${rest%%[!0-9]*}
    rest=${rest#"$width"}
    letter=${rest%"${rest#?}"}
    rest=${rest#?}
    case $letter in
      t) value=$2 ;;
      n) value=$3 ;;
      N) value=$host ;;
      s) value=$SLURM_STEP_ID ;;
      j) value=$job_id ;;
      J) value=$job_id.$SLURM_STEP_ID ;;
      A) value=${SLURM_ARRAY_JOB_ID:-$job_id} ;;
      a) value=${SLURM_ARRAY_TASK_ID:-4294967294} ;;
      u) value=$user ;;
      x) value=$SLURM_JOB_NAME ;;
      %) value=% ;;
      *) value=%$width$letter ;;
    esac
    case $letter:$width in
      [tnsjAa]:[1-9]*) value=$(printf "%0${width}d" "$value") ;;
    esac
    text=$text$value
  done
  printf '%s' "$text$rest"
}

# kind_of PATTERN: sets $kind: there is one such file for each `task`, for each `node`, or for the `step`
kind_of() {
  case $(printf %s "$1" | sed 's/%%//g') in
    *%t* | *%[0-9]t* | *%[0-9][0-9]t*) kind=task ;;
    *%[nN]* | *%[0-9][nN]* | *%[0-9][0-9][nN]*) kind=node ;;
    *) kind=step ;;
  esac
}

# begin_files KIND TASK NODE: those of that kind
begin_files() {
  for given in "$out" "$err"; do
    case $given in
      '' | all) continue ;;
      *[!0-9]*) ;;
      *) continue ;;
    esac
    kind_of "$given"
    [ "$kind" = "$1" ] || continue
    file=$(pattern "$given" "$2" "$3")
    case $open_mode in
      a*) : >>"$file" || exit 1 ;;
      *) : >"$file" || exit 1 ;;
    esac
  done
}

# own_input TASK NODE: of this shell: the file of a pattern like in-%t, or nothing
own_input() {
  if [ -n "$input_pattern" ]; then
    exec <"$(pattern "$input_pattern" "$1" "$2")" || exit 1
  else
    exec </dev/null
  fi
}

# redirect TASK NODE: of this shell, to where the task writes
redirect() {
  begin_files task "$1" "$2"
  case $out in
    '' | all) ;;
    *[!0-9]*)
      file=$(pattern "$out" "$1" "$2")
      exec >>"$file" || exit 1
      [ -n "$err" ] || exec 2>&1
      ;;
    *)
      if [ "$1" != "$out" ]; then
        exec >/dev/null
        [ -n "$err" ] || exec 2>&1
      fi
      ;;
  esac
  case $err in
    '' | all) ;;
    *[!0-9]*)
      file=$(pattern "$err" "$1" "$2")
      exec 2>>"$file" || exit 1
      ;;
    *) [ "$1" = "$err" ] || exec 2>/dev/null ;;
  esac
}
