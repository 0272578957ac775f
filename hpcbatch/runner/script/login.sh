# shellcheck shell=sh
# Run by the user's shell, `login.sh PROFILE BIN PATH COMMAND...`; PROFILE is `user` where the shell itself has read all profile
# files, `system` where it is to read /etc/profile here. A profile that sets PATH anew (Debian's does) has lost what the pod or the
# submitter had on it. Then all of that stays in its order, since of two programs of one name the first is meant; what the
# profile has put before some of it stays there, but the system's own directories, which it gives to everybody, come last. BIN, the
# runner's own commands, comes first.
if [ "$1" = system ] && [ -r /etc/profile ]; then
  . /etc/profile
fi
__hpcbatch_given=:$3: __hpcbatch_path=:$PATH __hpcbatch_rest=$3: __hpcbatch_last=
while [ -n "$__hpcbatch_rest" ]; do
  __hpcbatch_one=${__hpcbatch_rest%%:*} __hpcbatch_rest=${__hpcbatch_rest#*:}
  case :$PATH: in
    *:"$__hpcbatch_one":*) ;;
    *) __hpcbatch_path= __hpcbatch_rest= ;;
  esac
done
if [ -z "$__hpcbatch_path" ]; then
  __hpcbatch_rest=$PATH:
  while [ -n "$__hpcbatch_rest" ]; do
    __hpcbatch_one=${__hpcbatch_rest%%:*} __hpcbatch_rest=${__hpcbatch_rest#*:}
    case $__hpcbatch_given in
      *:"$__hpcbatch_one":*)
        __hpcbatch_path=$__hpcbatch_path${__hpcbatch_given%%":$__hpcbatch_one:"*}:$__hpcbatch_one
        __hpcbatch_given=:${__hpcbatch_given#*":$__hpcbatch_one:"}
        ;;
      *)
        case $__hpcbatch_path$__hpcbatch_last:$__hpcbatch_one in
          *:"$__hpcbatch_one":*) ;;
          *:/bin | *:/sbin | *:/usr/bin | *:/usr/sbin | *:/usr/games | *:/usr/local/bin | *:/usr/local/sbin | *:/usr/local/games)
            __hpcbatch_last=$__hpcbatch_last:$__hpcbatch_one
            ;;
          *) __hpcbatch_path=$__hpcbatch_path:$__hpcbatch_one ;;
        esac
        ;;
    esac
  done
  __hpcbatch_path=$__hpcbatch_path${__hpcbatch_given%:}$__hpcbatch_last
fi
export PATH="$2$__hpcbatch_path"
unset __hpcbatch_given __hpcbatch_path __hpcbatch_rest __hpcbatch_one __hpcbatch_last
shift 3
exec "$@"
