import { type Argument, type Command, Option } from 'commander'
import { defaultMaxRetries, defaultSeconds } from '../../../limits.ts'
import { UsageError } from '../../../errors.ts'
import type { Example } from '../../../output/help-page.ts'

export type { Example }

/** Numbers are still text: they are checked with all other settings. */
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
  noInput?: true
  stdin: boolean
  stdinTimeout?: number
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

const retryModes = ['never', 'safe', 'always']

/** By the headings of the help, in its order. */
const optionTable = (): Readonly<Record<string, readonly Option[]>> => {
  const { firstByte } = defaultSeconds
  return {
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
      ).argParser(stdinSeconds),
      // An option of its own, not the opposite of another: `respond` has an `--input`.
      Object.assign(new Option('--no-input', 'never ask; missing input is an error'), { negate: false }),
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
      suggestWords(new Option('--retry <mode>', 'what to retry: never, safe or always'), retryModes),
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
}

function stdinSeconds(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds >= 0) return seconds
  throw new UsageError('--stdin-timeout must be a number of seconds.')
}

/** Commands take groups, and single options by their names. */
const groups: Readonly<Record<string, string>> = {
  request: 'model dryRun curl body set validate',
  results: 'output json force jsonl raw githubOutput usage strict',
  money: 'maxCreates maxCost',
  gateway:
    'sandbox baseUrl apiKeyFile profile retry maxRetries timeout connectTimeout firstByteTimeout idleTimeout progressTimeout header caFile allowHttp',
  /** What is harmless everywhere: verbosity, and what is not to be asked or read. */
  messages: 'quiet debug noInput stdin',
  /** Those of a command that sends a request of any kind. */
  all: 'request results money gateway messages stdinTimeout',
}

const shared = new WeakSet<Option>()

/** Whether several commands have it. */
export function isShared(option: Option): boolean {
  return shared.has(option)
}

/** Harmless everywhere, and so in the help of `--all` alone. */
export function isHarmless(option: Option): boolean {
  return isShared(option) && groups['messages']!.split(' ').includes(option.attributeName())
}

/**
 * @param names of groups and of single options
 * @param meanings what an option means for this command, where that is not what it usually means
 */
export function addShared(
  command: Command,
  names: string,
  meanings: Readonly<Record<string, string>> = {},
): void {
  const membersOf = (name: string): string[] => groups[name]?.split(' ').flatMap(membersOf) ?? [name]
  const wanted = new Set(names.split(' ').flatMap(membersOf))
  for (const [heading, options] of Object.entries(optionTable())) {
    for (const option of options) {
      const name = option.attributeName()
      if (!wanted.delete(name)) continue
      option.description = meanings[name] ?? option.description
      shared.add(option)
      command.addOption(option.helpGroup(heading))
    }
  }
  if (wanted.size > 0) throw new TypeError(`There is no option ${[...wanted].join(', ')}.`)
}

/** Options after the name of the command take precedence. @throws UsageError for those that it does not have */
export function takeOptionsBefore(command: Command): void {
  const own = new Set(command.options.map((option) => option.attributeName()))
  const wrong: string[] = []
  for (let { parent } = command; parent !== null; parent = parent.parent) {
    for (const option of parent.options) {
      const name = option.attributeName()
      if (parent.getOptionValueSource(name) !== 'cli') continue
      if (!own.has(name)) wrong.push(`${option.long} does not apply to ${nameOf(command)}.`)
      else if (command.getOptionValueSource(name) !== 'cli') {
        command.setOptionValueWithSource(name, parent.getOptionValue(name), 'cli')
      }
    }
  }
  if (wrong.length > 0) throw new UsageError(wrong, { hint: `See modelgate ${nameOf(command)} --help.` })
}

export function isDryRun({ dryRun, curl }: Pick<CommonOptions, 'dryRun' | 'curl'>): boolean {
  return dryRun === true || curl === true
}

export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

export function acceptMismatchOption(): Option {
  return new Option('--accept-mismatch', 'accept a result that differs from what was asked for')
}

/** The words that call a command; empty for the program. */
export function nameOf(command: Command): string {
  const { parent } = command
  return parent === null ? '' : `${nameOf(parent)} ${command.name()}`.trim()
}

/** For completion: unlike `choices()` it refuses nothing, and the contract check reports all problems together. */
export function suggestWords<T extends Argument | Option>(
  target: T,
  words: readonly string[] | undefined,
): T {
  if (words !== undefined) target.argChoices = [...words]
  return target
}

export function wordOption(flags: string, about: string, words: readonly string[]): Option {
  const option = suggestWords(new Option(flags, about), words)
  return option.argParser((text: string) => {
    if (words.includes(text)) return text
    throw new UsageError(`${option.long} must be one of ${words.join(', ')}, not ${JSON.stringify(text)}.`)
  })
}

export function numberOption(flags: string, about: string, min = 0, max?: number): Option {
  const option = new Option(flags, about)
  return option.argParser((text: string) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : NaN
    if (number >= min && number <= (max ?? Number.MAX_SAFE_INTEGER)) return number
    const range = `from ${min}${max === undefined ? '' : ` to ${max}`}`
    throw new UsageError(`${option.long} must be a whole number ${range}, not ${JSON.stringify(text)}.`)
  })
}

export type LoadCommand = (command: Command) => Promise<void>

/** What the help shows of a command, and the parser has no place for: to give it, and to read it. */
export function helpFact<Fact>(otherwise: Fact) {
  const facts = new WeakMap<Command, Fact>()
  return [
    (command: Command, fact: Fact): void => void facts.set(command, fact),
    (command: Command): Fact => facts.get(command) ?? otherwise,
  ] as const
}

/** The most useful ones first: without `--all` three are shown. */
export const [addExamples, examplesOf] = helpFact<readonly Example[]>([])

/** Names of options in the order of use; `--all` shows the others after them. */
export const [showFirst, shownFirst] = helpFact<string | undefined>(undefined)
