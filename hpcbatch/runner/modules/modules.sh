# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and start.sh
# `module` and `ml` where the image has none of its own: sourced by start.sh, adds to the arguments. To bash they come as exported
# functions, as from Environment Modules and Lmod; a script of another shell sources $MODULESHOME/init/sh (csh ...), or finds the
# programs, which cannot change its variables and say so. What they do is module.sh's.

# image_has_modules VARIABLE=VALUE...: or a volume of the site has them, as the variables say.
image_has_modules() {
  for entry in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh; do
    [ ! -r "$entry" ] || return 0
  done
  for entry in "$@"; do
    case $entry in
      LMOD_CMD=/* | MODULES_CMD=/*) is_program "${entry#*=}" && return 0 ;;
      MODULESHOME=/*) [ -r "${entry#*=}/init/sh" ] && return 0 ;;
    esac
  done
  command -v modulecmd >/dev/null 2>&1
}

# write_modules: the programs, and what a script may source.
write_modules() {
  set_quoted "$sh"
  call=$quoted
  set_quoted "$root/runner/module.sh"
  call="$call $quoted"
  for name in module ml; do
    printf '#!%s\nexec %s none %s "$@"\n' "$sh" "$call" "$name" >"$bin/$name"
  done
  for name in sh bash ksh zsh dash; do
    printf '%s() { eval "$(%s sh %s "$@")"; }\n' module "$call" module ml "$call" ml >"$run/modules/init/$name"
  done
  for name in csh tcsh; do
    for alias in module ml; do
      printf "alias %s 'set noglob; eval \`%s csh %s \\\\!*\`; unset noglob'\n" "$alias" "$sh $root/runner/module.sh" "$alias"
    done >"$run/modules/init/$name"
  done
}

if ! image_has_modules "$@" && write_modules; then
  for name in module ml; do
    set -- "$@" "BASH_FUNC_$name%%=() {  eval \"\$($call sh $name \"\$@\")\"; }"
  done
  # what was loaded where the job was submitted is not loaded here
  set -- "$@" "MODULESHOME=$run/modules" LOADEDMODULES=
fi
