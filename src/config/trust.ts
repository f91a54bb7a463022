import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { ConfigError } from '../errors.ts'
import type { Context } from '../context.ts'
import type { ProblemList } from '../problems.ts'
import { normaliseBaseUrl } from './base-url.ts'
import { realPath, userFilePath } from './config-file.ts'
import type { Layer, Setting, Values } from './layers.ts'
import { homeFolder } from '../context/folders.ts'
import { flagName, settingNames, settingTable, type BaseUrls, type SettingName } from './setting-table.ts'

/** Checks what a project file sets against what its user allows. @param own without what the project file sets */
export async function checkProjectFile(
  context: Context,
  values: Values,
  own: Values,
  problems: ProblemList,
): Promise<void> {
  for (const name of settingNames.filter((name) => values[name].level === 'project')) {
    if (settingTable[name].project === 'only to lower it')
      await problems.check(() => checkNotRaised(context, name, values[name], own[name]))
    if (name === 'outputDir') await problems.check(() => checkInsideProject(context, values.outputDir))
  }
}

export interface Addresses {
  /** Of everything but what `baseUrls` says. */
  readonly baseUrl: Setting<URL | undefined>
  /** Undefined where both styles are at `baseUrl`. */
  readonly baseUrls: Setting<BaseUrls<URL> | undefined>
}

/** The address of the gateway, or both: of the sources that have either, the nearest. @throws ConfigError */
export function checkedAddresses(
  context: Context,
  { baseUrl, baseUrls, allowHttp, trustedOrigins }: Values,
  layers: readonly (Layer | undefined)[],
): Addresses {
  const check = ({ source, level }: Setting<unknown>, value: string) => {
    if (level === 'project') {
      // Checked before clear text: a message that suggests --allow-http must not help an untrusted address.
      const { origin } = normaliseBaseUrl(value, source, true)
      if (!trustedOrigins.value.includes(origin)) throw untrusted(origin, source, userFilePath(context))
    }
    return normaliseBaseUrl(value, source, allowHttp.value)
  }
  const nearest = layers.find((layer) => layer?.has('baseUrl') || layer?.has('baseUrls'))
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

/** A cloned repository must not redirect the key. @param userFile where the user may add the origin */
const untrusted = (origin: string, source: string, userFile: string) =>
  new ConfigError(`The base URL (${source}) points to ${origin}, which you have not trusted with your key.`, {
    hint:
      `If it is yours, add ${origin} to trusted_origins in ${userFile}, ` +
      `or set MODELGATE_TRUSTED_ORIGINS=${origin}; otherwise choose another address with --base-url.`,
  })

/**
 * A cloned repository must not have files written elsewhere, whether by `..`, an absolute path or a symbolic link. The
 * project is the repository around its file, or else the folder where that was found.
 */
function checkInsideProject(context: Context, { value, source, place }: Setting<unknown>): void {
  const project = realPath(repositoryOf(place!.file.folder, homeFolder(context)))
  const path = relative(project, realPath(value as string))
  if (path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)) return
  throw new ConfigError(`output_dir: ${String(value)} (${source}) is outside the project, ${project}.`, {
    hint: `A project file may come from others, so its results stay inside: set it in ${userFilePath(context)}, or as ${settingTable.outputDir.env}.`,
  })
}

/** The home directory is not a project, even if it is a repository. */
function repositoryOf(folder: string, home: string | undefined): string {
  for (let current = folder; current !== home && current !== dirname(current); current = dirname(current)) {
    if (existsSync(join(current, '.git'))) return current
  }
  return folder
}

/** A cloned repository must neither cause more paid requests than its user wants, nor have more of them recorded. */
function checkNotRaised(
  context: Context,
  name: SettingName,
  chosen: Setting<unknown>,
  own: Setting<unknown>,
): void {
  const { file, env, flag, kind, wouldDo = '' } = settingTable[name]
  const allowance = ({ value }: Setting<unknown>) => kind.words?.indexOf(value) ?? Number(value)
  if (allowance(chosen) <= allowance(own)) return
  const flagText = flag === undefined ? '' : `, or use ${flagName(flag)}`
  throw new ConfigError(
    `${file}: ${String(chosen.value)} (${chosen.source}) would ${wouldDo} than ` +
      `${String(own.value)} (${own.source}).`,
    {
      hint: `A project file may come from others, so it can only lower ${file}: set it in ${userFilePath(context)}, or as ${env}${flagText}.`,
    },
  )
}
