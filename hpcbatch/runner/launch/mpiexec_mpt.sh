# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `mpiexec_mpt [-n TASKS] [-ppn N] PROGRAM`, of HPE's MPT, by the image's own mpirun.

ntasks='' per_host=0
while :; do
  case $1 in
    -n | -np) number -n "$2" && ntasks=$2 && shift 2 ;;
    -ppn | -perhost) number "$1" "$2" && per_host=$2 && shift 2 ;;
    -v | -verbose | -stats)
      echo "mpiexec_mpt: hpcbatch: $1 is not applied: it is the image's own mpirun that starts the program" >&2
      shift
      ;;
    dplace | omplace)
      echo "mpiexec_mpt: hpcbatch: $1 is not applied: a pod does not bind tasks" >&2
      shift
      while :; do
        case $1 in
          -nt | -c | -s | -x | -b | -bs | -ht | -tm)
            [ $# -gt 1 ] || die "option $1 requires a value"
            shift 2
            ;;
          -*) shift ;;
          *) break ;;
        esac
      done
      ;;
    -*) die "unknown option $1: expected -n or -ppn" ;;
    *) break ;;
  esac
done
launch_world "$ntasks" "$per_host" "$@"
