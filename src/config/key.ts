import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'
import { promisify } from 'node:util'
import type { Context } from '../context.ts'
import { maxKeyBytes, minHiddenLength } from '../limits.ts'
import { ConfigError, ModelgateError } from '../errors.ts'
import { readInputFile } from '../files/input-file.ts'
import { shellWord } from '../files/file-error.ts'
import { leadTo, nextCommand } from '../files/next-command.ts'
import { isObject, objectOf } from '../json.ts'
import { fileProblem, userFilePath } from './config-file.ts'
import { parseJson } from './parse-config.ts'
import type { Values } from './layers.ts'
import { configFolder, homeFolder } from '../context/folders.ts'
import { hasPermissions } from '../platform.ts'

export interface ApiKey {
  readonly value: string
  /** `environment MODELGATE_API_KEY`, `flag --api-key-file, file PATH`, `user file PATH, its command`, … */
  readonly source: string
}

type KeySettings = Pick<Values, 'apiKeyFile' | 'apiKeyCommand' | 'profile'>

/** The first source that is set decides: a broken one never falls through to the key of another account. */
export async function findKey(context: Context, settings: KeySettings): Promise<ApiKey> {
  const location = await locateKey(context, settings)
  if (location === undefined) throw keyMissing(context, settings.profile.value)
  const value = await location.read()
  checkKey(value, location.source)
  return { value, source: location.source }
}

/** The last characters of a key; empty if it is so short that they would reveal it. */
export function lastFour(key: string): string {
  return key.length >= 12 ? key.slice(-4) : ''
}

export function shortKeyWarning(key: string): string | null {
  if (key.length >= minHiddenLength) return null
  return `A key of fewer than ${minHiddenLength} characters is too short to be hidden.`
}

/** A file is not read and a command not run until `read` is called. */
export type KeyLocation = {
  readonly source: string
  read(): string | Promise<string>
} & (
  | { readonly kind: 'environment' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'credentials'; readonly path: string; readonly profile: string }
)

/** Finds the key in the order of `findKey`. @throws ConfigError for a credentials file that cannot be used */
export async function locateKey(context: Context, settings: KeySettings): Promise<KeyLocation | undefined> {
  const { apiKeyFile, apiKeyCommand } = settings
  const [path, command] = [apiKeyFile.value, apiKeyCommand.value]
  const file = path !== undefined && {
    kind: 'file' as const,
    path,
    source: `${apiKeyFile.source}, file ${path}`,
    read: () => readKeyFile(context, path, apiKeyFile.source),
  }
  if (file && apiKeyFile.level === 'flag') return file
  const value = context.env['MODELGATE_API_KEY']
  // An empty variable means that a secret is missing: reported, not skipped.
  if (value !== undefined) {
    return { kind: 'environment', source: 'environment MODELGATE_API_KEY', read: () => value }
  }
  const printed = command !== undefined && {
    kind: 'command' as const,
    command,
    source: `${apiKeyCommand.source}, its command`,
    read: () => runKeyCommand(context, command, apiKeyCommand.source),
  }
  // A file wins over a command of the same level.
  const isNearer = apiKeyCommand.level === 'environment' && apiKeyFile.level !== 'environment'
  return (!isNearer && file) || printed || (await credentialsKey(context, settings.profile.value))
}

async function credentialsKey(context: Context, profile: string): Promise<KeyLocation | undefined> {
  const path = credentialsPath(context)
  const entry = (await readProfiles(context))?.[profile]
  if (path === undefined || entry === undefined) return undefined
  const key = objectOf(entry)['api_key']
  if (typeof key === 'string')
    return { kind: 'credentials', path, profile, source: `credentials file ${path}`, read: () => key }
  throw new ConfigError(`${path}: the entry of profile ${JSON.stringify(profile)} has no api_key.`)
}

function keyMissing(context: Context, profile: string): ModelgateError {
  const whose = profile === 'default' ? '' : ` for profile ${JSON.stringify(profile)}`
  return new ModelgateError('key', 'key_missing', `No API key is set${whose}.`, {
    phase: 'config',
    billed: 'no',
    ...leadTo(
      'Store one with ',
      nextCommand(['modelgate', 'auth', 'login', ...(profile === 'default' ? [] : ['--profile', profile])]),
      `, set MODELGATE_API_KEY, pass --api-key-file FILE, or set api_key_file or api_key_command in ${userFilePath(context)}. With --sandbox no key is needed.`,
    ),
  })
}

