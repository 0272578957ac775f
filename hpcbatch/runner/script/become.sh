# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh
# `hold NAME=VALUE...`, then `become COMMAND...`: the shell becomes the command with exactly these variables. They never stand in
# argv, which everybody on the machine may read, and which `env NAME=VALUE` would show for a moment. Some are none that a shell can
# set (bash's exported functions), and some mean something to it (UID, IFS): GNU's env takes any from variables with other names.

# hold NAME=VALUE...: the later one of two equal names counts.
hold() {
  held=0 split=--
  signals=--default-signal=INT,QUIT # a shell without job control lets its background children ignore these two
  env=$HPCBATCH_ENV                 # the engine has tried it
  [ -x "$env" ] || find_env
  if [ -z "$split" ]; then
    (umask 077 && printf '%s\000' "$@" >"$run/held.$$" && entries "$run/held.$$" >"$run/held.$$.sh")
    return
  fi
  for entry in "$@"; do
    held=$((held + 1)) name=${entry%%=*}
    export "v$held=${entry#*=}"
    case $name in
      *[!A-Za-z0-9_%]*) name=\"$(printf %s "$name" | sed 's/[\\"$]/\\&/g')\" ;;
    esac
    split="$split $name=\${v$held}"
  done
}

# find_env: sets $env, $split and $signals, by what the image's takes.
find_env() {
  env=$(command -v env)
  case $env in
    /*) ;;
    *) [ ! -x /usr/bin/env ] || env=/usr/bin/env ;; # busybox's shell would take its own
  esac
  # shellcheck disable=SC2016
  v0=. "$env" -S "-i $signals -- "'a=${v0}' true 2>/dev/null || {
    v0=. "$env" -S '-i -- a=${v0}' true 2>/dev/null || split=
    "$env" $signals true 2>/dev/null || signals=
  }
}

become() {
  # shellcheck disable=SC2086
  [ -z "$split" ] || exec "$env" -i $signals -S "$split" "$@"
  # shellcheck disable=SC2086
  exec "$env" -i $signals "$sh" "$root/runner/exported.sh" "$env" "$run/held.$$" "$@"
}
