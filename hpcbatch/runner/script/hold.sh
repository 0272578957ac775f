# shellcheck shell=sh
# The script of an allocation (salloc): it runs nothing, and ends with the code that enter.sh is told when the user has done.
root=${0%/runner/*}
. "$root/runner/common.sh"
# what steps start from, which come in from outside (enter.sh)
(umask 077 && cat "/proc/$$/environ" >"$run/allocated.new" && mv "$run/allocated.new" "$run/allocated")
mkfifo -m 600 "$run/release" || exit 1
read -r code <"$run/release"
exit "${code:-0}"
