import { join } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { readInputFile } from '../files/input-file.ts'
import { shellWord } from '../files/shell-word.ts'
import { parseJson } from './parse-config.ts'
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
export async function storedKey(context: Context, profile: string): Promise<string | undefined> {
  const entry = (await readProfiles(context))?.[profile]
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
export async function profileExists(context: Context, profile: string): Promise<boolean> {
  try {
    return (await readProfiles(context))?.[profile] !== undefined
  } catch {
    return false
  }
}

async function readProfiles(context: Context): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = credentialsPath(context)
  const text = file === undefined ? undefined : await readPrivately(context, file)
  if (file === undefined || text === undefined) return undefined
  const document = parseJson(file, text)
  const profiles =
    isMapping(document) && Object.hasOwn(document, 'profiles') ? document['profiles'] : undefined
  if (!isMapping(profiles)) throw configError(`${file}: must be a JSON object with "profiles".`)
  return Object.assign(Object.create(null) as Record<string, unknown>, profiles)
}

/** The text of a file that only its owner may read; undefined when there is none. */
async function readPrivately(context: Context, file: string): Promise<string | undefined> {
  const bytes = await readInputFile(context, file, {
    maxBytes: largestBytes,
    pipes: false,
    refuse: ({ mode }) =>
      // Windows guards the folder of the user instead, and shows no such bits.
      context.platform !== 'win32' && (mode & 0o077) !== 0
        ? configError(`${file}: other users can read your keys.`, `Run: chmod 600 ${shellWord(file)}`)
        : undefined,
  })
  if (!(bytes instanceof ModelgateError)) return bytes.toString('utf8')
  if (bytes.code === 'not_found' || bytes.code === 'not_a_folder') return undefined
  throw bytes.code === 'config_invalid'
    ? bytes
    : configError(`The credentials file: ${bytes.message}`, undefined, bytes)
}
