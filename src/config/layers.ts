import * as v from 'valibot'
import type { Context } from '../context.ts'
import { nearestName } from '../nearest-name.ts'
import { ConfigError } from '../errors.ts'
import { isObject } from '../json.ts'
import type { ProblemList } from '../problems.ts'
import { userFilePath } from './find-config-file.ts'
import { homeFolder } from './paths.ts'
import { quoted, type FoundFile } from './parse-config.ts'
import {
  boolean,
  flagName,
  settingNames,
  settingTable,
  type AnyRow,
  type Kind,
  type SettingFlags,
  type SettingName,
} from './setting-table.ts'
import { pathsOf } from '../platform.ts'

/** The sources of a value, in order of precedence. */
export type Level = 'flag' | 'environment' | 'project' | 'user' | 'default'

export interface Setting<Value> {
  readonly value: Value
  /** `flag --base-url`, `environment MODELGATE_BASE_URL`, `project file PATH`, `user file PATH`, `default`. */
  readonly source: string
  readonly level: Level
}

/** The settings of one source, validated and converted. */
export type Layer = ReadonlyMap<SettingName, Setting<unknown>>

export function flagLayer(context: Context, flags: SettingFlags, problems: ProblemList): Promise<Layer> {
  return textLayer(context, 'flag', problems, ({ flag, kind }) => {
    if (flag === undefined) return undefined
    const given = flags[flag as keyof SettingFlags]
    // `respond --no-store` is a field of its request.
    const isOther = typeof given === 'boolean' && kind !== boolean
    return { given: isOther ? undefined : given, location: flagName(flag) }
  })
}

/** The settings given by `MODELGATE_*` variables; an empty variable counts as unset. */
export function environmentLayer(context: Context, problems: ProblemList): Promise<Layer> {
  return textLayer(context, 'environment', problems, ({ env }) =>
    env === undefined ? undefined : { given: context.env[env] || undefined, location: env },
  )
}

async function textLayer(
  context: Context,
  level: Level,
  problems: ProblemList,
  read: (row: AnyRow) => { readonly given: unknown; readonly location: string } | undefined,
): Promise<Layer> {
  const layer = new Map<SettingName, Setting<unknown>>()
  for (const name of settingNames) {
    const row: AnyRow = settingTable[name]
    const { given, location } = read(row) ?? {}
    if (given === undefined || location === undefined) continue
    const value = typeof given === 'string' ? (row.kind.fromText?.(given) ?? given) : given
    const origin = { source: `${level} ${location}`, level, location: () => location, folder: context.cwd }
    await addValue(context, layer, name, value, origin, problems)
  }
  return layer
}

export interface FileLayer {
  readonly folder: string
  readonly settings: Layer
  /** By name, without inherited settings. Only the user's own file has profiles. */
  readonly profiles: ReadonlyMap<string, Layer>
}

/** The settings of a file. Of a project file, those that could leak the key are rejected. */
export async function fileLayer(
  context: Context,
  file: FoundFile,
  level: 'project' | 'user',
  problems: ProblemList,
): Promise<FileLayer> {
  const { folder, content } = file
  const source = `${level} file ${file.path}`
  const settings = await readSection({ context, file, problems, level, source, path: [] }, content)
  const profiles = new Map<string, Layer>()
  const written = level === 'user' && isObject(content) ? content['profiles'] : undefined
  if (written !== undefined && !isObject(written)) {
    const location = locationOf(file, ['profiles'])
    problems.add(new ConfigError(`${location} must map names to settings, not ${kindOf(written)}.`))
  }
  for (const [name, own] of isObject(written) ? Object.entries(written) : []) {
    if (problems.isFull) break
    const inner = { source: `${source}, profile ${name}`, path: ['profiles', name] }
    profiles.set(name, await readSection({ context, file, problems, level, ...inner }, own))
  }
  return { folder, settings, profiles }
}

/** The settings at the top of a file, or those of a profile. */
interface Section {
  readonly context: Context
  readonly file: FoundFile
  readonly level: 'project' | 'user'
  /** The path of keys to it: empty, or `profiles` and a name. */
  readonly path: readonly string[]
  readonly source: string
  readonly problems: ProblemList
}

