# shellcheck shell=sh
# shellcheck disable=SC2154 # $run, which the first lines of each copy (sshd.sh) set, with await.sh
# What Open MPI 5's mpirun starts by $OMPI_PRTERUN (mpi.sh): its own prterun, without one line of its stderr. On a busy machine prterun
# says `plm:ssh: Warning: setpgid(…) failed in parent` of an ssh that was quicker than itself. It means nothing, since that has
# done the same already, and no setting leaves it out.

bindir=
for directory in "${OMPI_LIBDIR_LOC%/*}/bin" "${OMPI_LIBDIR_LOC%/*/*}/bin" "$PRTE_PREFIX/bin"; do
  [ -x "$directory/prterun" ] && bindir=$directory && break
done
# by its name: by a path it would look for its daemons beside, where a link does not lead
[ -z "$bindir" ] || [ "$(command -v prterun)" = "$bindir/prterun" ] || PATH=$bindir:$PATH
command -v prterun >/dev/null || {
  echo "hpcbatch: cannot find the prterun of Open MPI in $OMPI_LIBDIR_LOC: unset OMPI_PRTERUN and try again" >&2
  exit 127
}
# Without these tools its end would not be as it is without this shell: then the line stays.
setpriv --pdeathsig TERM env --default-signal=INT,QUIT true 2>/dev/null && pipe=$(mktemp -u "$run/prterun.XXXXXX") &&
  mkfifo -m 600 "$pipe" || exec prterun "$@"
exec 3<&0
(
  trap '' TERM INT HUP QUIT USR1 USR2 ALRM # it ends with prterun
  exec <"$pipe" 3<&- >&2
  # the line comes before all that ranks write
  while IFS= read -r line; do
    case $line in
      *'plm:ssh: Warning: setpgid('*) ;;
      *)
        printf '%s\n' "$line"
        exec cat
        ;;
    esac
  done
  printf %s "$line"
) &
filter=$!
setpriv --pdeathsig TERM env --default-signal=INT,QUIT prterun "$@" <&3 3<&- 2>"$pipe" &
prterun=$!
# end SIGNAL: once; a third one, with that which came to the whole process group, would make it leave its ranks behind
ended=
end() {
  [ -n "$ended" ] || kill -s "$1" "$prterun" 2>/dev/null
  ended=yes
}
trap 'end TERM' TERM
trap 'end INT' INT
trap 'end HUP' HUP
for signal in QUIT USR1 USR2 ALRM; do
  # shellcheck disable=SC2064
  trap "kill -s $signal $prterun 2>/dev/null" $signal
done
exec 3<&- 2>/dev/null # a shell reports killed children in its own form
await_child "$prterun"
rm -f "$pipe"
while kill -0 "$filter" 2>/dev/null; do wait "$filter"; done
exit "$code"
