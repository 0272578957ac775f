# shellcheck shell=sh
# await_child PID: waits for a child to the end, however many signals interrupt that. Sets $code to its exit code.
await_child() {
  while wait "$1" 2>/dev/null && code=0 || code=$? && kill -0 "$1" 2>/dev/null; do :; done
  # a signal may have ended the last `wait` in place of the child
  wait "$1" 2>/dev/null && again=0 || again=$?
  [ $again = 127 ] || code=$again
}
