import { type Command, Option } from 'commander'
import { storeKey, storedProfiles } from '../config/credentials.ts'
import { checkKey, lastFour, shortKeyWarning, trimKey, type KeyLocation } from '../config/key.ts'
import { resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError, AlreadyReported } from '../errors.ts'
import { readInputFile, type SilenceStep } from '../files/input-file.ts'
import { maxKeyBytes } from '../limits.ts'
import { ownSettings, checkKeyAt } from './shared/gateway/check-gateway.ts'
import { addShared, type CommonOptions, addExamples } from './shared/options/common-options.ts'
import { homePath, printNote, printDocument } from './shared/call/print-document.ts'
import { askSecret, canAsk } from './shared/input/questions.ts'
import { readStandardInputBytes } from './shared/input/standard-input.ts'
import { statSync } from 'node:fs'
import { writtenProfiles } from '../config/config-file.ts'
import type { KeysDocument, ProfileKey } from '../events/checks.ts'
import { outputVersion } from '../events/version.ts'
import { createGate } from '../output/gate.ts'
import type { Styles } from '../output/screen.ts'
import { keyReport } from '../output/setup-report.ts'
import type { Columns } from '../output/table-cells.ts'
import { startCall, type CommandCall } from './shared/gateway/open-gateway.ts'
import { hasPermissions } from '../platform.ts'

const meanings = {
  apiKeyFile: 'file that holds the key; "-" is standard input',
  profile: 'profile that the key is for (default)',
}

/** `check` is the default of `login`, and asked for in `status`. */
interface AuthOptions extends CommonOptions {
  readonly check?: boolean
  readonly all?: true
}

export function registerAuthLogin(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate auth login', 'asks for the key, and does not show it'],
    ['pass show gateway | modelgate auth login', 'from a password manager'],
    ['modelgate auth login --profile work --api-key-file key.txt'],
  ])
  command.option('--no-check', 'do not check the key with the gateway')
  addShared(command, 'profile apiKeyFile caFile header allowHttp connectTimeout timeout messages', meanings)
  command.action(async (options: AuthOptions) => {
    const settings = await ownSettings(context, options)
    const { profile, quiet, baseUrl } = settings
    const say = (line: string) => void (quiet.value || printNote(context, line))
    const { key, verdict } = await newKey({ context, options, settings, gate: createGate(context) })
    if (verdict !== undefined) say(verdict)
    const { path } = await storeKey(context, profile.value, key)
    const ending = lastFour(key) === '' ? '' : ` (…${lastFour(key)})`
    say(`The key${ending} of profile ${profile.value} is stored in ${homePath(context, path)}.`)
    const winner = await settings.keyLocation()
    if (winner && winner.kind !== 'credentials') say(`warning: ${winner.source} takes precedence over it.`)
    if (baseUrl.value === undefined) say('No base URL is set yet: modelgate config set base_url URL')
  })
}

/** A question is repeated until the key is good. @returns also what the gateway says of it */
async function newKey(call: CommandCall<AuthOptions>) {
  const { context, options, settings } = call
  const good = async (key: string, source: string) => {
    checkKey(key, source)
    return { key, verdict: await tryKey(call, key) }
  }
  const given = await givenKey(context, options)
  if (given !== undefined) return await good(given.text, given.source)
  if (options.apiKeyFile !== undefined || !canAsk(context, options.noInput)) {
    throw new UsageError('No key was given, and there is no terminal to ask for it.', {
      code: 'not_confirmed',
      hint: 'Pipe it in, or pass --api-key-file FILE.',
    })
  }
  const profile = settings.profile.value === 'default' ? '' : ` of profile ${settings.profile.value}`
  // Reported when the question is over: it would be printed into its line.
  let answer: Awaited<ReturnType<typeof good>>
  await askSecret(context, `API key${profile}:`, async (typed) => {
    answer = await good(typed.trim(), 'as typed')
    return undefined
  })
  return answer!
}

async function givenKey(context: Context, { apiKeyFile: path, stdin }: AuthOptions) {
  if (path !== undefined && path !== '-') {
    const bytes = await readInputFile(context, path, { maxBytes: maxKeyBytes })
    if (bytes instanceof ModelgateError) throw bytes
    return { text: trimKey(bytes), source: `file ${path}` }
  }
  const { kind } = context.stdin
  const isPiped = stdin && (kind === 'pipe' || kind === 'file')
  if (path === '-' ? kind === 'terminal' : !isPiped) return undefined
  const bytes = await (path === '-'
    ? readStandardInputBytes(context, '--api-key-file -')
    : readStandardInputBytes(context, 'auth login', silence(context)))
  return { text: trimKey(bytes), source: 'standard input' }
}

