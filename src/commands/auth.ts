import { type Command, Option } from 'commander'
import { storeKey, storedProfiles, removeKey } from '../config/credentials.ts'
import { checkKey, lastFour, shortKeyWarning, type KeyLocation } from '../config/key.ts'
import { type Settings, resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError, AlreadyReported } from '../errors.ts'
import { readInputFile, type SilenceStep } from '../files/input-file.ts'
import { maxKeyBytes } from '../limits.ts'
import { ownSettings, checkKeyAt } from './shared/gateway/check-gateway.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { homePath, tell, printDocument } from './shared/call/print-document.ts'
import { askSecret, canAsk } from './shared/input/questions.ts'
import { readStandardInputBytes } from './shared/input/standard-input.ts'
import { statSync } from 'node:fs'
import { writtenProfiles } from '../config/find-config-file.ts'
import type { KeysDocument, ProfileKey } from '../events/checks.ts'
import { outputVersion } from '../events/version.ts'
import { createGate } from '../output/gate.ts'
import { keyReport } from '../output/key-report.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'
import { hasPermissions } from '../platform.ts'

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

interface StatusOptions extends CommonOptions {
  readonly check?: true
}

/** `modelgate auth status`: the key of each profile: which source wins, its last four characters, what is wrong. */
export function registerAuthStatus(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate auth status', 'which key is used, and where it is from'],
    ['modelgate auth status --check', 'asks the gateway whether it accepts it'],
    ['modelgate auth status --json | jq -r ".profiles[0].source"'],
  ])
  command.addOption(new Option('--check', 'check the keys with the gateway, at no cost'))
  addShared(
    command,
    'json profile baseUrl apiKeyFile caFile header allowHttp connectTimeout timeout messages',
  )
  command.action(async (_: unknown, self: Command) =>
    showStatus(context, self.optsWithGlobals<StatusOptions>()),
  )
}

/** @throws AlreadyReported where the profile in use has no key that can be used (exit 3, or that of the problem) */
async function showStatus(context: Context, options: StatusOptions): Promise<void> {
  const settings = await readSettings(context, options)
  const current = settings.profile.value
  const names = options.profile === undefined ? await profileNames(context, current) : [current]
  const keys: string[] = []
  const entries: ProfileKey[] = []
  let failure: ModelgateError | undefined
  for (const name of names) {
    const found = await statusOf(context, options, name, name === current ? settings : undefined)
    if (found.key !== undefined) keys.push(found.key)
    entries.push(found.entry)
    if (name === current) failure = found.failure
  }
  const document: KeysDocument = { version: outputVersion, command: 'auth status', profiles: entries }
  const gate = createGate(context, keys)
  await printDocument(
    context,
    options,
    document,
    (styles, columns) => keyReport(entries, styles, columns, (path) => homePath(context, path)),
    { gate },
  )
  if (failure !== undefined) throw new AlreadyReported(failure)
}

/** The one in use first; then those of the user's own file, and those whose keys are stored. */
async function profileNames(context: Context, current: string): Promise<readonly string[]> {
  const written = Object.keys(await writtenProfiles(context))
  return [...new Set([current, ...written, ...safely(() => storedProfiles(context), [])])]
}

interface Status {
  readonly entry: ProfileKey
  readonly key: string | undefined
  /** Why a call with this profile would fail for its key. */
  readonly failure: ModelgateError | undefined
}

