# Completion of shop for bash: source <(shop completion bash)
_shop() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= commands= flags= i
    if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
            " list"|" box"|" box open"|" box close") at="$at ${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$at $prev" in
        " list --output"|" list -o") COMPREPLY=($(compgen -W "table json jsonl auto" -- "$cur")); return ;;
        " list --file") return ;; # a file name
    esac
    case "$at" in
        "") commands="list box" flags="--help -h" ;;
        " list") commands="" flags="--help -h --output -o --quiet -q --all --no-all --file" ;;
        " box") commands="open close" flags="--help -h" ;;
        " box open") commands="gently fast" flags="--help -h" ;;
        " box close") commands="" flags="--help -h" ;;
    esac
    if [[ $cur == -* ]]; then commands=$flags; fi
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
}
complete -o default -F _shop shop
