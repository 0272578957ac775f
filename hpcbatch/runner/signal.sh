#!/bin/sh
# `signal.sh NUMBER`: what the first pod starts by ssh in the others, to send a signal to all that the job runs there.

root=${HPCBATCH_ROOT:-/hpcbatch}
. "$root/runner/common.sh"
. "$root/runner/processes.sh"
my_session=$(session_of $$)
case $1 in
  9) kill_all ;;
  19) stop_all ;;
  *) signal_here "$1" all ;;
esac
