import { type Argument, type Command, Help, Option } from 'commander'
import { defaultMaxRetries, defaultSeconds } from '../../../limits.ts'
import { UsageError } from '../../../errors.ts'

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
  maxCreates?: string
  maxCost?: string
  strict?: true
  debug?: true
  githubOutput?: string
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
  header?: string[]
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
      new Option('--jsonl', 'print events as they happen, one JSON object per line').conflicts('raw'),
      new Option('--raw', "print the gateway's own JSON"),
      new Option(
        '--github-output <name>',
        'set this output of a GitHub Actions step to the result',
      ).conflicts(['jsonl', 'raw']),
      new Option('--usage', 'print the token counts on standard error, and the cost if prices are known'),
      new Option('--strict', 'treat a truncated answer, or an unverified image or video, as a failure'),
      new Option('-q, --quiet', 'no messages on standard error, except errors'),
      new Option('--debug', 'trace requests and replies on standard error, secrets hidden'),
    ],
    'Input:': [
      new Option('--no-stdin', 'do not read standard input'),
      new Option(
        '--stdin-timeout <seconds>',
        `how long to wait for a silent pipe (${defaultSeconds.standardInput})`,
      ),
      new Option('--no-input', 'never ask; missing input is an error'),
    ],
    'Money:': [
      new Option('--max-creates <number>', 'create at most this many texts, images or videos'),
      new Option(
        '--max-cost <amount>',
        'stop when all calls since midnight have cost this much, by estimate',
      ),
    ],
    'Gateway:': [
      new Option('--base-url <url>', 'address of the gateway'),
      new Option('--api-key-file <file>', 'file that holds the key'),
      new Option('--profile <name>', 'named profile of the configuration'),
      suggestWords(new Option('--retry <mode>', 'what to retry: never, safe or always'), [
        'never',
        'safe',
        'always',
      ]),
      new Option('--max-retries <number>', `how often to retry (${defaultMaxRetries})`),
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
      new Option(
        '--header <line>',
        "header for the gateway: 'Name: value', @file or env:NAME (repeatable)",
      ).argParser(collect),
      new Option('--ca-file <file>', 'certificate authority to trust (PEM)'),
      new Option('--allow-http', 'allow an http:// base URL on another host'),
    ],
  }
  for (const [heading, options] of Object.entries(groups)) {
    for (const option of options) program.addOption(option.helpGroup(heading))
  }
}

const commandLines = new WeakMap<object, readonly string[]>()

/** Keeps the command line of a call, for the log. */
export function rememberCommandLine(context: object, words: readonly string[]): void {
  commandLines.set(context, words)
}

/** The command line of a call; empty when it has none. */
export function commandLineOf(context: object): readonly string[] {
  return commandLines.get(context) ?? []
}

/** Whether the request is printed instead of sent. */
export function isDryRun({ dryRun, curl }: Pick<CommonOptions, 'dryRun' | 'curl'>): boolean {
  return dryRun === true || curl === true
}

/** Collects a repeatable option. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** What `--strict` turns into failures. */
export const strictMeanings = {
  text: { strict: 'treat an answer truncated by the token limit as a failure' },
  images: { strict: 'treat an unverified image, or one of a type other than its name says, as a failure' },
  videos: { strict: 'treat a video that could not be verified as a failure' },
  videosIfWaiting: { strict: 'with --wait, treat a video that could not be verified as a failure' },
} as const

export function acceptMismatchOption(): Option {
  return new Option('--accept-mismatch', 'accept a result that differs from what was asked for')
}

/**
 * Describes in a command's help what the common options mean for it.
 * @param meaning by the options' names, as commander keeps them
 */
export function explainCommon(command: Command, meaning: Readonly<Record<string, string>>): void {
  command.configureHelp({
    ...command.configureHelp(),
    optionDescription: (option) => meaning[option.attributeName()] ?? option.description,
  })
}

/** Common options that are harmless without a request: they change verbosity or disable questions. */
const harmless: ReadonlySet<string> = new Set(['quiet', 'debug', 'input', 'stdin'])

/**
 * The common options are declared on the program, so the parser accepts them for every command. Most do not apply to a
 * command that sends no request.
 * @param command the command that was called
 * @param refused the names of the options that do not apply, as commander keeps them; by default all but the harmless
 *   ones, if the command sends no request
 * @throws UsageError that names each option that does not apply
 */
export function refuseCommonOptions(command: Command, refused?: ReadonlySet<string>): void {
  const program = programOf(command)
  const inapplicable = program.options.filter((option) => {
    const name = option.attributeName()
    const isRefused = refused === undefined ? !harmless.has(name) : refused.has(name)
    return isRefused && program.getOptionValueSource(name) === 'cli'
  })
  if (inapplicable.length === 0) return
  const name = wordsOf(command)
  const reason = refused === undefined ? ', which sends no request' : ''
  const problems = inapplicable.map(({ long }) => `${long} does not apply to ${name}${reason}.`)
  throw new UsageError(problems, { code: 'unknown_option', hint: `See modelgate ${name} --help.` })
}

/** Makes a command reject some of the common options and hide them in its help. */
export function refuseOptions(command: Command, refused: ReadonlySet<string>): void {
  showOptions(command, (name) => !refused.has(name))
  command.hook('preAction', (_, called) => {
    // The commands below it refuse options of their own.
    if (called === command) refuseCommonOptions(command, refused)
  })
}

/** The same for a command to which only a few of the common options apply, besides the harmless ones. */
export function takeOptions(command: Command, taken: ReadonlySet<string>): void {
  showOptions(command, (name) => taken.has(name))
  command.configureHelp({ ...command.configureHelp(), showGlobalOptions: false })
  const names = programOf(command).options.map((option) => option.attributeName())
  const refused = new Set(names.filter((name) => !taken.has(name) && !harmless.has(name)))
  command.hook('preAction', (_, called) => {
    // The commands below it take options of their own.
    if (called === command) refuseCommonOptions(command, refused)
  })
}

function showOptions(command: Command, isShown: (name: string) => boolean): void {
  const all = new Help()
  all.showGlobalOptions = true
  command.configureHelp({
    ...command.configureHelp(),
    visibleGlobalOptions: (shownCommand) =>
      all.visibleGlobalOptions(shownCommand).filter((option) => isShown(option.attributeName())),
  })
}

export function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent)
}

/** The words that call a command, without the program's own. */
function wordsOf(command: Command): string {
  const { parent } = command
  return parent === null || parent.parent === null ? command.name() : `${wordsOf(parent)} ${command.name()}`
}

/**
 * Lists the allowed values for completion. Unlike `choices()` it does not enforce them: the contract check does, and
 * reports them with all other problems.
 */
export function suggestWords<T extends Argument | Option>(
  target: T,
  words: readonly string[] | undefined,
): T {
  if (words !== undefined) target.argChoices = [...words]
  return target
}
