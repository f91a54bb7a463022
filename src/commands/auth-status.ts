import { statSync } from 'node:fs'
import { Option, type Command } from 'commander'
import { storedProfiles } from '../config/credentials.ts'
import { writtenProfiles } from '../config/find-config-file.ts'
import { shortKeyWarning, type KeyLocation } from '../config/key.ts'
import { resolveSettings, type Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, ModelgateError } from '../errors.ts'
import type { KeysDocument, ProfileKey } from '../events/checks.ts'
import { outputVersion } from '../events/version.ts'
import { createGate } from '../output/gate.ts'
import { keyReport } from '../output/key-report.ts'
import { checkKeyAt } from './shared/gateway/check-gateway.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'
import { homePath, printDocument } from './shared/call/print-document.ts'
import { hasPermissions } from '../platform.ts'

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
