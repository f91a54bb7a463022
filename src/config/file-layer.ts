import type { Context } from '../context.ts'
import { userFilePath, type FoundFile } from './find-config-file.ts'
import { addValue, type Found, type Layer, type Level } from './layer.ts'
import { nearestName } from '../contract/nearest-name.ts'
import { hasEnough, quoted, type Problem } from './problem.ts'
import { isMapping, kindOf } from './setting-kind.ts'
import { settingNames, settingTable, type SettingName } from './setting-table.ts'

/** What a configuration file says. */
export interface FileLayer {
  /** The folder that the file was found in. */
  readonly folder: string
  readonly settings: Layer
  /** By name, without what they inherit. Only the user's own file has any. */
  readonly profiles: ReadonlyMap<string, Layer>
}

interface Section {
  readonly context: Context
  readonly file: FoundFile
  readonly level: Level & ('project' | 'user')
  /** Where the section stands in the file: none, or `profiles` and a name. */
  readonly trail: readonly string[]
  readonly source: string
  /** Names that are allowed besides the settings. */
  readonly also: readonly string[]
  readonly problems: Problem[]
}

const byFileName: ReadonlyMap<string, SettingName> = new Map(
  settingNames.map((name) => [settingTable[name].file, name]),
)

/** The settings of the project file. What could send the key astray is refused there. */
export function projectLayer(context: Context, file: FoundFile, problems: Problem[]): FileLayer {
  const source = `project file ${file.path}`
  const section = { context, file, problems, level: 'project', source, trail: [], also: [] } as const
  return { folder: file.folder, settings: readSection(section, file.content), profiles: new Map() }
}

/** The settings and profiles of the user's own file. */
export function userLayer(context: Context, file: FoundFile, problems: Problem[]): FileLayer {
  const source = `user file ${file.path}`
  const section = { context, file, problems, level: 'user', source, trail: [], also: ['profiles'] } as const
  const settings = readSection(section, file.content)
  const profiles = new Map<string, Layer>()
  const written = isMapping(file.content) ? file.content['profiles'] : undefined
  if (written !== undefined && !isMapping(written)) {
    problems.push({
      message: `${placeOf(file, ['profiles'])} must map names to settings, not ${kindOf(written)}.`,
    })
  }
  for (const [name, content] of isMapping(written) ? Object.entries(written) : []) {
    const inner = { source: `${source}, profile ${name}`, trail: ['profiles', name], also: [] }
    profiles.set(name, readSection({ ...section, ...inner }, content))
  }
  return { folder: file.folder, settings, profiles }
}

function readSection(section: Section, content: unknown): Layer {
  const { context, file, trail, level, source, problems } = section
  const layer = new Map<SettingName, Found>()
  if (!isMapping(content)) {
    problems.push({
      message: `${placeOf(file, trail)} must be a mapping of settings, not ${kindOf(content)}.`,
    })
    return layer
  }
  for (const [key, value] of Object.entries(content)) {
    if (hasEnough(problems)) break
    if (section.also.includes(key)) continue
    const name = byFileName.get(key)
    const where = () => placeOf(file, [...trail, key])
    if (name === undefined) problems.push(unknownName(section, key))
    else if (level === 'project' && settingTable[name].project === 'never')
      problems.push(closedToProjects(context, where()))
    else if (name === 'profile' && trail.length > 0)
      problems.push({ message: `${where()} cannot be set in a profile.` })
    else addValue(context, layer, name, value, { source, level, where, folder: file.folder }, problems)
  }
  return layer
}

function closedToProjects(context: Context, where: string): Problem {
  return {
    message: `${where} cannot be set in a project file, which may come from others.`,
    hint: `Set it in your own configuration file, ${userFilePath(context)}, or in the environment.`,
  }
}

function unknownName({ file, trail, also }: Section, key: string): Problem {
  const where = placeOf(file, [...trail, key])
  if (/^api[-_]?key$/i.test(key)) {
    return {
      message: `${where} is not a setting: keys do not belong in configuration files.`,
      hint: 'Set MODELGATE_API_KEY, or name a file or a command with api_key_file or api_key_command.',
    }
  }
  if (key === 'profiles') return { message: `${where} can only be set in your own configuration file.` }
  const nearest = nearestName(key, [...byFileName.keys(), ...also])
  const suggestion = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return { message: `${where} is not a setting.${suggestion}` }
}

/** A longer name makes a pattern that the regular expression engine may refuse. */
const longestSought = 100

/** `file:line: name`; the line is that of the first place where the names of the trail follow each other. */
function placeOf(file: FoundFile, trail: readonly string[]): string {
  const name = trail.map((part) => (/^\w{1,60}$/.test(part) ? part : quoted(part))).join('.')
  let offset = 0
  for (const part of trail) {
    if (part.length > longestSought) return `${file.path}: ${name}`
    const escaped = part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    const pattern = `(?:^|[\\s{,])["']?${escaped}["']?\\s*:`
    const found = new RegExp(pattern, 'm').exec(file.text.slice(offset))
    if (found === null) return `${file.path}: ${name}`
    offset += found.index + found[0].length
  }
  if (trail.length === 0) return `${file.path}: the file`
  return `${file.path}:${file.text.slice(0, offset).split('\n').length}: ${name}`
}
