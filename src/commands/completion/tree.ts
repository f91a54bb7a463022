import type { Argument, Command, Option } from 'commander'
import { collect } from '../shared/options/common-options.ts'
import type { LiveKind } from './live-values.ts'

/** What can be completed of the program, as JSON: the build keeps it beside the code that answers a TAB. */
export interface CommandNode {
  /** The words that call it, without the program's name; empty for the program itself. */
  readonly path: string
  readonly about: string
  readonly children: readonly CommandNode[]
  readonly flags: readonly Flag[]
  /** All its arguments taken together; left out when it has none. */
  readonly argument?: Value
}

export interface Flag {
  readonly names: readonly string[]
  readonly about: string
  readonly repeatable: boolean
  readonly value?: Value
}

export interface Value {
  /** Whether file names are completed: as they are, after an `@`, or not at all. */
  readonly files: 'plain' | 'at' | 'none'
  readonly words: readonly string[]
  /** What is looked up when TAB is pressed; left out where all is known beforehand. */
  readonly live?: LiveKind
}

/** The arguments and options that name what only this machine knows. */
const liveNames: Readonly<Record<string, LiveKind>> = {
  'video status': 'videos',
  'video remix': 'videos',
  wait: 'jobs',
  cancel: 'responses',
  models: 'models',
  'log show': 'calls',
  run: 'assets',
  'run adopt': 'assets',
  'run pick': 'assets',
  'run report': 'assets',
  'run restore': 'assets',
  '--model': 'models',
  '--text-model': 'models',
  '--image-model': 'models',
  '--video-model': 'models',
  '--profile': 'profiles',
  '--previous-response-id': 'responses',
  '--regenerate': 'assets',
}

/** The commands must be loaded. Options that the help hides are left out. */
export function readTree(command: Command, path = ''): CommandNode {
  return {
    path,
    about: command.description(),
    children: command.commands.map((child) => readTree(child, `${path} ${child.name()}`.trim())),
    flags: [
      ...command.options.filter(({ hidden }) => !hidden).map(readFlag),
      { names: ['-h', '--help'], about: 'show help', repeatable: false },
    ],
    ...readArguments(command.registeredArguments, path),
  }
}

export function allNodes(root: CommandNode): CommandNode[] {
  return [root, ...root.children.flatMap(allNodes)]
}

function readFlag(option: Option): Flag {
  const placeholder = /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1]
  return {
    names: [option.short, option.long].filter((name) => name != null),
    about: option.description,
    repeatable: option.parseArg === collect,
    ...(placeholder === undefined ? {} : { value: readValue(placeholder, option, option.long ?? '') }),
  }
}

function readArguments(all: readonly Argument[], path: string): Pick<CommandNode, 'argument'> {
  const values = all.map((argument) => readValue(argument.name(), argument, path))
  if (values.length === 0) return {}
  const files = values.find(({ files }) => files !== 'none')?.files ?? 'none'
  return { argument: { ...values[0]!, files, words: values.flatMap(({ words }) => words) } }
}

function readValue(placeholder: string, target: Argument | Option, name: string): Value {
  const kinds = placeholder.split('|')
  const plain = kinds.includes('file') || target.description.includes('a file name')
  const at = kinds.includes('json') || target.description.includes('@file')
  const live = liveNames[name]
  return {
    files: plain ? 'plain' : at ? 'at' : 'none',
    words: target.argChoices ?? [],
    ...(live === undefined ? {} : { live }),
  }
}
