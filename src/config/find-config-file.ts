import { constants, accessSync, existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { ConfigError } from '../errors.ts'
import { objectOf, tryJson, type JsonObject } from '../json.ts'
import {
  packageKey,
  packageSection,
  parseText,
  readConfigFile,
  unreadable,
  type FoundFile,
} from './parse-config.ts'
import { configFolder, homeFolder, type Environment } from '../context/folders.ts'
import { hasPermissions } from '../platform.ts'

const dataFormats = ['json', 'yaml', 'yml'] as const

/** Data formats only: configuration is never executed. */
const projectFiles: readonly string[] = [
  `.${packageKey}rc`,
  ...dataFormats.map((format) => `.${packageKey}rc.${format}`),
  ...dataFormats.map((format) => `${packageKey}.config.${format}`),
  ...dataFormats.map((format) => join('.config', `${packageKey}rc.${format}`)),
  'package.json',
]

const userFiles = ['config.yaml', 'config.yml', 'config.json']

/** The first file found from the working directory up to the home directory or the repository root. @throws ConfigError */
export async function findProjectFile(context: Environment): Promise<FoundFile | undefined> {
  for (const folder of foldersToSearch(context)) {
    const found = await readFirst(folder, projectFiles)
    if (found !== undefined) return found
  }
  return undefined
}

export async function findUserFile(context: Environment): Promise<FoundFile | undefined> {
  const folder = configFolder(context)
  return folder === undefined ? undefined : readFirst(folder, userFiles)
}

/** A text as the user's own file at a path. @throws ConfigError when it is not valid JSON or YAML */
export async function parseUserFile(path: string, text: string): Promise<FoundFile> {
  return { path, text, content: await parseText(path, text), folder: dirname(path) }
}

/** Whether the file exists or not: for hints. */
export function userFilePath(context: Environment): string {
  const folder = configFolder(context)
  if (folder === undefined) return join('$XDG_CONFIG_HOME', packageKey, 'config.yaml')
  const present = userFiles.find((name) => existsSync(join(folder, name)))
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

/** The files that are there, for a reader that cannot wait for the packages below and does without checks. */
export function presentFiles(context: Environment): { readonly user: string[]; readonly project: string[] } {
  const folder = configFolder(context)
  const user = folder === undefined ? [] : present(folder, userFiles)
  for (const searched of foldersToSearch(context)) {
    const project = present(searched, projectFiles)
    if (project.length > 0) return { user, project }
  }
  return { user, project: [] }
}

/** The first that is not empty. Loading the packages that read such files takes longer than the rest of the start. */
async function readFirst(folder: string, names: readonly string[]): Promise<FoundFile | undefined> {
  for (const path of present(folder, names)) {
    const found = await readConfigFile(folder, path)
    if (found !== undefined) return found
  }
  return undefined
}

/** String concatenation: normalising a hundred paths takes longer than checking the files. */
function present(folder: string, names: readonly string[]): string[] {
  return names.map((name) => `${folder}${sep}${name}`).filter(isCandidate)
}

const maxBytes = 1_048_576

function isCandidate(file: string): boolean {
  // Unlike statSync, existsSync does not throw for a folder without search permission.
  if (!existsSync(file)) return false
  const stat = reading(file, () => statSync(file))
  if (stat.isDirectory()) return false
  if (file.endsWith('package.json')) return stat.isFile() && stat.size <= maxBytes && hasSettings(file)
  // Reading a device or a pipe might never end.
  if (!stat.isFile()) throw new ConfigError(`${file}: not a regular file.`)
  if (stat.size > maxBytes) throw new ConfigError(`${file}: larger than 1 MiB.`)
  reading(file, () => accessSync(file, constants.R_OK))
  return true
}

function reading<Value>(file: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** An invalid package.json is reported only if it seems to have our settings. */
function hasSettings(file: string): boolean {
  try {
    const text = readFileSync(file, 'utf8')
    if (!text.includes(`"${packageKey}"`)) return false
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

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
