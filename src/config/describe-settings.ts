import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { objectOf, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { findProjectFile, findUserFile } from './find-config-file.ts'
import { lineOf } from './layers.ts'
import type { Setting } from './setting-value.ts'
import { priceNames } from './model-prices.ts'
import { quoted, type FoundFile } from './parse-config.ts'
import { flagName, settingNames, settingTable, type SettingName } from './setting-table.ts'
import type { Settings } from './settings.ts'

export interface SettingPath {
  readonly name: SettingName
  /** The keys inside a setting that is a mapping: `['my-model']` of `families.my-model`, `['gpt-4.1', 'input']` of a price. */
  readonly inner: readonly string[]
  /** Of `profiles.work.timeout`. */
  readonly profile: string | undefined
}

/** Reads `base_url`, also with dashes, `families.my-model`, `profiles.work.base_url`. @throws UsageError, with the nearest */
export function parseSettingPath(typed: string): SettingPath {
  const [, profile, own = typed] = /^profiles\.(.+)\.([^.]+)$/.exec(typed) ?? []
  const [first = '', ...rest] = own.split('.')
  const plain = first.replaceAll('-', '_').toLowerCase()
  const name = settingNames.find((setting) => settingTable[setting].file === plain)
  if (name === undefined) throw unknownSetting(first)
  if (rest.length > 0 && !settingTable[name].isMapping) {
    throw new UsageError(`${plain} has no parts: ${quoted(own)} is not a setting.`, {
      code: 'config_invalid',
    })
  }
  if (name === 'profile' && profile !== undefined) {
    throw new UsageError('profile cannot be set in a profile.', { code: 'config_invalid' })
  }
  return { name, inner: innerKeys(name, rest), profile }
}

/** An id of a model may have dots in it: what it costs begins with the name of a price. */
function innerKeys(name: SettingName, rest: readonly string[]): readonly string[] {
  if (rest.length === 0) return []
  const at = name === 'prices' ? rest.findIndex((word, index) => index > 0 && priceNames.includes(word)) : -1
  return at === -1 ? [rest.join('.')] : [rest.slice(0, at).join('.'), ...rest.slice(at)]
}

export function keysOf({ name, inner, profile }: SettingPath): readonly string[] {
  return [...(profile === undefined ? [] : ['profiles', profile]), settingTable[name].file, ...inner]
}

function unknownSetting(typed: string): UsageError {
  const isKey = /^api[-_]?key$/i.test(typed)
  const nearest = nearestName(
    typed,
    settingNames.map((name) => settingTable[name].file),
  )
  return new UsageError(`${quoted(typed)} is not a setting.`, {
    code: 'config_invalid',
    hint: isKey
      ? 'Keys do not belong in configuration files: store it with modelgate auth login.'
      : nearest === undefined
        ? 'See: modelgate config list --all'
        : `Did you mean ${nearest}? All settings: modelgate config list --all`,
  })
}

/** A command may have a key in its words, an address a password. */
const secretSettings: ReadonlySet<SettingName> = new Set([
  'apiKeyCommand',
  'queue',
  'headers',
  'downloadHeaders',
])

/** Every setting with its value and where that comes from, as `config list` shows it. */
export async function describeSettings(context: Context, settings: Settings) {
  const files = { project: await findProjectFile(context), user: await findUserFile(context) }
  return settingNames.map((name) => {
    const { file: ownName, env, flag, about, onlyInFiles } = settingTable[name]
    const setting: Setting<unknown> = settings[name]
    const file =
      setting.level === 'project' ? files.project : setting.level === 'user' ? files.user : undefined
    const hidden = secretSettings.has(name) && setting.level !== 'default'
    return {
      name: ownName,
      value:
        onlyInFiles && !hidden
          ? written(ownName, settings.profile.value, files)
          : plainValue(setting.value, hidden),
      hidden,
      level: setting.level,
      source: setting.source,
      file: file?.path ?? null,
      line: file === undefined ? null : (lineIn(file, setting.source, ownName) ?? null),
      env: env ?? null,
      flag: flag === undefined ? null : flagName(flag),
      about,
    }
  })
}

function lineIn(file: FoundFile, source: string, name: string): number | undefined {
  const [, profile] = /, profile (.*)$/.exec(source) ?? []
  return lineOf(file, profile === undefined ? [name] : ['profiles', profile, name])
}

/** A mapping as it is written, of all files together: what it is converted to says less. */
function written(
  name: string,
  profile: string,
  { project, user }: Readonly<Record<'project' | 'user', FoundFile | undefined>>,
): JsonObject | null {
  const own = objectOf(user?.content)
  const sections = [own, objectOf(objectOf(own['profiles'])[profile]), objectOf(project?.content)]
  const entries = sections.flatMap((section) => Object.entries(objectOf(section[name])))
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

function plainValue(value: unknown, hidden: boolean): unknown {
  if (value === undefined || hidden) return null
  return value instanceof URL ? value.href.replace(/\/$/, '') : value
}
