import { posix, win32 } from 'node:path'
import type { Context } from '../context.ts'
import { homeFolder } from './paths.ts'
import type { Problem } from './problem.ts'
import { parseValue, type Kind } from './setting-kind.ts'
import { flagName, settingNames, settingTable, type SettingName, type SettingFlags } from './setting-table.ts'

/** Where a value comes from; the first of these that has one wins. */
export type Level = 'flag' | 'environment' | 'project' | 'user' | 'default'

export interface Found {
  readonly value: unknown
  readonly source: string
  readonly level: Level
}

/** What one place says, already checked and in the form that the program uses. */
export type Layer = ReadonlyMap<SettingName, Found>

/** The settings given on the command line. */
export function flagLayer(context: Context, flags: SettingFlags, problems: Problem[]): Layer {
  const layer = new Map<SettingName, Found>()
  for (const name of settingNames) {
    const { flag } = settingTable[name]
    if (flag === undefined || flags[flag] === undefined) continue
    const place = { source: `flag ${flagName(flag)}`, level: 'flag', where: () => flagName(flag) } as const
    addValue(context, layer, name, fromText(name, flags[flag]), { ...place, folder: context.cwd }, problems)
  }
  return layer
}

/** The settings given by `MODELGATE_*` variables; an empty variable counts as unset. */
export function environmentLayer(context: Context, problems: Problem[]): Layer {
  const layer = new Map<SettingName, Found>()
  for (const name of settingNames) {
    const { env } = settingTable[name]
    const given = env === undefined ? undefined : context.env[env]
    if (env === undefined || given === undefined || given === '') continue
    const place = {
      source: `environment ${env}`,
      level: 'environment',
      where: () => env,
      folder: context.cwd,
    } as const
    addValue(context, layer, name, fromText(name, given), place, problems)
  }
  return layer
}

export interface Place {
  readonly source: string
  readonly level: Level
  /** How a message names it: `--timeout`, `file.yaml:3: timeout`. */
  readonly where: () => string
  /** Where relative paths start. */
  readonly folder: string
}

/** Checks one value and adds it to the layer, or what is wrong with it to the problems. */
export function addValue(
  context: Context,
  layer: Map<SettingName, Found>,
  name: SettingName,
  given: unknown,
  place: Place,
  problems: Problem[],
): void {
  const kind: Kind<unknown> = settingTable[name].kind
  const result = parseValue(kind, given)
  if ('wrong' in result) {
    for (const wrong of new Set(result.wrong)) {
      const message = `${place.where()} ${wrong}.`
      // One flag can stand for several settings (`--model`).
      if (!problems.some((problem) => problem.message === message)) problems.push({ message })
    }
    return
  }
  const value = kind.isPath ? absolutePath(context, place.folder, result.value as string) : result.value
  layer.set(name, { value, source: place.source, level: place.level })
}

function fromText(name: SettingName, given: string | number | boolean | undefined): unknown {
  return typeof given === 'string' ? settingTable[name].kind.fromText(given) : given
}

function absolutePath(context: Context, folder: string, path: string): string {
  const { join, resolve } = context.platform === 'win32' ? win32 : posix
  const home = homeFolder(context)
  return home !== undefined && /^~[\\/]/.test(path) ? join(home, path.slice(2)) : resolve(folder, path)
}
