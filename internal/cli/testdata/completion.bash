# Completion of shop for bash: source <(shop completion bash)
_shop() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= commands= flags= i
    if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
            " list"|" box"|" box open"|" box close"|" box send") at="$at ${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$at $prev" in
        " list --output"|" list -o") COMPREPLY=($(compgen -W "table json jsonl auto" -- "$cur")); return ;;
        " box send --by") COMPREPLY=($(compgen -W "train ship" -- "$cur")); return ;;
        " box send --to") COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]/#\~/$HOME}" complete towns "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)" -- "$cur")); return ;;
        " list --file") return ;; # a file name
    esac
    case "$at" in
        "") flags="--help -h"; commands="list box" ;;
        " list") flags="--help -h --output -o --quiet -q --all --no-all --file"; commands="" ;;
        " box") flags="--help -h"; commands="open close send" ;;
        " box open") flags="--help -h"; commands="gently fast" ;;
        " box close") flags="--help -h"; commands="" ;;
        " box send") flags="--help -h --by --to"; [[ $cur == -* ]] || commands="$("${COMP_WORDS[0]/#\~/$HOME}" complete boxes "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)" ;;
    esac
    if [[ $cur == -* ]]; then commands=$flags; fi
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
}
complete -o default -F _shop shop
