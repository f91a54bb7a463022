# Completion of modelgate for bash, printed by: modelgate completion bash
_modelgate() {
  local cur prev word path='' flags words='' files='' live='' rest='' index=1
  COMPREPLY=()
  cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD - 1]}
  # bash makes words of their own of "=" and "@", but replaces the "@" with the word after it.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $prev == '@' ]] && ((COMP_CWORD > 1)); then
    _modelgate_files "$cur" @
    return
  fi
  while ((index < COMP_CWORD)); do
    word=${COMP_WORDS[index]}
    case "$path/$word" in
      '/respond') path='respond' ;;
      '/generate') path='generate' ;;
      '/chat') path='chat' ;;
      '/response') path='response' ;;
      '/image') path='image' ;;
      '/video') path='video' ;;
      '/wait') path='wait' ;;
      '/jobs') path='jobs' ;;
      '/run') path='run' ;;
      '/sandbox') path='sandbox' ;;
      '/inspect') path='inspect' ;;
      '/usage') path='usage' ;;
      '/init') path='init' ;;
      '/log') path='log' ;;
      '/models') path='models' ;;
      '/auth') path='auth' ;;
      '/config') path='config' ;;
      '/doctor') path='doctor' ;;
      '/schema') path='schema' ;;
      '/completion') path='completion' ;;
      '/help') path='help' ;;
      'response/status') path='response status' ;;
      'response/wait') path='response wait' ;;
      'response/cancel') path='response cancel' ;;
      'response/list') path='response list' ;;
      'image/create') path='image create' ;;
      'image/edit') path='image edit' ;;
      'video/generate') path='video generate' ;;
      'video/remix') path='video remix' ;;
      'video/status') path='video status' ;;
      'video/wait') path='video wait' ;;
      'video/list') path='video list' ;;
      'run/init') path='run init' ;;
      'run/adopt') path='run adopt' ;;
      'run/pick') path='run pick' ;;
      'run/restore') path='run restore' ;;
      'run/report') path='run report' ;;
      'run/merge') path='run merge' ;;
      'run/push') path='run push' ;;
      'run/pull') path='run pull' ;;
      'run/worker') path='run worker' ;;
      'run/clean') path='run clean' ;;
      'log/show') path='log show' ;;
      'log/clear') path='log clear' ;;
      'auth/login') path='auth login' ;;
      'auth/status') path='auth status' ;;
      'auth/logout') path='auth logout' ;;
      'config/list') path='config list' ;;
      'config/get') path='config get' ;;
      'config/set') path='config set' ;;
      'config/unset') path='config unset' ;;
      'config/path') path='config path' ;;
      'config/schema') path='config schema' ;;
    esac
    case "$word" in
      --) rest=yes ;;
      --profile|-m|--model|-o|--output|--body|--set|--github-output|--stdin-timeout|--max-creates|--max-cost|--base-url|--api-key-file|--retry|--max-retries|--timeout|--connect-timeout|--first-byte-timeout|--idle-timeout|--progress-timeout|--header|--ca-file|-s|--system|-a|--attach|--conversation-file|--schema|--history|--tool-output|--custom-tool-output|--approve|--deny|--tool|--render|-x|--extract|--input|--instructions|--previous-response-id|--conversation|--top-logprobs|--temperature|--top-p|--user|--safety-identifier|--prompt-cache-key|--service-tier|--reasoning-effort|--reasoning-summary|--max-output-tokens|--max-tool-calls|--verbosity|--tool-choice|--prompt|--truncation|--include|--metadata|--reasoning|--text|--text-format|--tools|--stream-options|--safety|--function-calling-mode|--allowed-function-names|--top-k|--stop-sequences|--candidate-count|--seed|--response-mime-type|--presence-penalty|--frequency-penalty|--logprobs|--response-modalities|--thinking-budget|--thinking-level|--aspect-ratio|--image-size|--media-resolution|--contents|--tool-config|--safety-settings|--system-instruction|--generation-config|--response-schema|--response-json-schema|--thinking-config|--image-config|--speech-config|--style|--poll-interval|--starting-after|--limit|--state|--background|-n|--n|--output-compression|--output-format|--partial-images|--response-format|--moderation|--quality|--size|--preview|--image|--mask|--input-fidelity|--last-frame|--reference|--video|--duration-seconds|--sample-count|--resolution|--negative-prompt|--person-generation|--fps|--compression-quality|--resize-mode|--storage-uri|--pubsub-topic|--instances|--parameters|-f|--file|--regenerate|--shard|--grace|--queue|--store|--format|--since|--to|--from|--lanes|--rate|--port|--faults|--latency|--record|--upstream|--replay|--pace|--max-age|--by|--text-model|--image-model|--video-model|--grep|--command|--before)
        ((index++))
        [[ ${COMP_WORDS[index]} == '=' ]] && ((index++))
        ;;
    esac
    ((index++))
  done
  # What the option before the cursor takes.
  if [[ -z $rest ]]; then
    case "$path $prev" in
      *' --profile'|'respond --profile'|'generate --profile'|'chat --profile'|'response status --profile'|'response wait --profile'|'response cancel --profile'|'response list --profile'|'image create --profile'|'image edit --profile'|'video generate --profile'|'video remix --profile'|'video status --profile'|'video wait --profile'|'video list --profile'|'wait --profile'|'jobs --profile'|'run --profile'|'run adopt --profile'|'run pick --profile'|'run restore --profile'|'run report --profile'|'run merge --profile'|'run push --profile'|'run pull --profile'|'run worker --profile'|'run clean --profile'|'sandbox --profile'|'usage --profile'|'init --profile'|'models --profile'|'auth login --profile'|'auth status --profile'|'auth logout --profile'|'config list --profile'|'config get --profile'|'config set --profile'|'config unset --profile'|'doctor --profile') live=profiles ;;
      'respond -m'|'respond --model'|'generate -m'|'generate --model'|'chat -m'|'chat --model'|'image create -m'|'image create --model'|'image edit -m'|'image edit --model'|'video generate -m'|'video generate --model'|'video remix -m'|'video remix --model'|'init --text-model'|'init --image-model'|'init --video-model'|'log -m'|'log --model') live=models ;;
      'respond -o'|'respond --output'|'respond --api-key-file'|'respond --ca-file'|'respond -a'|'respond --attach'|'respond --conversation-file'|'respond --schema'|'respond --history'|'generate -o'|'generate --output'|'generate --api-key-file'|'generate --ca-file'|'generate -a'|'generate --attach'|'generate --conversation-file'|'generate --history'|'generate --schema'|'chat --api-key-file'|'chat --ca-file'|'chat --conversation-file'|'response status -o'|'response status --output'|'response status --api-key-file'|'response status --ca-file'|'response wait -o'|'response wait --output'|'response wait --api-key-file'|'response wait --ca-file'|'response wait --schema'|'response cancel --api-key-file'|'response cancel --ca-file'|'response list --api-key-file'|'response list --ca-file'|'image create -o'|'image create --output'|'image create --api-key-file'|'image create --ca-file'|'image edit --image'|'image edit --mask'|'image edit -o'|'image edit --output'|'image edit --api-key-file'|'image edit --ca-file'|'video generate --image'|'video generate --last-frame'|'video generate --reference'|'video generate --video'|'video generate -o'|'video generate --output'|'video generate --api-key-file'|'video generate --ca-file'|'video remix -o'|'video remix --output'|'video remix --api-key-file'|'video remix --ca-file'|'video status -o'|'video status --output'|'video status --api-key-file'|'video status --ca-file'|'video wait -o'|'video wait --output'|'video wait --api-key-file'|'video wait --ca-file'|'video list --api-key-file'|'video list --ca-file'|'wait -o'|'wait --output'|'wait --api-key-file'|'wait --ca-file'|'wait --schema'|'jobs --api-key-file'|'jobs --ca-file'|'run -f'|'run --file'|'run --api-key-file'|'run --ca-file'|'run init -f'|'run init --file'|'run adopt -f'|'run adopt --file'|'run pick -f'|'run pick --file'|'run restore -f'|'run restore --file'|'run report -f'|'run report --file'|'run report -o'|'run report --output'|'run merge -f'|'run merge --file'|'run push -f'|'run push --file'|'run push --ca-file'|'run pull -f'|'run pull --file'|'run pull --ca-file'|'run worker --api-key-file'|'run worker --ca-file'|'run clean -f'|'run clean --file'|'sandbox --api-key-file'|'sandbox --ca-file'|'sandbox --faults'|'init --api-key-file'|'init --ca-file'|'models --api-key-file'|'models --ca-file'|'auth login --api-key-file'|'auth login --ca-file'|'auth status --api-key-file'|'auth status --ca-file'|'doctor --api-key-file'|'doctor --ca-file') files=plain ;;
      'respond --body'|'respond --header'|'respond -s'|'respond --system'|'respond --tool-output'|'respond --input'|'respond --conversation'|'respond --prompt'|'respond --metadata'|'respond --reasoning'|'respond --text'|'respond --text-format'|'respond --tools'|'respond --stream-options'|'generate --body'|'generate --header'|'generate -s'|'generate --system'|'generate --tool-output'|'generate --contents'|'generate --tools'|'generate --tool-config'|'generate --safety-settings'|'generate --system-instruction'|'generate --generation-config'|'generate --response-schema'|'generate --response-json-schema'|'generate --thinking-config'|'generate --image-config'|'generate --speech-config'|'chat --body'|'chat --header'|'chat -s'|'chat --system'|'response status --header'|'response wait --header'|'response cancel --header'|'response list --header'|'image create --body'|'image create --header'|'image edit --body'|'image edit --header'|'video generate --instances'|'video generate --parameters'|'video generate --body'|'video generate --header'|'video remix --body'|'video remix --header'|'video status --header'|'video wait --header'|'video list --header'|'wait --header'|'jobs --header'|'run --header'|'run worker --header'|'init --header'|'models --header'|'auth login --header'|'auth status --header'|'doctor --header') files=at ;;
      'respond --set'|'respond --github-output'|'respond --stdin-timeout'|'respond --max-creates'|'respond --max-cost'|'respond --base-url'|'respond --max-retries'|'respond --timeout'|'respond --connect-timeout'|'respond --first-byte-timeout'|'respond --idle-timeout'|'respond --progress-timeout'|'respond --custom-tool-output'|'respond --approve'|'respond --deny'|'respond -x'|'respond --extract'|'respond --instructions'|'respond --top-logprobs'|'respond --temperature'|'respond --top-p'|'respond --user'|'respond --safety-identifier'|'respond --prompt-cache-key'|'respond --max-output-tokens'|'respond --max-tool-calls'|'generate --set'|'generate --github-output'|'generate --stdin-timeout'|'generate --max-creates'|'generate --max-cost'|'generate --base-url'|'generate --max-retries'|'generate --timeout'|'generate --connect-timeout'|'generate --first-byte-timeout'|'generate --idle-timeout'|'generate --progress-timeout'|'generate --safety'|'generate -x'|'generate --extract'|'generate --allowed-function-names'|'generate --temperature'|'generate --top-p'|'generate --top-k'|'generate --max-output-tokens'|'generate --stop-sequences'|'generate --candidate-count'|'generate --seed'|'generate --presence-penalty'|'generate --frequency-penalty'|'generate --logprobs'|'generate --thinking-budget'|'generate --aspect-ratio'|'generate --image-size'|'chat --set'|'chat --max-creates'|'chat --max-cost'|'chat --base-url'|'chat --max-retries'|'chat --timeout'|'chat --connect-timeout'|'chat --first-byte-timeout'|'chat --idle-timeout'|'chat --progress-timeout'|'response status --github-output'|'response status --base-url'|'response status --max-retries'|'response status --timeout'|'response status --connect-timeout'|'response status --first-byte-timeout'|'response status --idle-timeout'|'response status --progress-timeout'|'response status --poll-interval'|'response wait --github-output'|'response wait --base-url'|'response wait --max-retries'|'response wait --timeout'|'response wait --connect-timeout'|'response wait --first-byte-timeout'|'response wait --idle-timeout'|'response wait --progress-timeout'|'response wait -x'|'response wait --extract'|'response wait --poll-interval'|'response wait --starting-after'|'response cancel --github-output'|'response cancel --base-url'|'response cancel --max-retries'|'response cancel --timeout'|'response cancel --connect-timeout'|'response cancel --first-byte-timeout'|'response cancel --idle-timeout'|'response cancel --progress-timeout'|'response list --limit'|'response list --base-url'|'response list --max-retries'|'response list --timeout'|'response list --connect-timeout'|'response list --first-byte-timeout'|'response list --idle-timeout'|'response list --progress-timeout'|'image create -n'|'image create --n'|'image create --output-compression'|'image create --partial-images'|'image create --user'|'image create --set'|'image create --github-output'|'image create --stdin-timeout'|'image create --max-creates'|'image create --max-cost'|'image create --base-url'|'image create --max-retries'|'image create --timeout'|'image create --connect-timeout'|'image create --first-byte-timeout'|'image create --idle-timeout'|'image create --progress-timeout'|'image edit -n'|'image edit --n'|'image edit --output-compression'|'image edit --partial-images'|'image edit --user'|'image edit --set'|'image edit --github-output'|'image edit --stdin-timeout'|'image edit --max-creates'|'image edit --max-cost'|'image edit --base-url'|'image edit --max-retries'|'image edit --timeout'|'image edit --connect-timeout'|'image edit --first-byte-timeout'|'image edit --idle-timeout'|'image edit --progress-timeout'|'video generate --aspect-ratio'|'video generate --negative-prompt'|'video generate --seed'|'video generate --fps'|'video generate --storage-uri'|'video generate --pubsub-topic'|'video generate --set'|'video generate --github-output'|'video generate --stdin-timeout'|'video generate --max-creates'|'video generate --max-cost'|'video generate --base-url'|'video generate --max-retries'|'video generate --timeout'|'video generate --connect-timeout'|'video generate --first-byte-timeout'|'video generate --idle-timeout'|'video generate --progress-timeout'|'video generate --poll-interval'|'video remix --set'|'video remix --github-output'|'video remix --stdin-timeout'|'video remix --max-creates'|'video remix --max-cost'|'video remix --base-url'|'video remix --max-retries'|'video remix --timeout'|'video remix --connect-timeout'|'video remix --first-byte-timeout'|'video remix --idle-timeout'|'video remix --progress-timeout'|'video remix --poll-interval'|'video status --github-output'|'video status --base-url'|'video status --max-retries'|'video status --timeout'|'video status --connect-timeout'|'video status --first-byte-timeout'|'video status --idle-timeout'|'video status --progress-timeout'|'video status --poll-interval'|'video wait --github-output'|'video wait --base-url'|'video wait --max-retries'|'video wait --timeout'|'video wait --connect-timeout'|'video wait --first-byte-timeout'|'video wait --idle-timeout'|'video wait --progress-timeout'|'video wait --poll-interval'|'video list --limit'|'video list --base-url'|'video list --max-retries'|'video list --timeout'|'video list --connect-timeout'|'video list --first-byte-timeout'|'video list --idle-timeout'|'video list --progress-timeout'|'wait --github-output'|'wait --base-url'|'wait --max-retries'|'wait --timeout'|'wait --connect-timeout'|'wait --first-byte-timeout'|'wait --idle-timeout'|'wait --progress-timeout'|'wait -x'|'wait --extract'|'wait --poll-interval'|'wait --starting-after'|'jobs --limit'|'jobs --base-url'|'jobs --max-retries'|'jobs --timeout'|'jobs --connect-timeout'|'jobs --first-byte-timeout'|'jobs --idle-timeout'|'jobs --progress-timeout'|'run --shard'|'run --grace'|'run --queue'|'run --store'|'run --github-output'|'run --max-creates'|'run --max-cost'|'run --base-url'|'run --max-retries'|'run --timeout'|'run --connect-timeout'|'run --first-byte-timeout'|'run --idle-timeout'|'run --progress-timeout'|'run report --format'|'run report --since'|'run merge --github-output'|'run push --to'|'run pull --from'|'run pull --github-output'|'run worker --queue'|'run worker --store'|'run worker --lanes'|'run worker --rate'|'run worker --grace'|'run worker --max-creates'|'run worker --max-cost'|'run worker --base-url'|'run worker --max-retries'|'run worker --timeout'|'run worker --connect-timeout'|'run worker --first-byte-timeout'|'run worker --idle-timeout'|'run worker --progress-timeout'|'sandbox --connect-timeout'|'sandbox --header'|'sandbox --port'|'sandbox --latency'|'sandbox --seed'|'sandbox --record'|'sandbox --upstream'|'sandbox --replay'|'sandbox --max-age'|'usage --since'|'init --base-url'|'init --timeout'|'init --connect-timeout'|'log -n'|'log --limit'|'log --since'|'log --grep'|'log clear --before'|'models --base-url'|'models --max-retries'|'models --timeout'|'models --connect-timeout'|'models --first-byte-timeout'|'models --idle-timeout'|'models --progress-timeout'|'auth login --timeout'|'auth login --connect-timeout'|'auth status --base-url'|'auth status --timeout'|'auth status --connect-timeout'|'doctor --base-url'|'doctor --timeout'|'doctor --connect-timeout') : ;;
      'respond --retry'|'generate --retry'|'chat --retry'|'response status --retry'|'response wait --retry'|'response cancel --retry'|'response list --retry'|'image create --retry'|'image edit --retry'|'video generate --retry'|'video remix --retry'|'video status --retry'|'video wait --retry'|'video list --retry'|'wait --retry'|'jobs --retry'|'run --retry'|'run worker --retry'|'models --retry') words='never safe always' ;;
      'respond --tool') words='web_search web_search_preview image_generation code_interpreter local_shell' files=at ;;
      'respond --render'|'generate --render'|'chat --render'|'response wait --render'|'wait --render') words='auto always never' ;;
      'respond --previous-response-id') live=responses ;;
      'respond --service-tier') words='default scale' ;;
      'respond --reasoning-effort') words='none minimal low medium high xhigh' ;;
      'respond --reasoning-summary') words='auto concise detailed' ;;
      'respond --verbosity') words='low medium high' ;;
      'respond --tool-choice') words='none auto required' files=at ;;
      'respond --truncation') words='auto disabled' ;;
      'respond --include') words='code_interpreter_call.outputs computer_call_output.output.image_url file_search_call.results message.input_image.image_url message.output_text.logprobs reasoning.encrypted_content web_search_call.action.sources' ;;
      'generate --tool') words='google_search code_execution url_context google_maps' files=at ;;
      'generate --function-calling-mode') words='AUTO ANY NONE VALIDATED' ;;
      'generate --response-mime-type') words='text/plain application/json text/x.enum' ;;
      'generate --response-modalities') words='TEXT IMAGE AUDIO' ;;
      'generate --thinking-level') words='MINIMAL LOW MEDIUM HIGH' ;;
      'generate --media-resolution') words='MEDIA_RESOLUTION_LOW MEDIA_RESOLUTION_MEDIUM MEDIA_RESOLUTION_HIGH' ;;
      'chat --style') words='respond generate' ;;
      'response list --state') words='queued in_progress completed incomplete failed cancelled unknown' ;;
      'image create --background'|'image edit --background') words='transparent opaque auto' ;;
      'image create --output-format'|'image edit --output-format') words='png jpeg webp' ;;
      'image create --response-format'|'image edit --response-format') words='url b64_json' ;;
      'image create --moderation') words='low auto' ;;
      'image create --quality') words='auto max xhigh high medium low hd standard' ;;
      'image create --size') words='1024x1024 1536x1024 1024x1536 auto 256x256 512x512 1792x1024 1024x1792' ;;
      'image create --style') words='vivid natural' ;;
      'image create --preview'|'image edit --preview') words='auto kitty iterm blocks off' ;;
      'image edit --input-fidelity') words='high low' ;;
      'image edit --quality') words='auto max xhigh high medium low standard' ;;
      'image edit --size') words='1024x1024 1536x1024 1024x1536 auto 256x256 512x512' ;;
      'video generate --duration-seconds') words='4 6 8' ;;
      'video generate --sample-count') words='1 2 3 4' ;;
      'video generate --resolution') words='720p 1080p 4k' ;;
      'video generate --person-generation') words='dont_allow allow_adult allow_all' ;;
      'video generate --compression-quality') words='optimized lossless' ;;
      'video generate --resize-mode') words='pad crop' ;;
      'video list --state') words='pending in_progress completed failed unknown' ;;
      'jobs --state') words='pending in_progress completed failed queued incomplete cancelled unknown' ;;
      'run --regenerate') live=assets ;;
      'sandbox --pace') words='fast real' ;;
      'usage --by') words='model command day' ;;
      'log --command') words='generate respond chat response image video' ;;
      *) prev='' ;;
    esac
    if [[ $prev == -* ]]; then
      _modelgate_value
      return
    fi
  fi
  flags='-V --version --json -q --quiet --debug --profile -h --help'
  if [[ -z $rest && $cur == -* ]]; then
    case "$path" in
      'respond') flags="-m --model -o --output --json --dry-run --sandbox --body --set --no-validate --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --stdin-timeout --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -s --system -a --attach -c --continue --conversation-file --schema --history --tool-output --custom-tool-output --approve --deny --tool --render -x --extract --input --instructions --previous-response-id --conversation --top-logprobs --temperature --top-p --user --safety-identifier --prompt-cache-key --service-tier --reasoning-effort --reasoning-summary --background --max-output-tokens --max-tool-calls --verbosity --tool-choice --prompt --truncation --include --parallel-tool-calls --store --stream --include-obfuscation --metadata --reasoning --text --text-format --tools --stream-options -h --help" ;;
      'generate') flags="-m --model -o --output --json --dry-run --sandbox --body --set --no-validate --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --stdin-timeout --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -s --system -a --attach -c --continue --conversation-file --history --tool-output --schema --safety --tool --render -x --extract --function-calling-mode --allowed-function-names --temperature --top-p --top-k --max-output-tokens --stop-sequences --candidate-count --seed --response-mime-type --presence-penalty --frequency-penalty --response-logprobs --logprobs --response-modalities --include-thoughts --thinking-budget --thinking-level --aspect-ratio --image-size --media-resolution --contents --tools --tool-config --safety-settings --system-instruction --generation-config --response-schema --response-json-schema --thinking-config --image-config --speech-config -h --help" ;;
      'chat') flags="-m --model --sandbox --body --set --no-validate --usage --strict -q --quiet --debug --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --style -c --continue --conversation-file -s --system --render -h --help" ;;
      'response') flags="-h --help" ;;
      'response status') flags="-o --output --json --dry-run --sandbox --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --last --wait --exit-status --poll-interval -h --help" ;;
      'response wait') flags="-o --output --json --dry-run --sandbox --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --render -x --extract --last --poll-interval --stream --starting-after --schema -h --help" ;;
      'response cancel') flags="--json --dry-run --sandbox --curl --jsonl --raw --github-output -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --last -h --help" ;;
      'response list') flags="--limit --state --refresh --prune --json --dry-run --sandbox --jsonl -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -h --help" ;;
      'image') flags="-h --help" ;;
      'image create') flags="--background -n --n --output-compression --output-format --partial-images --response-format --stream --user --moderation --quality --size --style -m --model -o --output --json --dry-run --sandbox --body --set --no-validate --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --stdin-timeout --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --save-partials --sidecar --skip-existing --no-download --preview --accept-mismatch --allow-private-urls -h --help" ;;
      'image edit') flags="--image --mask --background -n --n --output-compression --output-format --partial-images --response-format --stream --user --input-fidelity --quality --size -m --model -o --output --json --dry-run --sandbox --body --set --no-validate --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --stdin-timeout --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --save-partials --sidecar --skip-existing --no-download --preview --accept-mismatch --allow-private-urls -h --help" ;;
      'video') flags="-h --help" ;;
      'video generate') flags="--image --last-frame --reference --video --aspect-ratio --duration-seconds --sample-count --resolution --negative-prompt --person-generation --enhance-prompt --generate-audio --seed --fps --compression-quality --resize-mode --storage-uri --pubsub-topic --instances --parameters -m --model -o --output --json --dry-run --sandbox --body --set --no-validate --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --stdin-timeout --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --wait --no-wait --poll-interval --accept-mismatch --allow-private-urls -h --help" ;;
      'video remix') flags="--last --no-check -m --model -o --output --json --dry-run --sandbox --body --set --no-validate --curl --force --jsonl --raw --github-output --usage --strict -q --quiet --debug --no-stdin --stdin-timeout --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --wait --no-wait --poll-interval --accept-mismatch --allow-private-urls -h --help" ;;
      'video status') flags="-o --output --json --dry-run --sandbox --curl --force --jsonl --raw --github-output --strict -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --last --wait --exit-status --poll-interval --accept-mismatch --allow-private-urls -h --help" ;;
      'video wait') flags="-o --output --json --dry-run --sandbox --curl --force --jsonl --raw --github-output --strict -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --last --all --poll-interval --accept-mismatch --allow-private-urls -h --help" ;;
      'video list') flags="--limit --state --refresh --prune --json --dry-run --sandbox --jsonl -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -h --help" ;;
      'wait') flags="-o --output --json --dry-run --sandbox --curl --force --jsonl --raw --github-output --strict -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http --render -x --extract --last --all --poll-interval --accept-mismatch --allow-private-urls --stream --starting-after --schema -h --help" ;;
      'jobs') flags="--limit --state --refresh --prune --json --dry-run --sandbox --jsonl -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -h --help" ;;
      'run') flags="-f --file --plan --check --frozen --generate --regenerate --yes --new-run --shard --grace --queue --store --detach --json --sandbox --force --jsonl --github-output -q --quiet --debug --no-stdin --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -h --help" ;;
      'run init') flags="-f --file --force -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'run adopt') flags="-f --file --json --sandbox -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'run pick') flags="-f --file --json --sandbox -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'run restore') flags="-f --file --json --sandbox -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'run report') flags="--format --embed --since -f --file -o --output --json --sandbox --force -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'run merge') flags="--resolve -f --file --json --sandbox --jsonl --github-output -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'run push') flags="--to -f --file --json --sandbox -q --quiet --debug --no-stdin --no-input --profile --ca-file --allow-http -h --help" ;;
      'run pull') flags="--from -f --file --json --sandbox --jsonl --github-output -q --quiet --debug --no-stdin --no-input --profile --ca-file --allow-http -h --help" ;;
      'run worker') flags="--queue --store --lanes --rate --until-empty --grace --json --sandbox --jsonl -q --quiet --debug --no-stdin --no-input --max-creates --max-cost --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -h --help" ;;
      'run clean') flags="--yes --outputs -f --file --json --sandbox -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'sandbox') flags="--strict -q --quiet --debug --api-key-file --profile --connect-timeout --header --ca-file --allow-http --port --faults --latency --seed --record --upstream --replay --pace --max-age -h --help" ;;
      'inspect') flags="--json --jsonl -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'usage') flags="--json -q --quiet --debug --no-stdin --no-input --profile --since --by -h --help" ;;
      'init') flags="--text-model --image-model --video-model --test --no-test --completion --no-completion --no-check -y --yes --json --dry-run -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --timeout --connect-timeout --header --ca-file --allow-http -h --help" ;;
      'log') flags="-n --limit --since --grep --command -m --model --json --jsonl -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'log show') flags="--json --jsonl -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'log clear') flags="--before --json --force --jsonl -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'models') flags="--known --json --dry-run --sandbox --curl --jsonl --raw -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --retry --max-retries --timeout --connect-timeout --first-byte-timeout --idle-timeout --progress-timeout --header --ca-file --allow-http -h --help" ;;
      'auth') flags="-h --help" ;;
      'auth login') flags="--no-check -q --quiet --debug --no-stdin --no-input --api-key-file --profile --timeout --connect-timeout --header --ca-file --allow-http -h --help" ;;
      'auth status') flags="--check --json -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --timeout --connect-timeout --header --ca-file --allow-http -h --help" ;;
      'auth logout') flags="--all -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'config') flags="-h --help" ;;
      'config list') flags="-a --all --json -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'config get') flags="--json -q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'config set') flags="-q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'config unset') flags="-q --quiet --debug --no-stdin --no-input --profile -h --help" ;;
      'config path') flags="--json -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'config schema') flags="--project -q --quiet --debug --no-stdin --no-input -h --help" ;;
      'doctor') flags="--json --sandbox --jsonl -q --quiet --debug --no-stdin --no-input --base-url --api-key-file --profile --timeout --connect-timeout --header --ca-file --allow-http -h --help" ;;
      'schema') flags="-q --quiet --debug --no-stdin --no-input -h --help" ;;
      'completion') flags="-q --quiet --debug --no-stdin --no-input -h --help" ;;
      'help') flags="--all --json -q --quiet --debug --no-stdin --no-input -h --help" ;;
    esac
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  case "$path" in
    '') words='respond generate chat response image video wait jobs run sandbox inspect usage init log models auth config doctor schema completion help' ;;
    'respond') files=at ;;
    'generate') files=at ;;
    'chat') : ;;
    'response') words='status wait cancel list' ;;
    'response status') live=responses ;;
    'response wait') live=responses ;;
    'response cancel') live=responses ;;
    'response list') : ;;
    'image') words='create edit' ;;
    'image create') files=at ;;
    'image edit') files=at ;;
    'video') words='generate remix status wait list' ;;
    'video generate') files=at ;;
    'video remix') files=at live=videos ;;
    'video status') live=videos ;;
    'video wait') live=videos ;;
    'video list') : ;;
    'wait') : ;;
    'jobs') : ;;
    'run') words='init adopt pick restore report merge push pull worker clean' live=assets ;;
    'run init') : ;;
    'run adopt') live=assets ;;
    'run pick') live=assets ;;
    'run restore') : ;;
    'run report') live=assets ;;
    'run merge') : ;;
    'run push') : ;;
    'run pull') : ;;
    'run worker') : ;;
    'run clean') : ;;
    'sandbox') : ;;
    'inspect') files=plain ;;
    'usage') : ;;
    'init') : ;;
    'log') words='show clear' ;;
    'log show') live=calls ;;
    'log clear') : ;;
    'models') live=models ;;
    'auth') words='login status logout' ;;
    'auth login') : ;;
    'auth status') : ;;
    'auth logout') : ;;
    'config') words='list get set unset path schema' ;;
    'config list') : ;;
    'config get') words='base_url base_urls profile text_model image_model video_model api_key_file api_key_command trusted_origins connect_timeout first_byte_timeout idle_timeout progress_timeout timeout poll_interval max_retries retry idempotency_honoured ca_file allow_http output_dir families prices headers download_headers quiet no_stdin render queue store history' ;;
    'config set') words='base_url base_urls profile text_model image_model video_model api_key_file api_key_command trusted_origins connect_timeout first_byte_timeout idle_timeout progress_timeout timeout poll_interval max_retries retry idempotency_honoured ca_file allow_http output_dir families prices headers download_headers quiet no_stdin render queue store history' ;;
    'config unset') words='base_url base_urls profile text_model image_model video_model api_key_file api_key_command trusted_origins connect_timeout first_byte_timeout idle_timeout progress_timeout timeout poll_interval max_retries retry idempotency_honoured ca_file allow_http output_dir families prices headers download_headers quiet no_stdin render queue store history' ;;
    'config path') words='user project credentials state log rescued' ;;
    'config schema') : ;;
    'doctor') : ;;
    'schema') words='output images videos waits jobs models inspections log call clearing usage help init settings places keys checks run run-changes run-report run-restore run-push run-clean run-worker assets events error manifest' ;;
    'completion') words='bash zsh fish powershell' ;;
    'help') words='exit-codes environment formatting money sandbox pipelines respond generate chat response image video wait jobs run inspect usage init log models auth config doctor schema completion help' ;;
  esac
  _modelgate_value
}

