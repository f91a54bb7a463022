import { existsSync, readFileSync, readlinkSync, realpathSync, statSync, type Stats } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { CosmiconfigResult } from 'cosmiconfig'
import { configFolder, homeFolder, type Environment } from '../context/folders.ts'
import { ConfigError, ModelgateError } from '../errors.ts'
import { objectOf, tryJson, type JsonObject } from '../json.ts'
import { hasPermissions } from '../platform.ts'
import { packageKey, packageSection, parseText } from './parse-config.ts'

export interface FoundFile {
  readonly path: string
  readonly text: string
  readonly content: unknown
  /** The folder that was searched; relative paths in the file start here. */
  readonly folder: string
}

const dataFormats = ['json', 'yaml', 'yml'] as const

/** Data formats only: configuration is never executed. */
const projectNames: readonly string[] = [
  `.${packageKey}rc`,
  ...dataFormats.map((format) => `.${packageKey}rc.${format}`),
  ...dataFormats.map((format) => `${packageKey}.config.${format}`),
  ...dataFormats.map((format) => join('.config', `${packageKey}rc.${format}`)),
  'package.json',
]

const userNames = ['config.yaml', 'config.yml', 'config.json']

/** The first file found from the working directory up to the home directory or the repository root. @throws ConfigError */
export const findProjectFile = (context: Environment) => readFirst(projectFiles(context))

export const findUserFile = (context: Environment) => readFirst(userFiles(context))

/** A text as the user's own file at a path. @throws ConfigError when it is not valid JSON or YAML */
export async function parseUserFile(path: string, text: string): Promise<FoundFile> {
  return { path, text, content: await parseText(path, text), folder: dirname(path) }
}

/** Whether the file exists or not: for hints. */
export function userFilePath(context: Environment): string {
  const folder = configFolder(context)
  if (folder === undefined) return join('$XDG_CONFIG_HOME', packageKey, 'config.yaml')
  const present = userNames.find((name) => existsSync(join(folder, name)))
  return join(folder, present ?? 'config.yaml')
}

/** The profiles as the user's own file has them, unchecked. */
export async function writtenProfiles(context: Environment): Promise<JsonObject> {
  return objectOf(objectOf((await findUserFile(context))?.content)['profiles'])
}

/** The keys to a profile's settings in the user's own file: those of `default` are at the top, unless it is written out. */
export async function profileSection(context: Environment, profile: string): Promise<string[]> {
  const isAtTop = profile === 'default' && !Object.hasOwn(await writtenProfiles(context), profile)
  return isAtTop ? [] : ['profiles', profile]
}

/** A file that is there, and the folder that was searched. */
type Candidate = Omit<FoundFile, 'text' | 'content'>

/** The nearest first; to look for them needs none of the packages that read them. */
export function* projectFiles(context: Environment): Generator<Candidate> {
  for (const folder of foldersToSearch(context)) yield* present(folder, projectNames)
}

export function* userFiles(context: Environment): Generator<Candidate> {
  const folder = configFolder(context)
  if (folder !== undefined) yield* present(folder, userNames)
}

/** String concatenation: normalising a hundred paths takes longer than checking the files. */
function* present(folder: string, names: readonly string[]): Generator<Candidate> {
  for (const name of names) {
    const path = `${folder}${sep}${name}`
    if (isCandidate(path)) yield { path, folder }
  }
}

/** The first that is not empty. Loading the packages that read such files takes longer than the rest of the start. */
async function readFirst(candidates: Iterable<Candidate>): Promise<FoundFile | undefined> {
  for (const candidate of candidates) {
    const found = await readConfigFile(candidate)
    if (found !== undefined) return found
  }
  return undefined
}

const maxBytes = 1_048_576

function isCandidate(file: string): boolean {
  // Unlike statSync, existsSync does not throw for a folder without search permission.
  if (!existsSync(file)) return false
  const stat = statOf(file)
  if (stat.isDirectory()) return false
  if (file.endsWith('package.json')) return stat.isFile() && stat.size <= maxBytes && hasSettings(file)
  // Reading a device or a pipe might never end.
  if (!stat.isFile()) throw new ConfigError(`${file}: not a regular file.`)
  if (stat.size > maxBytes) throw new ConfigError(`${file}: larger than 1 MiB.`)
  return true
}

function statOf(file: string): Stats {
  try {
    return statSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, cause: unknown): ConfigError {
  const hint = 'Change its permissions, or move it away.'
  return new ConfigError(`${file}: the configuration file cannot be read.`, { hint, cause })
}

/** An invalid package.json is reported only if it seems to have our settings. */
function hasSettings(file: string): boolean {
  try {
    const text = readFileSync(file, 'utf8')
    const document = tryJson(text)
    if (document !== undefined) return packageSection(document) !== undefined
    return new RegExp(`"${packageKey}"\\s*:\\s*\\{`).test(text)
  } catch {
    return false
  }
}

function* foldersToSearch(context: Environment): Generator<string> {
  const home = homeFolder(context)
  const last = new Set([home, home === undefined ? undefined : realPath(home)])
  for (let folder = context.cwd; ; folder = dirname(folder)) {
    if (folder === context.cwd || !isWorldWritable(folder, context.platform)) yield folder
    if (last.has(folder) || existsSync(join(folder, '.git')) || folder === dirname(folder)) return
  }
}

/** Above the working directory, a folder that anyone can write to (`/tmp`) is not part of a project. */
function isWorldWritable(folder: string, platform: NodeJS.Platform): boolean {
  if (!hasPermissions(platform)) return false
  try {
    return (statSync(folder).mode & 0o002) !== 0
  } catch {
    return true
  }
}

/** Linux follows at most this many links in one path. */
const maxLinks = 40

/** The path with symbolic links resolved; its last parts need not exist yet. */
export function realPath(path: string, links = 0): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    if (parent === path || links > maxLinks) return path
    const folder = realPath(parent, links + 1)
    // The target of a dangling link may be created later.
    const target = linkTarget(path)
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

type ExplorerClass = new (options: object) => { load(path: string): Promise<CosmiconfigResult> }

/**
 * Reads a file as data, unless it is empty. The public functions of cosmiconfig first look for a "meta configuration" in
 * the working directory and run a `.config/config.js` found there, whatever the options. Its Explorer class does not.
 * @throws ConfigError naming file, line and column when it is not valid JSON or YAML
 */
async function readConfigFile({ path, folder }: Candidate): Promise<FoundFile | undefined> {
  const module: unknown = await import('cosmiconfig/dist/Explorer.js')
  const { Explorer } = module as { Explorer: ExplorerClass }
  let text = ''
  // What its `load` reads of the options.
  const explorer = new Explorer({
    moduleName: packageKey,
    searchPlaces: [],
    cache: false,
    transform: (result: unknown) => result,
    loaders: {
      default(file: string, content: string) {
        text = content.replace(/^\uFEFF/, '')
        return parseText(file, text)
      },
    },
  })
  const found = await explorer.load(path).catch((cause: unknown) => {
    throw cause instanceof ModelgateError ? cause : unreadable(path, cause)
  })
  return found === null || found.isEmpty
    ? undefined
    : { path, text, content: found.config as unknown, folder }
}

/** What is wrong with a file that a setting names, as a problem of the configuration. */
export function fileProblem(error: ModelgateError, file: string): ModelgateError {
  return error.amend({ code: 'config_invalid', message: `${file}: ${error.message}`, phase: 'config' })
}
