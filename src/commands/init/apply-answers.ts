import { storeKey } from '../../config/credentials.ts'
import { editUserFile, type Change } from '../../config/edit-config.ts'
import { findUserFile, userFilePath, writtenProfiles } from '../../config/find-config-file.ts'
import { credentialsPath, locateKey } from '../../config/key.ts'
import { pathToWrite } from '../../config/layers.ts'
import { resolveSettings } from '../../config/settings.ts'
import { settingTable, type SettingName } from '../../config/setting-table.ts'
import { objectOf, type JsonObject } from '../../json.ts'
import { isProblem } from '../../problems.ts'
import type { GatewayCheck } from '../shared/gateway/check-gateway.ts'
import type { GatewayAnswer, KeyAnswer } from './ask-gateway.ts'
import { modelKinds, type Models } from './choose-models.ts'
import type { Session } from './session.ts'

export interface Answers {
  readonly gateway: GatewayAnswer
  readonly key: KeyAnswer
  /** The last look at the gateway, with the key where there is one; undefined without any. */
  readonly check: GatewayCheck | undefined
  readonly models: Models
}

/** What the answers change; nothing that is so already. */
export interface Plan {
  /** The settings, by their names in the file; undefined for one that is taken out. */
  readonly values: Readonly<Record<string, unknown>>
  readonly files: readonly string[]
}

export async function planChanges(session: Session, answers: Answers): Promise<Plan> {
  const { context } = session
  const values = await newValues(session, answers)
  const store = answers.key.kind === 'store' ? credentialsPath(context) : undefined
  return {
    values,
    files: [
      ...(Object.keys(values).length === 0 ? [] : [userFilePath(context)]),
      ...(store === undefined ? [] : [store]),
    ],
  }
}

async function newValues(session: Session, { gateway, key, models }: Answers): Promise<Plan['values']> {
  const { settings, options } = session
  const section = await readSection(session)
  const wanted: [SettingName, unknown][] = [
    ['baseUrl', gateway.baseUrl.href.replace(/\/$/, '')],
    // Whatever the gateway was reached with, later calls need as well.
    ...(options.allowHttp ? [['allowHttp', true] as [SettingName, unknown]] : []),
    ...(options.caFile === undefined
      ? []
      : [['caFile', pathToWrite(session.context, options.caFile)] as [SettingName, unknown]]),
    ...keyValues(key),
    ...modelKinds
      .map((kind): [SettingName, unknown] => [`${kind}Model`, models[kind]])
      // One that comes from elsewhere stays there.
      .filter(([name, id]) => settings[name].value !== id),
  ]
  const changes = wanted.map(([name, value]) => [settingTable[name].file, value] as const)
  return Object.fromEntries(changes.filter(([name, value]) => section[name] !== value))
}

/** A stored key is only found where no setting names another. */
function keyValues(key: KeyAnswer): [SettingName, unknown][] {
  switch (key.kind) {
    case 'store':
      return [
        ['apiKeyFile', undefined],
        ['apiKeyCommand', undefined],
      ]
    case 'file':
      return [
        ['apiKeyFile', key.text],
        ['apiKeyCommand', undefined],
      ]
    case 'command':
      return [
        ['apiKeyFile', undefined],
        ['apiKeyCommand', key.text],
      ]
    default:
      return []
  }
}

/**
 * Writes what changes: all of the file of settings at once, then the key.
 * @returns the paths of the files that were changed
 * @throws ConfigError, FileError
 */
export async function writeAnswers(
  session: Session,
  values: Plan['values'],
  key: KeyAnswer,
): Promise<string[]> {
  const { context } = session
  const path = await sectionPath(session)
  const changes = Object.entries(values).map(([name, value]): Change => ({ path: [...path, name], value }))
  const settings = changes.length === 0 ? undefined : await editUserFile(context, changes)
  const store = key.kind === 'store' ? await storeKey(context, profileOf(session), key.value) : undefined
  return [settings, store].flatMap((file) => (file?.changed ? [file.path] : []))
}

function profileOf({ settings }: Session): string {
  return settings.profile.value
}

/** Where the settings of the profile are: at the top, unless the file has a section for it. */
async function sectionPath(session: Session): Promise<readonly string[]> {
  const profile = profileOf(session)
  const isAtTop =
    profile === settingTable.profile.default &&
    !Object.hasOwn(await writtenProfiles(session.context), profile)
  return isAtTop ? [] : ['profiles', profile]
}

async function readSection(session: Session): Promise<JsonObject> {
  const content = objectOf((await findUserFile(session.context))?.content)
  return (await sectionPath(session)).reduce((section, name) => objectOf(section[name]), content)
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

async function sourcesInFront(session: Session, { gateway, key, models }: Answers): Promise<string[]> {
  const { context } = session
  const profile = profileOf(session)
  const now = await resolveSettings(context, { profile })
  const goesFirst = (name: SettingName, source: string) =>
    `${source} goes before ${settingTable[name].file} of the configuration.`
  const location = await locateKey(context, now)
  const isOtherKey =
    (key.kind === 'store' && location?.kind !== 'credentials') ||
    ((key.kind === 'file' || key.kind === 'command') && location?.kind !== key.kind)
  return [
    ...(now.baseUrl.value?.href === gateway.baseUrl.href ? [] : [goesFirst('baseUrl', now.baseUrl.source)]),
    ...(isOtherKey && location !== undefined
      ? [`${location.source} goes before the key that was given.`]
      : []),
    ...modelKinds.flatMap((kind) => {
      const { value, source } = now[`${kind}Model`]
      return value === models[kind] ? [] : [goesFirst(`${kind}Model`, source)]
    }),
  ]
}
