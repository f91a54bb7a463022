import { storeKey } from '../../config/credentials.ts'
import { editUserFile, type Change } from '../../config/edit-config.ts'
import { findUserFile, userFilePath, writtenProfiles } from '../../config/find-config-file.ts'
import { credentialsPath, locateKey } from '../../config/key.ts'
import { pathToWrite } from '../../config/layers.ts'
import { resolveSettings } from '../../config/settings.ts'
import { settingTable, type SettingName } from '../../config/setting-table.ts'
import { objectOf } from '../../json.ts'
import { isProblem } from '../../problems.ts'
import type { GatewayCheck } from '../shared/gateway/check-gateway.ts'
import type { GatewayAnswer, KeyAnswer, Session } from './answers.ts'
import { modelKinds, type Models } from './choose-models.ts'

export interface Answers {
  readonly gateway: GatewayAnswer
  readonly key: KeyAnswer
  /** The last look at the gateway, with the key where there is one; undefined without any. */
  readonly check: GatewayCheck | undefined
  readonly models: Models
}

/** What the answers change; nothing that is so already. */
export interface Plan {
  /** Where the settings of the profile are: at the top, unless the file has a section for it. */
  readonly section: readonly string[]
  /** The settings, by their names in the file; undefined for one that is taken out. */
  readonly values: Readonly<Record<string, unknown>>
  readonly files: readonly string[]
}

export async function planChanges(session: Session, { gateway, key, models }: Answers): Promise<Plan> {
  const { context, settings, options } = session
  const profile = settings.profile.value
  const isAtTop =
    profile === settingTable.profile.default && !Object.hasOwn(await writtenProfiles(context), profile)
  const section = isAtTop ? [] : ['profiles', profile]
  const content = objectOf((await findUserFile(context))?.content)
  const present = section.reduce((part, name) => objectOf(part[name]), content)
  const wanted: [SettingName, unknown][] = [['baseUrl', gateway.baseUrl.href.replace(/\/$/, '')]]
  // Whatever the gateway was reached with, later calls need as well.
  if (options.allowHttp) wanted.push(['allowHttp', true])
  if (options.caFile !== undefined) wanted.push(['caFile', pathToWrite(context, options.caFile)])
  // A stored key is only found where no setting names another.
  if (key.kind === 'store') wanted.push(['apiKeyFile', undefined], ['apiKeyCommand', undefined])
  if (key.kind === 'file') wanted.push(['apiKeyFile', key.path], ['apiKeyCommand', undefined])
  for (const kind of modelKinds) {
    // One that comes from elsewhere stays there.
    if (settings[`${kind}Model`].value !== models[kind]) wanted.push([`${kind}Model`, models[kind]])
  }
  const changes = wanted.map(([name, value]) => [settingTable[name].file, value] as const)
  const values = Object.fromEntries(changes.filter(([name, value]) => present[name] !== value))
  const store = key.kind === 'store' ? credentialsPath(context) : undefined
  const file = Object.keys(values).length === 0 ? undefined : userFilePath(context)
  return { section, values, files: [file, store].filter((path) => path !== undefined) }
}

/**
 * Writes what changes: all of the file of settings at once, then the key.
 * @returns the paths of the files that were changed
 * @throws ConfigError, FileError
 */
export async function writeAnswers(
  { context, settings: { profile } }: Session,
  { section, values }: Plan,
  key: KeyAnswer,
): Promise<string[]> {
  const changes = Object.entries(values).map(([name, value]): Change => ({ path: [...section, name], value }))
  const settings = changes.length === 0 ? undefined : await editUserFile(context, changes)
  const store = key.kind === 'store' ? await storeKey(context, profile.value, key.value) : undefined
  return [settings, store].flatMap((file) => (file?.changed ? [file.path] : []))
}

/**
 * What a call in this folder and this environment would use instead of the answers: one sentence for each, with the
 * source that goes first.
 */
export async function overridden(session: Session, answers: Answers): Promise<string[]> {
  try {
    return await sourcesInFront(session, answers)
  } catch (error) {
    // Not wrong with the answers: with the file of a project, or a variable.
    if (!isProblem(error)) throw error
    return [`In this folder calls do not work yet. ${error.message}`]
  }
}

async function sourcesInFront(
  { context, settings }: Session,
  { gateway, key, models }: Answers,
): Promise<string[]> {
  const now = await resolveSettings(context, { profile: settings.profile.value })
  const location = await locateKey(context, now)
  const expected = key.kind === 'store' ? 'credentials' : key.kind === 'file' ? 'file' : location?.kind
  const inFront = (name: SettingName, isOther: boolean) =>
    isOther ? [`${now[name].source} goes before ${settingTable[name].file} of the configuration.`] : []
  return [
    ...inFront('baseUrl', now.baseUrl.value?.href !== gateway.baseUrl.href),
    ...(location !== undefined && location.kind !== expected
      ? [`${location.source} goes before the key that was given.`]
      : []),
    ...modelKinds.flatMap((kind) => inFront(`${kind}Model`, now[`${kind}Model`].value !== models[kind])),
  ]
}
