# shellcheck shell=sh
# `kept.sh ,NAME,NAME, PROGRAM...`: becomes PROGRAM with these variables alone, and those that a task of Slurm or MPI finds:
# what `srun --export` without ALL asks for. The program is found by the PATH that there was, as srun finds it.
__keep=$1
shift
case $1 in
  */*) ;;
  *)
    __rest=$PATH:
    while [ -n "$__rest" ]; do
      __found=${__rest%%:*}/$1
      __rest=${__rest#*:}
      if [ -x "$__found" ] && [ ! -d "$__found" ]; then
        shift
        set -- "$__found" "$@"
        break
      fi
    done
    ;;
esac
# HOME: Open MPI does not start without
for __name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
  case $__name in
    HOME | SLURM_* | SLURMD_* | PMI* | PRTE_* | OMPI_* | HYDRA_* | HYDI_* | MPI* | I_MPI_* | MV2_* | OPAL_* | __* | SHELLOPTS | BASHOPTS) continue ;;
  esac
  case $__keep in
    *",$__name,"*) ;;
    *) unset "$__name" ;;
  esac
done
exec "$@"