/** An open pipe that nobody asked to be read must not hang the program. */
function silence(context: Context): readonly SilenceStep[] {
  const hint = 'Pipe the key in, or pass --api-key-file FILE.'
  return [
    { afterMs: 1_000, act: () => printNote(context, 'Waiting for the key on standard input, an open pipe.') },
    {
      afterMs: 60_000,
      act() {
        throw new UsageError('No key arrived on standard input for 60 s.', { code: 'input_silent', hint })
      },
    },
  ]
}

/** @returns what the gateway says of the key, as a sentence; undefined where it is not asked */
async function tryKey(call: CommandCall<AuthOptions>, key: string): Promise<string | undefined> {
  if (!call.options.check || call.settings.baseUrl.value === undefined) return undefined
  const { state, message } = await checkKeyAt(call, key)
  if (state === 'refused') {
    throw new ModelgateError('key', 'key_refused', `${message}; it was not stored.`, {
      phase: 'reply',
      billed: 'no',
      hint: 'Check it, and the base URL; --no-check stores it anyway.',
    })
  }
  return state === 'accepted' ? `${message}.` : `The key could not be checked: ${message.replace(/\.$/, '')}.`
}

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
  command.action(async (options: AuthOptions) => {
    const call = await startCall(context, options)
    const stored = safely(() => storedProfiles(context), [])
    const names = new Set([call.settings.profile.value])
    if (options.profile === undefined) {
      for (const name of [...Object.keys(await writtenProfiles(context)), ...stored]) names.add(name)
    }
    const statuses: Status[] = []
    for (const name of names) statuses.push(await statusOf(call, name, stored.includes(name)))
    const profiles = statuses.map(({ entry }) => entry)
    const document: KeysDocument = { version: outputVersion, command: 'auth status', profiles }
    const describe = (styles: Styles, columns: Columns) =>
      keyReport(profiles, styles, columns, (path) => homePath(context, path))
    await printDocument(context, options, document, describe, { gate: call.gate })
    const { failure } = statuses[0]!
    if (failure !== undefined) throw new AlreadyReported(failure)
  })
}

interface Status {
  readonly entry: ProfileKey
  readonly failure?: ModelgateError | undefined
}

/** The key of each profile is added to what the gate hides. */
async function statusOf(call: CommandCall<AuthOptions>, profile: string, stored: boolean): Promise<Status> {
  const { context, options, gate } = call
  const current = profile === call.settings.profile.value
  const unknown = { source: null, last_four: null, base_url: null, problem: null, warning: null, check: null }
  let entry: ProfileKey = { profile, current, stored, ...unknown }
  try {
    const settings = current ? call.settings : await resolveSettings(context, { profile })
    const location = await settings.keyLocation()
    const base_url = settings.baseUrl.value?.href.replace(/\/$/, '') ?? null
    const warning = warningOf(context, location, stored)
    entry = { ...entry, source: location?.source ?? null, base_url, warning }
    // Somebody else's command is not run for a list: it may ask for a passphrase.
    if (location?.kind === 'command' && !current && !options.check) return { entry }
    const { value: key } = await settings.apiKey()
    gate.hide(key)
    const check = options.check ? await checkKeyAt({ ...call, settings }, key) : null
    const failure =
      check?.state === 'refused' ? new ModelgateError('key', 'key_refused', check.message) : undefined
    const last_four = lastFour(key) || null
    return { entry: { ...entry, warning: warning ?? shortKeyWarning(key), last_four, check }, failure }
  } catch (error) {
    if (!(error instanceof ModelgateError) || !['usage', 'key', 'io'].includes(error.exit)) throw error
    // No key at all is no problem of one.
    const isMissing = entry.source === null && error.code === 'key_missing'
    const problem = isMissing ? null : [error.message, error.facts.hint ?? []].flat().join(' ')
    return { entry: { ...entry, problem }, failure: error }
  }
}

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

export function registerAuthLogout(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate auth logout'],
    ['modelgate auth logout --profile work'],
    ['modelgate auth logout --all', 'every stored key'],
  ])
  command.addOption(new Option('--all', 'of every profile'))
  addShared(command, 'profile messages', { profile: 'profile whose key is removed (default)' })
  command.action(async (options: AuthOptions) => {
    if (options.all && options.profile !== undefined) {
      throw new UsageError('--all means every profile: leave out --all or --profile.')
    }
    const settings = await ownSettings(context, options)
    const say = (line: string) => void (settings.quiet.value || printNote(context, line))
    const profiles = options.all ? storedProfiles(context) : [settings.profile.value]
    for (const profile of profiles) {
      const { path, changed } = await storeKey(context, profile, undefined)
      const place = homePath(context, path)
      if (changed) say(`The key of profile ${profile} is removed from ${place}.`)
      else say(`No key of profile ${profile} is stored in ${place}.`)
    }
    if (profiles.length === 0) say('No key is stored.')
    // What still supplies a key is not ours to remove; a file that cannot be used supplies none.
    const rest = await settings.keyLocation().catch(() => undefined)
    if (rest && rest.kind !== 'credentials') say(`warning: ${rest.source} still supplies a key.`)
  })
}
