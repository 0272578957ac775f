# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and processes.sh
# `scontrol listpids [JOB[.STEP] [NODE]]` in a job: the processes of its script and of the steps of srun on this host. One that is no task
# itself, but was started by one, has no number.

printf '%-8s %-8s %-8s %-7s %-8s\n' PID JOBID STEPID LOCALID GLOBALID
wanted=${1:-'*'} node=${2:-$host}
case $wanted in
  '*'*) step= ;;
  *.*) step=${wanted#*.} ;;
  *) step= ;;
esac
case $wanted in
  '*'* | "$job_id" | "$job_id".*) ;;
  *) node= ;; # other jobs have pods of their own
esac
found=
if [ "$node" = "$host" ]; then
  . "$root/runner/processes.sh"
  look
  found=$(
    {
      for file in "$run"/tasks.*.*[0-9] "$run"/ranks.*.*[0-9]; do
        { read -r pid <"$file"; } 2>/dev/null || continue
        task=${file##*/}
        task=${task#*.}
        echo "mark ${task%%.*} ${task#*.} $pid"
      done
      printf %s "$table"
      for pid in $in_session; do echo "batch $pid"; done
    } | awk -v leader="$leader" -v wanted="$step" -v job="$job_id" '
      $1 == "mark" { step[$4] = $2; task[$4] = $3; next }
      $1 == "batch" { batch[$2] = 1; next }
      { parent[$1] = $2; session[$1] = $3 }
      function task_of(pid,    root, depth) {
        root = pid
        for (depth = 0; !(root in step) && (root in parent) && depth < 100; depth++) root = parent[root]
        return root in step ? root : session[pid]
      }
      function tell(place, name, pid, local, global) {
        if (wanted != "" && wanted != name) return
        printf "%d %d %d %-8s %-8s %-8s %-7s %-8s\n", place, local == "-", local == "-" ? pid : global, pid, job, name, local, global
      }
      END {
        for (pid in batch)
          if (!(task_of(pid) in step)) tell(-1, "batch", pid, pid == leader ? 0 : "-", pid == leader ? 0 : "-")
        for (pid in step) {
          nth = 0
          for (other in step) if (step[other] == step[pid] && task[other] + 0 < task[pid] + 0) nth++
          tell(step[pid], step[pid], pid, nth, task[pid])
        }
        for (pid in parent)
          if (!(pid in step) && (task_of(pid) in step)) tell(step[task_of(pid)], step[task_of(pid)], pid, "-", "-")
      }' | sort -k 1,1n -k 2,2n -k 3,3n | cut -d ' ' -f 4-
  )
fi
if [ -n "$found" ]; then
  printf '%s\n' "$found"
  exit 0
fi
if [ -n "$step" ]; then
  echo "StepId=${wanted} does not exist on node ${2:-$host}." >&2
else
  echo "There are no steps for job ${wanted} on node ${2:-$host}." >&2
fi
exit 1
