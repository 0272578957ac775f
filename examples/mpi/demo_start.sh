# Sourced by the demos, with `work` a directory of their own: their engine's state is in it. At their end the engine is stopped,
# and the directory removed if nothing failed.
export HPCBATCH_STATE_DIR="$work/state"
unset HPCBATCH_KUBECONFIG KUBECONFIG
finish() {
    status=$?
    trap - EXIT INT TERM
    hpcbatch down >/dev/null 2>&1 || status=1
    if [ $status = 0 ]; then rm -rf "$work"; else echo "demo failed; its files are kept in $work" >&2; fi
    exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
run() { say "$*"; "$@"; }
