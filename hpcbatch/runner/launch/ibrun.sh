# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `ibrun [-n TASKS] [-o OFFSET] PROGRAM`, of TACC, by the image's own mpirun. OFFSET is the first slot of the job to use.

ntasks='' offset=0
while :; do
  case $1 in
    -n | -np) number -n "$2" && ntasks=$2 && shift 2 ;;
    -o)
      [ $# -gt 1 ] || die "option -o requires a value"
      offset=$2 && shift 2
      ;;
    -*) die "unknown option $1: expected -n or -o" ;;
    *) break ;;
  esac
done
case $offset in '' | *[!0-9]*) die "Invalid numeric value \"$offset\" for -o." ;; esac
skip_slots=$offset
launch_world "$ntasks" 0 "$@"
