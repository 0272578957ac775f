#!/bin/sh
# `signal.sh NUMBER [SCOPE]`: what the first pod starts by ssh in the others, to send a signal to what the job runs there.
# `signal.sh ticks`: prints how many hundredths of a second of CPU have been used there.

root=${HPCBATCH_ROOT:-/hpcbatch}
. "$root/runner/common.sh"
. "$root/runner/processes.sh"
. "$root/job/conf/job.sh"
session_of $$
my_session=$session
case $1 in
  9) kill_all ;;
  19) stop_all ;;
  ticks) look && echo "$ticks" ;;
  *) signal_here "$1" "${2:-all}" ;;
esac
