# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `aprun -n TASKS [-N PER-HOST] [-d THREADS] ... PROGRAM`, of Cray's ALPS, by the image's own mpirun.

unapplied() { echo "aprun: hpcbatch: $1 is not applied: a pod does not bind tasks, and a launch has what its job has" >&2; }
ntasks='' per_host=0 depth=
while [ $# -gt 0 ]; do
  case $1 in
    --)
      shift
      break
      ;;
    -ss | -b | -q | -T | -B | -R)
      # -B: the job's own widths; -b and -q: nothing is copied, and nothing is told
      case $1 in
        -B | -b | -q) ;;
        *) unapplied "$1" ;;
      esac
      shift
      continue
      ;;
    -cc* | -cp* | -sl* | -sn* | -mr*) option=${1%"${1#???}"} value=${1#???} ;;
    -[nNdSjeLpramtDC]*) option=${1%"${1#??}"} value=${1#??} ;;
    -?*) die "unknown option $1: expected -n, -N, -d, -e and the others of aprun" ;;
    *) break ;;
  esac
  if [ -z "$value" ]; then
    [ $# -gt 1 ] || die "option $option requires a value"
    value=$2
    shift
  fi
  shift
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
    *) unapplied "$option" ;;
  esac
done
[ -z "$depth" ] || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$depth}"
launch_world "$ntasks" "$per_host" "$@"
