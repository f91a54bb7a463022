import { inCi, type Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { createProblemList, type ProblemList } from '../problems.ts'
import { normaliseBaseUrl } from './base-url.ts'
import { findProjectFile, findUserFile, userFilePath } from './find-config-file.ts'
import { findKey, locateKey, profileExists, type ApiKey, type KeyLocation } from './key.ts'
import { environmentLayer, fileLayer, flagLayer, type FileLayer, type Layer, type Setting } from './layers.ts'
import { homeFolder } from './paths.ts'
import { quoted } from './parse-config.ts'
import {
  settingNames,
  settingTable,
  type BaseUrls,
  type SettingFlags,
  type SettingName,
  type SettingValues,
} from './setting-table.ts'
import { checkNotRaised, checkInsideProject, checkTrustedOrigin } from './trust.ts'

export type { SettingFlags } from './setting-table.ts'

interface Addresses {
  /** Of everything but what `baseUrls` says. */
  readonly baseUrl: Setting<URL | undefined>
  /** Undefined where both styles are at `baseUrl`. */
  readonly baseUrls: Setting<BaseUrls<URL> | undefined>
}

/** Every setting with its source. Times are in seconds; the base URL has no version segment. */
export type Settings = {
  readonly [Name in Exclude<SettingName, keyof Addresses>]: Setting<SettingValues[Name]>
} & Addresses & {
    /**
     * The key, looked up once, when it is first needed: its command may ask for a passphrase.
     * @throws what `findKey` throws
     */
    readonly apiKey: () => Promise<ApiKey>
    /** Where the key is, without reading it; throws what `locateKey` throws. */
    readonly keyLocation: () => Promise<KeyLocation | undefined>
  }

/** A file with more problems was not written for this program. */
const maxProblems = 20

/**
 * Resolves every setting. Precedence: flag, environment, project file, user file (chosen profile first), default.
 * @param withProject false for what the user has configured, wherever this is called
 * @throws ConfigError listing everything that is wrong in any of these
 */
export async function resolveSettings(
  context: Context,
  flags: SettingFlags = {},
  { withProject = true }: { readonly withProject?: boolean } = {},
): Promise<Settings> {
  const problems = createProblemList(maxProblems)
  const flag = await flagLayer(context, flags, problems)
  const environment = await environmentLayer(context, problems)
  const project = await problems.check(async () => {
    const file = withProject ? await findProjectFile(context) : undefined
    return file && fileLayer(context, file, 'project', problems)
  })
  const user = await problems.check(async () => {
    const file = await findUserFile(context)
    return file && fileLayer(context, file, 'user', problems)
  })
  problems.throwIfAny()

  const layers = [flag, environment, project?.settings, user?.settings].filter((layer) => layer !== undefined)
  const profile = await chosenProfile(context, firstOf(layers, 'profile'), user, problems)
  const all = [...(profile === undefined ? layers : withProfile(layers, profile)), ownDefaults(context)]
  const values = firstValues(all)
  if (project !== undefined) {
    const ownLayers = all.filter((layer) => layer !== project.settings)
    await checkProjectFile(context, project, values, ownLayers, problems)
  }
  // The sandbox has its own address.
  const addresses = flags.sandbox
    ? undefined
    : await problems.check(() => checkedAddresses(context, values, all))
  problems.throwIfAny()
  let key: Promise<ApiKey> | undefined
  return {
    ...values,
    baseUrl: { ...values.baseUrl, value: undefined },
    baseUrls: { ...values.baseUrls, value: undefined },
    ...addresses,
    apiKey: () => (key ??= findKey(context, values)),
    keyLocation: () => locateKey(context, values),
  }
}

/** The defaults that depend on where the program runs: what a pipeline generates is not for a log that nobody reads. */
function ownDefaults({ env }: Context): Layer {
  const history = { value: 'off', source: 'default where CI is set', level: 'default' } as const
  return new Map<SettingName, Setting<unknown>>(inCi(env) ? [['history', history]] : [])
}

type Values = { readonly [Name in SettingName]: Setting<SettingValues[Name]> }

function firstValues(layers: readonly Layer[]): Values {
  // The table checks each value against the type of its own setting, which cannot be expressed here.
  return Object.fromEntries(settingNames.map((name) => [name, firstOf(layers, name)])) as unknown as Values
}

function firstOf(layers: readonly Layer[], name: SettingName): Setting<unknown> {
  const found = layers.flatMap((layer) => layer.get(name) ?? [])
  const [first] = found
  if (first === undefined) return { value: settingTable[name].default, source: 'default', level: 'default' }
  const join = settingTable[name].join as ((values: readonly unknown[]) => unknown) | undefined
  if (join === undefined || found.length === 1) return first
  const value = join(found.map((setting) => setting.value))
  return { ...first, value, source: found.map(({ source }) => source).join(' and ') }
}

/** The settings of the chosen profile; undefined if it is the default one and the file does not have it. */
async function chosenProfile(
  context: Context,
  chosen: Setting<unknown>,
  user: FileLayer | undefined,
  problems: ProblemList,
): Promise<Layer | undefined> {
  const name = chosen.value as string
  const profile = user?.profiles.get(name)
  const isUnknown = profile === undefined && name !== settingTable.profile.default
  if (isUnknown && !(await profileExists(context, name))) {
    const known = [...new Set([settingTable.profile.default, ...(user?.profiles.keys() ?? [])])]
    problems.add(
      new ConfigError(`There is no profile ${quoted(name)} (${chosen.source}).`, {
        hint: `Known profiles: ${known.join(', ')}.`,
      }),
    )
  }
  return profile
}

/** Inserts a profile before the rest of the user's own file, which is the last layer. */
function withProfile(layers: readonly Layer[], profile: Layer): Layer[] {
  const rest = new Map(layers.at(-1))
  // A profile with a key source of its own must not get the key of another.
  if (profile.has('apiKeyFile') || profile.has('apiKeyCommand')) {
    rest.delete('apiKeyFile')
    rest.delete('apiKeyCommand')
  }
  return [...layers.slice(0, -1), profile, rest]
}

/** @param ownLayers all sources but the project file */
async function checkProjectFile(
  context: Context,
  { folder }: FileLayer,
  values: Values,
  ownLayers: readonly Layer[],
  problems: ProblemList,
): Promise<void> {
  const userFile = userFilePath(context)
  for (const name of settingNames.filter((name) => values[name].level === 'project')) {
    if (settingTable[name].project !== 'only to lower it') continue
    await problems.check(() => checkNotRaised(name, values[name], firstOf(ownLayers, name), userFile))
  }
  if (values.outputDir.level === 'project') {
    await problems.check(() => checkInsideProject(values.outputDir, folder, homeFolder(context), userFile))
  }
}

/** The address of the gateway, or both: of the sources that have either, the nearest. @throws ConfigError */
function checkedAddresses(
  context: Context,
  { baseUrl, baseUrls, allowHttp, trustedOrigins }: Values,
  layers: readonly Layer[],
): Addresses {
  const check = ({ source, level }: Setting<unknown>, value: string) => {
    if (level === 'project') {
      // Checked before clear text: a message that suggests --allow-http must not help an untrusted address.
      const url = normaliseBaseUrl(value, source, true)
      checkTrustedOrigin(url, trustedOrigins.value, source, userFilePath(context))
    }
    return normaliseBaseUrl(value, source, allowHttp.value)
  }
  const nearest = layers.find((layer) => layer.has('baseUrl') || layer.has('baseUrls'))
  if (nearest?.has('baseUrl') && nearest.has('baseUrls')) {
    throw new ConfigError(`base_url and base_urls (${baseUrl.source}) cannot be used together.`)
  }
  if (baseUrls.value === undefined || nearest?.has('baseUrl')) {
    const value = baseUrl.value === undefined ? undefined : check(baseUrl, baseUrl.value)
    return { baseUrl: { ...baseUrl, value }, baseUrls: { ...baseUrls, value: undefined } }
  }
  const { v1, v1beta } = baseUrls.value
  const value = { v1: check(baseUrls, v1), v1beta: check(baseUrls, v1beta) }
  return { baseUrl: { ...baseUrls, value: value.v1 }, baseUrls: { ...baseUrls, value } }
}
