# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and step.sh
# `pbs_tmrsh HOST COMMAND...`: as rsh, to a host of the job.

usage() {
  echo "usage: $tool [-n][-l username] host [-n][-l username] command" >&2
  exit 254
}
where=
while [ $# -gt 0 ]; do
  case $1 in
    # both are there for rsh's sake and change nothing, as in PBS
    -n) shift ;;
    -l)
      [ $# -gt 1 ] || usage
      shift 2
      ;;
    *)
      [ -z "$where" ] || break
      where=$1
      shift
      ;;
  esac
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
