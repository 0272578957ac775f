"""The script for bash."""

from __future__ import annotations

from hpcbatch.cli.completion.paths import At, all_paths, kind, operand_kinds, quoted

_FUNCTIONS = r"""# Completion for bash, made by `hpcbatch completion bash`.

# Completes the word $2 as the kind $1, with $3 before it in the answer.
_hpcbatch_values() {
    local kind=$1 word=$2 before=$3 program=hpcbatch value rest
    case $kind in
    file) mapfile -t COMPREPLY < <(compgen -P "$before" -f -- "$word"); compopt -o filenames 2>/dev/null ;;
    directory) mapfile -t COMPREPLY < <(compgen -P "$before" -d -- "$word"); compopt -o filenames 2>/dev/null ;;
    command) mapfile -t COMPREPLY < <(compgen -P "$before" -c -- "$word") ;;
    text) ;;
    *)
        # lists: what stands behind the last comma
        if [[ $word == *,* ]]; then before+=${word%,*},; word=${word##*,}; fi
        case $kind in
        one-of:*) mapfile -t COMPREPLY < <(IFS=,; compgen -P "$before" -W "${kind#one-of:}" -- "$word") ;;
        user) mapfile -t COMPREPLY < <(compgen -P "$before" -u -- "$word") ;;
        *)
            if [[ ${COMP_WORDS[0]} == */* ]]; then program=${COMP_WORDS[0]%/*}/hpcbatch; fi
            while IFS=$'\t' read -r value rest; do
                if [[ $value == "$word"* ]]; then COMPREPLY+=("$before$value"); fi
            done < <("$program" complete "$kind" "${dialect:-slurm}" 2>/dev/null)
            ;;
        esac
        ;;
    esac
}

# The kind of the values of option $1, which has any in the way $2: `=`, or also `?`, where it may be missing.
_hpcbatch_kind_of() {
    local flag
    for flag in $flags; do
        if [[ $flag == "$1"[$2]* && ${flag%%[=?]*} == "$1" ]]; then
            REPLY=${flag#*[=?]}
            return 0
        fi
    done
    return 1
}

_hpcbatch() {
    local flags operands commands dialect path=${COMP_WORDS[0]##*/} word=${COMP_WORDS[COMP_CWORD]}
    local i=1 place=0 is_over='' REPLY='' flag
    COMPREPLY=()
    _hpcbatch_line "$path" || return
    while ((i < COMP_CWORD)); do
        case ${COMP_WORDS[i]} in
        --) is_over=1 ;;
        -*)
            if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then
                if ((i + 2 >= COMP_CWORD)); then
                    if [[ $word == '=' ]]; then word=''; fi
                    if _hpcbatch_kind_of "${COMP_WORDS[i]}" '=?'; then _hpcbatch_values "$REPLY" "$word"; fi
                    return
                fi
                ((i += 2))
            elif _hpcbatch_kind_of "${COMP_WORDS[i]}" '='; then
                if ((++i == COMP_CWORD)); then _hpcbatch_values "$REPLY" "$word"; return; fi
            fi
            ;;
        *)
            if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
                path+=" ${COMP_WORDS[i]}" place=0
                _hpcbatch_line "$path"
            else
                ((place++))
                if [[ $operands == 'command '* ]]; then is_over=1; fi
            fi
            ;;
        esac
        ((i++))
    done
    if [[ $word == -* && ! $is_over ]]; then
        if [[ $word != --* && ${#word} -gt 2 ]] && _hpcbatch_kind_of "${word:0:2}" '=?'; then
            _hpcbatch_values "$REPLY" "${word:2}" "${word:0:2}"
            return
        fi
        for flag in $flags; do
            if [[ $flag == "$word"* ]]; then
                case $flag in
                --*=*) COMPREPLY+=("${flag%%=*}=") ;;
                *) COMPREPLY+=("${flag%%[=?]*}") ;;
                esac
            fi
        done
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
        return
    fi
    if [[ $commands ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    else
        local kinds
        read -ra kinds <<<"$operands"
        if ((${#kinds[@]})); then
            ((place < ${#kinds[@]})) || place=$((${#kinds[@]} - 1))
            _hpcbatch_values "${kinds[place]}" "$word"
        fi
    fi
}

# The options, operands and commands that may stand behind the words $1.
_hpcbatch_line() {
    case $1 in
"""
_END = """    *) return 1 ;;
    esac
}

"""


def script() -> str:
    paths = all_paths()
    names = " ".join(at.path for at in paths if " " not in at.path)
    return "".join([_FUNCTIONS, *map(_case, paths), _END, f"complete -F _hpcbatch {names}\n"])


def _case(at: At) -> str:
    line = at.line
    flags = [
        f"{name}{flag.takes}{kind(flag.word, flag.choices) if flag.takes else ''}"
        for flag in line.flags
        for name in flag.names
    ]
    parts = {
        "dialect": at.dialect,
        "flags": " ".join(flags),
        "operands": " ".join(operand_kinds(line)),
        "commands": " ".join(within.name for within in line.commands),
    }
    return f"    {quoted(at.path)}) {' '.join(f'{name}={quoted(value)}' for name, value in parts.items())} ;;\n"
