import type { Argument, Command, Option } from 'commander'
import { collect } from '../shared/options/common-options.ts'
import type { LiveKind } from './live-values.ts'

export interface Value {
  /** What the help calls it: `file`, `seconds`. */
  readonly name: string
  /** Whether file names are completed: as they are, after an `@`, or not at all. */
  readonly files: 'plain' | 'at' | 'none'
  readonly words: readonly string[]
  /** What the program is asked for when TAB is pressed; left out where all is known beforehand. */
  readonly live?: LiveKind
}

/** The arguments that name what only this machine knows, by the words that call the command. */
const liveArguments: Readonly<Record<string, LiveKind>> = {
  'video status': 'videos',
  'video wait': 'videos',
  'video remix': 'videos',
  'response status': 'responses',
  'response wait': 'responses',
  'response cancel': 'responses',
  models: 'models',
  'log show': 'calls',
  run: 'assets',
  'run adopt': 'assets',
  'run pick': 'assets',
  'run report': 'assets',
}

/** The same for options, whatever the command. */
const liveOptions: Readonly<Record<string, LiveKind>> = {
  '--model': 'models',
  '--text-model': 'models',
  '--image-model': 'models',
  '--video-model': 'models',
  '--profile': 'profiles',
  '--previous-response-id': 'responses',
  '--regenerate': 'assets',
}

export interface Flag {
  /** With dashes: `-o`, `--output`. */
  readonly names: readonly string[]
  readonly about: string
  /** Whether it may be given more than once. */
  readonly repeatable: boolean
  /** Left out for a switch. */
  readonly value?: Value
}

export interface CommandNode {
  /** The words that call it, without the program's name; empty for the program itself. */
  readonly path: string
  readonly about: string
  readonly children: readonly CommandNode[]
  readonly flags: readonly Flag[]
  /** Whether the program's global flags are offered as well. If not, those that apply are in `flags`. */
  readonly takesCommon: boolean
  /** All its arguments taken together; left out when it has none. */
  readonly argument?: Value
}

/** Accepted after every command. */
const helpFlag: Flag = { names: ['-h', '--help'], about: 'show help', repeatable: false }

/**
 * Reads what can be completed from the program, whose commands must be loaded.
 * @param path words that call `command`
 */
export function readTree(command: Command, path = ''): CommandNode {
  const argument = readArguments(command.registeredArguments, liveArguments[path])
  const takesCommon = command.parent === null
  // Options hidden from the help are not offered either.
  const own = command.options.filter(({ hidden }) => !hidden)
  return {
    path,
    about: command.description(),
    children: command.commands.map((child) => readTree(child, `${path} ${child.name()}`.trim())),
    flags: [...own.map(readFlag), helpFlag],
    takesCommon,
    ...(argument === undefined ? {} : { argument }),
  }
}

/** The program and every command below it, in the order of the help. */
export function allNodes(root: CommandNode): CommandNode[] {
  return [root, ...root.children.flatMap(allNodes)]
}

function readFlag(option: Option): Flag {
  const names = [option.short, option.long].filter((name) => name != null)
  const placeholder = /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1]
  return {
    names,
    about: option.description,
    repeatable: option.parseArg === collect,
    ...(placeholder === undefined
      ? {}
      : { value: { ...readValue(placeholder, option), ...liveIf(liveOptions[option.long ?? '']) } }),
  }
}

const liveIf = (live: LiveKind | undefined) => (live === undefined ? {} : { live })

function readArguments(all: readonly Argument[], live: LiveKind | undefined): Value | undefined {
  const values = all.map((argument) => readValue(argument.name(), argument))
  if (values.length === 0) return undefined
  return {
    name: values.map(({ name }) => name).join(' or '),
    files: values.find(({ files }) => files !== 'none')?.files ?? 'none',
    words: values.flatMap(({ words }) => words),
    ...liveIf(live),
  }
}

function readValue(name: string, target: Argument | Option): Value {
  const kinds = name.split('|')
  const plain = kinds.includes('file') || target.description.includes('a file name')
  const at = kinds.includes('json') || target.description.includes('@file')
  return {
    name,
    files: plain ? 'plain' : at ? 'at' : 'none',
    // Words that need quoting are left out: they are easier to type than to complete.
    words: (target.argChoices ?? []).filter((word) => /^[\w./-]+$/.test(word)),
  }
}

/** The names of every option that takes a value, whatever the command. */
export function valueFlagNames(root: CommandNode): string[] {
  const flags = allNodes(root).flatMap((node) => node.flags)
  return [...new Set(flags.flatMap(({ names, value }) => (value === undefined ? [] : names)))]
}

/** The last word of those that call a command. */
export function ownName({ path }: CommandNode): string {
  return path.split(' ').at(-1)!
}
