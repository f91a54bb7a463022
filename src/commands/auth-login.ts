import type { Command } from 'commander'
import { storeKey } from '../config/credentials.ts'
import { checkKey, lastFour } from '../config/key.ts'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { readInputFile, type SilenceStep } from '../files/input-file.ts'
import { maxKeyBytes } from '../limits.ts'
import { ownSettings } from './shared/options/own-settings.ts'
import { checkKeyAt } from './shared/gateway/check-gateway.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { homePath, tell } from './shared/call/print-document.ts'
import { askSecret, canAsk } from './shared/input/questions.ts'
import { readStandardInputBytes } from './shared/input/standard-input.ts'

const meanings = {
  apiKeyFile: 'file that holds the key; "-" is standard input',
  profile: 'profile that the key is for (default)',
}

interface LoginOptions extends CommonOptions {
  readonly check: boolean
}

/** `modelgate auth login`: stores the key of a profile in the private credentials file. */
export function registerAuthLogin(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate auth login', 'asks for the key, and does not show it'],
    ['pass show gateway | modelgate auth login', 'from a password manager'],
    ['modelgate auth login --profile work --api-key-file key.txt'],
  ])
  command.option('--no-check', 'do not check the key with the gateway')
  addShared(command, 'profile apiKeyFile caFile header allowHttp connectTimeout timeout messages', meanings)
  command.action(async (_: unknown, self: Command) => logIn(context, self.optsWithGlobals<LoginOptions>()))
}

/** @throws UsageError, FileError; ModelgateError `key_refused` (exit 3), nothing is stored then */
async function logIn(context: Context, options: LoginOptions): Promise<void> {
  const settings = await ownSettings(context, options)
  const profile = settings.profile.value
  const asked = await newKey(context, options, settings)
  const { key } = asked
  const verdict = asked.isChecked ? asked.verdict : await tryKey(context, options, settings, key)
  if (verdict !== undefined && !settings.quiet.value) tell(context, verdict)
  const { path } = await storeKey(context, profile, key)
  if (settings.quiet.value) return
  const ending = lastFour(key) === '' ? '' : ` (…${lastFour(key)})`
  tell(context, `The key${ending} of profile ${profile} is stored in ${homePath(context, path)}.`)
  const winner = await settings.keyLocation()
  if (winner !== undefined && winner.kind !== 'credentials') {
    tell(context, `warning: ${winner.source} takes precedence over it.`)
  }
  if (settings.baseUrl.value === undefined) {
    tell(context, 'No base URL is set yet: modelgate config set base_url URL')
  }
}

/** From a file, standard input or a question; a question is repeated until the key is good. */
async function newKey(
  context: Context,
  options: LoginOptions,
  settings: Settings,
): Promise<{ readonly key: string; readonly verdict?: string | undefined; readonly isChecked: boolean }> {
  const { apiKeyFile: path, noInput, stdin } = options
  const { kind } = context.stdin
  if (path !== undefined && path !== '-') {
    const bytes = await readInputFile(context, path, { maxBytes: maxKeyBytes })
    if (bytes instanceof ModelgateError) throw bytes
    return { key: keyIn(bytes, `file ${path}`), isChecked: false }
  }
  if (path === '-' && kind !== 'terminal') {
    const bytes = await readStandardInputBytes(context, '--api-key-file -')
    return { key: keyIn(bytes, 'standard input'), isChecked: false }
  }
  if (path === undefined && stdin && (kind === 'pipe' || kind === 'file')) {
    const bytes = await readStandardInputBytes(context, 'auth login', silence(context))
    return { key: keyIn(bytes, 'standard input'), isChecked: false }
  }
  if (path === undefined && canAsk(context, noInput)) {
    const profile = settings.profile.value === 'default' ? '' : ` of profile ${settings.profile.value}`
    // Told when the question is over: it would be printed into its line.
    let verdict: string | undefined
    const key = await askSecret(context, `API key${profile}:`, (typed) =>
      problemOf(async () => {
        checkKey(typed.trim(), 'as typed')
        verdict = await tryKey(context, options, settings, typed.trim())
      }),
    )
    return { key: key.trim(), verdict, isChecked: true }
  }
  throw new UsageError('No key was given, and there is no terminal to ask for it.', {
    code: 'not_confirmed',
    hint: 'Pipe it in, or pass --api-key-file FILE.',
  })
}

/** An open pipe that nobody asked to be read must not hang the program. */
function silence(context: Context): readonly SilenceStep[] {
  const hint = 'Pipe the key in, or pass --api-key-file FILE.'
  return [
    { afterMs: 1_000, act: () => tell(context, 'Waiting for the key on standard input, an open pipe.') },
    {
      afterMs: 60_000,
      act() {
        throw new UsageError('No key came on standard input for 60 s.', { code: 'input_silent', hint })
      },
    },
  ]
}

function keyIn(bytes: Uint8Array, source: string): string {
  const key = new TextDecoder().decode(bytes).trim()
  checkKey(key, source)
  return key
}

/** What is wrong with a key that was typed, to be shown below the question. */
async function problemOf(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    if (error instanceof ModelgateError && (error.exit === 'usage' || error.exit === 'key'))
      return error.message
    throw error
  }
}

/**
 * Asks the gateway, where it is to be asked.
 * @returns what it says, as a sentence
 * @throws ModelgateError `key_refused` when it refuses the key
 */
async function tryKey(
  context: Context,
  options: LoginOptions,
  settings: Settings,
  key: string,
): Promise<string | undefined> {
  if (!options.check || settings.baseUrl.value === undefined) return undefined
  const { state, message } = await checkKeyAt(context, options, settings, key)
  if (state === 'refused') {
    throw new ModelgateError('key', 'key_refused', `${message}; it was not stored.`, {
      phase: 'reply',
      billed: 'no',
      hint: 'Check it, and the base URL; --no-check stores it anyway.',
    })
  }
  return state === 'accepted' ? `${message}.` : `The key could not be checked: ${message.replace(/\.$/, '')}.`
}
