import type { Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { dangerousNames, objectOf } from '../json.ts'
import { editJson } from './edit-config.ts'
import { checkPlace, rewriteFile, textIfThere, type RewrittenFile } from './rewrite-file.ts'
import { credentialsPath, parseCredentials } from './key.ts'
import { quoted } from './parse-config.ts'

/**
 * Stores a checked key for a profile, or with undefined removes it, in the credentials file. That becomes private (0600)
 * if it was not; no other source of a key is touched.
 */
export async function storeKey(
  context: Context,
  profile: string,
  key: string | undefined,
): Promise<RewrittenFile> {
  checkPlace(context, 'credentials')
  const path = credentialsPath(context)!
  if (dangerousNames.has(profile)) throw new ConfigError(`${quoted(profile)} is not allowed as a name.`)
  const edit = async (before: string | undefined) => {
    const text = before ?? '{\n  "profiles": {}\n}\n'
    const old = parseCredentials(path, text)[profile]
    if (key === undefined && old === undefined) return undefined
    const value = key === undefined ? undefined : { ...objectOf(old), api_key: key }
    return editJson(text, [{ path: ['profiles', profile], value }])
  }
  return await rewriteFile(context, path, edit, 0o600)
}

/** The profiles whose keys are stored, in the order of the file; also of a file that others can read. */
export function storedProfiles(context: Context): readonly string[] {
  const path = credentialsPath(context)
  const text = path === undefined ? undefined : textIfThere(path)
  return path === undefined || text === undefined ? [] : Object.keys(parseCredentials(path, text))
}
