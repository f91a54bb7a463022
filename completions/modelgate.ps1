# Completion of modelgate for PowerShell, printed by: modelgate completion powershell
Register-ArgumentCompleter -Native -CommandName modelgate -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # Commands and options by the words that lead to them, each with what the help says.
    $commands = @{
        '' = [ordered]@{
            'generate' = 'Stream text, content-generation style'
            'respond' = 'Stream text, response-object style'
            'chat' = 'Talk with a model on a terminal'
            'response' = 'Go on with responses that run in the background'
            'image' = 'Create and edit images, into files'
            'video' = 'Make videos: start jobs, wait for them, save them'
            'sandbox' = 'Run the local gateway that obeys the same contract'
            'inspect' = 'Show what a file is, its content credentials, and the call that made it'
            'usage' = 'Add up what was created, and what it cost by your prices'
            'init' = 'Set up gateway, key and models, or look around first'
            'again' = 'Send the request of an earlier call once more, changed by flags'
            'log' = 'Show what was called: prompts, answers, files, usage'
            'models' = 'Show the known models and their limits, or those of the gateway'
            'auth' = 'Store, show and remove the key'
            'config' = 'Show and change the settings'
            'doctor' = 'Find out what is wrong with the set-up, and what to do about it'
            'schema' = 'Print the JSON Schema of the --json and --jsonl output'
            'completion' = 'Print a completion script for bash, zsh, fish or PowerShell'
            'help' = 'Show help for a command or a topic; all of it as data with --json'
        }
        'response' = [ordered]@{
            'status' = 'Look up a background response'
            'wait' = 'Wait for a background response and print its answer'
            'cancel' = 'Stop a background response'
            'list' = 'The background responses that this machine has started'
        }
        'image' = [ordered]@{
            'create' = 'Draw images from a prompt, into files'
            'edit' = 'Change images by a prompt, into new files'
        }
        'video' = [ordered]@{
            'generate' = 'Make videos from a prompt and pictures'
            'remix' = 'Make a video from a finished one, with one change'
            'status' = 'Look up a job: a video or an operation'
            'wait' = 'Wait for a job and save its videos'
            'list' = 'The jobs that this machine has started'
        }
        'log' = [ordered]@{
            'show' = 'All of one call: request, answer, files'
            'clear' = 'Forget calls'
        }
        'auth' = [ordered]@{
            'login' = 'Store the key of a profile, readable for you alone'
            'status' = 'Show which key is used, and where it comes from'
            'logout' = 'Remove a stored key'
        }
        'config' = [ordered]@{
            'list' = 'Show the settings in use, and where each comes from'
            'get' = 'Print the value of one setting'
            'set' = 'Change a setting in your own file'
            'unset' = 'Remove a setting from your own file'
            'path' = 'Show where files are looked for and kept'
            'edit' = 'Open your own file in an editor, and check it'
            'schema' = 'Print the JSON Schema of configuration files'
        }
    }
    $flags = @{
        '' = [ordered]@{
            '--version' = 'print the version'
            '--model' = 'model to use'
            '--output' = 'write the result to a file'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--body' = 'whole request body to start from: JSON, @file or @-'
            '--set' = 'set any field of the body (repeatable)'
            '--no-validate' = 'send without checking against the documented limits'
            '--curl' = 'print the request as a curl command and send nothing'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--usage' = 'print the token counts on standard error, and the cost if prices are known'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--stdin-timeout' = 'how long a silent pipe is waited for (180)'
            '--no-input' = 'never ask; missing input is an error'
            '--max-creates' = 'create at most so many texts, images or videos'
            '--max-cost' = 'stop at this estimated cost of all calls since midnight'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'generate' = [ordered]@{
            '--system' = 'system instruction as text, or @file'
            '--attach' = 'attach a file, a URL, or - for standard input (repeatable)'
            '--continue' = 'go on with the last exchange of this terminal, else of this folder'
            '--conversation-file' = 'keep the conversation in a file, to edit, copy and go on with'
            '--history' = 'earlier messages: chat messages or contents as JSON, @file, @- or a file name'
            '--tool-output' = 'what a function that --history calls returned: NAME=JSON or ID=JSON, =@file, =@- (repeatable)'
            '--schema' = 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked'
            '--safety' = 'safety setting, such as harassment=BLOCK_NONE (repeatable)'
            '--tool' = 'google_search, code_execution, url_context, google_maps, or a function or whole tool: @file, JSON (repeatable)'
            '--render' = 'show Markdown: auto (on a terminal), always or never'
            '--extract' = 'print only the first fenced code, of that language'
            '--contents' = 'conversation history'
            '--tools' = 'tools available'
            '--tool-config' = 'tool configuration'
            '--function-calling-mode' = 'when functions are called (AUTO, ANY, NONE, VALIDATED)'
            '--allowed-function-names' = 'functions that may be called (repeatable)'
            '--safety-settings' = 'safety settings'
            '--system-instruction' = 'system instruction'
            '--generation-config' = 'generation parameters'
            '--temperature' = 'randomness of the answer (0 to 2)'
            '--top-p' = 'nucleus sampling: share of probability kept (0 to 1)'
            '--top-k' = 'number of tokens considered at each step'
            '--max-output-tokens' = 'upper bound of tokens in an answer'
            '--stop-sequences' = 'texts that end the answer (up to 5) (repeatable)'
            '--candidate-count' = 'how many answers to generate (1 to 8)'
            '--seed' = 'seed for repeatable answers'
            '--response-mime-type' = 'media type of the answer (text/plain, application/json, text/x.enum)'
            '--response-schema' = 'schema of the answer (OpenAPI subset)'
            '--response-json-schema' = 'schema of the answer (JSON Schema)'
            '--presence-penalty' = 'penalty for tokens already used (-2 to 2)'
            '--frequency-penalty' = 'penalty that grows with each use of a token (-2 to 2)'
            '--response-logprobs' = 'return log probabilities; or --no-response-logprobs'
            '--logprobs' = 'how many log probabilities per token (0 to 20)'
            '--response-modalities' = 'kinds of answer wanted (TEXT, IMAGE, AUDIO; repeatable)'
            '--thinking-config' = 'thinking configuration'
            '--include-thoughts' = 'return summaries of the thoughts; or --no-include-thoughts'
            '--thinking-budget' = 'tokens for thinking (0 off, -1 the model decides)'
            '--thinking-level' = 'how much to think (MINIMAL, LOW, MEDIUM, HIGH)'
            '--image-config' = 'configuration of generated images'
            '--aspect-ratio' = 'aspect ratio of images, such as 16:9'
            '--image-size' = 'size of images, such as 1K'
            '--speech-config' = 'voice configuration of spoken answers'
            '--media-resolution' = 'resolution at which media input is read (MEDIA_RESOLUTION_LOW, MEDIA_RESOLUTION_MEDIUM, MEDIA_RESOLUTION_HIGH)'
        }
        'respond' = [ordered]@{
            '--attach' = 'attach a file, a URL, or - for standard input (repeatable)'
            '--continue' = 'go on with the last exchange of this terminal, else of this folder'
            '--conversation-file' = 'keep the conversation in a file, to edit, copy and go on with'
            '--schema' = 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked'
            '--history' = 'earlier messages: chat messages or input items as JSON, @file, @- or a file name'
            '--tool-output' = 'what a tool returned: CALL_ID=TEXT, =@file or =@- (repeatable); no prompt needed'
            '--custom-tool-output' = 'the same for a call of a custom tool (repeatable)'
            '--approve' = 'approve the call of a remote tool (repeatable)'
            '--deny' = 'deny the call of a remote tool: ID or ID=REASON (repeatable)'
            '--tool' = 'web_search, web_search_preview, image_generation, code_interpreter, local_shell, file_search:ID[,ID], mcp:LABEL=URL, connector:LABEL=ID, or a function or whole tool: @file, JSON (repeatable)'
            '--render' = 'show Markdown: auto (on a terminal), always or never'
            '--extract' = 'print only the first fenced code, of that language'
            '--input' = 'text, image or file input'
            '--instructions' = 'system or developer message; not carried over with --previous-response-id'
            '--previous-response-id' = 'id of the response to continue; not together with --conversation'
            '--conversation' = 'conversation that input and output items are appended to'
            '--metadata' = 'names and values kept with the response'
            '--top-logprobs' = 'log probabilities per token (0 to 20)'
            '--temperature' = 'randomness of the answer; adjust this or --top-p, not both (0 to 2; default 1)'
            '--top-p' = 'nucleus sampling: share of probability kept (0 to 1; default 1)'
            '--user' = 'end-user identifier (deprecated: use --safety-identifier and --prompt-cache-key)'
            '--safety-identifier' = 'stable end-user identifier; hash it'
            '--prompt-cache-key' = 'cache-grouping key'
            '--service-tier' = 'service tier (default, scale)'
            '--reasoning' = 'reasoning configuration, for reasoning-capable models only'
            '--reasoning-effort' = 'how much to reason (none, minimal, low, medium, high, xhigh)'
            '--reasoning-summary' = 'summary of the reasoning (auto, concise, detailed)'
            '--background' = 'run in the background (default false); or --no-background'
            '--max-output-tokens' = 'upper bound of visible and reasoning tokens'
            '--max-tool-calls' = 'built-in tool calls allowed in all'
            '--text' = 'text output configuration: plain or structured'
            '--text-format' = 'format of the answer'
            '--verbosity' = 'length of the answer (low, medium, high)'
            '--tools' = 'tools the model may use'
            '--tool-choice' = 'whether and which tool is called (none, auto, required)'
            '--prompt' = 'prompt text'
            '--truncation' = 'what happens when the input exceeds the context window (auto, disabled; default disabled)'
            '--include' = 'extra output to return (repeatable)'
            '--parallel-tool-calls' = 'allow parallel tool calls (default true); or --no-parallel-tool-calls'
            '--store' = 'keep the response for later retrieval (default true); or --no-store'
            '--stream' = 'send server-sent events (default true, false with --background); or --no-stream'
            '--stream-options' = 'stream options; only while streaming'
            '--include-obfuscation' = 'pad events against traffic analysis; or --no-include-obfuscation'
        }
        'chat' = [ordered]@{
            '--style' = 'respond (default) or generate'
            '--continue' = 'go on with the last exchange of this terminal, else of this folder'
            '--conversation-file' = 'keep the conversation in a file, to edit, copy and go on with'
            '--system' = 'instructions as text, or @file'
            '--render' = 'show Markdown: auto (on a terminal), always or never'
            '--version' = 'print the version'
            '--model' = 'model to use'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--body' = 'whole request body to start from: JSON, @file or @-'
            '--set' = 'set any field of the body (repeatable)'
            '--no-validate' = 'send without checking against the documented limits'
            '--usage' = 'print the token counts on standard error, and the cost if prices are known'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-input' = 'never ask; missing input is an error'
            '--max-creates' = 'create at most so many texts, images or videos'
            '--max-cost' = 'stop at this estimated cost of all calls since midnight'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'response' = [ordered]@{
            '--version' = 'print the version'
            '--output' = 'write the result to a file'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--usage' = 'print the token counts on standard error, and the cost if prices are known'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'response status' = [ordered]@{
            '--last' = 'the response that was started last on this machine'
            '--wait' = 'wait for the answer, as "response wait" does'
            '--exit-status' = 'exit by the state: completed 0, failed or cancelled 9, still running 11'
            '--poll-interval' = 'the first wait between two look-ups (2)'
            '--version' = 'print the version'
            '--output' = 'write the result to a file'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--usage' = 'print the token counts on standard error, and the cost if prices are known'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'response wait' = [ordered]@{
            '--schema' = 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked'
            '--render' = 'show Markdown: auto (on a terminal), always or never'
            '--extract' = 'print only the first fenced code, of that language'
            '--last' = 'the response that was started last on this machine'
            '--stream' = 'take the stream of the answer instead of looking whether it is complete'
            '--starting-after' = 'stream only what follows the event with this number'
            '--poll-interval' = 'the first wait between two look-ups (2)'
            '--version' = 'print the version'
            '--output' = 'write the result to a file'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--usage' = 'print the token counts on standard error, and the cost if prices are known'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'response cancel' = [ordered]@{
            '--last' = 'the response that was started last on this machine'
            '--version' = 'print the version'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'response list' = [ordered]@{
            '--limit' = 'show only the newest so many'
            '--state' = 'show only jobs in this state: queued, in_progress, completed, incomplete, failed, cancelled, unknown'
            '--refresh' = 'look up every job that has not ended'
            '--prune' = 'forget responses that have ended, or have not been heard of for 7 days'
            '--version' = 'print the version'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'image' = [ordered]@{

        }
        'image create' = [ordered]@{
            '--background' = 'background of the image (transparent, opaque, auto; default auto)'
            '--n' = 'number of images (1 to 10; default 1)'
            '--output-compression' = 'compression in percent, for webp and jpeg (0 to 100; default 100)'
            '--output-format' = 'format of the image (png, jpeg, webp; default png)'
            '--partial-images' = 'partial images while streaming; 0 means one image in a single event (0 to 3; default 0)'
            '--response-format' = 'how the image is returned (url, b64_json; default url)'
            '--stream' = 'send server-sent events (default false); or --no-stream'
            '--user' = 'end-user identifier for abuse monitoring'
            '--moderation' = 'strictness of moderation (low, auto; default auto)'
            '--quality' = 'quality of the image (auto, max, xhigh, high, medium, low, hd, standard; default auto)'
            '--size' = 'size in pixels (1024x1024, 1536x1024, 1024x1536, auto, 256x256, 512x512, 1792x1024, 1024x1792; default auto)'
            '--style' = 'style of the image (vivid, natural; default vivid)'
            '--save-partials' = 'keep the previews that stream in, beside the image'
            '--sidecar' = 'write a JSON record beside each image'
            '--skip-existing' = 'make only the images whose files do not exist yet'
            '--no-download' = 'print result URLs and when they expire, save nothing'
            '--preview' = 'show pictures on the terminal'
            '--allow-private-urls' = 'fetch results from private addresses, too'
        }
        'image edit' = [ordered]@{
            '--image' = 'a picture to start from, or - for standard input (repeatable)'
            '--mask' = 'PNG whose transparent parts may be changed'
            '--background' = 'background of the image (transparent, opaque, auto; default auto)'
            '--n' = 'number of images (1 to 10; default 1)'
            '--output-compression' = 'compression in percent, for webp and jpeg (0 to 100; default 100)'
            '--output-format' = 'format of the image (png, jpeg, webp; default png)'
            '--partial-images' = 'partial images while streaming; 0 means one image in a single event (0 to 3; default 0)'
            '--response-format' = 'how the image is returned (url, b64_json; default url)'
            '--stream' = 'send server-sent events (default false); or --no-stream'
            '--user' = 'end-user identifier for abuse monitoring'
            '--input-fidelity' = 'fidelity to the source images (high, low; default low)'
            '--quality' = 'quality of the image (auto, max, xhigh, high, medium, low, standard; default auto)'
            '--size' = 'size in pixels (1024x1024, 1536x1024, 1024x1536, auto, 256x256, 512x512)'
            '--save-partials' = 'keep the previews that stream in, beside the image'
            '--sidecar' = 'write a JSON record beside each image'
            '--skip-existing' = 'make only the images whose files do not exist yet'
            '--no-download' = 'print result URLs and when they expire, save nothing'
            '--preview' = 'show pictures on the terminal'
            '--allow-private-urls' = 'fetch results from private addresses, too'
        }
        'video' = [ordered]@{

        }
        'video generate' = [ordered]@{
            '--image' = 'picture of the first frame, or - for standard input'
            '--last-frame' = 'picture of the last frame'
            '--reference' = 'reference picture, or FILE=style for its style (repeatable)'
            '--video' = 'video to extend: a file, or the address that the gateway gave it'
            '--instances' = 'what to make: objects with a prompt and reference imagery'
            '--parameters' = 'how to make it'
            '--aspect-ratio' = 'aspect ratio (16:9, 9:16)'
            '--duration-seconds' = 'duration in seconds (4, 6, 8)'
            '--sample-count' = 'number of videos (1, 2, 3, 4)'
            '--resolution' = 'resolution (720p, 1080p, 4k)'
            '--negative-prompt' = 'what not to show'
            '--person-generation' = 'whether people may be shown (dont_allow, allow_adult, allow_all)'
            '--enhance-prompt' = 'let the gateway rewrite the prompt; or --no-enhance-prompt'
            '--generate-audio' = 'make sound as well; or --no-generate-audio'
            '--seed' = 'seed for repeatable results'
            '--fps' = 'frames per second'
            '--compression-quality' = 'compression (optimized, lossless)'
            '--resize-mode' = 'how images are fitted (pad, crop)'
            '--storage-uri' = 'where the gateway keeps the videos'
            '--pubsub-topic' = 'topic for the progress messages of the gateway'
            '--wait' = 'wait for the video and save it (the default on a terminal)'
            '--no-wait' = 'only start the job and print its id'
            '--poll-interval' = 'the first wait between two look-ups (2)'
            '--allow-private-urls' = 'fetch results from private addresses, too'
        }
        'video remix' = [ordered]@{
            '--last' = 'the job that was started last on this machine'
            '--no-check' = 'send it without looking whether the source is finished'
            '--wait' = 'wait for the video and save it (the default on a terminal)'
            '--no-wait' = 'only start the job and print its id'
            '--poll-interval' = 'the first wait between two look-ups (2)'
            '--allow-private-urls' = 'fetch results from private addresses, too'
        }
        'video status' = [ordered]@{
            '--last' = 'the job that was started last on this machine'
            '--wait' = 'wait for the video and save it'
            '--exit-status' = 'exit by the state: completed 0, failed 9, still running 11'
            '--poll-interval' = 'the first wait between two look-ups (2)'
            '--allow-private-urls' = 'fetch results from private addresses, too'
            '--version' = 'print the version'
            '--output' = 'write the result to a file'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'video wait' = [ordered]@{
            '--last' = 'the job that was started last on this machine'
            '--all' = 'every job on record that has not ended'
            '--poll-interval' = 'the first wait between two look-ups (2)'
            '--allow-private-urls' = 'fetch results from private addresses, too'
            '--version' = 'print the version'
            '--output' = 'write the result to a file'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--github-output' = 'write the result to this output of a GitHub Actions step instead'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'video list' = [ordered]@{
            '--limit' = 'show only the newest so many'
            '--state' = 'show only jobs in this state: pending, in_progress, completed, failed, unknown'
            '--refresh' = 'look up every job that has not ended'
            '--prune' = 'forget jobs that failed, expired or are saved, or have not been heard of for 7 days'
            '--version' = 'print the version'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'sandbox' = [ordered]@{
            '--port' = 'port on 127.0.0.1 (any free one)'
            '--faults' = 'fault rules: a YAML or JSON file'
            '--latency' = 'none, natural, or milliseconds between events (natural)'
            '--seed' = 'makes answers, ids and chances repeatable (1)'
            '--record' = 'pass calls on to a gateway, and record them'
            '--upstream' = 'the gateway to record (the configured one)'
            '--replay' = 'answer from recordings, and from nowhere else'
            '--pace' = 'fast, or real: as recorded (fast)'
            '--max-age' = 'refuse recordings that are older, such as 30d'
            '--strict' = 'treat a cut answer, or an image or a video in doubt, as a failure'
            '--quiet' = 'no messages on standard error, except errors'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--connect-timeout' = 'limit for connecting (10)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'inspect' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--help' = 'show help'
        }
        'usage' = [ordered]@{
            '--since' = 'only calls from then on: 2026-11-22, today, 24h, 7d'
            '--by' = 'a row for each model, command, day'
            '--json' = 'print one JSON document when done'
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'init' = [ordered]@{
            '--text-model' = 'default model for text; "-" for none'
            '--image-model' = 'default model for images; "-" for none'
            '--video-model' = 'default model for videos; "-" for none'
            '--tour' = 'show first what the program does, in the sandbox'
            '--no-tour' = 'do not offer that'
            '--test' = 'make a test call, which may be billed'
            '--no-test' = 'make none'
            '--completion' = 'append completion to the shell''s start file'
            '--no-completion' = 'do not offer that'
            '--no-check' = 'do not look whether the gateway answers and accepts the key'
            '--yes' = 'ask nothing: what no flag says stays as it is'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'again' = [ordered]@{
            '--no-sandbox' = 'send a call of the sandbox to the gateway'
        }
        'log' = [ordered]@{
            '--limit' = 'show so many of them; 0 for all (20)'
            '--since' = 'only calls that began then or later: 2h, 3d, yesterday, 2026-11-22'
            '--grep' = 'only calls with this text in prompt, answer, command line or file names'
            '--command' = 'only calls of this command, or group: "image create", image'
            '--json' = 'print one JSON document when done'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--help' = 'show help'
        }
        'log show' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--help' = 'show help'
        }
        'log clear' = [ordered]@{
            '--before' = 'only calls that ended before: 30d, yesterday, 2026-11-01'
            '--json' = 'print one JSON document when done'
            '--force' = 'overwrite an existing file'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--help' = 'show help'
        }
        'models' = [ordered]@{
            '--remote' = 'ask the gateway for its models'
            '--version' = 'print the version'
            '--json' = 'print one JSON document when done'
            '--dry-run' = 'print the exact request and send nothing'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--curl' = 'print the request as a curl command and send nothing'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--raw' = 'print the gateway''s own JSON'
            '--quiet' = 'no messages on standard error, except errors'
            '--debug' = 'trace requests and replies on standard error, secrets hidden'
            '--no-stdin' = 'do not read standard input'
            '--no-input' = 'never ask; missing input is an error'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--retry' = 'what may be sent again: never, safe or always'
            '--max-retries' = 'how often to send again (2)'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--first-byte-timeout' = 'limit for the first byte (120 streamed, 600 not)'
            '--idle-timeout' = 'limit between bytes (60)'
            '--progress-timeout' = 'limit between meaningful events (300)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'auth' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'auth login' = [ordered]@{
            '--no-check' = 'do not ask the gateway whether it accepts the key'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'auth status' = [ordered]@{
            '--check' = 'ask the gateway whether it accepts the keys; costs nothing'
            '--json' = 'print one JSON document when done'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'auth logout' = [ordered]@{
            '--all' = 'of every profile'
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'config' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'config list' = [ordered]@{
            '--all' = 'also the settings that have their default'
            '--json' = 'print one JSON document when done'
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'config get' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'config set' = [ordered]@{
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'config unset' = [ordered]@{
            '--profile' = 'named profile of the configuration'
            '--help' = 'show help'
        }
        'config path' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--help' = 'show help'
        }
        'config edit' = [ordered]@{
            '--help' = 'show help'
        }
        'config schema' = [ordered]@{
            '--project' = 'of a project file, which has fewer settings'
            '--help' = 'show help'
        }
        'doctor' = [ordered]@{
            '--json' = 'print one JSON document when done'
            '--sandbox' = 'use the built-in local gateway: no key, no cost'
            '--jsonl' = 'print one JSON event a line as things happen'
            '--base-url' = 'address of the gateway'
            '--api-key-file' = 'file that holds the key'
            '--profile' = 'named profile of the configuration'
            '--timeout' = 'limit for the whole request, or for a wait (none)'
            '--connect-timeout' = 'limit for connecting (10)'
            '--ca-file' = 'certificate authority to trust (PEM)'
            '--allow-http' = 'allow a clear-text base URL on another host'
            '--help' = 'show help'
        }
        'schema' = [ordered]@{
            '--help' = 'show help'
        }
        'completion' = [ordered]@{
            '--help' = 'show help'
        }
        'help' = [ordered]@{
            '--all' = 'every example and every option'
            '--json' = 'print one JSON document when done'
            '--help' = 'show help'
        }
    }
    # What an option or an argument may be.
    $values = @{
        ' --retry' = @('never', 'safe', 'always')
        'generate --tool' = @('google_search', 'code_execution', 'url_context', 'google_maps')
        'generate --render' = @('auto', 'always', 'never')
        'generate --function-calling-mode' = @('AUTO', 'ANY', 'NONE', 'VALIDATED')
        'generate --response-mime-type' = @('text/plain', 'application/json', 'text/x.enum')
        'generate --response-modalities' = @('TEXT', 'IMAGE', 'AUDIO')
        'generate --thinking-level' = @('MINIMAL', 'LOW', 'MEDIUM', 'HIGH')
        'generate --media-resolution' = @('MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_MEDIUM', 'MEDIA_RESOLUTION_HIGH')
        'respond --tool' = @('web_search', 'web_search_preview', 'image_generation', 'code_interpreter', 'local_shell')
        'respond --render' = @('auto', 'always', 'never')
        'respond --service-tier' = @('default', 'scale')
        'respond --reasoning-effort' = @('none', 'minimal', 'low', 'medium', 'high', 'xhigh')
        'respond --reasoning-summary' = @('auto', 'concise', 'detailed')
        'respond --verbosity' = @('low', 'medium', 'high')
        'respond --tool-choice' = @('none', 'auto', 'required')
        'respond --truncation' = @('auto', 'disabled')
        'respond --include' = @('code_interpreter_call.outputs', 'computer_call_output.output.image_url', 'file_search_call.results', 'message.input_image.image_url', 'message.output_text.logprobs', 'reasoning.encrypted_content', 'web_search_call.action.sources')
        'chat --style' = @('respond', 'generate')
        'chat --render' = @('auto', 'always', 'never')
        'chat --retry' = @('never', 'safe', 'always')
        'response --retry' = @('never', 'safe', 'always')
        'response status --retry' = @('never', 'safe', 'always')
        'response wait --render' = @('auto', 'always', 'never')
        'response wait --retry' = @('never', 'safe', 'always')
        'response cancel --retry' = @('never', 'safe', 'always')
        'response list --state' = @('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled', 'unknown')
        'response list --retry' = @('never', 'safe', 'always')
        'image create --background' = @('transparent', 'opaque', 'auto')
        'image create --output-format' = @('png', 'jpeg', 'webp')
        'image create --response-format' = @('url', 'b64_json')
        'image create --moderation' = @('low', 'auto')
        'image create --quality' = @('auto', 'max', 'xhigh', 'high', 'medium', 'low', 'hd', 'standard')
        'image create --size' = @('1024x1024', '1536x1024', '1024x1536', 'auto', '256x256', '512x512', '1792x1024', '1024x1792')
        'image create --style' = @('vivid', 'natural')
        'image create --preview' = @('auto', 'kitty', 'iterm', 'sixel', 'blocks', 'off')
        'image edit --background' = @('transparent', 'opaque', 'auto')
        'image edit --output-format' = @('png', 'jpeg', 'webp')
        'image edit --response-format' = @('url', 'b64_json')
        'image edit --input-fidelity' = @('high', 'low')
        'image edit --quality' = @('auto', 'max', 'xhigh', 'high', 'medium', 'low', 'standard')
        'image edit --size' = @('1024x1024', '1536x1024', '1024x1536', 'auto', '256x256', '512x512')
        'image edit --preview' = @('auto', 'kitty', 'iterm', 'sixel', 'blocks', 'off')
        'video generate --duration-seconds' = @('4', '6', '8')
        'video generate --sample-count' = @('1', '2', '3', '4')
        'video generate --resolution' = @('720p', '1080p', '4k')
        'video generate --person-generation' = @('dont_allow', 'allow_adult', 'allow_all')
        'video generate --compression-quality' = @('optimized', 'lossless')
        'video generate --resize-mode' = @('pad', 'crop')
        'video status --retry' = @('never', 'safe', 'always')
        'video wait --retry' = @('never', 'safe', 'always')
        'video list --state' = @('pending', 'in_progress', 'completed', 'failed', 'unknown')
        'video list --retry' = @('never', 'safe', 'always')
        'sandbox --pace' = @('fast', 'real')
        'usage --by' = @('model', 'command', 'day')
        'log --command' = @('generate', 'respond', 'chat', 'response', 'image', 'video')
        'models --retry' = @('never', 'safe', 'always')
        'config get' = @('base_url', 'profile', 'text_model', 'image_model', 'video_model', 'api_key_file', 'api_key_command', 'trusted_origins', 'connect_timeout', 'first_byte_timeout', 'idle_timeout', 'progress_timeout', 'timeout', 'poll_interval', 'max_retries', 'retry', 'idempotency_honoured', 'ca_file', 'allow_http', 'output_dir', 'families', 'prices', 'quiet', 'no_stdin', 'render', 'history')
        'config set' = @('base_url', 'profile', 'text_model', 'image_model', 'video_model', 'api_key_file', 'api_key_command', 'trusted_origins', 'connect_timeout', 'first_byte_timeout', 'idle_timeout', 'progress_timeout', 'timeout', 'poll_interval', 'max_retries', 'retry', 'idempotency_honoured', 'ca_file', 'allow_http', 'output_dir', 'families', 'prices', 'quiet', 'no_stdin', 'render', 'history')
        'config unset' = @('base_url', 'profile', 'text_model', 'image_model', 'video_model', 'api_key_file', 'api_key_command', 'trusted_origins', 'connect_timeout', 'first_byte_timeout', 'idle_timeout', 'progress_timeout', 'timeout', 'poll_interval', 'max_retries', 'retry', 'idempotency_honoured', 'ca_file', 'allow_http', 'output_dir', 'families', 'prices', 'quiet', 'no_stdin', 'render', 'history')
        'config path' = @('user', 'project', 'credentials', 'state', 'log', 'rescued')
        'schema' = @('output', 'images', 'videos', 'waits', 'jobs', 'models', 'inspections', 'log', 'call', 'clearing', 'usage', 'help', 'init', 'settings', 'places', 'keys', 'checks', 'run', 'run-changes', 'run-report', 'run-clean', 'events', 'error', 'manifest')
        'completion' = @('bash', 'zsh', 'fish', 'powershell')
        'help' = @('exit-codes', 'environment', 'formatting', 'money', 'sandbox', 'pipelines', 'generate', 'respond', 'chat', 'response', 'image', 'video', 'inspect', 'usage', 'init', 'again', 'log', 'models', 'auth', 'config', 'doctor', 'schema', 'completion', 'help')
    }
    # What the program is asked for.
    $lives = @{
        ' --model' = 'models'
        ' --profile' = 'profiles'
        'respond --previous-response-id' = 'responses'
        'chat --model' = 'models'
        'chat --profile' = 'profiles'
        'response --profile' = 'profiles'
        'response status' = 'responses'
        'response status --profile' = 'profiles'
        'response wait' = 'responses'
        'response wait --profile' = 'profiles'
        'response cancel' = 'responses'
        'response cancel --profile' = 'profiles'
        'response list --profile' = 'profiles'
        'video remix' = 'videos'
        'video status' = 'videos'
        'video status --profile' = 'profiles'
        'video wait' = 'videos'
        'video wait --profile' = 'profiles'
        'video list --profile' = 'profiles'
        'sandbox --profile' = 'profiles'
        'usage --profile' = 'profiles'
        'init --text-model' = 'models'
        'init --image-model' = 'models'
        'init --video-model' = 'models'
        'init --profile' = 'profiles'
        'again' = 'calls'
        'log show' = 'calls'
        'models' = 'models'
        'models --profile' = 'profiles'
        'auth --profile' = 'profiles'
        'auth login --profile' = 'profiles'
        'auth status --profile' = 'profiles'
        'auth logout --profile' = 'profiles'
        'config --profile' = 'profiles'
        'config list --profile' = 'profiles'
        'config get --profile' = 'profiles'
        'config set --profile' = 'profiles'
        'config unset --profile' = 'profiles'
        'doctor --profile' = 'profiles'
    }
    $takesValue = @('-m', '--model', '-o', '--output', '--body', '--set', '--github-output', '--stdin-timeout', '--max-creates', '--max-cost', '--base-url', '--api-key-file', '--profile', '--retry', '--max-retries', '--timeout', '--connect-timeout', '--first-byte-timeout', '--idle-timeout', '--progress-timeout', '--ca-file', '-s', '--system', '-a', '--attach', '--conversation-file', '--history', '--tool-output', '--schema', '--safety', '--tool', '--render', '-x', '--extract', '--contents', '--tools', '--tool-config', '--function-calling-mode', '--allowed-function-names', '--safety-settings', '--system-instruction', '--generation-config', '--temperature', '--top-p', '--top-k', '--max-output-tokens', '--stop-sequences', '--candidate-count', '--seed', '--response-mime-type', '--response-schema', '--response-json-schema', '--presence-penalty', '--frequency-penalty', '--logprobs', '--response-modalities', '--thinking-config', '--thinking-budget', '--thinking-level', '--image-config', '--aspect-ratio', '--image-size', '--speech-config', '--media-resolution', '--custom-tool-output', '--approve', '--deny', '--input', '--instructions', '--previous-response-id', '--conversation', '--metadata', '--top-logprobs', '--user', '--safety-identifier', '--prompt-cache-key', '--service-tier', '--reasoning', '--reasoning-effort', '--reasoning-summary', '--max-tool-calls', '--text', '--text-format', '--verbosity', '--tool-choice', '--prompt', '--truncation', '--include', '--stream-options', '--style', '--poll-interval', '--starting-after', '--limit', '--state', '--background', '-n', '--n', '--output-compression', '--output-format', '--partial-images', '--response-format', '--moderation', '--quality', '--size', '--preview', '--image', '--mask', '--input-fidelity', '--last-frame', '--reference', '--video', '--instances', '--parameters', '--duration-seconds', '--sample-count', '--resolution', '--negative-prompt', '--person-generation', '--fps', '--compression-quality', '--resize-mode', '--storage-uri', '--pubsub-topic', '--port', '--faults', '--latency', '--record', '--upstream', '--replay', '--pace', '--max-age', '--since', '--by', '--text-model', '--image-model', '--video-model', '--grep', '--command', '--before')
    $withoutCommon = @('chat', 'response', 'response status', 'response wait', 'response cancel', 'response list', 'video status', 'video wait', 'video list', 'sandbox', 'inspect', 'usage', 'init', 'log', 'log show', 'log clear', 'models', 'auth', 'auth login', 'auth status', 'auth logout', 'config', 'config list', 'config get', 'config set', 'config unset', 'config path', 'config edit', 'config schema', 'doctor', 'schema', 'completion', 'help')

    $path = ''
    $previous = ''
    $live = $null
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -ge $cursorPosition -and $wordToComplete -ne '') { break }
        $word = $element.ToString()
        if ($takesValue -cnotcontains $previous -and $commands.ContainsKey($path) -and $commands[$path].Contains($word)) {
            $path = "$path $word".Trim()
        }
        $previous = $word
    }

    if ($takesValue -ccontains $previous) {
        $found = @($values["$path $previous"]) + @($values[" $previous"])
        $live = if ($lives["$path $previous"]) { $lives["$path $previous"] } else { $lives[" $previous"] }
    } elseif ($wordToComplete.StartsWith('-')) {
        $found = @($flags[$path].Keys)
        if ($withoutCommon -cnotcontains $path) { $found += @($flags[''].Keys) }
    } else {
        $found = @($values[$path])
        $live = $lives[$path]
        if ($commands.ContainsKey($path)) { $found += @($commands[$path].Keys) }
    }

    $typed = $wordToComplete.TrimStart([char[]](34, 39))
    $program = $commandAst.CommandElements[0].ToString()
    $known = if ($live) { & $program __complete $live $path.Split(' ') 2>$null }
    foreach ($line in $known) {
        $value, $about = $line -split "`t", 2
        if (-not $value -or -not $value.StartsWith($typed)) { continue }
        $text = if ($value -match '^[\w./:+-]+$') { $value } else { "'" + $value.Replace("'", "''") + "'" }
        if (-not $about) { $about = $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $about)
    }

    $found | Where-Object { $_ -and $_.StartsWith($wordToComplete) } | Select-Object -Unique | ForEach-Object {
        $about = $_
        foreach ($table in @($commands[$path], $flags[$path], $flags[''])) {
            if ($table -and $table.Contains($_)) { $about = $table[$_]; break }
        }
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $about)
    }
}
