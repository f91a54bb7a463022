# Completion of modelgate for fish, printed by: modelgate completion fish

# Sets $__modelgate_words to what can stand at the cursor. Fails where fish is to complete the name of a file.
function __modelgate_ask
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -g __modelgate_words
    type -q -- $words[1]; or return 0
    set __modelgate_words ($words[1] __complete fish $words[2..-1] "$typed" 2>/dev/null </dev/null)
    # After a tab: what stands before the name. fish looks for one alone and behind "=", not behind "@" and "-o".
    set -l before (string match -r '^\t(.*)' -- "$__modelgate_words[1]")[2]; or return 0
    string match -qr '^$|=$' -- "$before"; and return 1
    set __modelgate_words
    for name in (__fish_complete_path (string sub -s (math (string length -- $before) + 1) -- "$typed"))
        set -a __modelgate_words $before$name
    end
end

complete -c modelgate -e
complete -c modelgate -n __modelgate_ask -f -k -a '$__modelgate_words'
