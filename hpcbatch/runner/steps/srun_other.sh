# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh, step.sh and srun.sh
# `srun --jobid=OTHER` in a job: the step is started through the API, as from a login node, by hpcbatch's own srun, where the job has one
# on its PATH and a kubeconfig for it: mostly on the embedded engine. Pods of a cluster have no way to other jobs.

# step_of_other JOB: ends this srun
step_of_other() {
  rest=$PATH:
  while [ -n "$rest" ]; do
    directory=${rest%%:*}
    rest=${rest#*:}
    [ -n "$directory" ] && [ "$directory" != "$bin" ] && is_program "$directory/srun" || continue
    grep -q hpcbatch "$directory/srun" 2>/dev/null || continue
    eval "set -- $words"
    HPCBATCH_STEP_OF_OTHER_JOB=yes exec "$directory/srun" "$@"
  done
  die "srun starts steps of its own job only, not of job $1: pods do not call the API, and the image has no hpcbatch"
}
