import type { Context } from '../context.ts'
import type { ProblemList } from '../problems.ts'
import { addValue, type Level, type Setting } from './setting-value.ts'
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
