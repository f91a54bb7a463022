import type { Context } from '../context.ts'
import { nearestName } from '../nearest-name.ts'
import { ConfigError } from '../errors.ts'
import { isObject } from '../json.ts'
import type { ProblemList } from '../problems.ts'
import { userFilePath } from './find-config-file.ts'
import type { Layer } from './layers.ts'
import { quoted, type FoundFile } from './parse-config.ts'
import { addValue, kindOf, type Setting } from './setting-value.ts'
import { settingNames, settingTable, type SettingName } from './setting-table.ts'

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