/** @throws ConfigError for a key that cannot be sent as a bearer token; ModelgateError `key_missing` for an empty one */
export function checkKey(key: string, source: string): void {
  if (key === '') {
    throw new ModelgateError('key', 'key_missing', `The API key (${source}) is empty.`, {
      phase: 'config',
      billed: 'no',
      hint: 'Set it there, or remove that setting. With --sandbox no key is needed.',
    })
  }
  const problem = problemOf(key)
  if (problem === undefined) return
  throw new ConfigError(`The API key (${source}) ${problem}.`, {
    hint: 'Give only the key, on one line, as the gateway issued it. It has not been sent.',
  })
}

function problemOf(key: string): string | undefined {
  if (key.length > maxKeyBytes) return `is longer than ${maxKeyBytes} characters`
  if (/[\r\n]/.test(key)) return 'contains a newline'
  if (/\s/.test(key)) return 'contains white space'
  if (/[\u0000-\u001f\u007f]/.test(key)) return 'contains a control character'
  if (/[^\u0021-\u007e]/.test(key)) return 'contains a character that is not ASCII'
  return undefined
}

async function readKeyFile(context: Context, path: string, source: string): Promise<string> {
  const bytes = await readInputFile(context, path, { maxBytes: maxKeyBytes })
  if (!(bytes instanceof ModelgateError)) return trimKey(bytes)
  // An empty key is reported by `checkKey`.
  if (bytes.code === 'empty_file') return ''
  throw fileProblem(bytes, `The key file (${source})`)
}

export const trimKey = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim()

const commandLimitMs = 10_000

/** Of both outputs of a command; messages may take more than a key. */
const maxCommandBytes = 1_048_576

/**
 * Runs the user's own command through the platform's shell and takes what it prints as the key.
 * It starts in the home directory, so that nothing in the working directory can replace a program it names.
 * Neither the command nor its output is ever part of a message.
 */
export async function runKeyCommand(context: Context, command: string, source: string): Promise<string> {
  const { exec } = await import('node:child_process')
  const { clock, signal, env } = context
  const home = homeFolder(context)
  const tooLong = new AbortController()
  const timer = clock.timer(commandLimitMs, () => tooLong.abort())
  let problem = 'printed far more than a key'
  try {
    const running = promisify(exec)(command, {
      cwd: home !== undefined && existsSync(home) ? home : sep,
      env: { ...env },
      encoding: 'buffer',
      maxBuffer: maxCommandBytes,
      killSignal: 'SIGKILL',
      signal: AbortSignal.any([signal, tooLong.signal]),
      windowsHide: true,
    })
    running.child.stdin?.end()
    const { stdout } = await running
    if (stdout.length <= maxKeyBytes) return trimKey(stdout)
  } catch (error) {
    signal.throwIfAborted()
    // Its message has the command and what it printed.
    const { code, signal: killedBy } = error as { code?: unknown; signal?: string | null }
    if (tooLong.signal.aborted) problem = `took longer than ${commandLimitMs / 1000} seconds`
    else if (killedBy) problem = `was killed by ${killedBy}`
    else if (typeof code === 'number') problem = `ended with exit code ${code}`
    else if (code !== 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') problem = 'could not be started'
  } finally {
    timer.cancel()
  }
  throw new ConfigError(`The command that should print the API key (${source}) ${problem}.`, {
    code: 'key_command_failed',
    hint: 'Run it by hand in your home directory to see why.',
  })
}

const maxCredentialsBytes = 1_048_576

/** The file of stored keys, mode 0600: `{ "profiles": { "default": { "api_key": "…" } } }`. */
export function credentialsPath(context: Context): string | undefined {
  const folder = configFolder(context)
  return folder === undefined ? undefined : join(folder, 'credentials.json')
}

/** What is stored for each profile; undefined if the file does not exist. */
export async function readProfiles(context: Context): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = credentialsPath(context)
  if (file === undefined) return undefined
  const bytes = await readInputFile(context, file, {
    maxBytes: maxCredentialsBytes,
    pipes: false,
    refuse: ({ mode }) =>
      hasPermissions(context.platform) && (mode & 0o077) !== 0
        ? new ConfigError(`${file}: other users can read your keys.`, {
            hint: `Run: chmod 600 ${shellWord(file)}`,
          })
        : undefined,
  })
  if (!(bytes instanceof ModelgateError)) return parseCredentials(file, bytes.toString('utf8'))
  if (bytes.code === 'not_found') return undefined
  throw bytes.code === 'config_invalid' ? bytes : fileProblem(bytes, 'The credentials file')
}

/** The profiles of a credentials file. @throws ConfigError when it is malformed */
export function parseCredentials(file: string, text: string): Readonly<Record<string, unknown>> {
  const { profiles } = objectOf(parseJson(file, text))
  if (!isObject(profiles)) throw new ConfigError(`${file}: must be a JSON object with "profiles".`)
  return Object.assign(Object.create(null) as Record<string, unknown>, profiles)
}
