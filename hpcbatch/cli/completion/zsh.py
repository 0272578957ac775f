"""The script for zsh: a function of its fpath, which also works where it is read by `source`."""

from __future__ import annotations

from hpcbatch.cli.completion.paths import At, all_paths, kind, operand_kinds, quoted

_FUNCTIONS = r"""
# Completion for zsh, made by `hpcbatch completion zsh`.

# Completes the present word as the kind $1.
_hpcbatch_values() {
    local kind=$1 program=hpcbatch
    local -a found names
    if [[ $kind == dependency:* ]]; then
        compset -P '*[,?]'
        if ! compset -P '*:'; then
            names=(${(s:,:)${kind#dependency:}})
            compadd -S : -a names
            return
        fi
        kind=job
    fi
    case $kind in
    (file) _files ;;
    (directory) _files -/ ;;
    (command) _command_names -e ;;
    (text) _message value ;;
    (*)
        compset -P '*,'
        case $kind in
        (one-of:*) names=(${(s:,:)${kind#one-of:}}); compadd -a names ;;
        (user) _users ;;
        (*)
            if [[ ${words[1]} == */* ]]; then program=${words[1]:h}/hpcbatch; fi
            found=(${(f)"$("$program" complete $kind ${dialect:-slurm} 2>/dev/null)"})
            names=(${found%%$'\t'*})
            found=(${found//$'\t'/  })
            compadd -l -d found -a names
            ;;
        esac
        ;;
    esac
}

# The kind of the values of option $1, which has any in the way $2: `=`, or also `?`, where it may be missing.
_hpcbatch_kind_of() {
    local n
    for ((n = 1; n <= $#flags; n += 4)); do
        if [[ ${flags[n]} == "$1" && -n ${flags[n + 1]} && "$2" == *"${flags[n + 1]}"* ]]; then
            REPLY=${flags[n + 2]}
            return 0
        fi
    done
    return 1
}

_hpcbatch_complete() {
    local at=${words[1]:t} word=${words[CURRENT]} i=2 n place=1 is_over='' dialect REPLY
    local -a flags operands commands names shown
    _hpcbatch_line $at || return 1
    while ((i < CURRENT)); do
        case ${words[i]} in
        (--) is_over=1 ;;
        (-*)
            if _hpcbatch_kind_of "${words[i]}" '='; then
                if ((++i == CURRENT)); then _hpcbatch_values $REPLY; return; fi
            fi
            ;;
        (*)
            if ((${commands[(I)${(b)words[i]}:*]})); then
                at+=" ${words[i]}" place=1
                _hpcbatch_line $at
            else
                ((place++))
                if [[ ${operands[1]} == command ]]; then is_over=1; fi
            fi
            ;;
        esac
        ((i++))
    done
    if [[ $word == -* && -z $is_over ]]; then
        if [[ $word == --*=* ]]; then
            if _hpcbatch_kind_of "${word%%=*}" '=?'; then compset -P '*='; _hpcbatch_values $REPLY; fi
            return
        fi
        if [[ $word != --* && $#word -gt 2 ]] && _hpcbatch_kind_of "${word[1,2]}" '=?'; then
            compset -P '-?'
            _hpcbatch_values $REPLY
            return
        fi
        for ((n = 1; n <= $#flags; n += 4)); do
            names+=("${flags[n]}")
            shown+=("${flags[n]}  ${flags[n + 3]}")
        done
        compadd -l -d shown -a names
    elif (($#commands)); then
        _describe command commands
    elif (($#operands)); then
        ((place <= $#operands)) || place=$#operands
        _hpcbatch_values ${operands[place]}
    fi
}

# The options, operands and commands that may stand behind the words $1: of each option its name, `=` or `?` where it
# has a value, the kind of that, and what it does.
_hpcbatch_line() {
    case $1 in
"""
_END = """    (*) return 1 ;;
    esac
}

"""


def script() -> str:
    paths = all_paths()
    names = " ".join(at.path for at in paths if " " not in at.path)
    return "".join(
        [
            f"#compdef {names}\n",
            _FUNCTIONS,
            *map(_case, paths),
            _END,
            "if [[ $funcstack[1] == _hpcbatch ]]; then _hpcbatch_complete; "
            f"else compdef _hpcbatch_complete {names}; fi\n",
        ]
    )


def _case(at: At) -> str:
    line = at.line
    flags = [
        quoted(part)
        for flag in line.flags
        for name in flag.names
        for part in (name, flag.takes, kind(flag.word, flag.choices) if flag.takes else "", flag.about)
    ]
    commands = [quoted(f"{within.name}:{within.about}") for within in line.commands]
    operands = [quoted(each) for each in operand_kinds(line)]
    return (
        f"    ({quoted(at.path)})\n        dialect={quoted(at.dialect)} operands=({' '.join(operands)})\n"
        f"        commands=({' '.join(commands)})\n        flags=({' '.join(flags)}) ;;\n"
    )
