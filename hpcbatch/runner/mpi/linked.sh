# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and processes.sh
# Programs that are linked to another MPI than their mpirun belongs to, known by the files alone: their ranks may die before anybody
# has looked at them. What is found stands in $run/linked. It is reported of a job that has failed, since two versions of Open MPI
# may well understand each other.

linked_seen=' '

# look_at_links: at the launchers that the last `look` saw, each until it is known: it may be a wrapper that has yet to become it.
look_at_links() {
  for launcher in $launchers; do
    case $linked_seen in
      *" $launcher "*" $launcher "*" $launcher "*" $launcher "*) continue ;;
    esac
    linked_seen="$linked_seen$launcher  "
    ! keep_launcher "$launcher" || compare_links "$run/launcher"
    rm -rf "$run/launcher"
    [ -z "$launched_with" ] || linked_seen="$linked_seen$launcher  $launcher  $launcher  "
  done
}

# keep_launcher PID: what is to be known of it, at once: it may be gone before that has been looked into.
keep_launcher() {
  launched_with=
  (
    umask 077
    mkdir "$run/launcher" && cd "$run/launcher" && cp -P "/proc/$1/exe" "/proc/$1/cwd" . || exit
    for file in cmdline environ maps; do cat "/proc/$1/$file" >$file || exit; done
  ) 2>/dev/null
}

# compare_links DIRECTORY: of a launcher, in /proc or as ssh.sh has kept it. The first finding of a job counts.
compare_links() {
  launched_with=known
  [ ! -s "$run/linked" ] || return 0
  launcher_file=$(readlink "$1/exe" 2>/dev/null)
  name_library "$launcher_file $(grep -oE '/lib(open-rte|prrte)\.so[.0-9]*' "$1/maps" 2>/dev/null)"
  launched_with=$library
  [ -n "$launched_with" ] || return 0
  their_path=$(tr '\000' '\012' <"$1/environ" 2>/dev/null | sed -n 's/^PATH=//p')
  their_libraries=$(tr '\000' '\012' <"$1/environ" 2>/dev/null | sed -n 's/^LD_LIBRARY_PATH=//p')
  tr '\000' '\012' <"$1/cmdline" 2>/dev/null | while IFS= read -r word; do
    find_program "$1" "$word" || continue
    links=$(LD_LIBRARY_PATH=$their_libraries ldd "$file" 2>/dev/null)
    case $links in *libmpi*) ;; *) continue ;; esac # one that starts others, or no program at all
    name_library "$links"
    linked_file=$(printf '%s\n' "$links" | sed -n 's/.*libmpi[a-z_]*\.so[.0-9]* => \([^ ]*\).*/\1/p' | head -n 1)
    if [ -n "$library" ] && [ "$library" != "$launched_with" ]; then
      text="$word is linked to $library ($linked_file), the mpirun that started it is $launched_with's ($launcher_file)"
      printf %s "$text" | tr -d '[:cntrl:]' | cut -c1-500 >"$run/linked"
    fi
    break
  done
}

# find_program DIRECTORY WORD: sets $file where the launcher of that directory would find such a program.
find_program() {
  file=
  case $2 in
    '' | -*) return 1 ;;
    /*) file=$2 ;;
    */*) file=$1/cwd/$2 ;;
    *)
      left=$their_path:
      while [ -n "$left" ]; do
        file=${left%%:*}/$2 left=${left#*:}
        ! is_program "$file" || break
      done
      ;;
  esac
  is_program "$file"
}

# name_library TEXT: sets $library to whose the libraries or the launcher in it are. One that speaks with any launcher, or is not
# known, is empty.
name_library() {
  library=
  case $1 in
    *libprrte.so* | *libopen-pal.so.80*) library='Open MPI 5' ;;
    *libopen-rte.so.40* | *libopen-pal.so.40*) library='Open MPI 3 or 4' ;;
    *libopen-*) library='Open MPI 1 or 2' ;;
    *libpmix.so*) ;;
    *hydra* | *libmpi.so.12* | *libmpich.so*) library='MPICH or Intel MPI' ;;
  esac
}

# tell_of_links: at the end of a job that has failed: adds to $warning, and reports it in stderr.
tell_of_links() {
  for directory in "$run"/launched.*; do
    [ ! -d "$directory" ] || compare_links "$directory"
  done
  { read -r linked <"$run/linked"; } 2>/dev/null || [ -n "${linked:-}" ] || return 0
  case $warning in *' MPI worlds of one rank'*) return 0 ;; esac # which says the same
  warning="${warning:+$warning; }$linked"
  [ -z "$error_file" ] || echo "hpcbatch: warning: $linked" >>"$error_file"
}
