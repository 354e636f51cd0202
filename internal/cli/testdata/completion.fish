# Completion of shop for fish: shop completion fish | source
function __shop_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case " list" " box" " box open" " box close" " box send" " pay" " pay cash" " pay never"
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c shop -n '__shop_at ""' -f -a list -d 'List "things"'
complete -c shop -n '__shop_at ""' -f -a box -d 'Boxes'
complete -c shop -n '__shop_at ""' -f -a pay -d 'Pay'
complete -c shop -n '__shop_at ""' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " list"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " list"' -l output -s o -x -a 'table json jsonl auto' -d 'How to print: table, json, or jsonl, a JSON value in each line'
complete -c shop -n '__shop_at " list"' -l quiet -s q -d 'Print ids only, one in each line'
complete -c shop -n '__shop_at " list"' -l all -d 'Show all'
complete -c shop -n '__shop_at " list"' -l no-all -d 'Show all'
complete -c shop -n '__shop_at " list"' -l file -r -d 'It'\''s a file'
complete -c shop -n '__shop_at " box"' -f -a open -d 'Open it'
complete -c shop -n '__shop_at " box"' -f -a close -d 'Close it'
complete -c shop -n '__shop_at " box"' -f -a send -d 'Send it'
complete -c shop -n '__shop_at " box"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " box open"' -f -a 'gently fast'
complete -c shop -n '__shop_at " box open"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " box close"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " box send"' -f -a '(shop complete --with-help boxes (commandline -cp | string collect) 2>/dev/null)'
complete -c shop -n '__shop_at " box send"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " box send"' -l by -x -a 'train ship' -d 'How it travels'
complete -c shop -n '__shop_at " box send"' -l to -x -a '(shop complete --with-help towns (commandline -cp | string collect) 2>/dev/null)' -d 'Where it goes'
complete -c shop -n '__shop_at " pay"' -f -a cash -d 'Pay cash'
complete -c shop -n '__shop_at " pay"' -f -a never -d 'Do not pay'
complete -c shop -n '__shop_at " pay"' -f -a '(shop complete --with-help coins (commandline -cp | string collect) 2>/dev/null)'
complete -c shop -n '__shop_at " pay"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " pay"' -l note -s n -x -a '(shop complete --with-help notes (commandline -cp | string collect) 2>/dev/null)' -d 'A note'
complete -c shop -n '__shop_at " pay cash"' -f -a '(shop complete --with-help coins (commandline -cp | string collect) 2>/dev/null)'
complete -c shop -n '__shop_at " pay cash"' -l help -s h -d 'Show context-sensitive help'
complete -c shop -n '__shop_at " pay cash"' -l note -s n -x -a '(shop complete --with-help notes (commandline -cp | string collect) 2>/dev/null)' -d 'A note'
complete -c shop -n '__shop_at " pay never"' -l help -s h -d 'Show context-sensitive help'
