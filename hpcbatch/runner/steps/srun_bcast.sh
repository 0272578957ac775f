# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh, step.sh and srun.sh
# `srun --bcast[=TARGET]`: the program goes to each host of the step, where the tasks start this copy. As in Slurm a TARGET that is no
# whole path counts as the working directory, and files that are there are replaced.

# broadcast PROGRAM: sets $copied to its copy
broadcast() {
  found=$(path_of "$1") || {
    echo "srun: fatal: Can not execute $1" >&2
    return 1
  }
  case $bcast_target in
    /*) copied=$bcast_target ;;
    *) copied=$PWD/ ;;
  esac
  case $copied in */) copied=$copied${found##*/} ;; esac
  (
    unset HPCBATCH_SBCAST
    hosts=
    for word in $layout; do hosts="$hosts ${word%:*}"; done
    set -- --force --preserve "$found" "$copied"
    . "$root/runner/sbcast.sh"
  ) || {
    echo "srun: fatal: Failed to broadcast '$found'. Step launch aborted." >&2
    return 1
  }
}
