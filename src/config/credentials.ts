import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { shellWord } from '../files/shell-word.ts'
import { parseJson } from './parse-json.ts'
import { configFolder } from './paths.ts'
import { configError } from './problem.ts'
import { isMapping } from './setting-kind.ts'

const largestBytes = 1_048_576

/** Where the keys are that `modelgate` keeps itself: `{ "profiles": { "default": { "api_key": "…" } } }`, mode 0600. */
export function credentialsPath(context: Context): string | undefined {
  const folder = configFolder(context)
  return folder === undefined ? undefined : join(folder, 'credentials.json')
}

/**
 * The key kept for a profile, as it is written.
 * @throws UsageError when others can read the file, or when it is not what it should be
 */
export function storedKey(context: Context, profile: string): string | undefined {
  const entry = readProfiles(context)?.[profile]
  if (entry === undefined) return undefined
  const key = isMapping(entry) && Object.hasOwn(entry, 'api_key') ? entry['api_key'] : undefined
  if (typeof key !== 'string') {
    throw configError(
      `${credentialsPath(context)}: the entry of profile ${JSON.stringify(profile)} has no api_key.`,
    )
  }
  return key
}

/** Whether a key is kept for a profile; a file that cannot be used is reported when the key is needed. */
export function profileExists(context: Context, profile: string): boolean {
  try {
    return readProfiles(context)?.[profile] !== undefined
  } catch {
    return false
  }
}

function readProfiles(context: Context): Readonly<Record<string, unknown>> | undefined {
  const file = credentialsPath(context)
  const text = file === undefined ? undefined : readPrivately(file, context.platform)
  if (file === undefined || text === undefined) return undefined
  const document = parseJson(file, text)
  const profiles =
    isMapping(document) && Object.hasOwn(document, 'profiles') ? document['profiles'] : undefined
  if (!isMapping(profiles)) throw configError(`${file}: must be a JSON object with "profiles".`)
  return Object.assign(Object.create(null) as Record<string, unknown>, profiles)
}

/** The text of a file that only its owner may read; undefined when there is none. */
function readPrivately(file: string, platform: NodeJS.Platform): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw configError(`${file}: the credentials file cannot be read (${code}).`, undefined, error)
  }
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile() || stat.size > largestBytes) throw configError(`${file}: not a credentials file.`)
    // Windows guards the folder of the user instead, and shows no such bits.
    if (platform !== 'win32' && (stat.mode & 0o077) !== 0) {
      throw configError(`${file}: other users can read your keys.`, `Run: chmod 600 ${shellWord(file)}`)
    }
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}