async function readSection(section: Section, content: unknown): Promise<Layer> {
  const { context, file, path, level, source, problems } = section
  const layer = new Map<SettingName, Setting<unknown>>()
  if (!isObject(content)) {
    const location = locationOf(file, path)
    problems.add(new ConfigError(`${location} must be a mapping of settings, not ${kindOf(content)}.`))
    return layer
  }
  // Keys that are allowed besides the settings.
  const others = path.length > 0 ? [] : level === 'user' ? ['$schema', 'profiles'] : ['$schema']
  for (const [key, value] of Object.entries(content)) {
    if (problems.isFull) break
    if (others.includes(key)) continue
    const name = settingNames.find((setting) => settingTable[setting].file === key)
    const location = (keys: readonly string[] = []) => locationOf(file, [...path, key, ...keys])
    if (name === undefined) problems.add(unknownKey(location(), key, others))
    else if (level === 'project' && settingTable[name].project === undefined)
      problems.add(notAllowedInProject(context, location()))
    else if (name === 'profile' && path.length > 0)
      problems.add(new ConfigError(`${location()} cannot be set in a profile.`))
    else
      await addValue(context, layer, name, value, { source, level, location, folder: file.folder }, problems)
  }
  return layer
}

function notAllowedInProject(context: Context, location: string): ConfigError {
  return new ConfigError(`${location} cannot be set in a project file, which may come from others.`, {
    hint: `Set it in your own configuration file, ${userFilePath(context)}, or in the environment.`,
  })
}

/** @param others keys that are allowed besides the settings */
function unknownKey(location: string, key: string, others: readonly string[]): ConfigError {
  if (/^api[-_]?key$/i.test(key)) {
    return new ConfigError(`${location} is not a setting: keys do not belong in configuration files.`, {
      hint: 'Set MODELGATE_API_KEY, or name a file or a command with api_key_file or api_key_command.',
    })
  }
  if (key === 'profiles') {
    return new ConfigError(`${location} can only be set in your own configuration file.`)
  }
  const nearest = nearestName(key, [...settingNames.map((name) => settingTable[name].file), ...others])
  const suggestion = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return new ConfigError(`${location} is not a setting.${suggestion}`)
}

/** A longer key may exceed the limits of the regular expression engine. */
const maxSearchedKey = 100

/** `file:line: key`. */
function locationOf(file: FoundFile, path: readonly string[]): string {
  if (path.length === 0) return `${file.path}: the file`
  const name = path.map((key) => (/^\w{1,60}$/.test(key) ? key : quoted(key))).join('.')
  const line = lineOf(file, path)
  return line === undefined ? `${file.path}: ${name}` : `${file.path}:${line}: ${name}`
}

/** The first line where the keys of a path follow each other, counted from 1; undefined if they cannot be told. */
export function lineOf({ text }: FoundFile, path: readonly string[]): number | undefined {
  let offset = 0
  for (const [depth, key] of path.entries()) {
    if (key.length > maxSearchedKey) return undefined
    const escaped = key.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    const rest = text.slice(offset)
    const find = (before: string) => new RegExp(`${before}["']?${escaped}["']?\\s*:`, 'm').exec(rest)
    // At the top of a file of lines a key is at the start of its line: not in a comment, nor in a profile.
    const found = (depth === 0 ? find('^') : null) ?? find(String.raw`(?:^|[\s{,])`)
    if (found === null) return undefined
    offset += found.index + found[0].length
  }
  return text.slice(0, offset).split('\n').length
}

interface Origin {
  readonly source: string
  readonly level: Level
  /** How messages refer to it, or to a value inside it: `--timeout`, `file.yaml:3: timeout`. */
  readonly location: (keys?: readonly string[]) => string
  readonly folder: string
}

/** Validates one value and adds it to the layer, or adds a problem. */
async function addValue(
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

/** A problem of a value: the keys inside the setting that lead to it, and a clause that follows its name. */
interface WrongValue {
  readonly keys: readonly string[]
  readonly problem: string
}

/** The converted value, or its problems. */
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

/** Describes a value without quoting it. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a mapping'
  return typeof value === 'string' ? 'text' : `a ${typeof value}`
}

/** A path of a setting, from the folder that it is relative to; `~` is the home directory. */
export function absolutePath(context: Context, folder: string, path: string): string {
  const { join, resolve } = pathsOf(context.platform)
  const home = homeFolder(context)
  return home !== undefined && /^~[\\/]/.test(path) ? join(home, path.slice(2)) : resolve(folder, path)
}

/** A path as a file of settings takes it, whatever folder it was typed in: `~/` is the home directory there, too. */
export function pathToWrite(context: Context, path: string): string {
  return /^~[\\/]/.test(path) ? path : absolutePath(context, context.cwd, path)
}
