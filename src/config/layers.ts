import type { Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { isObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import type { ProblemList } from '../problems.ts'
import { userFilePath } from './find-config-file.ts'
import { quoted, type FoundFile } from './parse-config.ts'
import { addValue, kindOf, type Level, type Setting } from './setting-value.ts'
import {
  boolean,
  flagName,
  settingNames,
  settingTable,
  type AnyRow,
  type SettingFlags,
  type SettingName,
  type SettingValues,
} from './setting-table.ts'

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

/** Every setting with the value of its nearest source. */
export type Values = { readonly [Name in SettingName]: Setting<SettingValues[Name]> }

/** A setting of the first layer that has it; of all of them where its values are joined. */
export function firstOf(layers: readonly Layer[], name: SettingName): Setting<unknown> {
  const found = layers.flatMap((layer) => layer.get(name) ?? [])
  const [first] = found
  if (first === undefined) return { value: settingTable[name].default, source: 'default', level: 'default' }
  const join = settingTable[name].join as ((values: readonly unknown[]) => unknown) | undefined
  if (join === undefined || found.length === 1) return first
  const value = join(found.map((setting) => setting.value))
  return { ...first, value, source: found.map(({ source }) => source).join(' and ') }
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
  /** @param path of keys to a section: empty, or `profiles` and a name */
  const readSection = async (section: unknown, source: string, path: readonly string[]): Promise<Layer> => {
    const layer = new Map<SettingName, Setting<unknown>>()
    if (!isObject(section)) {
      const location = locationOf(file, path)
      problems.add(new ConfigError(`${location} must be a mapping of settings, not ${kindOf(section)}.`))
      return layer
    }
    // Keys that are allowed besides the settings.
    const others = path.length > 0 ? [] : level === 'user' ? ['$schema', 'profiles'] : ['$schema']
    for (const [key, value] of Object.entries(section)) {
      if (problems.isFull) break
      if (others.includes(key)) continue
      const name = settingNames.find((setting) => settingTable[setting].file === key)
      const location = (keys: readonly string[] = []) => locationOf(file, [...path, key, ...keys])
      if (name === undefined) problems.add(unknownKey(location(), key, others))
      else if (level === 'project' && settingTable[name].project === undefined)
        problems.add(notAllowedInProject(context, location()))
      else if (name === 'profile' && path.length > 0)
        problems.add(new ConfigError(`${location()} cannot be set in a profile.`))
      else await addValue(context, layer, name, value, { source, level, location, folder }, problems)
    }
    return layer
  }
  const source = `${level} file ${file.path}`
  const settings = await readSection(content, source, [])
  const profiles = new Map<string, Layer>()
  const written = level === 'user' && isObject(content) ? content['profiles'] : undefined
  if (written !== undefined && !isObject(written)) {
    const location = locationOf(file, ['profiles'])
    problems.add(new ConfigError(`${location} must map names to settings, not ${kindOf(written)}.`))
  }
  for (const [name, own] of isObject(written) ? Object.entries(written) : []) {
    if (problems.isFull) break
    profiles.set(name, await readSection(own, `${source}, profile ${name}`, ['profiles', name]))
  }
  return { folder, settings, profiles }
}

function notAllowedInProject(context: Context, location: string): ConfigError {
  return new ConfigError(`${location} cannot be set in a project file, which may come from others.`, {
    hint: `Set it in your own configuration file, ${userFilePath(context)}, or in the environment.`,
  })
}

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

/** The first line where the keys of a path follow each other, counted from 1; undefined if they are not found. */
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
