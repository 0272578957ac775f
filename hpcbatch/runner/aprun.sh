# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `aprun -n TASKS [-N PER-HOST] [-d THREADS] ... PROGRAM`, of Cray's ALPS, by the image's own mpirun.

ntasks='' per_host=0 depth=
while getopts n:N:d:S:j:e:L:cm:qbBa:p:r:ATRD:t: option; do
  case $option in
    n) number -n "$OPTARG" && ntasks=$OPTARG ;;
    N) number -N "$OPTARG" && per_host=$OPTARG ;;
    d) number -d "$OPTARG" && depth=$OPTARG ;;
    e) export "${OPTARG?}" ;;
    B) ;; # the job's own widths
    q | b) ;;
    \?) exit 1 ;;
    *) echo "aprun: hpcbatch: -$option is not applied: a pod does not bind tasks, and a launch has what its job has" >&2 ;;
  esac
done
shift $((OPTIND - 1))
[ -z "$depth" ] || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$depth}"
launch_world "$ntasks" "$per_host" "$@"
