"""The script for bash."""

from __future__ import annotations

from hpcbatch.cli.completion.paths import At, all_paths, kind, operand_kinds, quoted

_FUNCTIONS = r"""# Completion for bash, made by `hpcbatch completion bash`.

# Sets $words, those before the cursor, and joins what readline parts at `:` and `=`. $fixed is the part of the last
# word that readline keeps, so that it must not stand in the answers.
_hpcbatch_words() {
    local rest=${COMP_LINE:0:COMP_POINT} i word blanks
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blanks=${rest%%[![:space:]]*} word=${COMP_WORDS[i]}
        rest=${rest#"$blanks"}
        if ((i == COMP_CWORD)); then word=$rest; fi
        if ((i > 1)) && [[ ! $blanks && ($word == [:=]* || ${words[-1]} == *[:=]) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#"$word"}
    done
    if [[ $word == [:=] ]]; then word=''; fi
    fixed=${words[-1]%"$word"}
}

# Completes the word $2 as the kind $1, with $3 before it in the answer.
_hpcbatch_values() {
    local kind=$1 word=$2 before=$3 program=hpcbatch value rest last
    case $kind in
    dependency:*)
        last=${word##*[,?]}
        if [[ $last == *:* ]]; then
            kind=job before+=${word%"${last##*:}"} word=${last##*:}
        else
            mapfile -t COMPREPLY < <(IFS=,; compgen -P "$before${word%"$last"}" -S : -W "${kind#*:}" -- "$last")
            compopt -o nospace 2>/dev/null
            return
        fi
        ;;
    esac
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
            if [[ ${words[0]} == */* ]]; then program=${words[0]%/*}/hpcbatch; fi
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
    local words fixed index
    _hpcbatch_words
    COMPREPLY=()
    _hpcbatch_answer "${words[-1]}"
    for index in "${!COMPREPLY[@]}"; do COMPREPLY[index]=${COMPREPLY[index]#"$fixed"}; done
}

# Completes the word $1, the last of $words.
_hpcbatch_answer() {
    local flags operands commands dialect path=${words[0]##*/} word=$1 last=$((${#words[@]} - 1))
    local i=1 place=0 is_over='' REPLY='' flag
    _hpcbatch_line "$path" || return
    while ((i < last)); do
        case ${words[i]} in
        --) is_over=1 ;;
        -*)
            if _hpcbatch_kind_of "${words[i]}" '='; then
                if ((++i == last)); then _hpcbatch_values "$REPLY" "$word"; return; fi
            fi
            ;;
        *)
            if [[ " $commands " == *" ${words[i]} "* ]]; then
                path+=" ${words[i]}" place=0
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
        if [[ $word == --*=* ]]; then
            if _hpcbatch_kind_of "${word%%=*}" '=?'; then _hpcbatch_values "$REPLY" "${word#*=}" "${word%%=*}="; fi
            return
        fi
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
