#!/bin/sh
# The one program that the user of an allocation starts in its first pod from outside, by pods/exec (deploy/controller/policies.yaml lets
# nothing else through). WORD is of letters and digits.
#   enter.sh put WORD       keeps its input as what a step consists of: shell text that the user's srun has made
#   enter.sh step WORD      becomes that step, on these streams or this terminal
#   enter.sh signal WORD    ends that step: what Control-C does where there is no terminal
#   enter.sh show WORD      prints the variables of the allocation, a NUL after each
#   enter.sh release CODE   ends the allocation, with that exit code
#   enter.sh live WORD      ends the session on the terminal as soon as its own input has ended: with its client, whose connection
#                           it shares (PBS); who is attached to a terminal goes without a word
# The text sets, for $part: `environment`, more of "$@", each NAME=VALUE, and $directory; `command`, "$@".
root=${0%/runner/*}
. "$root/runner/common.sh"
. "$root/runner/become.sh"
. "$root/job/conf/job.sh"
entered=$run/entered
case $1:$2 in *[!a-z0-9:]* | *:) exit 1 ;; esac

# allocated: until the allocation is there, since its pod may run a little before
allocated() {
  tries=0
  until [ -s "$run/allocated" ] || of_script; do
    if [ $tries -ge 300 ]; then
      echo "the job's script has not started yet" >&2
      exit 1
    fi
    tries=$((tries + 1))
    nap
  done
}

# of_script: keeps the variables that the script of a job that is no allocation was started with; fails until it is
of_script() {
  [ "$interactive" != allocation ] && { read -r pid <"$run/session"; } 2>/dev/null || return 1
  (umask 077 && cat "/proc/$pid/environ" >"$run/allocated.$$") 2>/dev/null &&
    [ -s "$run/allocated.$$" ] && ! grep -q HPCBATCH_STARTED= "$run/allocated.$$" && mv "$run/allocated.$$" "$run/allocated"
}

case $1 in
  put)
    umask 077
    mkdir -p "$entered" && cat >"$entered/$2.new" && mv "$entered/$2.new" "$entered/$2"
    exit
    ;;
  signal)
    read -r pid <"$entered/$2.pid" && kill -TERM "$pid"
    exit
    ;;
  show)
    allocated
    exec cat "$run/allocated"
    ;;
  release)
    allocated
    echo "$2" >"$run/release"
    exit
    ;;
  live)
    tries=0
    until { : >"$run/live"; } 2>/dev/null || [ $tries -ge 300 ]; do # for the runner (watch.sh), which may not have begun
      nap
      tries=$((tries + 1))
    done
    cat >/dev/null
    . "$root/runner/processes.sh"
    trap '' HUP
    session_of $$
    my_session=$session
    signal_here 1 all
    sleep "$kill_delay_s"
    kill_all
    exit
    ;;
  step) ;;
  *) exit 1 ;;
esac
allocated
: >"$entered/$$" # it is the job's, though its parent is outside (processes.sh)
echo $$ >"$entered/$2.pid"
text=$entered/$2
set --
(umask 077 && entries "$run/allocated" >"$text.allocated")
. "$text.allocated"
directory=/ part=environment
. "$text"
umask "$umask"
raise_limits
if ! cd "$directory" 2>/dev/null; then
  echo "slurmstepd: error: couldn't chdir to \`$directory': No such file or directory: going to /tmp instead" >&2
  directory=/tmp
  cd /tmp || exit 1
fi
path=/usr/local/bin:/usr/bin:/bin
for entry in "$@"; do
  case $entry in PATH=*) path=${entry#PATH=} ;; esac
done
hold "$@" "HOSTNAME=$host" "PWD=$directory" "PATH=$bin:${path#"$bin:"}"
part=command
. "$text"
rm -f "$text" "$text.allocated"
become "$@"
