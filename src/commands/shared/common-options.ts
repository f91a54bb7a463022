import { Option, type Command } from 'commander'
import { defaultMaxRetries, defaultSeconds } from '../../contract/limits.ts'
import { suggestWords } from './suggested-words.ts'

/** The options that every command understands, before or after its name. Numbers are still text: they are checked with all other settings. */
export interface CommonOptions {
  model?: string
  profile?: string
  baseUrl?: string
  apiKeyFile?: string
  sandbox?: true
  output?: string
  force?: true
  json?: true
  jsonl?: true
  raw?: true
  quiet?: true
  usage?: true
  strict?: true
  debug?: true
  dryRun?: true
  curl?: true
  body?: string
  set?: string[]
  validate: boolean
  input: boolean
  stdin: boolean
  stdinTimeout?: string
  timeout?: string
  connectTimeout?: string
  firstByteTimeout?: string
  idleTimeout?: string
  progressTimeout?: string
  maxRetries?: string
  retry?: string
  caFile?: string
  allowHttp?: true
}

/** Adds the common options. They are declared on the program: commander finds them anywhere in the call. */
export function addCommonOptions(program: Command): void {
  const { firstByte } = defaultSeconds
  const groups: Readonly<Record<string, readonly Option[]>> = {
    'Options:': [
      new Option('-m, --model <id>', 'model to use'),
      new Option('-o, --output <file>', 'write the result to a file'),
      new Option('--json', 'print one JSON document when done').conflicts(['jsonl', 'raw']),
      new Option('--dry-run', 'print the exact request and send nothing'),
      new Option('--sandbox', 'use the built-in local gateway: no key, no cost'),
    ],
    'Request:': [
      new Option('--body <json>', 'whole request body to start from: JSON, @file or @-'),
      new Option('--set <path=json>', 'set any field of the body (repeatable)').argParser(collect),
      new Option('--no-validate', 'send without checking against the documented limits'),
      new Option('--curl', 'print the request as a curl command and send nothing'),
    ],
    'Output:': [
      new Option('--force', 'overwrite an existing file'),
      new Option('--jsonl', 'print one JSON event a line as things happen').conflicts('raw'),
      new Option('--raw', "print the gateway's own JSON"),
      new Option('--usage', 'print the token counts on standard error'),
      new Option('--strict', 'treat a cut answer, and missing images or videos, as a failure'),
      new Option('-q, --quiet', 'no messages on standard error, except errors'),
      new Option('--debug', 'trace requests and replies on standard error, secrets hidden'),
    ],
    'Input:': [
      new Option('--no-stdin', 'do not read standard input'),
      new Option(
        '--stdin-timeout <seconds>',
        `how long a silent pipe is waited for (${defaultSeconds.standardInput})`,
      ),
      new Option('--no-input', 'never ask; missing input is an error'),
    ],
    'Gateway:': [
      new Option('--base-url <url>', 'address of the gateway'),
      new Option('--api-key-file <file>', 'file that holds the key'),
      new Option('--profile <name>', 'named profile of the configuration'),
      suggestWords(new Option('--retry <mode>', 'what may be sent again: never, safe or always'), [
        'never',
        'safe',
        'always',
      ]),
      new Option('--max-retries <number>', `how often to send again (${defaultMaxRetries})`),
      new Option('--timeout <seconds>', 'limit for the whole request, or for a wait (none)'),
      new Option('--connect-timeout <seconds>', `limit for connecting (${defaultSeconds.connect})`),
      new Option(
        '--first-byte-timeout <seconds>',
        `limit for the first byte (${firstByte.streamed} streamed, ${firstByte.whole} not)`,
      ),
      new Option('--idle-timeout <seconds>', `limit between bytes (${defaultSeconds.idle})`),
      new Option(
        '--progress-timeout <seconds>',
        `limit between meaningful events (${defaultSeconds.progress})`,
      ),
      new Option('--ca-file <file>', 'certificate authority to trust (PEM)'),
      new Option('--allow-http', 'allow a clear-text base URL on another host'),
    ],
  }
  for (const [heading, options] of Object.entries(groups)) {
    for (const option of options) program.addOption(option.helpGroup(heading))
  }
}

/** Collects a repeatable option. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}
