import { UsageError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { quoted } from './config-file.ts'
import { priceNames } from './model-prices.ts'
import { settingCalled, settingTable, type SettingName } from './setting-table.ts'

export interface SettingPath {
  readonly name: SettingName
  /** The keys inside a setting that is a mapping: `['my-model']` of `families.my-model`, `['gpt-4.1', 'input']` of a price. */
  readonly inner: readonly string[]
  /** `['profiles', 'work']` of `profiles.work.timeout`; empty at the top. */
  readonly section: readonly string[]
  /** All that lead to it in the file. */
  readonly keys: readonly string[]
}

/** Reads `base_url`, also with dashes, `families.my-model`, `profiles.work.base_url`. @throws UsageError, with the nearest */
export function parseSettingPath(typed: string): SettingPath {
  const [, profile, own = typed] = /^profiles\.(.+)\.([^.]+)$/.exec(typed) ?? []
  const [first = '', ...rest] = own.split('.')
  const file = first.replaceAll('-', '_').toLowerCase()
  const name = settingCalled.get(file)
  if (name === undefined) throw invalidSetting(`${quoted(first)} is not a setting.`, hintFor(first))
  if (rest.length > 0 && !settingTable[name].isMapping) {
    throw invalidSetting(`${file} has no parts: ${quoted(own)} is not a setting.`)
  }
  if (name === 'profile' && profile !== undefined) throw invalidSetting('profile cannot be set in a profile.')
  const section = profile === undefined ? [] : ['profiles', profile]
  const inner = innerKeys(name, rest)
  return { name, inner, section, keys: [...section, file, ...inner] }
}

function hintFor(typed: string): string {
  if (/^api[-_]?key$/i.test(typed)) {
    return 'Keys do not belong in configuration files: store it with modelgate auth login.'
  }
  const nearest = nearestName(typed, [...settingCalled.keys()])
  return nearest === undefined
    ? 'See: modelgate config list --all'
    : `Did you mean ${nearest}? All settings: modelgate config list --all`
}

/** An id of a model may have dots in it: what it costs begins with the name of a price. */
function innerKeys(name: SettingName, rest: readonly string[]): readonly string[] {
  if (rest.length === 0) return []
  const at = name === 'prices' ? rest.findIndex((word, index) => index > 0 && priceNames.includes(word)) : -1
  return at === -1 ? [rest.join('.')] : [rest.slice(0, at).join('.'), ...rest.slice(at)]
}

export const invalidSetting = (problem: string | readonly string[], hint?: string) =>
  new UsageError(problem, { code: 'config_invalid', hint })
