# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `blaunch [-n] [-u FILE | -z "HOST..." | HOST] PROGRAM [ARGUMENT...]`: a task on each of these hosts; without any, on each slot of the
# job. Ends with the last failing task's exit code.

. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    -no-wait | -no-shell | -use-login-shell | -n) takes=alone ;;
    -u | -z) takes=value ;;
    *) takes= ;;
  esac
}
unknown() { die "illegal option $1: expected -n, -u, -z, -no-wait, -no-shell or -use-login-shell" 255; }
valueless() { die "option $1 requires an argument" 255; }

targets='' is_detached='' input=yes
while next_option "$@"; do
  shift "$taken"
  case $option in
    -u)
      targets=$(awk '!/^[[:space:]]*#/ { print $1 }' "$value" 2>/dev/null)
      [ -n "$targets" ] || die "$value: no hosts in this file" 255
      ;;
    -z) targets=$value ;;
    -n) input= ;;
    -no-wait) is_detached=yes ;;
    *) ;; # programs are started without a shell of their own either way
  esac
done
shift "$taken"
[ $# -gt 0 ] || die "no program to run" 255
if [ -z "$targets" ]; then
  case " $hosts " in
    *" $1 "*) targets=$1 && shift ;;
    *) targets=$(cat "$root/job/conf/nodefile") ;;
  esac
fi
[ $# -gt 0 ] || die "no program to run" 255
for where in $targets; do
  case " $hosts " in
    *" $where "*) ;;
    *) die "$where: host is not allocated for this job" 255 ;;
  esac
done
# shellcheck disable=SC2086
tell_of_single_ranks "$1" "$(set -- $targets && echo $#)" "mpirun makes one"
# shellcheck disable=SC2086
if [ -n "$input" ] && [ -z "$is_detached" ] && [ "$(set -- $targets && echo $#)" = 1 ]; then
  start_on "$targets" "$@"
  exit
fi
children='' code=0
for where in $targets; do
  start_on "$where" "$@" </dev/null &
  children="$children $!"
done
[ -z "$is_detached" ] || exit 0
for child in $children; do
  wait "$child" || code=$?
done
exit $code
