# shellcheck shell=sh
# shellcheck disable=SC2034 # $option, $value and $taken are for the launchers
# How all launchers read their options. Each says which it has, and what it says of others:
#   takes_of WORD           sets $takes of an option by its own name, `-n`, `--nodes`, and may give $option another name:
#     flag                  it has no value, and what follows in the same word are more such letters, as getopt has it
#     alone                 it has no value, and is a word of its own
#     value                 its value is the rest of the word, or else the next word
#     next                  its value is the next word
#     maybe                 its value is the rest of the word, if there is one
#     end                   with it the options end
#     operand               it is no option, though it begins with -
#     nothing               there is no such option
#   unknown WORD OPTION, valueless OPTION, excess OPTION
#                           reports one that is none, lacks its value, or has one that it must not have. Where valueless does not
#                           exit, the value is empty.

# next_option WORD...: sets $option and its $value, and $taken to how many of the words the caller has to leave behind. Fails at
# what is no option.
letters=
next_option() {
  word=${letters:-${1-}} value='' taken=1 letters=
  case $word in
    --?*) option=${word%%=*} ;;
    -?*) option=$word ;;
    *) taken=0 && return 1 ;;
  esac
  given=$option
  takes_of "$given"
  case $takes:$word in
    flag:--*=*) excess "$option" ;;
    value:--*=* | maybe:--*=*) value=${word#*=} ;;
    value:* | next:*) value_of_next "$@" ;;
    end:*) return 1 ;;
    operand:*) taken=0 && return 1 ;;
    :--*) unknown "$word" "$given" ;;
    :*) glued ;;
  esac
}

value_of_next() {
  if [ $# -gt 1 ]; then
    value=$2 taken=2
  else
    valueless "$given"
  fi
}

# glued: of $word, an option and more, `-n4`; its name is of three characters, or of two
glued() {
  for given in "${word%"${word#???}"}" "${word%"${word#??}"}"; do
    option=$given
    [ "$given" = "$word" ] || takes_of "$given"
    case $takes in
      value | maybe) value=${word#"$given"} && return ;;
      flag) letters=-${word#"$given"} taken=0 && return ;;
    esac
  done
  unknown "$word" "$given"
}
