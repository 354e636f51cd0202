# Completion of shop for bash: source <(shop completion bash)
_shop() {
    COMPREPLY=()
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= commands= flags= split= i last=$COMP_CWORD
    if [[ $cur == ":=" || $prev == ":=" ]]; then return; fi # JSON
    if [[ $cur == "=" || $prev == "=" ]]; then # bash splits --flag=VALUE and NAME=VALUE
        if [[ $cur == "=" ]]; then cur=; else ((last--)); fi
        prev=${COMP_WORDS[last-1]}
        if [[ $prev != -* ]]; then
            prev=${COMP_WORDS[last-2]} split=--split
            if [[ $prev == "=" ]]; then prev=${COMP_WORDS[last-3]}; fi
        fi
        if [[ $prev != -* ]]; then return; fi
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
            " list"|" box"|" box open"|" box close"|" box send"|" pay"|" pay cash"|" pay never") at="$at ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$at $prev" in
        " list --output"|" list -o") COMPREPLY=($(compgen -W "table json jsonl auto" -- "$cur")); return ;;
        " box send --by") COMPREPLY=($(compgen -W "train ship" -- "$cur")); return ;;
        " box send --to") COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]/#\~/$HOME}" complete towns $split "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)" -- "$cur")); [[ $COMPREPLY == *[=.] ]] && compopt -o nospace 2>/dev/null; return ;;
        " pay --note"|" pay -n"|" pay cash --note"|" pay cash -n") COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]/#\~/$HOME}" complete notes $split "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)" -- "$cur")); [[ $COMPREPLY == *[=.] ]] && compopt -o nospace 2>/dev/null; return ;;
        " list --file") return ;; # a file name
    esac
    case "$at" in
        "") flags="--help -h"; commands="list box pay" ;;
        " list") flags="--help -h --output -o --quiet -q --all --no-all --file"; commands="" ;;
        " box") flags="--help -h"; commands="open close send" ;;
        " box open") flags="--help -h"; commands="gently fast" ;;
        " box close") flags="--help -h"; commands="" ;;
        " box send") flags="--help -h --by --to"; [[ $cur == -* ]] || commands="$("${COMP_WORDS[0]/#\~/$HOME}" complete boxes $split "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)" ;;
        " pay") flags="--help -h --note -n"; [[ $cur == -* ]] || commands="$("${COMP_WORDS[0]/#\~/$HOME}" complete coins $split "${COMP_LINE:0:COMP_POINT}" 2>/dev/null) cash never" ;;
        " pay cash") flags="--help -h --note -n"; [[ $cur == -* ]] || commands="$("${COMP_WORDS[0]/#\~/$HOME}" complete coins $split "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)" ;;
        " pay never") flags="--help -h"; commands="" ;;
    esac
    if [[ $cur == -* ]]; then commands=$flags; fi
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
}
complete -o default -F _shop shop
