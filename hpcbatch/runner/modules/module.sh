# shellcheck shell=sh
# `module.sh sh|csh|none module|ml COMMAND...`: `module` by the site's table, conf/modules. Writes what the calling shell is to
# evaluate, in its language; none: it cannot change anything. It prints to the user on stderr, and of each module once in a job.
# The table's lines are NAME, KIND, VARIABLE, VALUE with tabs between; NAME may be a pattern. KIND is nothing, image (VARIABLE is yes
# where the job runs in it), set or prepend.

root=${0%/runner/module.sh}
. "$root/runner/common.sh"
language=$1 called=$2
shift 2
table=$root/job/conf/modules
[ -r "$table" ] || table=/dev/null
tab=$(printf '\t')
loaded=$LOADEDMODULES status=0

tell() { printf 'module: hpcbatch: %s\n' "$1" >&2; }
tell_once() {
  grep -q -F -x -e "$1" "$run/modules.told" 2>/dev/null && return
  printf '%s\n' "$1" 2>/dev/null >>"$run/modules.told"
  tell "$1"
}
failed() {
  tell "$1"
  status=1
}

# give NAME VALUE, take NAME: a variable of the calling shell; has_now NAME: sets $list to what it has by now
give() {
  eval "now_$1=\$2"
  case $language in
    sh) printf 'export %s=%s;\n' "$1" "$(quote "$2")" ;;
    csh) printf 'setenv %s %s;\n' "$1" "$(quote "$2" | sed 's/!/\\!/g')" ;;
  esac
}
take() {
  eval "now_$1="
  case $language in
    sh) printf 'unset %s;\n' "$1" ;;
    csh) printf 'unsetenv %s;\n' "$1" ;;
  esac
}

has_now() { eval "list=\${now_$1-\${$1-}}"; }

# without LIST ENTRY: sets $left to the :-list without that entry
without() {
  left='' rest=$1:
  while [ -n "$rest" ]; do
    [ "${rest%%:*}" = "$2" ] || left="$left${left:+:}${rest%%:*}"
    rest=${rest#*:}
  done
}

# find NAME: sets $key to the table's name for it: the first that is or matches it; else, of one without a version, the first version
find_key() {
  key=
  while IFS=$tab read -r candidate _; do
    # shellcheck disable=SC2254 # a pattern
    case $1 in
      $candidate)
        key=$candidate
        return
        ;;
    esac
  done <"$table"
  while IFS=$tab read -r candidate _; do
    case $candidate in
      "$1"/*)
        key=$candidate
        return
        ;;
    esac
  done <"$table"
  return 1
}

# rows: those of $key, as KIND VARIABLE VALUE
rows() {
  while IFS=$tab read -r candidate line; do
    [ "$candidate" != "$key" ] || printf '%s\n' "$line"
  done <"$table"
}

load() {
  case :$loaded: in *":$1:"*) return ;; esac
  if ! find_key "$1"; then
    tell_once "$1: not in this site's table of modules: nothing is changed, the image is to have what the job needs"
    return
  fi
  rows >"$run/modules.$$"
  said=
  while IFS=$tab read -r kind variable value; do
    case $kind:$variable in
      image:yes) said="$said, the job runs in its image" ;;
      image:*)
        failed "$1: it is in image $value, this job runs in another: qsub -v CONTAINER_IMAGE=$value, sbatch --container-image=$value"
        return
        ;;
      nothing:*) said="$said, the image has it" ;;
      *)
        if [ "$language" = none ]; then
          failed "$1: a program cannot set $variable in this shell: use bash, or begin with '. \"\$MODULESHOME/init/sh\"' (csh: 'source \$MODULESHOME/init/csh')"
          return
        fi
        if [ "$kind" = prepend ]; then
          has_now "$variable"
          without "$list" "$value"
          give "$variable" "$value${left:+:$left}"
          said="$said, $value put in front of $variable"
        else
          give "$variable" "$value"
          said="$said, $variable set"
        fi
        ;;
    esac
  done <"$run/modules.$$"
  loaded=$loaded${loaded:+:}$1
  tell_once "$1: ${said#, }"
}

unload() {
  found=
  for one in $(printf %s "$loaded" | tr : ' '); do
    case $one in "$1" | "$1"/*) found=$one ;; esac
  done
  [ -n "$found" ] && find_key "$found" || return 0
  rows >"$run/modules.$$"
  while IFS=$tab read -r kind variable value; do
    case $kind in
      set) take "$variable" ;;
      prepend)
        has_now "$variable"
        without "$list" "$value"
        if [ -n "$left" ]; then give "$variable" "$left"; else take "$variable"; fi
        ;;
    esac
  done <"$run/modules.$$"
  without "$loaded" "$found"
  loaded=$left
}

show_list() {
  if [ -n "$loaded" ]; then
    echo 'Currently Loaded Modulefiles:' >&2
    printf '%s\n' "$loaded" | tr : '\n' | sed 's/^/  /' >&2
  else
    echo 'No Modulefiles Currently Loaded.' >&2
  fi
}

do_command() {
  command=${1:-help}
  [ $# = 0 ] || shift
  case $command in
    load | add | try-load | load-any)
      for one in "$@"; do
        case $one in -*) ;; *) load "$one" ;; esac
      done
      ;;
    unload | rm | remove | del) for one in "$@"; do unload "$one"; done ;;
    swap | switch | sw)
      unload "${1%%/*}"
      [ $# -lt 1 ] || { shift $(($# - 1)) && load "$1"; }
      ;;
    purge) for each in $(printf %s "$loaded" | tr : ' '); do unload "$each"; done ;;
    list | li) show_list ;;
    avail | av | spider | overview | keyword) cut -f 1 "$table" | uniq >&2 ;;
    is-loaded) case :$loaded: in *":$1:"* | *":$1/"*) ;; *) status=1 ;; esac ;;
    is-avail) find_key "$1" || status=1 ;;
    show | display | whatis | help)
      for one in "$@"; do
        if find_key "$one"; then rows | sed "s|^|$key: |" >&2; else failed "$one: not in this site's table of modules"; fi
      done
      ;;
    use | unuse | refresh | reset | restore | save | savelist | initadd | initrm | initclear | initlist | config | source | unsetenv | setenv)
      tell_once "$command $*: nothing is changed: here is only this site's table of modules"
      ;;
    *) failed "$command: no such command: expected load, unload, swap, purge, list, avail or show" ;;
  esac
}

while :; do
  case $called:$1 in
    *:--version | *:-V)
      echo 'module: of hpcbatch, by the site'"'"'s table' >&2
      exit
      ;;
    *:--*) shift ;;
    module:-*) shift ;;
    *) break ;;
  esac
done
case $called:$1 in
  ml:) do_command list ;;
  ml:load | ml:add | ml:unload | ml:rm | ml:swap | ml:switch | ml:purge | ml:list | ml:avail | ml:av | ml:spider | ml:show | ml:use | ml:unuse | \
    ml:reset | ml:restore | ml:save | ml:is-loaded | ml:is-avail | ml:whatis | ml:help | ml:display) do_command "$@" ;;
  ml:*)
    for each in "$@"; do
      case $each in
        -*) unload "${each#-}" ;;
        *) load "$each" ;;
      esac
    done
    ;;
  *) do_command "$@" ;;
esac
rm -f "$run/modules.$$"
[ "$loaded" = "$LOADEDMODULES" ] || give LOADEDMODULES "$loaded"
case $language in
  none) exit $status ;;
  *) [ $status = 0 ] || echo 'test 0 = 1;' ;;
esac
