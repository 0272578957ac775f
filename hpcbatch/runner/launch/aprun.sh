# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `aprun -n TASKS [-N PER-HOST] [-d THREADS] ... PROGRAM`, of Cray's ALPS, by the image's own mpirun.

unapplied() { echo "aprun: hpcbatch: $1 is not applied: a pod does not bind tasks, and a launch has what its job has" >&2; }
. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    -ss | -b | -q | -T | -B | -R) takes=alone ;;
    -cc | -cp | -sl | -sn | -mr | -[nNdSjeLpramtDC]) takes=value ;;
    *) takes= ;;
  esac
}
unknown() { die "unknown option $1: expected -n, -N, -d, -e and the others of aprun"; }
valueless() { die "option $1 requires a value"; }

ntasks='' per_host=0 depth=
while next_option "$@"; do
  shift "$taken"
  case $option in
    -n) number -n "$value" && ntasks=$value ;;
    -N) number -N "$value" && per_host=$value ;;
    -d) number -d "$value" && depth=$value ;;
    -e)
      case ${value%%=*} in
        '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) die "-e $value: expected NAME=value" ;;
      esac
      export "${value?}"
      ;;
    -B | -b | -q) ;; # -B: the job's own widths; -b and -q: nothing is copied, and nothing is reported
    *) unapplied "$option" ;;
  esac
done
shift "$taken"
[ -z "$depth" ] || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$depth}"
launch_world "$ntasks" "$per_host" "$@"
