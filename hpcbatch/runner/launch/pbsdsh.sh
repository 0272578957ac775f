# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `pbsdsh [-c COPIES | -n INDEX] [-o] [-s] [-u] [-v] [--] PROGRAM [ARGUMENT...]`: on every line of the nodefile, COPIES of them, or line
# INDEX; -u: once on each host; -s: one after the other; -o: do not wait. Ends with the last failing task's exit code.

usage() {
  echo "usage: pbsdsh [-c copies][-o][-s][-u][-v] -- program [args]...
       pbsdsh [-n nodenumber][-o][-s][-u][-v] -- program [args]..." >&2
  exit 2
}
. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    -[cn]) takes=value ;;
    -[osuv]) takes=flag ;;
    *) takes= ;;
  esac
}
unknown() {
  letter=${2#-}
  echo "pbsdsh: invalid option -- '${letter%"${letter#?}"}'" >&2
  usage
}
valueless() {
  echo "pbsdsh: option requires an argument -- '${1#-}'" >&2
  usage
}

copies='' index='' sequential='' once='' verbose='' detached=
while next_option "$@"; do
  shift "$taken"
  case $option in
    -c) copies=$value ;;
    -n) index=$value ;;
    -s) sequential=yes ;;
    -u) once=yes ;;
    -v) verbose=yes ;;
    -o) detached=yes ;;
  esac
done
shift "$taken"
[ $# -gt 0 ] || usage
case $copies$index in *[!0-9]*) usage ;; esac
if [ -n "$copies" ]; then
  [ -z "$index" ] && [ "$copies" -gt 0 ] || usage
fi
lines=$(cat "$root/job/conf/nodefile")
[ -z "$once" ] || lines=$(printf '%s\n' "$lines" | awk '!seen[$0]++')
# shellcheck disable=SC2086
set_lines() { set -- $lines && echo $#; }
total=$(set_lines)
every=$lines
while [ "$total" -lt "${copies:-0}" ]; do # more copies than there are lines begin anew
  lines="$lines
$every"
  total=$(set_lines)
done
if [ -n "$index" ]; then
  [ "$index" -lt "$total" ] || { echo "pbsdsh: only $total nodes available" >&2; exit 1; }
  lines=$(printf '%s\n' "$lines" | sed -n "$((index + 1))p")
fi
[ -z "$copies" ] || lines=$(printf '%s\n' "$lines" | head -n "$copies")
# shellcheck disable=SC2086
tell_of_single_ranks "$1" "$(set -- $lines && echo $#)" "mpirun makes one"
children='' task=0 code=0
for where in $lines; do
  PBS_TASKNUM=$((task + 2)) PBS_NODENUM=${index:-$task}
  export PBS_TASKNUM PBS_NODENUM
  [ -z "$verbose" ] || echo "pbsdsh: spawning $1 on $where" >&2
  start_on "$where" "$@" </dev/null &
  if [ -n "$sequential" ]; then
    wait $! || { code=$? && echo "pbsdsh: task $task ended with exit status $code" >&2; }
  else
    children="$children $task:$!"
  fi
  task=$((task + 1))
done
[ -z "$detached" ] || exit 0
for child in $children; do
  wait "${child#*:}" || {
    code=$?
    [ -z "$verbose" ] || echo "pbsdsh: task ${child%%:*} ended with exit status $code" >&2
  }
done
exit $code
