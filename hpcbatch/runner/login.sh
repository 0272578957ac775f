# shellcheck shell=sh
# Run by the user's shell, `login.sh PROFILE BIN PATH COMMAND...`; PROFILE is `user` where the shell itself has read all profile
# files, `system` where it is to read /etc/profile here. A profile that sets PATH anew (Debian's does) has lost what the pod or the
# submitter had on it: that is put back in front. BIN, the runner's own commands, comes first.
if [ "$1" = system ] && [ -r /etc/profile ]; then
  . /etc/profile
fi
__hpcbatch_add='' __hpcbatch_rest=$3:
while [ -n "$__hpcbatch_rest" ]; do
  __hpcbatch_one=${__hpcbatch_rest%%:*} __hpcbatch_rest=${__hpcbatch_rest#*:}
  case :$PATH: in
    *:"$__hpcbatch_one":*) ;;
    *) __hpcbatch_add=$__hpcbatch_add$__hpcbatch_one: ;;
  esac
done
export PATH="$2:$__hpcbatch_add$PATH"
unset __hpcbatch_add __hpcbatch_rest __hpcbatch_one
shift 3
exec "$@"
