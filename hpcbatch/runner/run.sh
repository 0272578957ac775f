#!/bin/sh
# The command of every pod of a job: `run.sh master` in the first pod, which runs the script, `run.sh worker` in all others;
# `run.sh deliver` in a pod that is made when the first one was killed (controller/deliveries.py).
# POSIX sh only (dash, busybox sh and bash are tested), so that it works in any image.
#
# $HPCBATCH_ROOT (default /hpcbatch) holds
#   runner/  these files
#   job/     script and environment as submitted (first pod only)
#     conf/      job.sh, arguments, environment, hosts: written by volcano/job_conf.py
#     requests/  requests to the running job (first pod only)
#   ssh/     the ssh plugin's keys (jobs of several pods)
#   run/     an empty directory to work in

trap 'exit 143' TERM INT # the pod's first process would not be ended by them
root=${HPCBATCH_ROOT:-/hpcbatch}
. "$root/runner/common.sh"
. "$root/runner/sshd.sh"
. "$root/runner/processes.sh"
. "$root/runner/usage.sh"
. "$root/runner/step_usage.sh"
. "$root/runner/worlds.sh"
. "$root/job/conf/job.sh"

if [ "$1" = master ] && [ -n "$interactive" ]; then
  . "$root/runner/await.sh"
  . "$root/runner/terminal.sh"
  case $interactive:$HPCBATCH_TERMINAL in
    session: | terminal:)
      prepare_run_directory
      hold_terminal
      ;;
    streams:*) take_streams ;;
  esac
fi
[ -n "$HPCBATCH_TERMINAL" ] || prepare_run_directory
know_own_session
case $1 in
  master)
    . "$root/runner/output.sh"
    . "$root/runner/tools.sh"
    . "$root/runner/step_limits.sh"
    . "$root/runner/watch.sh"
    . "$root/runner/linked.sh"
    . "$root/runner/wrf.sh"
    . "$root/runner/summary.sh"
    . "$root/runner/master.sh"
    run_master
    ;;
  worker) run_worker ;;
  deliver)
    . "$root/runner/output.sh"
    deliver_what_is_left
    ;;
  *) fail LaunchFailed "the runner was started as '$1': expected master, worker or deliver" ;;
esac
