# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# What a script requests for its own job by the batch system's commands. Pods do not call the API: the runner ends the run, and its
# report says what is to become of the job (master.sh, policy/run_over.py).
#   $run/runner     the runner's process
#   $run/wish       for the runner: `requeue` or `cancel`

# is_own ID: whether that names this job
is_own() {
  case $1 in
    '') return 1 ;;
    "$job_id" | "${PBS_JOBID:-}" | "${SLURM_ARRAY_JOB_ID:-}_${SLURM_ARRAY_TASK_ID:-}") ;;
    *) [ -n "${PBS_JOBID:-}" ] && [ "$1" = "${PBS_JOBID%%.*}" ] ;;
  esac
}

# end_own_run WISH
end_own_run() {
  { read -r runner <"$run/runner"; } 2>/dev/null || die "cannot find the runner of job $job_id"
  echo "$1" >"$run/wish.$$" && mv "$run/wish.$$" "$run/wish" && kill -s USR1 "$runner" || die "cannot end job $job_id"
}

# tell_of_others ID
tell_of_others() {
  echo "$tool: hpcbatch: in a job of this cluster only the job itself can be named, not $1: pods do not call the API, and the image has no hpcbatch" >&2
}