/** @param own the settings of the profile in use; undefined for another profile */
async function statusOf(
  context: Context,
  options: StatusOptions,
  profile: string,
  own: Settings | undefined,
): Promise<Status> {
  const current = own !== undefined
  const stored = safely(() => storedProfiles(context).includes(profile), false)
  const entry = {
    profile,
    current,
    source: null,
    last_four: null,
    stored,
    base_url: null,
    problem: null,
    warning: null,
    check: null,
  }
  let settings: Settings
  let location: KeyLocation | undefined
  try {
    settings = own ?? (await resolveSettings(context, { profile }))
    location = await settings.keyLocation()
  } catch (error) {
    return broken(entry, error)
  }
  const known = {
    ...entry,
    source: location?.source ?? null,
    base_url: settings.baseUrl.value?.href.replace(/\/$/, '') ?? null,
    warning: warningOf(context, location, stored),
  }
  // Somebody else's command is not run for a list: it may ask for a passphrase.
  const isLeft = location?.kind === 'command' && !current && !options.check
  if (isLeft) return { entry: known, key: undefined, failure: undefined }
  try {
    const { value, lastFour } = await settings.apiKey()
    const check = options.check ? await checkKeyAt(context, options, settings, value) : null
    const failure = check?.state === 'refused' ? refused(check.message) : undefined
    const warning = known.warning ?? shortKeyWarning(value)
    return { entry: { ...known, warning, last_four: lastFour || null, check }, key: value, failure }
  } catch (error) {
    return broken(known, error)
  }
}

function broken(entry: ProfileKey, error: unknown): Status {
  if (!(error instanceof ModelgateError) || !['usage', 'key', 'io'].includes(error.exit)) throw error
  const { hint } = error.facts
  // No key at all is no problem of one.
  const isMissing = entry.source === null && error.code === 'key_missing'
  const problem = isMissing ? null : [error.message, ...(hint === undefined ? [] : [hint])].join(' ')
  return { entry: { ...entry, problem }, key: undefined, failure: error }
}

function refused(message: string): ModelgateError {
  return new ModelgateError('key', 'key_refused', message)
}

/** What is no reason to refuse the key, and worth knowing. */
function warningOf({ platform }: Context, location: KeyLocation | undefined, stored: boolean): string | null {
  if (location?.kind === 'file' && hasPermissions(platform)) {
    const isOpen = safely(
      () => statSync(location.path).isFile() && (statSync(location.path).mode & 0o077) !== 0,
      false,
    )
    if (isOpen) return `Other users can read ${location.path}: chmod 600 it.`
  }
  const isHidden = stored && location !== undefined && location.kind !== 'credentials'
  return isHidden
    ? `The key that auth login stored is not used: ${location.source} takes precedence over it.`
    : null
}

function safely<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read()
  } catch {
    return otherwise
  }
}

interface LogoutOptions extends CommonOptions {
  readonly all?: true
}

/** `modelgate auth logout`: removes what `auth login` has stored, and nothing else. */
export function registerAuthLogout(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate auth logout'],
    ['modelgate auth logout --profile work'],
    ['modelgate auth logout --all', 'every stored key'],
  ])
  command.addOption(new Option('--all', 'of every profile'))
  addShared(command, 'profile messages', { profile: 'profile whose key is removed (default)' })
  command.action(async (_: unknown, self: Command) => logOut(context, self.optsWithGlobals<LogoutOptions>()))
}

/** @throws ConfigError, FileError */
async function logOut(context: Context, options: LogoutOptions): Promise<void> {
  if (options.all && options.profile !== undefined) {
    throw new UsageError('--all means every profile: leave out --all or --profile.')
  }
  const settings = await ownSettings(context, options)
  const profiles = options.all ? storedProfiles(context) : [settings.profile.value]
  let removed = 0
  for (const profile of profiles) {
    const { path, changed } = await removeKey(context, profile)
    if (changed) removed++
    if (settings.quiet.value) continue
    const place = homePath(context, path)
    tell(
      context,
      changed
        ? `The key of profile ${profile} is removed from ${place}.`
        : `No key of profile ${profile} is stored in ${place}.`,
    )
  }
  if (settings.quiet.value) return
  if (options.all && removed === 0) tell(context, 'No key is stored.')
  await tellRest(context, settings)
}

/** What still supplies a key is not ours to remove. */
async function tellRest(context: Context, settings: Awaited<ReturnType<typeof ownSettings>>): Promise<void> {
  try {
    const rest = await settings.keyLocation()
    if (rest === undefined || rest.kind === 'credentials') return
    tell(context, `warning: ${rest.source} still supplies a key.`)
  } catch (error) {
    // A file that cannot be used supplies none.
    if (!(error instanceof ModelgateError)) throw error
  }
}
