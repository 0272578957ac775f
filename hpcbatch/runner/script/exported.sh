# shellcheck shell=sh
# `exported.sh ENV FILE COMMAND...`: becomes COMMAND with the variables of FILE (become.sh), where env takes them from nowhere but
# its arguments (busybox, coreutils before 8.30). Names that no shell can set are reported and left out, but for functions of our own,
# which are no secret.
__env=$1 __file=$2
shift 2
__words=$#
# the first $__words of the arguments go to the end
__turn='__left=$__words
while [ "$__left" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  __left=$((__left - 1))
done'
. "$__file.sh"
rm -f "$__file" "$__file.sh"
eval "$__turn"
__entries=$(($# - __words))
while [ "$__entries" -gt 0 ]; do
  __entries=$((__entries - 1))
  case ${1%%=*} in
    'BASH_FUNC_module%%' | 'BASH_FUNC_ml%%') set -- "$@" "$1" ;;
    '' | [!A-Za-z_]* | *[!A-Za-z0-9_]* | UID | EUID | PPID | GROUPS | OPTIND | BASHOPTS | SHELLOPTS | BASH_VERSINFO | BASH_ARG? | \
      FUNCNAME | DIRSTACK | LINENO | RANDOM | SECONDS | _)
      echo "hpcbatch: the variable ${1%%=*} is left out: this image has no env that can set it (GNU coreutils 8.30 or later)" >&2
      ;;
    *) export "$1" ;; # a locale that the image has not is bash's business only
  esac
  shift
done
eval "$__turn"
exec "$__env" -u _ -u SHLVL -u OLDPWD "$@"
