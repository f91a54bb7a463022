import * as v from 'valibot'
import type { Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import type { ProblemList } from '../problems.ts'
import { homeFolder } from '../context/folders.ts'
import { quoted } from './parse-config.ts'
import { settingTable, type Kind, type SettingName } from './setting-table.ts'
import { pathsOf } from '../platform.ts'

/** The sources of a value, in order of precedence. */
export type Level = 'flag' | 'environment' | 'project' | 'user' | 'default'

export interface Setting<Value> {
  readonly value: Value
  /** `flag --base-url`, `environment MODELGATE_BASE_URL`, `project file PATH`, `user file PATH`, `default`. */
  readonly source: string
  readonly level: Level
}

interface Origin {
  readonly source: string
  readonly level: Level
  /** How messages refer to it, or to a value inside it: `--timeout`, `file.yaml:3: timeout`. */
  readonly location: (keys?: readonly string[]) => string
  readonly folder: string
}

export async function addValue(
  context: Context,
  layer: Map<SettingName, Setting<unknown>>,
  name: SettingName,
  given: unknown,
  { source, level, location, folder }: Origin,
  problems: ProblemList,
): Promise<void> {
  const kind: Kind<unknown> = settingTable[name].kind
  const result = await parseValue(kind, given)
  if ('wrong' in result) {
    for (const { keys, problem } of result.wrong) {
      if (!problems.isFull)
        problems.add(new ConfigError(`${location(keys)} ${problem}.`.replace(/\?\.$/, '?')))
    }
    return
  }
  const absolute = (path: string) => absolutePath(context, folder, path)
  const value = kind.locate === undefined ? result.value : kind.locate(result.value, absolute)
  layer.set(name, { value, source, level })
}

interface WrongValue {
  readonly keys: readonly string[]
  readonly problem: string
}

export async function parseValue<Value>(
  { schema }: Kind<Value>,
  input: unknown,
): Promise<{ readonly value: Value } | { readonly wrong: readonly WrongValue[] }> {
  if (input === null) return { wrong: [{ keys: [], problem: 'has no value' }] }
  const loaded = typeof schema === 'function' ? await schema() : schema
  const result = v.safeParse(loaded, input)
  if (result.success) return { value: result.output }
  return { wrong: result.issues.flatMap((issue) => problemsIn(issue)) }
}

/** What an issue says; of a value that has the outside of one of several forms (a mapping, a list), what is wrong inside. */
function problemsIn(
  { path, message, input, issues }: v.BaseIssue<unknown>,
  outer: readonly unknown[] = [],
): WrongValue[] {
  const keys = [...outer, ...(path?.map(({ key }) => key) ?? [])]
  const inside = (issues ?? []).filter((issue) => issue.path !== undefined || issue.kind === 'validation')
  if (inside.length > 0) return inside.flatMap((issue) => problemsIn(issue, keys))
  const item = keys.find((key) => typeof key === 'number')
  const place = item === undefined ? '' : `(item ${item + 1}) `
  const isValue = message.startsWith('must be')
  return [
    {
      keys: keys.filter((key) => typeof key === 'string'),
      problem: `${place}${message}${isValue ? `, not ${describeValue(input)}` : ''}`,
    },
  ]
}

/** An invalid value for a message. Long text is not quoted: it may be a misplaced API key. */
function describeValue(value: unknown): string {
  if (value === '') return 'empty'
  if (typeof value === 'string' && value.length <= 16) return quoted(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value)
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a mapping'
  return typeof value === 'string' ? 'text' : `a ${typeof value}`
}

/** `~` is the home directory. */
export function absolutePath(context: Context, folder: string, path: string): string {
  const { join, resolve } = pathsOf(context.platform)
  const home = homeFolder(context)
  return home !== undefined && /^~[\\/]/.test(path) ? join(home, path.slice(2)) : resolve(folder, path)
}

/** A path as a file of settings takes it, whatever folder it was typed in: `~/` is the home directory there, too. */
export function pathToWrite(context: Context, path: string): string {
  return /^~[\\/]/.test(path) ? path : absolutePath(context, context.cwd, path)
}
