import { inCi, type Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { createProblemList, type ProblemList } from '../problems.ts'
import { findProjectFile, findUserFile } from './find-config-file.ts'
import { findKey, locateKey, profileExists, type ApiKey, type KeyLocation } from './key.ts'
import {
  environmentLayer,
  fileLayer,
  firstOf,
  flagLayer,
  type FileLayer,
  type Layer,
  type Values,
} from './layers.ts'
import type { Setting } from './setting-value.ts'
import { quoted } from './parse-config.ts'
import {
  settingNames,
  settingTable,
  type SettingFlags,
  type SettingName,
  type SettingValues,
} from './setting-table.ts'
import { checkedAddresses, checkProjectFile, type Addresses } from './trust.ts'

export type { SettingFlags } from './setting-table.ts'

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

/** Precedence: flag, environment, project file, user file (chosen profile first), default. @throws ConfigError, with all that is wrong */
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
    const own = all.filter((layer) => layer !== project.settings)
    await checkProjectFile(context, project.folder, values, own, problems)
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

function firstValues(layers: readonly Layer[]): Values {
  // The table checks each value against the type of its own setting, which cannot be expressed here.
  return Object.fromEntries(settingNames.map((name) => [name, firstOf(layers, name)])) as unknown as Values
}

/** Undefined if it is the default one and the file does not have it. */
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
