# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, step.sh and srun.sh
# What srun writes down of its step, for the job's record (step_usage.sh).

# plain_name TEXT: prints it, a step's name, without what could not stand in a word
plain_name() {
  case $1 in
    '') printf %%20 ;;
    *[!A-Za-z0-9._+=@/-]*) printf %s "$1" | head -c 64 | od -An -v -tx1 | tr -d '\n' | sed 's/ /%/g' ;;
    *) printf %.64s "$1" ;;
  esac
}

# plain_line TEXT: prints it, a command line, likewise; where it is plain, with commas for blanks
plain_line() {
  case $1 in
    *[!A-Za-z0-9._+=@/*\ -]* | *'  '*) printf %s "$1" | head -c 200 | od -An -v -tx1 | tr -d '\n' | sed 's/ /%/g' ;;
    *) printf %.200s "$1" | tr ' ' , ;;
  esac
}

# shown_line WORD...: prints the command line as others may see it, from $typed and the program's words: the options without the
# values of variables, and the program without its arguments, which may be a script's text
shown_line() (
  set -f
  IFS=' '
  options=${typed%"$*"} text=srun before=''
  if [ "$parts" -gt 1 ] || [ "$options$*" != "$typed" ]; then
    echo 'srun ***'
    return
  fi
  for word in $options; do
    case $before:$word in
      *:--exp*=*=*) word=${word%%=*}=*** ;;
      --exp*:*=*) word=*** ;;
    esac
    text="$text $word"
    before=$word
  done
  text="$text $1"
  [ $# = 1 ] || text="$text ***"
  printf %s "$text"
)

# places: prints which of the job's hosts the step is on, `0-2,5`
places() {
  # shellcheck disable=SC2086
  printf '%s\n' $layout | awk -F : -v hosts="$hosts" '
    BEGIN { n = split(hosts, host, " "); for (i = 1; i <= n; i++) place[host[i]] = i - 1 }
    $1 in place { on[place[$1]] = 1 }
    END {
      for (i = 0; i < n; i++) {
        if (!(i in on)) continue
        for (last = i; last + 1 in on; last++) ;
        text = text "," (last > i ? i "-" last : i)
        i = last
      }
      print substr(text, 2)
    }'
}

# step_begins WORD...: with the CPUs that its tasks have; the words are those of the program
step_begins() {
  echo "line $step_id $(plain_line "$(shown_line "$@")")" >>"$steps/log"
  width=0
  for word in ${planned:-$(for one in $layout; do echo "${one%:*}:$((${one#*:} * ${cpus_per_task:-1}))"; done)}; do
    width=$((width + ${word#*:}))
  done
  echo "start $step_id $$ $(date +%s) $ntasks $width $(places) $shown $(plain_name "$recorded_name")" >>"$steps/log"
  [ -n "$step_limit" ] || return 0
  echo "limit $step_id $step_limit" >>"$steps/log"
  echo "$step_limit $(date +%s)" >"$steps/$step_id.limit.new" && mv "$steps/$step_id.limit.new" "$steps/$step_id.limit"
}

# step_ends EXIT-CODE
step_ends() { echo "end $step_id $(date +%s) $1" >>"$steps/log"; }
