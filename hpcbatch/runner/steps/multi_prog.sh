# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of srun.sh
# The file of `srun --multi-prog`: lines of tasks, a program and its arguments. Sourced by srun.sh and task.sh.

# check_multi_prog FILE: ends srun where it does not say what each of its $ntasks tasks is to run
check_multi_prog() {
  [ -f "$1" ] && [ -r "$1" ] || die "Could not open multi_prog config file $1"
  said=$(awk -v file="$1" -v ntasks="$ntasks" '
    function fail(text) { print "srun: error: " text; failed = 1; exit }
    function bad(text) { if (text != "") print "srun: error: " text; fail("Line " NR " of configuration file " file " invalid") }
    goes_on { goes_on = /\\$/; next }
    { goes_on = /\\$/ }
    $1 == "" || $1 ~ /^#/ { next }
    $2 == "" { bad("") }
    {
      n = split($1, part, ",")
      for (i = 1; i <= n; i++) {
        if (part[i] == "*") part[i] = "0-" (ntasks - 1)
        if (part[i] !~ /^[0-9]+(-[0-9]+)?$/) bad("Invalid task range specification (" $1 ").")
        split(part[i], end, "-")
        if (end[2] == "") end[2] = end[1]
        if (end[2] + 0 >= ntasks + 0) bad("Invalid task id, " (end[1] + 0 >= ntasks + 0 ? end[1] : end[2]) " >= ntasks")
        for (task = end[1] + 0; task <= end[2] + 0; task++) known[task] = 1
      }
    }
    END {
      if (failed) exit
      for (task = 0; task < ntasks; task++)
        if (!(task in known)) fail("Configuration file " file " invalid, no record for task id " task)
    }' "$1")
  [ -z "$said" ] || {
    printf '%s\n' "$said" >&2
    exit 1
  }
}

# of_multi_prog FILE TASK: the program and its arguments on the first line that names the task. A line that ends in \ goes on. %t is the
# task, %o its place among those of its line.
of_multi_prog() {
  set -f # a range may be *
  while read -r range line; do
    while [ "${line%\\}" != "$line" ] && read -r more; do line="${line%\\}$more"; done
    case $range in '' | '#'*) continue ;; esac
    place=0
    for part in $(printf %s "$range" | tr , ' '); do
      case $part in
        '*') from=0 to=$2 ;;
        *) from=${part%-*} to=${part#*-} ;;
      esac
      if [ "$2" -ge "$from" ] && [ "$2" -le "$to" ]; then
        printf '%s' "$line" | sed "s/%t/$2/g; s/%o/$((place + $2 - from))/g"
        return
      fi
      place=$((place + to - from + 1))
    done
  done <"$1"
  return 1
}