# Completes one of $words, what the program knows of $live, or the name of a file.
_modelgate_value() {
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -n $live ]] && _modelgate_live
  if [[ $files == plain ]]; then
    _modelgate_files "$cur" ''
  elif [[ $files == at && $cur == @* ]]; then
    _modelgate_files "${cur#@}" @
  fi
}

# Asks the program for values that begin as the word at the cursor does; they may hold anything.
_modelgate_live() {
  local value typed=$cur before='' quote='' program=${COMP_WORDS[0]/#\~/$HOME}
  case $cur in
    [\"\']*)
      quote=${cur:0:1}
      typed=${cur:1}
      ;;
    *)
      # bash takes a colon for the end of a word, and keeps what is before it.
      if [[ -n $COMP_LINE && $COMP_WORDBREAKS == *:* && $cur$prev == *:* ]]; then
        typed=${COMP_LINE:0:COMP_POINT}
        typed=${typed##*[[:space:]]}
        [[ $typed == -*=* ]] && typed=${typed#*=}
        before=${typed%"${typed##*:}"}
      fi
      typed=${typed//\\/}
      ;;
  esac
  compopt -o nosort 2>/dev/null
  while IFS=$'\t' read -r value _; do
    [[ -n $value && $value == "$typed"* ]] || continue
    if [[ -n $quote ]]; then
      # What acts inside quotes cannot be completed there.
      [[ $value == *[\"\'\$\`\\!]* ]] && continue
    else
      value=${value#"$before"}
      printf -v value '%q' "$value"
    fi
    COMPREPLY[${#COMPREPLY[@]}]=$value
  done < <("$program" __complete "$live" $path 2>/dev/null </dev/null)
}

# Completes the name of a file that may have spaces in it.
_modelgate_files() {
  local name
  while IFS= read -r name; do
    if [[ -n $2 ]]; then
      # bash would quote the "@" as well.
      [[ -d $name ]] && name=$name/ && compopt -o nospace 2>/dev/null
      printf -v name '%q' "$name"
    else
      compopt -o filenames 2>/dev/null
    fi
    COMPREPLY[${#COMPREPLY[@]}]=$2$name
  done < <(compgen -f -- "$1")
}

complete -F _modelgate modelgate
