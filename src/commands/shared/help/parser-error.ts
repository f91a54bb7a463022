import type { Command, CommanderError } from 'commander'
import { UsageError } from '../../../errors.ts'
import { nextCommand } from '../../../files/next-command.ts'
import { nearestName } from '../../../nearest-name.ts'
import { nameOf } from '../options/common-options.ts'
import { pathOf } from './command-help.ts'

/** Words that other programs understand, after the words of a group, and what they are here. */
const usualWords: Readonly<Record<string, string>> = {
  '-v': '-V, --version',
  '-H': '--header',
  version: '--version',
  ask: 'generate',
  text: 'generate',
  prompt: 'generate',
  complete: 'generate',
  responses: 'respond',
  draw: 'image create',
  list: 'jobs',
  ls: 'jobs',
  serve: 'sandbox',
  history: 'log',
  cost: 'usage',
  tokens: 'usage',
  'image generate': 'create',
  'image generations': 'create',
  'image variation': 'edit',
  'video create': 'generate',
  'video edit': 'remix',
  'video get': 'status',
  'config ls': 'list',
  'config show': 'list',
  'auth whoami': 'status',
}

/** Options that other programs have, and what may stand for them here: the first that the command has. */
const usualOptions: Readonly<Record<string, readonly string[]>> = {
  '--max-tokens': ['--max-output-tokens'],
  '--stop': ['--stop-sequences'],
  '--seconds': ['--duration-seconds'],
  '--duration': ['--duration-seconds'],
  '--count': ['--n', '--sample-count'],
  '--num-images': ['--n'],
  '--width': ['--size'],
  '--height': ['--size'],
  '--aspect-ratio': ['--size'],
  '--format': ['--output-format'],
}

const goneWords: Readonly<Record<string, string>> = {
  'modelgate again': 'Run the line that modelgate log show ID prints after "again".',
  'modelgate config edit': 'Open the file that modelgate config path names, or use modelgate config set.',
  'modelgate response': 'What it did is done by modelgate wait, modelgate jobs and modelgate cancel.',
  'modelgate models --remote': "The gateway's list is the default: modelgate models.",
  'modelgate video list': 'It is modelgate jobs now.',
  'modelgate video wait': 'It is modelgate wait now.',
}

/** Options by which other programs take a key. */
const keyOption = /^--?(?:api|secret|auth|access)?[-_]?(?:key|token)$/i

export function parserError(error: CommanderError, program: Command, argv: readonly string[]): UsageError {
  const command = calledCommand(program, argv)
  const path = pathOf(command)
  // The mark of text that begins with a dash.
  const plain = error.message
    .replace(/^error: /, '')
    .replace('\n', ' ')
    .replaceAll('\0', '')
  const [, kind, word = '', offer = ''] = /^unknown (command|option) '([^]*)'([^']*)$/.exec(plain) ?? []
  const hint = `See ${path} --help.`
  if (kind === undefined) return new UsageError(choicesOf(plain), { hint })
  const gone = goneWords[`${path} ${word}`]
  if (gone !== undefined) return new UsageError(`unknown ${kind} '${word}'`, { hint: gone })
  const isOption = kind === 'option'
  // A value after "=" may be a key.
  const name = isOption ? nameIn(word) : word
  if (isOption && keyOption.test(name)) {
    return new UsageError(`unknown option '${name}'`, {
      hint: 'Arguments are seen by others: set MODELGATE_API_KEY, or pass --api-key-file FILE.',
    })
  }
  const words = isOption ? meantOptions(command, name) : meantCommands(command, name)
  const meant = words.length > 0 ? ` (Did you mean ${words.join(' or ')}?)` : isOption ? offer : ''
  // Names of options have no white space.
  const isText = isOption && /\s/.test(name)
  return new UsageError(`unknown ${kind} '${name}'${meant}`, {
    hint: isText ? `Text that begins with a dash follows "--": ${path} [options] -- "-text"` : hint,
    next: correctedCall(name, meant, program, argv),
  })
}

/** Undefined unless the options before the name of a command (which is loaded) are what is wrong. */
export function misplaced(program: Command, argv: readonly string[]): UsageError | undefined {
  const command = calledCommand(program, argv)
  const at = argv.findIndex((word) => program.commands.some((child) => child.name() === word))
  const before = argv.slice(0, at)
  const wrong = before.find((word) => word.startsWith('-') && optionOf(program, word) === undefined)
  if (command === program || at < 1 || wrong === undefined || optionOf(command, wrong) === undefined) {
    return undefined
  }
  const path = pathOf(command).split(' ').slice(1)
  const next = [program.name(), ...path, ...before, ...argv.slice(at + path.length)]
  // A line that may hold a key is not repeated.
  const isShown = !next.some((word) => /^--?(?:H|header|body|set)\b/.test(word))
  return new UsageError(`${nameIn(wrong)} belongs after the command.`, {
    hint: isShown ? nextCommand(next).toString() : `See ${pathOf(command)} --help.`,
    ...(isShown ? { next } : {}),
  })
}

const nameIn = (word: string) => word.replace(/=[^]*$/, '')

function optionOf({ options }: Command, word: string) {
  return options.find(({ short, long }) => short === nameIn(word) || long === nameIn(word))
}

/** Only what is suggested in place of the wrong word, where that is one word. */
function correctedCall(
  wrong: string,
  suggestion: string,
  program: Command,
  argv: readonly string[],
): readonly string[] | undefined {
  const [, meant] = /^ \(Did you mean ([\w -]+)\?\)$/.exec(suggestion) ?? []
  // A value of the wrong option may be a key; and of several words none is the one.
  if (meant === undefined || / or |key/.test(meant)) return undefined
  const at = argv.findIndex((word) => word === wrong || word.startsWith(`${wrong}=`))
  if (at === -1) return undefined
  const rest = argv[at]!.slice(wrong.length)
  const words = rest === '' ? meant.split(' ') : [meant + rest]
  return [program.name(), ...argv.slice(0, at), ...words, ...argv.slice(at + 1)]
}

export function calledCommand(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const [at, word] of argv.entries()) {
    const child = command.commands.find((one) => one.name() === word)
    // Further words may be arguments of a word that is no command.
    const isOption = word.startsWith('-') || (argv[at - 1] ?? '').startsWith('-')
    if (child === undefined && !isOption) break
    command = child ?? command
  }
  return command
}

function choicesOf(message: string): string {
  return message.replace(
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/,
    (_, given: string, name: string, choices: string) =>
      `The ${name} must be one of ${choices}, not ${JSON.stringify(given)}.`,
  )
}

function meantOptions(command: Command, name: string): string[] {
  const usual = usualWords[name] ?? usualOptions[name]?.find((long) => optionOf(command, long) !== undefined)
  return usual === undefined ? [] : [usual]
}

function meantCommands(group: Command, word: string): string[] {
  const words = `${nameOf(group)} ${word}`.trim()
  if (Object.hasOwn(usualWords, words)) return [usualWords[words]!]
  const below = group.commands.flatMap((child) =>
    child.commands.filter((inner) => inner.name() === word).map(() => `${child.name()} ${word}`),
  )
  const own = group.commands.map((child) => child.name())
  return below.length > 0 ? below : [nearestName(word, own) ?? []].flat()
}
