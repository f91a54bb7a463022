import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError, exitCodes } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { suggestWords } from './shared/common-options.ts'
import { settingTable } from '../config/setting-table.ts'
import { formatExamples, type Example, formatRows, wrap } from './shared/help-layout.ts'

/** Loads a command and all commands below it, for commands that describe others. */
export type LoadCommand = (command: Command) => Promise<void>

const firstSteps: readonly (readonly [string, string])[] = [
  ['modelgate generate --sandbox "hello"', 'try it: no gateway, no key, no cost'],
  ['export MODELGATE_BASE_URL=https://HOST', 'your gateway'],
  ['export MODELGATE_API_KEY=KEY', 'and your key for it'],
  ['modelgate generate -m MODEL "hello"', 'words as they arrive'],
]

/** `modelgate` alone: one screen with what it is, its commands and what to do first. */
export function overview(program: Command, columns: number): string {
  const commands = program.commands.map((command) => [command.name(), command.description()] as const)
  return `${wrap(program.description(), columns)}

First steps:
${formatRows(firstSteps, columns)}

Commands:
${formatRows(commands, columns)}

${wrap('More: modelgate --help, modelgate help environment, modelgate help exit-codes', columns)}
`
}

/** Help that belongs to no command. */
const topics: Readonly<Record<string, (columns: number) => string>> = {
  'exit-codes': exitCodesTopic,
  environment: environmentTopic,
}

/** `modelgate help [command|topic]`, also for subcommands: `modelgate help video wait`. */
export function registerHelp(command: Command, context: Context, load: LoadCommand): void {
  const names = [...namesOf(command.parent!), ...Object.keys(topics)]
  const topic = command.createArgument('[topic]', `a command, or ${Object.keys(topics).join(', ')}`)
  command.addArgument(suggestWords(topic, names))
  command.argument('[command]', 'a command of that command')
  command.action(async (name?: string, ownName?: string) => {
    const program = command.parent!
    if (name === undefined) return program.outputHelp()
    const describe = Object.hasOwn(topics, name) ? topics[name] : undefined
    if (describe !== undefined && ownName === undefined) {
      return context.stdout.write(describe(context.stdout.columns))
    }
    const found = program.commands.find((candidate) => candidate.name() === name)
    if (found === undefined) throw unknownTopic(name, ownName, ownName === undefined ? names : [])
    if (found !== command) await load(found)
    if (ownName === undefined) return found.outputHelp()
    const own = found.commands.find((candidate) => candidate.name() === ownName)
    if (own === undefined) throw unknownTopic(name, ownName, namesOf(found))
    own.outputHelp()
  })
}

function namesOf({ commands }: Command): string[] {
  return commands.map((command) => command.name())
}

/** @param names what the last word could have been */
function unknownTopic(name: string, ownName: string | undefined, names: readonly string[]): UsageError {
  const near = nearestName(ownName ?? name, names)
  const topic = ownName === undefined ? name : `${name} ${ownName}`
  const given = ownName === undefined ? '' : `${name} `
  return new UsageError(
    `There is no help on ${JSON.stringify(topic)}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      code: 'unknown_topic',
      hint:
        names.length === 0
          ? 'See modelgate help.'
          : `There is help on ${names.map((other) => `${given}${other}`).join(', ')}.`,
    },
  )
}

/** Variables besides those of the settings. */
const others: readonly (readonly [string, string])[] = [
  ['MODELGATE_API_KEY', 'the key'],
  ['MODELGATE_CONFIG_DIR', 'folder of the user file and the credentials'],
  ['MODELGATE_STATE_DIR', 'folder of job records and rescued results'],
  ['HTTPS_PROXY, HTTP_PROXY', 'proxies, by the scheme of the address'],
  ['ALL_PROXY, NO_PROXY', 'the proxy for both, and hosts that need none'],
  ['NODE_EXTRA_CA_CERTS', 'further certificate authorities (PEM file)'],
  ['NO_COLOR, FORCE_COLOR, TERM=dumb', 'colours on a terminal'],
  ['CI', 'never ask'],
  ['XDG_CONFIG_HOME', 'where the user file lives'],
  ['XDG_STATE_HOME', 'where job records and rescued results live'],
]

const examples: readonly Example[] = [
  ['export MODELGATE_BASE_URL=https://HOST'],
  ['export MODELGATE_API_KEY=... MODELGATE_TEXT_MODEL=ID'],
  ['modelgate generate "Hello"'],
]

/** All environment variables, each with its setting. */
export function environmentRows(): (readonly [string, string])[] {
  const settings = Object.values(settingTable).flatMap(({ env, file }) =>
    env === undefined ? [] : [[env, `setting ${file}`] as const],
  )
  return [...settings, ...others]
}

/** `modelgate help environment`. */
export function environmentTopic(columns: number): string {
  return `${wrap('Environment variables, below flags and above files:', columns)}

${formatRows(environmentRows(), columns)}

${wrap('Order: flag, environment, project file, user file, default.', columns)}

${formatExamples(examples, columns)}`
}

/** `modelgate help exit-codes`: the table of src/errors.ts. */
export function exitCodesTopic(columns: number): string {
  const below = ' '.repeat(7)
  const rows = Object.values(exitCodes).map(({ code, meaning, advice }) => {
    const line = wrap(`  ${String(code).padStart(3)}  ${meaning}`, columns, below)
    return advice === '' ? line : `${line}\n${wrap(`${below}-> ${advice}`, columns, below)}`
  })
  const note =
    'New codes may be added: treat an unknown code as failure. An HTTP status is never an exit code.'
  return `How modelgate ends:

${rows.join('\n')}

${wrap(note, columns)}

${formatExamples([['modelgate generate -m MODEL "Hello" || echo "exit code $?"']], columns)}`
}
