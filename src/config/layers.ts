import * as v from 'valibot'
import type { Context } from '../context.ts'
import { homeFolder } from '../context/folders.ts'
import { ConfigError } from '../errors.ts'
import { isObject, objectOf } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { pathsOf } from '../platform.ts'
import type { ProblemList } from '../problems.ts'
import { userFilePath, type FoundFile } from './config-file.ts'
import { quoted } from './parse-config.ts'
import {
  boolean,
  flagName,
  settingCalled,
  settingNames,
  settingTable,
  type Kind,
  type SettingName,
  type SettingValues,
} from './setting-table.ts'

/** The sources of a value, in order of precedence. */
export type Level = 'flag' | 'environment' | 'project' | 'user' | 'default'

export interface Setting<Value> {
  readonly value: Value
  /** `flag --base-url`, `environment MODELGATE_BASE_URL`, `project file PATH`, `user file PATH`, `default`. */
  readonly source: string
  readonly level: Level
  /** Of a value from a file. */
  readonly place?: Place | undefined
  /** As it was given, before it was converted. */
  readonly written?: unknown
}

/** Where in a file: the keys that lead to it. */
interface Place {
  readonly file: FoundFile
  readonly keys: readonly string[]
}

export type Layer = ReadonlyMap<SettingName, Setting<unknown>>

/** The settings of flags as the parser has them, or of `MODELGATE_*` variables. */
export async function textLayer(
  context: Context,
  level: 'flag' | 'environment',
  texts: Readonly<Record<string, unknown>>,
  problems: ProblemList,
): Promise<Layer> {
  const layer = new Map<SettingName, Setting<unknown>>()
  for (const name of settingNames) {
    const { flag, env, kind } = settingTable[name]
    const key = level === 'flag' ? flag : env
    const text = key === undefined ? undefined : texts[key]
    if (key === undefined || text === undefined) continue
    // An empty variable counts as unset, and `respond --no-store` is a field of its request.
    if (level === 'environment' ? text === '' : typeof text === 'boolean' && kind !== boolean) continue
    const given = typeof text === 'string' ? (kind.fromText?.(text) ?? text) : text
    const source = `${level} ${level === 'flag' ? flagName(key) : key}`
    await addValue(context, layer, name, given, { source, level }, problems)
  }
  return layer
}

/** Every setting with the value of its nearest source. */
export type Values = { readonly [Name in SettingName]: Setting<SettingValues[Name]> }

/** Each setting of the first layer that has it; of all of them where its values are joined. */
export function firstValues(layers: readonly (Layer | undefined)[]): Values {
  // The table checks each value against the type of its own setting, which cannot be expressed here.
  return Object.fromEntries(settingNames.map((name) => [name, firstOf(layers, name)])) as unknown as Values
}

function firstOf(layers: readonly (Layer | undefined)[], name: SettingName): Setting<unknown> {
  const found = layers.flatMap((layer) => layer?.get(name) ?? [])
  const { default: value, join } = settingTable[name]
  const [first = { value, source: 'default', level: 'default' }] = found
  if (join === undefined || found.length < 2) return first
  return {
    ...first,
    value: join(found.map((setting) => setting.value)),
    written: join(found.map(({ written }) => written)),
    source: found.map(({ source }) => source).join(' and '),
  }
}

/**
 * The settings of a file, and those of its profiles by name, without inherited ones. Only the user's own file has
 * profiles. Of a project file, settings that could leak the key are rejected.
 */
