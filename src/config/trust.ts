import { existsSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Found } from './layer.ts'
import { configError } from './problem.ts'
import { flagName, settingTable, type SettingName, type SettingRow } from './setting-table.ts'

/**
 * Lets a project file choose the address only among those that the user trusts:
 * a key never goes to an address that a cloned repository chose.
 * @param userFile where the user may add the origin
 * @throws UsageError naming the origin and the setting to add
 */
export function requireTrust(
  url: URL,
  trustedOrigins: readonly string[],
  source: string,
  userFile: string,
): void {
  if (trustedOrigins.includes(url.origin)) return
  throw configError(
    `The base URL (${source}) leads to ${url.origin}, which you have not trusted with your key.`,
    `If it is yours, add ${url.origin} to trusted_origins in ${userFile}, ` +
      `or set MODELGATE_TRUSTED_ORIGINS=${url.origin}; else choose another address with --base-url.`,
  )
}

/**
 * Keeps the folder for results that a project file names inside the project: a cloned repository must not have files
 * written to other places, whether by `..`, an absolute path or a symbolic link.
 * @param folder where the project file was found; the project is the repository around it, or else this folder
 * @param home the user's own folder, above which nothing is looked for
 * @throws UsageError naming both, and where the folder may be set instead
 */
export function requireInside(
  { value, source }: Found,
  folder: string,
  home: string | undefined,
  userFile: string,
): void {
  const project = realPath(repositoryOf(folder, home))
  const way = relative(project, realPath(value as string))
  if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return
  throw configError(
    `output_dir: ${String(value)} (${source}) leads out of the project, which is ${project}.`,
    `A project file may come from others, so it cannot: set it in ${userFile}, or as ${settingTable.outputDir.env}.`,
  )
}

/** The home directory is no project, even where it is a repository itself. */
function repositoryOf(folder: string, home: string | undefined): string {
  for (let place = folder; place !== home && place !== dirname(place); place = dirname(place)) {
    if (existsSync(join(place, '.git'))) return place
  }
  return folder
}

/** As many links on one way the system follows; more are a circle. */
const mostLinks = 40

/** Where a path leads to through links; the last parts of it need not exist yet. */
function realPath(path: string, links = 0): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    if (parent === path || links > mostLinks) return path
    // A link that leads nowhere may lead somewhere later.
    const target = linkTarget(path)
    const folder = realPath(parent, links + 1)
    return target === undefined ? join(folder, basename(path)) : realPath(resolve(folder, target), links + 1)
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** A setting that a project file decides, and what it would be without that file. */
export interface ProjectChoice {
  readonly name: SettingName
  readonly chosen: Found
  readonly own: Found
}

/**
 * Lets a project file lower what the user allows, never raise it:
 * a cloned repository must not have a request sent, and paid for, more often than its user wants.
 * @param userFile where the user may set it
 * @throws UsageError naming every setting that is raised, and where it may stand
 */
export function requireNoMore(choices: readonly ProjectChoice[], userFile: string): void {
  const raised = choices.filter(({ name, chosen, own }) => allowance(name, chosen) > allowance(name, own))
  if (raised.length === 0) return
  const problems = raised.map(({ name, chosen, own }) => {
    const setting = `${settingTable[name].file}: ${String(chosen.value)} (${chosen.source})`
    return `${setting} would send requests more often than ${String(own.value)} (${own.source}).`
  })
  const hints = raised.map(({ name }) => {
    const { file, env, flag } = settingTable[name]
    const flagText = flag === undefined ? '' : `, or use ${flagName(flag)}`
    return `A project file may come from others, so it can only lower ${file}: set it in ${userFile}, or as ${env}${flagText}.`
  })
  throw configError(problems.join('\n'), hints.join('\n'))
}

function allowance(name: SettingName, { value }: Found): number {
  // The table checks the function against the type of its own setting.
  const { allows } = settingTable[name] as SettingRow<unknown>
  return allows?.(value as NonNullable<unknown>) ?? 0
}
