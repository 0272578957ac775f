# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The first pod's first process where somebody is attached to it (`interactive`): it waits for them, and, where they have a
# terminal, holds it. The terminal is that of this process's session, so the job's shell is started here; the runner itself runs
# in a session of its own, which no key reaches:
#   this process ── run.sh master (another session): hosts, walltime, signals, report
#                └─ start.sh: the user's shell or command, in the foreground of the terminal
# Nothing of the job is written before the client is there, since no client gets what was written before.

# hold_terminal: becomes that process. Ends as the runner does, whose exit code is the pod's.
hold_terminal() {
  command -v setsid >/dev/null 2>&1 || fail LaunchFailed "this image has no setsid, without which there is no interactive job"
  stty -echo 2>/dev/null # of what is typed before the shell reads
  mkfifo -m 600 "$run/terminal_code" || fail LaunchFailed "cannot write to $run"
  parent=$PPID
  exec 5<&0 # a command in the background would read from /dev/null
  HPCBATCH_TERMINAL=$$ HPCBATCH_TERMINAL_PARENT=$parent setsid "$sh" "$root/runner/run.sh" master </dev/null >/dev/null 5<&- &
  runner=$!
  trap 'kill -TERM "$runner" 2>/dev/null' TERM
  trap : INT QUIT HUP # for the shell: they come to all in the foreground
  until [ -e "$run/terminal_go" ] || ! kill -0 "$runner" 2>/dev/null; do nap 0.05; done
  if [ -e "$run/terminal_go" ]; then
    read -r started <"$run/terminal_go"
    await_client <&5 & # the runner may end it, as all on this terminal, when nobody comes
    await_child $!
    if [ "$code" = 0 ]; then
      stty echo 2>/dev/null
      LC_ALL=C HPCBATCH_ROOT=$root HPCBATCH_SH=$sh HPCBATCH_STARTED=$started "$sh" "$root/runner/start.sh" <&5 5<&- 3>&1 4>&2 &
      trap '' INT QUIT HUP # bash, cut short in `wait` by Control-C, can miss that one of two children has ended, and wait for ever
      await_child $!
    fi
    echo "$code" >"$run/terminal_code"
  fi
  await_child "$runner"
  exit "$code"
}

# await_client: it says that it is there by a line, or by the end of one: Control-D, which no terminal shows.
await_client() { read -r _ || :; }

# start_on_terminal: of the runner: lets the other process start the script. Sets $child to one that ends as that does.
start_on_terminal() {
  echo "$started" >"$run/terminal_go.new" && mv "$run/terminal_go.new" "$run/terminal_go" || fail LaunchFailed "cannot write to $run"
  (
    trap - TERM INT USR1 USR2
    read -r code <"$run/terminal_code"
    exit "$code"
  ) &
  child=$!
}

# take_streams: of a runner whose own input and output are those of the job: they become 5 and 6, and it says no more on the latter.
take_streams() {
  exec 5<&0 </dev/null
  exec 6>&1 >/dev/null
}
