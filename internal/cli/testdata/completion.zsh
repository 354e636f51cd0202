#compdef shop
# Completion of shop for zsh: source <(shop completion zsh), or write it to a file _shop of a folder in fpath.
_shop_ask() {
    local line tab=$'\t'
    found=() unfinished=()
    for line in ${(f)"$("${words[1]/#\~/$HOME}" complete --with-help $1 "${words[1,CURRENT]}" 2>/dev/null)"}; do
        word=${${line%%$tab*}//:/\\:}
        if [[ $line == *$tab* ]]; then word+=":${line#*$tab}"; fi
        if [[ ${line%%$tab*} == *[=.] ]]; then unfinished+=("$word"); else found+=("$word"); fi
    done
}
_shop() {
    local at= word prev=${words[CURRENT-1]}
    local -a commands flags found unfinished
    if [[ $PREFIX == --*=* ]]; then # --flag=VALUE
        prev=${PREFIX%%=*}
        compset -P "$prev="
    fi
    for word in ${words[2,CURRENT-1]}; do
        case "$at $word" in
            " list"|" box"|" box open"|" box close"|" box send"|" pay"|" pay cash"|" pay never") at="$at $word" ;;
        esac
    done
    case "$at $prev" in
        " list --output"|" list -o") compadd -- table json jsonl auto; return ;;
        " box send --by") compadd -- train ship; return ;;
        " box send --to") _shop_ask towns; _describe value found; _describe value unfinished -S ''; return ;;
        " pay --note"|" pay -n"|" pay cash --note"|" pay cash -n") _shop_ask notes; _describe value found; _describe value unfinished -S ''; return ;;
        " list --file") _files; return ;;
    esac
    case "$at" in
        "")
            commands=( 'list:List "things"' 'box:Boxes' 'pay:Pay' )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' ) ;;
        " list")
            commands=( )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' '--output:How to print: table, json, or jsonl, a JSON value in each line' '-o:How to print: table, json, or jsonl, a JSON value in each line' '--quiet:Print ids only, one in each line' '-q:Print ids only, one in each line' '--all:Show all' '--no-all:Show all' '--file:It'\''s a file' ) ;;
        " box")
            commands=( 'open:Open it' 'close:Close it' 'send:Send it' )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' ) ;;
        " box open")
            commands=( 'gently' 'fast' )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' ) ;;
        " box close")
            commands=( )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' ) ;;
        " box send")
            [[ $PREFIX == -* ]] || _shop_ask boxes
            commands=( "${found[@]}" )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' '--by:How it travels' '--to:Where it goes' ) ;;
        " pay")
            [[ $PREFIX == -* ]] || _shop_ask coins
            commands=( 'cash:Pay cash' 'never:Do not pay' "${found[@]}" )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' '--note:A note' '-n:A note' ) ;;
        " pay cash")
            [[ $PREFIX == -* ]] || _shop_ask coins
            commands=( "${found[@]}" )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' '--note:A note' '-n:A note' ) ;;
        " pay never")
            commands=( )
            flags=( '--help:Show context-sensitive help' '-h:Show context-sensitive help' ) ;;
    esac
    if [[ $PREFIX == -* ]]; then
        _describe flag flags
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _shop "$@"; else compdef _shop shop; fi