export async function fileLayer(
  context: Context,
  file: FoundFile,
  level: 'project' | 'user',
  problems: ProblemList,
) {
  const wrongShape = (keys: readonly string[], must: string, given: unknown) =>
    problems.add(new ConfigError(`${locationOf({ file, keys })} must ${must}, not ${kindOf(given)}.`))
  /** @param path of keys to a section: empty, or `profiles` and a name */
  const readSection = async (section: unknown, path: readonly string[]): Promise<Layer> => {
    const layer = new Map<SettingName, Setting<unknown>>()
    if (!isObject(section)) wrongShape(path, 'be a mapping of settings', section)
    const source = `${level} file ${file.path}${path.length === 0 ? '' : `, profile ${path[1]}`}`
    // Keys that are allowed besides the settings.
    const others = path.length > 0 ? [] : level === 'user' ? ['$schema', 'profiles'] : ['$schema']
    for (const [key, value] of Object.entries(objectOf(section))) {
      if (problems.isFull) break
      if (others.includes(key)) continue
      const place = { file, keys: [...path, key] }
      const problem = keyProblem(context, place, level, others)
      if (problem !== undefined) problems.add(problem)
      else await addValue(context, layer, settingCalled.get(key)!, value, { source, level, place }, problems)
    }
    return layer
  }
  const settings = await readSection(file.content, [])
  const profiles = new Map<string, Layer>()
  const written = level === 'user' ? objectOf(file.content)['profiles'] : undefined
  if (written !== undefined && !isObject(written)) {
    wrongShape(['profiles'], 'map names to settings', written)
  }
  for (const [name, own] of Object.entries(objectOf(written))) {
    if (problems.isFull) break
    profiles.set(name, await readSection(own, ['profiles', name]))
  }
  return { settings, profiles }
}

/** What is wrong with a key, whatever its value. @param others the keys that are allowed besides the settings */
function keyProblem(
  context: Context,
  place: Place,
  level: 'project' | 'user',
  others: readonly string[],
): ConfigError | undefined {
  const key = place.keys.at(-1)!
  const problem = (clause: string, hint?: string) =>
    new ConfigError(`${locationOf(place)} ${clause}`, { hint })
  const name = settingCalled.get(key)
  if (name === undefined) {
    if (/^api[-_]?key$/i.test(key)) {
      const hint = 'Set MODELGATE_API_KEY, or name a file or a command with api_key_file or api_key_command.'
      return problem('is not a setting: keys do not belong in configuration files.', hint)
    }
    if (key === 'profiles') return problem('can only be set in your own configuration file.')
    const nearest = nearestName(key, [...settingCalled.keys(), ...others])
    return problem(`is not a setting.${nearest === undefined ? '' : ` Did you mean ${nearest}?`}`)
  }
  if (level === 'project' && settingTable[name].project === undefined) {
    const hint = `Set it in your own configuration file, ${userFilePath(context)}, or in the environment.`
    return problem('cannot be set in a project file, which may come from others.', hint)
  }
  const isNested = name === 'profile' && place.keys.length > 1
  return isNested ? problem('cannot be set in a profile.') : undefined
}

/** `file:line: key`. @param inner keys within the value */
function locationOf({ file, keys }: Place, inner: readonly string[] = []): string {
  const all = [...keys, ...inner]
  if (all.length === 0) return `${file.path}: the file`
  const name = all.map((key) => (/^\w{1,60}$/.test(key) ? key : quoted(key))).join('.')
  const line = lineOf({ file, keys: all })
  return line === undefined ? `${file.path}: ${name}` : `${file.path}:${line}: ${name}`
}

/** A longer key may exceed the limits of the regular expression engine. */
const maxSearchedKey = 100

/** The first line where the keys of a path follow each other, counted from 1; undefined if they are not found. */
export function lineOf({ file: { text }, keys }: Place): number | undefined {
  let offset = 0
  for (const [depth, key] of keys.entries()) {
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

async function addValue(
  context: Context,
  layer: Map<SettingName, Setting<unknown>>,
  name: SettingName,
  written: unknown,
  origin: Omit<Setting<unknown>, 'value'>,
  problems: ProblemList,
): Promise<void> {
  const { source, level, place } = origin
  const { kind } = settingTable[name]
  const result = await parseValue(kind, written)
  if ('wrong' in result) {
    for (const { keys, problem } of result.wrong) {
      if (problems.isFull) return
      const location = place === undefined ? source.slice(level.length + 1) : locationOf(place, keys)
      problems.add(new ConfigError(`${location} ${problem}.`.replace(/\?\.$/, '?')))
    }
    return
  }
  const folder = place?.file.folder ?? context.cwd
  const absolute = (path: string) => absolutePath(context, folder, path)
  const value = kind.locate === undefined ? result.value : kind.locate(result.value, absolute)
  layer.set(name, { ...origin, value, written })
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

function kindOf(value: unknown): string {
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
