import { inCi, type Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { createProblemList } from '../problems.ts'
import { findProjectFile, findUserFile } from './config-file.ts'
import { quoted } from './parse-config.ts'
import { findKey, locateKey, readProfiles, type ApiKey, type KeyLocation } from './key.ts'
import { fileLayer, firstValues, textLayer, type Layer, type Setting } from './layers.ts'
import { settingTable, type SettingFlags, type SettingName, type SettingValues } from './setting-table.ts'
import { checkedAddresses, checkProjectFile, type Addresses } from './trust.ts'

/** Every setting with its source. Times are in seconds; the base URL has no version segment. */
export type Settings = {
  readonly [Name in Exclude<SettingName, keyof Addresses>]: Setting<SettingValues[Name]>
} & Addresses & {
    /** Looked up once, when it is first needed: its command may ask for a passphrase. @throws what `findKey` throws */
    readonly apiKey: () => Promise<ApiKey>
    /** Where the key is, without reading it; throws what `locateKey` throws. */
    readonly keyLocation: () => Promise<KeyLocation | undefined>
  }

/** A file with more problems was not written for this program. */
const maxProblems = 20

/**
 * Precedence: flag, environment, project file, user file (chosen profile first), default.
 * @param isOwn for what writes the user's own files: without a project file, and the profile need not exist yet
 * @throws ConfigError, with all that is wrong
 */
export async function resolveSettings(
  context: Context,
  flags: SettingFlags = {},
  isOwn = false,
): Promise<Settings> {
  const problems = createProblemList(maxProblems)
  const flag = await textLayer(context, 'flag', flags, problems)
  const environment = await textLayer(context, 'environment', context.env, problems)
  const read = (level: 'project' | 'user', find: typeof findUserFile) =>
    problems.check(async () => {
      const file = await find(context)
      return file && fileLayer(context, file, level, problems)
    })
  const project = isOwn ? undefined : await read('project', findProjectFile)
  const user = await read('user', findUserFile)
  problems.throwIfAny()

  const chosen = firstValues([flag, environment, project?.settings, user?.settings]).profile
  const profile = user?.profiles.get(chosen.value)
  if (profile === undefined && !isOwn) {
    await problems.check(() => checkProfile(context, chosen, [...(user?.profiles.keys() ?? [])]))
  }
  // A profile with a key source of its own must not get the key of another.
  const shared = new Map(user?.settings)
  if (profile?.has('apiKeyFile') || profile?.has('apiKeyCommand')) {
    shared.delete('apiKeyFile')
    shared.delete('apiKeyCommand')
  }
  const layers = [flag, environment, project?.settings, profile, shared, ownDefaults(context)]
  const values = firstValues(layers)
  const own = firstValues(layers.filter((layer) => layer !== project?.settings))
  if (project !== undefined) await checkProjectFile(context, values, own, problems)
  // The sandbox has its own address.
  const addresses = flags.sandbox
    ? undefined
    : await problems.check(() => checkedAddresses(context, values, layers))
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

/** Of a profile that the file does not have. @throws ConfigError unless a key is stored for it, or it is the default one */
async function checkProfile(
  context: Context,
  { value: name, source }: Setting<string>,
  written: readonly string[],
): Promise<void> {
  if (name === settingTable.profile.default) return
  // A file of keys that cannot be used is reported when the key is needed.
  const stored = await readProfiles(context).catch(() => undefined)
  if (stored?.[name] !== undefined) return
  const known = new Set([settingTable.profile.default, ...written])
  throw new ConfigError(`There is no profile ${quoted(name)} (${source}).`, {
    hint: `Known profiles: ${[...known].join(', ')}.`,
  })
}
