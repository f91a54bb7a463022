import type { Context } from '../context.ts'
import { normaliseBaseUrl } from './base-url.ts'
import { profileExists } from './credentials.ts'
import { projectLayer, userLayer, type FileLayer } from './file-layer.ts'
import { findProjectFile, findUserFile, userFilePath } from './find-config-file.ts'
import { environmentLayer, flagLayer, type Found, type Layer, type Level } from './layer.ts'
import { homeFolder } from './paths.ts'
import { collecting, quoted, throwProblems, type Problem } from './problem.ts'
import {
  settingNames,
  settingTable,
  type SettingName,
  type SettingValues,
  type SettingFlags,
} from './setting-table.ts'
import { requireInside, requireNoMore, requireTrust } from './trust.ts'

export type { SettingFlags } from './setting-table.ts'

export interface Setting<Value> {
  readonly value: Value
  /** `flag --base-url`, `environment MODELGATE_BASE_URL`, `project file PATH`, `user file PATH`, `default`. */
  readonly source: string
  readonly level: Level
}

/** Every setting with its source. Times are in seconds; the base URL has no version segment. */
export type Settings = {
  readonly [Name in SettingName]: Setting<Name extends 'baseUrl' ? URL | undefined : SettingValues[Name]>
}

/**
 * Decides every setting: flag, environment, project file, user file (its chosen profile first), default.
 * @throws UsageError naming everything that is wrong in any of these places
 */
export async function resolveSettings(context: Context, flags: SettingFlags = {}): Promise<Settings> {
  const problems: Problem[] = []
  const flag = flagLayer(context, flags, problems)
  const environment = environmentLayer(context, problems)
  const project = await collecting(problems, async () => {
    const file = await findProjectFile(context)
    return file && projectLayer(context, file, problems)
  })
  const user = await collecting(problems, async () => {
    const file = await findUserFile(context)
    return file && userLayer(context, file, problems)
  })
  throwProblems(problems)

  const layers = [flag, environment, project?.settings, user?.settings].filter((layer) => layer !== undefined)
  const profile = await chosenProfile(context, firstOf(layers, 'profile'), user, problems)
  const all = profile === undefined ? layers : withProfile(layers, profile)
  const values = winners(all)
  const ownLayers = all.filter((layer) => layer !== project?.settings)
  await collecting(problems, () => checkProjectLimits(context, values, ownLayers))
  await collecting(problems, () => {
    const isOfProject = project !== undefined && values.outputDir.level === 'project'
    if (!isOfProject) return
    requireInside(values.outputDir, project.folder, homeFolder(context), userFilePath(context))
  })
  // The sandbox has an address of its own.
  const baseUrl = flags.sandbox
    ? undefined
    : await collecting(problems, () => checkedBaseUrl(context, values))
  throwProblems(problems)
  return { ...values, baseUrl: { ...values.baseUrl, value: baseUrl } }
}

type Values = { readonly [Name in SettingName]: Setting<SettingValues[Name]> }

function winners(layers: readonly Layer[]): Values {
  // The tables check each value against the type of its own setting; what joins them here cannot be typed.
  return Object.fromEntries(settingNames.map((name) => [name, firstOf(layers, name)])) as unknown as Values
}

function firstOf(layers: readonly Layer[], name: SettingName): Found {
  const found = layers.flatMap((layer) => layer.get(name) ?? [])
  const [first] = found
  if (first === undefined) return { value: settingTable[name].default, source: 'default', level: 'default' }
  if (!settingTable[name].adds || found.length === 1) return first
  const value = [...new Set(found.flatMap((place) => place.value as readonly string[]))]
  return { ...first, value, source: found.map((place) => place.source).join(' and ') }
}

/** The settings of the chosen profile, or undefined for the default one where the file does not write it out. */
async function chosenProfile(
  context: Context,
  chosen: Found,
  user: FileLayer | undefined,
  problems: Problem[],
): Promise<Layer | undefined> {
  const name = chosen.value as string
  const profile = user?.profiles.get(name)
  const isNamed = profile === undefined && name !== settingTable.profile.default
  if (isNamed && !(await profileExists(context, name))) {
    const known = [...new Set([settingTable.profile.default, ...(user?.profiles.keys() ?? [])])]
    problems.push({
      message: `There is no profile ${quoted(name)} (${chosen.source}).`,
      hint: `Known profiles: ${known.join(', ')}.`,
    })
  }
  return profile
}

/** Puts a profile in front of the rest of the user's own file, which is the last layer. */
function withProfile(layers: readonly Layer[], profile: Layer): Layer[] {
  const rest = new Map(layers.at(-1))
  // A profile that says where its key is must not be given the key of another.
  if (profile.has('apiKeyFile') || profile.has('apiKeyCommand')) {
    rest.delete('apiKeyFile')
    rest.delete('apiKeyCommand')
  }
  return [...layers.slice(0, -1), profile, rest]
}

/** @param ownLayers all places but the project file */
function checkProjectLimits(context: Context, values: Values, ownLayers: readonly Layer[]): void {
  const lowered = settingNames.filter((name) => settingTable[name].project === 'only to lower it')
  requireNoMore(
    lowered
      .filter((name) => values[name].level === 'project')
      .map((name) => ({ name, chosen: values[name], own: firstOf(ownLayers, name) })),
    userFilePath(context),
  )
}

function checkedBaseUrl(context: Context, { baseUrl, allowHttp, trustedOrigins }: Values): URL | undefined {
  const { value, source, level } = baseUrl
  if (value === undefined) return undefined
  if (level === 'project') {
    // Before clear text is judged: whoever is told of --allow-http there must know whose address it is.
    const url = normaliseBaseUrl(value, source, true)
    requireTrust(url, trustedOrigins.value, source, userFilePath(context))
  }
  return normaliseBaseUrl(value, source, allowHttp.value)
}
