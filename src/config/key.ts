import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { credentialsPath, storedKey } from './credentials.ts'
import { userFilePath } from './find-config-file.ts'
import { checkKey } from './key-check.ts'
import { runKeyCommand } from './key-command.ts'
import { readKeyFile } from './key-file.ts'
import type { Level } from './layer.ts'
import type { Settings } from './settings.ts'

export interface ApiKey {
  readonly value: string
  /** `environment MODELGATE_API_KEY`, `flag --api-key-file, file PATH`, `user file PATH, its command`, … */
  readonly source: string
  /** The last four characters; empty for a key so short that they would give it away. */
  readonly lastFour: string
}

type KeySettings = Pick<Settings, 'apiKeyFile' | 'apiKeyCommand' | 'profile'>

const resolved = new WeakMap<KeySettings, Promise<ApiKey>>()

/**
 * The key of a call, looked for once: a command that asks for a passphrase asks only once.
 * @param settings of the call; the same object gives the same key
 * @throws what `findKey` throws
 */
export function resolveKey(context: Context, settings: KeySettings): Promise<ApiKey> {
  const known = resolved.get(settings)
  if (known !== undefined) return known
  const found = findKey(context, settings)
  resolved.set(settings, found)
  return found
}

/**
 * The key: --api-key-file, MODELGATE_API_KEY, MODELGATE_API_KEY_FILE, MODELGATE_API_KEY_COMMAND,
 * `api_key_file` and `api_key_command` of the user's own file, the credentials file.
 * The first of these that is set decides: a broken one never falls through to another account's key.
 *
 * @throws UsageError when that one yields no usable key; ModelgateError `key_missing` (exit 3) when none is set, or it is empty.
 *   No message holds the key.
 */
async function findKey(context: Context, settings: KeySettings): Promise<ApiKey> {
  const found =
    (await configuredKey(context, settings, ['flag'])) ??
    environmentKey(context) ??
    (await configuredKey(context, settings, ['environment', 'user'])) ??
    (await credentialsKey(context, settings))
  if (found === undefined) throw keyMissing(context, settings.profile.value)
  checkKey(found.value, found.source)
  return { ...found, lastFour: found.value.length >= 12 ? found.value.slice(-4) : '' }
}

type Unchecked = Pick<ApiKey, 'value' | 'source'>

function environmentKey({ env }: Context): Unchecked | undefined {
  const value = env['MODELGATE_API_KEY']
  // Set but empty is a secret that did not arrive: reported, not passed over.
  return value === undefined ? undefined : { value, source: 'environment MODELGATE_API_KEY' }
}

/** A file or a command that one of these levels names. Levels in order; at the same level the file comes first. */
async function configuredKey(
  context: Context,
  { apiKeyFile, apiKeyCommand }: KeySettings,
  levels: readonly Level[],
): Promise<Unchecked | undefined> {
  for (const level of levels) {
    if (apiKeyFile.value !== undefined && apiKeyFile.level === level) {
      const source = `${apiKeyFile.source}, file ${apiKeyFile.value}`
      return { value: await readKeyFile(context, apiKeyFile.value, apiKeyFile.source), source }
    }
    if (apiKeyCommand.value !== undefined && apiKeyCommand.level === level) {
      const source = `${apiKeyCommand.source}, its command`
      return { value: await runKeyCommand(context, apiKeyCommand.value, apiKeyCommand.source), source }
    }
  }
  return undefined
}

async function credentialsKey(context: Context, { profile }: KeySettings): Promise<Unchecked | undefined> {
  const value = await storedKey(context, profile.value)
  return value === undefined ? undefined : { value, source: `credentials file ${credentialsPath(context)}` }
}

function keyMissing(context: Context, profile: string): ModelgateError {
  const whose = profile === 'default' ? '' : ` for profile ${JSON.stringify(profile)}`
  return new ModelgateError('key', 'key_missing', `No API key was given${whose}.`, {
    phase: 'config',
    billed: 'no',
    hint:
      `Set MODELGATE_API_KEY, pass --api-key-file FILE, or set api_key_file or api_key_command in ` +
      `${userFilePath(context)}. With --sandbox no key is needed.`,
  })
}
