# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and step.sh
# `pbs_tmrsh HOST COMMAND...`: as rsh, to a host of the job.

usage() {
  echo "usage: $tool [-n][-l username] host [-n][-l username] command" >&2
  exit 254
}
. "$root/runner/options.sh"
# both are there for rsh's sake and change nothing, as in PBS
takes_of() {
  case $1 in
    -n) takes=alone ;;
    -l) takes=next ;;
    *) takes=operand ;;
  esac
}
valueless() { usage; }

where=
while [ $# -gt 0 ]; do
  if next_option "$@"; then
    shift "$taken"
  elif [ -z "$where" ]; then
    where=$1
    shift
  else
    break
  fi
done
[ $# -gt 0 ] || usage
case " $hosts " in
  *" $where "*) ;;
  *)
    echo "$tool: host \"$where\" is not a node in job <$job_id>" >&2
    exit 254
    ;;
esac
start_on "$where" "$sh" -c "$*"
