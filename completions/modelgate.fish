# Completion of modelgate for fish, printed by: modelgate completion fish

# The command that the words before the cursor call.
function __modelgate_path
    set -l words (commandline -opc)
    set -l path ''
    set -l skip no
    for word in $words[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case -m --model -o --output --body --set --stdin-timeout --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --ca-file -s --system -a --attach --history --schema --safety --tool --contents --tools --tool-config --function-calling-mode --allowed-function-names --safety-settings --system-instruction --generation-config --temperature --top-p --top-k --max-output-tokens --stop-sequences --candidate-count --seed --response-mime-type --response-schema --response-json-schema --presence-penalty --frequency-penalty --logprobs --response-modalities --thinking-config --thinking-budget --thinking-level --image-config --aspect-ratio --image-size --speech-config --media-resolution --input --instructions --previous-response-id --conversation --metadata --top-logprobs --user --safety-identifier --prompt-cache-key --service-tier --reasoning --reasoning-effort --reasoning-summary --max-tool-calls --text --text-format --verbosity --tool-choice --prompt --truncation --include --stream-options --port --faults --latency
                set skip yes
            case '-*'
            case '*'
                switch "$path/$word"
                    case '/generate'
                        set path 'generate'
                    case '/respond'
                        set path 'respond'
                    case '/sandbox'
                        set path 'sandbox'
                    case '/schema'
                        set path 'schema'
                    case '/completion'
                        set path 'completion'
                    case '/help'
                        set path 'help'
                end
        end
    end
    echo $path
end

function __modelgate_is
    set -l path (__modelgate_path)
    test "$path" = "$argv"
end

# File names after an "@".
function __modelgate_at_files
    set -l word (commandline -ct)
    string match -q '@*' -- $word; or return
    for name in (__fish_complete_path (string sub -s 2 -- $word))
        echo "@$name"
    end
end

complete -c modelgate -f
complete -c modelgate -n '__modelgate_is ' -a generate -d 'Stream text, content-generation style'
complete -c modelgate -n '__modelgate_is ' -a respond -d 'Stream text, response-object style'
complete -c modelgate -n '__modelgate_is ' -a sandbox -d 'Run the local gateway that obeys the same contract'
complete -c modelgate -n '__modelgate_is ' -a schema -d 'Print the JSON Schema of what --json and --jsonl print'
complete -c modelgate -n '__modelgate_is ' -a completion -d 'Print a completion script for bash, zsh, fish or PowerShell'
complete -c modelgate -n '__modelgate_is ' -a help -d 'Show help for a command or a topic: exit-codes, environment'
complete -c modelgate -s V -l version -d 'print the version'
complete -c modelgate -s m -l model -r -f -d 'model to use'
complete -c modelgate -s o -l output -r -F -d 'write the result to a file'
complete -c modelgate -l json -d 'print one JSON document when done'
complete -c modelgate -l dry-run -d 'print the exact request and send nothing'
complete -c modelgate -l sandbox -d 'use the built-in local gateway: no key, no cost'
complete -c modelgate -l body -r -f -a '(__modelgate_at_files)' -d 'whole request body to start from: JSON, @file or @-'
complete -c modelgate -l set -r -f -d 'set any field of the body (repeatable)'
complete -c modelgate -l no-validate -d 'send without checking against the documented limits'
complete -c modelgate -l curl -d 'print the request as a curl command and send nothing'
complete -c modelgate -l force -d 'overwrite an existing file'
complete -c modelgate -l jsonl -d 'print one JSON event a line as things happen'
complete -c modelgate -l raw -d 'print the gateway\'s own JSON'
complete -c modelgate -l usage -d 'print the token counts on standard error'
complete -c modelgate -l strict -d 'treat an answer cut by the token limit as a failure (exit 9)'
complete -c modelgate -s q -l quiet -d 'no messages on standard error, except errors'
complete -c modelgate -l debug -d 'trace requests and replies on standard error, secrets hidden'
complete -c modelgate -l no-stdin -d 'do not read standard input'
complete -c modelgate -l stdin-timeout -r -f -d 'how long a silent pipe is waited for (10)'
complete -c modelgate -l no-input -d 'never ask; missing input is an error'
complete -c modelgate -l base-url -r -f -d 'address of the gateway'
complete -c modelgate -l api-key-file -r -F -d 'file that holds the key'
complete -c modelgate -l profile -r -f -d 'named profile of the configuration'
complete -c modelgate -l retry -r -f -a 'never safe always' -d 'what may be sent again: never, safe or always'
complete -c modelgate -l max-retries -r -f -d 'how often to send again (2)'
complete -c modelgate -l timeout -r -f -d 'limit for the whole request (none)'
complete -c modelgate -l connect-timeout -r -f -d 'limit for connecting (10)'
complete -c modelgate -l first-byte-timeout -r -f -d 'limit for the first byte (120 streamed, 600 not)'
complete -c modelgate -l idle-timeout -r -f -d 'limit between bytes (60)'
complete -c modelgate -l progress-timeout -r -f -d 'limit between meaningful events (300)'
complete -c modelgate -l ca-file -r -F -d 'certificate authority to trust (PEM)'
complete -c modelgate -l allow-http -d 'allow a clear-text base URL on another host'
complete -c modelgate -s h -l help -d 'show help'
complete -c modelgate -n '__modelgate_is generate' -s s -l system -r -f -a '(__modelgate_at_files)' -d 'system instruction as text, or @file'
complete -c modelgate -n '__modelgate_is generate' -s a -l attach -r -F -d 'attach a file, a URL, or - for standard input (repeatable)'
complete -c modelgate -n '__modelgate_is generate' -l history -r -f -a '(__modelgate_at_files)' -d 'earlier messages: JSON, @file or @-, the contents of a conversation'
complete -c modelgate -n '__modelgate_is generate' -l schema -r -F -d 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked'
complete -c modelgate -n '__modelgate_is generate' -l safety -r -f -d 'safety setting, such as harassment=BLOCK_NONE (repeatable)'
complete -c modelgate -n '__modelgate_is generate' -l tool -r -f -a '(__modelgate_at_files)' -d 'google_search, code_execution, url_context, or a function: @file, JSON (repeatable)'
complete -c modelgate -n '__modelgate_is generate' -l contents -r -f -a '(__modelgate_at_files)' -d 'conversation history'
complete -c modelgate -n '__modelgate_is generate' -l tools -r -f -a '(__modelgate_at_files)' -d 'tools available'
complete -c modelgate -n '__modelgate_is generate' -l tool-config -r -f -a '(__modelgate_at_files)' -d 'tool configuration'
complete -c modelgate -n '__modelgate_is generate' -l function-calling-mode -r -f -a 'AUTO ANY NONE VALIDATED' -d 'when functions are called (AUTO, ANY, NONE, VALIDATED)'
complete -c modelgate -n '__modelgate_is generate' -l allowed-function-names -r -f -d 'functions that may be called (repeatable)'
complete -c modelgate -n '__modelgate_is generate' -l safety-settings -r -f -a '(__modelgate_at_files)' -d 'safety settings'
complete -c modelgate -n '__modelgate_is generate' -l system-instruction -r -f -a '(__modelgate_at_files)' -d 'system instruction'
complete -c modelgate -n '__modelgate_is generate' -l generation-config -r -f -a '(__modelgate_at_files)' -d 'generation parameters'
complete -c modelgate -n '__modelgate_is generate' -l temperature -r -f -d 'randomness of the answer (0 to 2)'
complete -c modelgate -n '__modelgate_is generate' -l top-p -r -f -d 'nucleus sampling: share of probability kept (0 to 1)'
complete -c modelgate -n '__modelgate_is generate' -l top-k -r -f -d 'number of tokens considered at each step'
complete -c modelgate -n '__modelgate_is generate' -l max-output-tokens -r -f -d 'upper bound of tokens in an answer'
complete -c modelgate -n '__modelgate_is generate' -l stop-sequences -r -f -d 'texts that end the answer (up to 5) (repeatable)'
complete -c modelgate -n '__modelgate_is generate' -l candidate-count -r -f -d 'how many answers to generate (1 to 8)'
complete -c modelgate -n '__modelgate_is generate' -l seed -r -f -d 'seed for repeatable answers'
complete -c modelgate -n '__modelgate_is generate' -l response-mime-type -r -f -a 'text/plain application/json text/x.enum' -d 'media type of the answer (text/plain, application/json, text/x.enum)'
complete -c modelgate -n '__modelgate_is generate' -l response-schema -r -f -a '(__modelgate_at_files)' -d 'schema of the answer (OpenAPI subset)'
complete -c modelgate -n '__modelgate_is generate' -l response-json-schema -r -f -a '(__modelgate_at_files)' -d 'schema of the answer (JSON Schema)'
complete -c modelgate -n '__modelgate_is generate' -l presence-penalty -r -f -d 'penalty for tokens already used (-2 to 2)'
complete -c modelgate -n '__modelgate_is generate' -l frequency-penalty -r -f -d 'penalty that grows with each use of a token (-2 to 2)'
complete -c modelgate -n '__modelgate_is generate' -l response-logprobs -d 'return log probabilities; or --no-response-logprobs'
complete -c modelgate -n '__modelgate_is generate' -l logprobs -r -f -d 'how many log probabilities per token (0 to 20)'
complete -c modelgate -n '__modelgate_is generate' -l response-modalities -r -f -a 'TEXT IMAGE AUDIO' -d 'kinds of answer wanted (TEXT, IMAGE, AUDIO; repeatable)'
complete -c modelgate -n '__modelgate_is generate' -l thinking-config -r -f -a '(__modelgate_at_files)' -d 'thinking configuration'
complete -c modelgate -n '__modelgate_is generate' -l include-thoughts -d 'return summaries of the thoughts; or --no-include-thoughts'
complete -c modelgate -n '__modelgate_is generate' -l thinking-budget -r -f -d 'tokens for thinking (0 off, -1 the model decides)'
complete -c modelgate -n '__modelgate_is generate' -l thinking-level -r -f -a 'MINIMAL LOW MEDIUM HIGH' -d 'how much to think (MINIMAL, LOW, MEDIUM, HIGH)'
complete -c modelgate -n '__modelgate_is generate' -l image-config -r -f -a '(__modelgate_at_files)' -d 'configuration of generated images'
complete -c modelgate -n '__modelgate_is generate' -l aspect-ratio -r -f -d 'aspect ratio of images, such as 16:9'
complete -c modelgate -n '__modelgate_is generate' -l image-size -r -f -d 'size of images, such as 1K'
complete -c modelgate -n '__modelgate_is generate' -l speech-config -r -f -a '(__modelgate_at_files)' -d 'voice configuration of spoken answers'
complete -c modelgate -n '__modelgate_is generate' -l media-resolution -r -f -a 'MEDIA_RESOLUTION_LOW MEDIA_RESOLUTION_MEDIUM MEDIA_RESOLUTION_HIGH' -d 'resolution at which media input is read (MEDIA_RESOLUTION_LOW, MEDIA_RESOLUTION_MEDIUM, MEDIA_RESOLUTION_HIGH)'
complete -c modelgate -n '__modelgate_is generate' -a '(__modelgate_at_files)'
complete -c modelgate -n '__modelgate_is respond' -s a -l attach -r -F -d 'attach a file, a URL, or - for standard input (repeatable)'
complete -c modelgate -n '__modelgate_is respond' -l schema -r -F -d 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked'
complete -c modelgate -n '__modelgate_is respond' -l tool -r -f -a '(__modelgate_at_files)' -d 'web_search, code_interpreter, image_generation, file_search:ID, mcp:LABEL=URL, or @file, JSON (repeatable)'
complete -c modelgate -n '__modelgate_is respond' -l input -r -f -a '(__modelgate_at_files)' -d 'text, image or file input'
complete -c modelgate -n '__modelgate_is respond' -l instructions -r -f -d 'system or developer message; not carried over with --previous-response-id'
complete -c modelgate -n '__modelgate_is respond' -l previous-response-id -r -f -d 'id of the response to continue; not together with --conversation'
complete -c modelgate -n '__modelgate_is respond' -l conversation -r -f -a '(__modelgate_at_files)' -d 'conversation that input and output items are appended to'
complete -c modelgate -n '__modelgate_is respond' -l metadata -r -f -a '(__modelgate_at_files)' -d 'names and values kept with the response'
complete -c modelgate -n '__modelgate_is respond' -l top-logprobs -r -f -d 'log probabilities per token (0 to 20)'
complete -c modelgate -n '__modelgate_is respond' -l temperature -r -f -d 'randomness of the answer; adjust this or --top-p, not both (0 to 2; default 1)'
complete -c modelgate -n '__modelgate_is respond' -l top-p -r -f -d 'nucleus sampling: share of probability kept (0 to 1; default 1)'
complete -c modelgate -n '__modelgate_is respond' -l user -r -f -d 'end-user identifier (deprecated: use --safety-identifier and --prompt-cache-key)'
complete -c modelgate -n '__modelgate_is respond' -l safety-identifier -r -f -d 'stable end-user identifier; hash it'
complete -c modelgate -n '__modelgate_is respond' -l prompt-cache-key -r -f -d 'cache-grouping key'
complete -c modelgate -n '__modelgate_is respond' -l service-tier -r -f -a 'default scale' -d 'service tier (default, scale)'
complete -c modelgate -n '__modelgate_is respond' -l reasoning -r -f -a '(__modelgate_at_files)' -d 'reasoning configuration, for reasoning-capable models only'
complete -c modelgate -n '__modelgate_is respond' -l reasoning-effort -r -f -a 'none minimal low medium high xhigh' -d 'how much to reason (none, minimal, low, medium, high, xhigh)'
complete -c modelgate -n '__modelgate_is respond' -l reasoning-summary -r -f -a 'auto concise detailed' -d 'summary of the reasoning (auto, concise, detailed)'
complete -c modelgate -n '__modelgate_is respond' -l background -d 'run in the background (default false); or --no-background'
complete -c modelgate -n '__modelgate_is respond' -l max-output-tokens -r -f -d 'upper bound of visible and reasoning tokens'
complete -c modelgate -n '__modelgate_is respond' -l max-tool-calls -r -f -d 'built-in tool calls allowed in all'
complete -c modelgate -n '__modelgate_is respond' -l text -r -f -a '(__modelgate_at_files)' -d 'text output configuration: plain or structured'
complete -c modelgate -n '__modelgate_is respond' -l text-format -r -f -a '(__modelgate_at_files)' -d 'format of the answer'
complete -c modelgate -n '__modelgate_is respond' -l verbosity -r -f -a 'low medium high' -d 'length of the answer (low, medium, high)'
complete -c modelgate -n '__modelgate_is respond' -l tools -r -f -a '(__modelgate_at_files)' -d 'tools the model may use'
complete -c modelgate -n '__modelgate_is respond' -l tool-choice -r -f -a 'none auto required (__modelgate_at_files)' -d 'whether and which tool is called (none, auto, required)'
complete -c modelgate -n '__modelgate_is respond' -l prompt -r -f -a '(__modelgate_at_files)' -d 'prompt text'
complete -c modelgate -n '__modelgate_is respond' -l truncation -r -f -a 'auto disabled' -d 'what happens when the input exceeds the context window (auto, disabled; default disabled)'
complete -c modelgate -n '__modelgate_is respond' -l include -r -f -a 'code_interpreter_call.outputs computer_call_output.output.image_url file_search_call.results message.input_image.image_url message.output_text.logprobs reasoning.encrypted_content web_search_call.action.sources' -d 'extra output to return (repeatable)'
complete -c modelgate -n '__modelgate_is respond' -l parallel-tool-calls -d 'allow parallel tool calls (default true); or --no-parallel-tool-calls'
complete -c modelgate -n '__modelgate_is respond' -l store -d 'keep the response for later retrieval (default true); or --no-store'
complete -c modelgate -n '__modelgate_is respond' -l stream -d 'send server-sent events (default false); or --no-stream'
complete -c modelgate -n '__modelgate_is respond' -l stream-options -r -f -a '(__modelgate_at_files)' -d 'stream options; only while streaming'
complete -c modelgate -n '__modelgate_is respond' -l include-obfuscation -d 'pad events against traffic analysis; or --no-include-obfuscation'
complete -c modelgate -n '__modelgate_is respond' -a '(__modelgate_at_files)'
complete -c modelgate -n '__modelgate_is sandbox' -l port -r -f -d 'port on 127.0.0.1 (any free one)'
complete -c modelgate -n '__modelgate_is sandbox' -l faults -r -F -d 'fault rules: a YAML or JSON file'
complete -c modelgate -n '__modelgate_is sandbox' -l latency -r -f -d 'none, natural, or milliseconds between events (natural)'
complete -c modelgate -n '__modelgate_is sandbox' -l seed -r -f -d 'makes answers, ids and chances repeatable (1)'
complete -c modelgate -n '__modelgate_is schema' -a 'output events error'
complete -c modelgate -n '__modelgate_is completion' -a 'bash zsh fish powershell'
complete -c modelgate -n '__modelgate_is help' -a 'generate respond sandbox schema completion help exit-codes environment'
