# The rest of the `ssh`, `scp` and `sftp` of a job, whose first lines (written by sshd.sh) set $real and $run.
# The environment travels as SendEnv variables: sshd takes 128 variables at most, not PATH, and not a bash function's name,
# so all is packed together, in pieces that fit a packet. /proc knows it as it was before this shell read it.
if [ -z "$HPCBATCH_PLAIN" ]; then
  pieces=$(base64 <"/proc/$$/environ" | tr -d '\n' | fold -w 60000)
  count=0
  while IFS= read -r piece; do
    count=$((count + 1))
    export "HPCBATCH_ENV_$count=$piece"
  done <<PIECES
$pieces
PIECES
  unset pieces piece
  case " $*" in
    *[!a-z]orted[!a-z]* | *[!a-z]prted[!a-z]* | *hydra_*proxy*)
      echo "$PPID" >>"$run/launches" # for worlds.sh
      (
        # for linked.sh, of the first twenty launchers: they may be gone before anybody looks at them
        umask 077
        set -- "$run"/launched.*
        [ $# -lt 20 ] && mkdir "$run/launched.$PPID" && cd "$run/launched.$PPID" || exit
        cp -P "/proc/$PPID/exe" "/proc/$PPID/cwd" .
        for file in cmdline environ maps; do cat "/proc/$PPID/$file" >$file; done
      ) 2>/dev/null
      ;;
  esac
fi
exec "$real" -F "$run/ssh_config" "$@"
