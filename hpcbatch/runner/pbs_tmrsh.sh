# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and step.sh
# `pbs_tmrsh HOST COMMAND...`: as rsh, to a host of the job.

while :; do
  case $1 in
    -n) shift ;;
    -l) shift 2 ;;
    *) break ;;
  esac
done
[ $# -gt 1 ] || { echo "usage: $tool [-n][-l username] host [-n][-l username] command" >&2; exit 254; }
case " $hosts " in
  *" $1 "*) ;;
  *)
    echo "$tool: host \"$1\" is not a node in job <$job_id>" >&2
    exit 254
    ;;
esac
where=$1
shift
start_on "$where" "$sh" -c "$*"
