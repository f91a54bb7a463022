import { UsageError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { lineOf, type Setting } from './layers.ts'
import { priceNames } from './model-prices.ts'
import { quoted } from './parse-config.ts'
import { flagName, settingCalled, settingNames, settingTable, type SettingName } from './setting-table.ts'
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
  const name = settingCalled.get(plain)
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
  const nearest = nearestName(typed, [...settingCalled.keys()])
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
export function describeSettings(settings: Settings) {
  return settingNames.map((name) => {
    const { file, env, flag, about, onlyInFiles } = settingTable[name]
    const { value, written, level, source, place }: Setting<unknown> = settings[name]
    const hidden = secretSettings.has(name) && level !== 'default'
    return {
      name: file,
      // What a mapping is converted to says less.
      value: hidden ? null : shownValue(onlyInFiles ? written : value),
      hidden,
      level,
      source,
      file: place?.file.path ?? null,
      line: (place && lineOf(place)) ?? null,
      env: env ?? null,
      flag: flag === undefined ? null : flagName(flag),
      about,
    }
  })
}

function shownValue(value: unknown): unknown {
  return value instanceof URL ? value.href.replace(/\/$/, '') : (value ?? null)
}
