import { constants, existsSync } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { arch } from 'node:os'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { findProjectFile, findUserFile } from '../config/config-file.ts'
import { lastFour, shortKeyWarning } from '../config/key.ts'
import { rescueFolder, stateFolder } from '../context/folders.ts'
import { settingTable } from '../config/setting-table.ts'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { isFinal } from '../contract/videos.ts'
import { AlreadyReported, Interrupted, ModelgateError, type ExitName } from '../errors.ts'
import type { Check } from '../events/checks.ts'
import { outputVersion } from '../events/version.ts'
import { callsFolder } from '../files/calls/call-book.ts'
import { JobStore } from '../files/calls/job-store.ts'
import { shellWord, writeError } from '../files/file-error.ts'
import { isLoopback } from '../loopback.ts'
import { nearestName } from '../nearest-name.ts'
import { checkLine, summaryLine } from '../output/setup-report.ts'
import { createOutput } from '../output/create-output.ts'
import { createGate, type Gate } from '../output/gate.ts'
import { hasHyperlinks, detectProtocol, hasTrueColour } from '../output/terminal-abilities.ts'
import { hasPermissions } from '../platform.ts'
import { byteText, counted, roundedDuration } from '../quantities.ts'
import { environmentRows } from './help/topics.ts'
import { homePath, printReport, printNote } from './shared/call/print-document.ts'
import { checkGateway, type GatewayCheck } from './shared/gateway/check-gateway.ts'
import {
  proxiesFrom,
  readSettings,
  sandboxKey,
  startOwnSandbox,
  type CommandCall,
} from './shared/gateway/open-gateway.ts'
import { addShared, type CommonOptions, addExamples } from './shared/options/common-options.ts'

/** For each request, so that the whole takes a minute at most. */
const seconds = 10

export function registerDoctor(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate doctor', 'what is wrong, and how to fix it'],
    ['modelgate doctor --sandbox', 'without a gateway'],
    ['modelgate doctor --json > report.json', 'for a bug report: no key, no prompt'],
  ])
  addShared(
    command,
    'json jsonl sandbox profile baseUrl apiKeyFile caFile header allowHttp connectTimeout timeout messages',
    {
      timeout: `limit for each request to the gateway (${seconds})`,
      sandbox: 'check the built-in gateway instead',
    },
  )
  command.action(async (options: CommonOptions) => {
    const settings = await readSettings(context, options).catch(asFailure)
    const usable = settings instanceof ModelgateError ? undefined : settings
    // With problems in the configuration nothing is asked, whatever the address.
    const sandbox = options.sandbox && usable && (await startOwnSandbox(context, usable))
    const gate = createGate(context)
    const mode = options.jsonl ? 'jsonl' : options.json ? 'json' : undefined
    const output = mode && createOutput(context, { mode, quiet: true, usage: false, gate })
    output?.event({ type: 'start', version: outputVersion, command: 'doctor', model: null })
    const checks: Check[] = []
    let failure: ModelgateError | undefined
    try {
      const asked = usable && sandbox ? settingsOfSandbox(usable, new URL(sandbox.url)) : settings
      for await (const [name, finding] of findings(context, options, asked, gate)) {
        const check = checkOf(context, name, finding)
        checks.push(check)
        if (finding instanceof ModelgateError) failure ??= finding
        output?.event({ type: 'check-end', check })
        await output?.flush()
        if (output === undefined) {
          await printReport(context, gate, (styles, columns) => checkLine(check, styles, columns))
        }
      }
    } finally {
      await sandbox?.close()
    }
    const hasWarning = checks.some(({ verdict }) => verdict === 'warning')
    await output?.end({
      version: outputVersion,
      command: 'doctor',
      verdict: failure ? 'failed' : hasWarning ? 'warning' : 'ok',
      program: __VERSION__,
      platform: `${context.platform} ${arch()}`,
      checks,
    })
    if (output === undefined && !usable?.quiet.value) printNote(context, summaryLine(checks))
    if (failure !== undefined) throw new AlreadyReported(failure)
  })
}

/** What a check has found; a failure is an error, with the exit code that it leads to. */
type Finding = ModelgateError | Pick<Check, 'verdict' | 'message' | 'remedy'>

const finding =
  (verdict: Exclude<Check['verdict'], 'failed'>) =>
  (message: string, remedy: string | null = null): Finding => ({ verdict, message, remedy })

const ok = finding('ok')
const skipped = finding('skipped')
const warning = finding('warning')

const failed = (exit: ExitName, message: string, hint: string | undefined): Finding =>
  new ModelgateError(exit, 'some_failed', message, { hint })

function checkOf(context: Context, name: string, found: Finding): Check {
  const isFailure = found instanceof ModelgateError
  const remedy = isFailure ? (found.facts.hint ?? null) : found.remedy
  return {
    name,
    verdict: isFailure ? 'failed' : found.verdict,
    // Nobody's name belongs into a report.
    message: homePath(context, found.message),
    remedy: remedy && homePath(context, remedy),
    exit_code: isFailure ? found.exitCode : null,
  }
}

async function* findings(
  context: Context,
  options: CommonOptions,
  configured: Settings | ModelgateError,
  gate: Gate,
): AsyncGenerator<readonly [name: string, finding: Finding]> {
  const settings = configured instanceof ModelgateError ? undefined : configured
  const baseUrl = settings?.baseUrl.value
  yield ['Node', ok(`${context.nodeVersion} on ${context.platform} ${arch()}`)]
  yield ['terminal', checkTerminal(context)]
  yield ['configuration', await checkConfiguration(context, configured)]
  yield ['state', await checkState(context)]
  const unusable = skipped('the configuration has problems')
  yield ['base URL', settings === undefined ? unusable : checkBaseUrl(settings)]
  yield ['proxy', checkProxy(context, baseUrl)]
  const key = await settings?.apiKey().catch(asFailure)
  // A gateway that has seen the key before may give it back to a request without it.
  if (key !== undefined && !(key instanceof ModelgateError)) gate.hide(key.value)
  // What is asked goes to an address, also where that is the sandbox.
  const { sandbox: _, ...asked } = options
  const call = settings && { context, options: asked, settings, gate }
  const look = call && baseUrl && (await lookAtGateway(call, baseUrl))
  yield ['gateway', look === undefined ? skipped('there is no base URL') : checkAnswer(look)]
  yield ['key', call === undefined ? unusable : await checkKey(call, key!, look)]
  yield ['clock', checkClock(look)]
}

function settingsOfSandbox(settings: Settings, url: URL): Settings {
  const source = 'the sandbox'
  return {
    ...settings,
    baseUrl: { ...settings.baseUrl, value: url, source },
    baseUrls: { ...settings.baseUrls, value: undefined },
    apiKey: async () => ({ value: sandboxKey, source }),
  }
}

/** A configuration, a key or a network that cannot be used is what the checks are for. */
function asFailure(error: unknown): ModelgateError {
  if (error instanceof ModelgateError && !(error instanceof Interrupted)) return error
  throw error
}

function checkTerminal(context: Context): Finding {
  const { stdout, stderr, env } = context
  const screen = stdout.isTerminal ? stdout : stderr.isTerminal ? stderr : undefined
  if (screen === undefined) return skipped('no terminal: plain text is printed')
  if (env['TERM'] === 'dumb')
    return warning('TERM is dumb: plain text is printed', 'Set TERM to the type of your terminal.')
  const facts = [
    `${screen.columns} columns`,
    colours(context),
    `pictures: ${detectProtocol(env)}`,
    hasHyperlinks(context) ? 'links' : 'no links',
  ]
  if (!speaksUtf8(context)) {
    const remedy = 'Set LANG to a locale with UTF-8, such as C.UTF-8; without it characters may be garbled.'
    return warning(`${facts.join(', ')}; the locale is not UTF-8`, remedy)
  }
  return ok(facts.join(', '))
}

function colours(context: Context): string {
  const { NO_COLOR, FORCE_COLOR } = context.env
  if (NO_COLOR && !FORCE_COLOR) return 'no colours (NO_COLOR)'
  return hasTrueColour(context) ? 'true colour' : 'colours'
}

/** As the C library reads the variables; Windows has no such. */
function speaksUtf8({ env, platform }: Context): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return platform === 'win32' || platform === 'darwin' || /utf-?8/i.test(locale)
}

/** The files that are read, and variables that nothing reads. */
async function checkConfiguration(context: Context, settings: Settings | ModelgateError): Promise<Finding> {
  if (settings instanceof ModelgateError) return settings
  const [user, project] = [await findUserFile(context), await findProjectFile(context)]
  const profile = settings.profile.value
  const found = [
    user && `user file ${user.path}`,
    project && `project file ${project.path}`,
    user === undefined && project === undefined && 'no file',
    profile !== settingTable.profile.default && `profile ${profile}`,
  ]
  const text = found.filter(Boolean).join(', ')
  const stray = strayVariables(context.env)
  return stray.length === 0
    ? ok(text)
    : warning(`${text}; not read: ${stray.join(', ')}`, 'See: modelgate help environment')
}

function strayVariables(env: Context['env']): string[] {
  const known = environmentRows().flatMap(([names]) => names.split(', '))
  const isOurs = (name: string) => name.startsWith('MODELGATE_')
  return Object.keys(env)
    .filter((name) => isOurs(name) && env[name] && !known.includes(name))
    .map((name) => {
      const near = nearestName(name, known.filter(isOurs), 3)
      return near === undefined ? name : `${name} (did you mean ${near}?)`
    })
}

const lowBytes = 200_000_000
const fullBytes = 1_000_000
const largeLogBytes = 500_000_000

async function checkState(context: Context): Promise<Finding> {
  const folder = stateFolder(context)
  if (folder === undefined) {
    return warning(
      'There is no state folder, because no home directory is known: jobs and calls are not recorded.',
      'Set HOME or MODELGATE_STATE_DIR.',
    )
  }
  let existing = folder
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing)
  try {
    await access(existing, constants.W_OK | constants.X_OK)
  } catch (error) {
    return writeError(error, folder)
  }
  const free = await statfs(existing).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => Infinity,
  )
  if (free < fullBytes) {
    const remedy = 'Free some space, or set MODELGATE_STATE_DIR.'
    return failed('io', `There is no space left for ${folder}.`, remedy)
  }
  if (existing !== folder) return ok(`${folder}, not there yet`)
  const logBytes = await sizeOf(callsFolder(folder))
  const { jobs, warnings } = await new JobStore(folder, context.clock).list()
  const running = jobs.filter(({ record: { state } }) => !isFinal(state))
  const damaged = warnings.length === 0 ? '' : `, ${counted(warnings.length, 'damaged record')}`
  const jobText = `${counted(running.length, 'job').replace(/^0/, 'no')} running${damaged}`
  const text = `${folder}, ${jobText}, log of ${byteText(logBytes)}`
  const isOpen = hasPermissions(context.platform) && ((await stat(folder)).mode & 0o077) !== 0
  const rescues = rescueFolder(context)!
  const rescued = (await readdir(rescues).catch(() => [])).length
  const worries: readonly (readonly [isSo: boolean, clause: string, remedy: string])[] = [
    [free < lowBytes, `; ${byteText(free)} left`, 'Free some space.'],
    [isOpen, '; other users can read it', `Run: chmod 700 ${shellWord(folder)}`],
    [rescued > 0, `; ${counted(rescued, 'rescued result')}`, `See: ls ${shellWord(rescues)}`],
    [logBytes > largeLogBytes, '', 'modelgate log clear --before 30d forgets old calls.'],
  ]
  const worst = worries.find(([isSo]) => isSo)
  return worst === undefined ? ok(text) : warning(text + worst[1], worst[2])
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const files = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)))
  return files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
}

function checkBaseUrl({ baseUrl, baseUrls }: Settings): Finding {
  if (baseUrl.value === undefined) {
    return failed(
      'usage',
      'No base URL is set.',
      'Run modelgate init, or modelgate config set base_url URL. To try the program without a gateway: modelgate doctor --sandbox',
    )
  }
  const urls = [baseUrl.value, baseUrls.value?.v1beta].filter((url) => url !== undefined)
  const text = `${urls.map(({ href }) => href.replace(/\/$/, '')).join(' and ')} (${baseUrl.source})`
  return baseUrl.value.protocol === 'https:' || isLoopback(baseUrl.value.hostname)
    ? ok(text)
    : warning(`${text}: anyone on the network path can read the key`, 'Use https:// in the base URL.')
}

function checkProxy({ env }: Context, baseUrl: URL | undefined): Finding {
  const proxies = proxiesFrom(env)
  if (proxies === undefined) return ok('none')
  if (baseUrl !== undefined && isLoopback(baseUrl.hostname)) {
    return ok('not used: the gateway is on this machine')
  }
  const { protocol, host } =
    URL.parse((baseUrl?.protocol === 'http:' ? proxies.http : proxies.https) ?? '') ?? {}
  // Not the whole address: there may be a password in it.
  const text = protocol === undefined ? 'not a valid address' : `${protocol}//${host}`
  return ok(proxies.except === '' ? text : `${text}, but not for NO_PROXY: ${proxies.except}`)
}

type FirstLook = Awaited<ReturnType<typeof lookAtGateway>>

/** Asks the address without a key: whatever is wrong with DNS, connection or TLS is in the error. */
async function lookAtGateway(call: CommandCall, baseUrl: URL) {
  const { clock } = call.context
  const sent = clock.now()
  /** Undefined when it sends no date. */
  let skewMs: number | undefined
  const onReply = (headers: Readonly<Record<string, string>>) => {
    const date = Date.parse(headers['date'] ?? '')
    // The gateway wrote the date somewhere between; it has no fractions of a second.
    if (!Number.isNaN(date)) skewMs ??= date + 500 - (sent + clock.now()) / 2
  }
  const asked = checkGateway(call, baseUrl, '', { seconds, onReply })
  const check = await asked.catch((cause: unknown): GatewayCheck => {
    const error = asFailure(cause)
    return { verdict: 'unreachable', error, message: error.message }
  })
  return { check, skewMs }
}

function checkAnswer({ check: { verdict, message, error } }: FirstLook): Finding {
  if (verdict === 'lists' || verdict === 'refuses') return ok(message)
  if (verdict === 'lists none') {
    const remedy =
      'Is the path of the base URL right? Leave out everything after the host that is not a path of the gateway.'
    return warning(message, remedy)
  }
  const { exit, facts } = error!
  const isPage = verdict === 'in doubt' && exit === 'contract' && facts.httpStatus === undefined
  const remedy = isPage ? 'Is it the address of the gateway, and not of a page or a log-in?' : facts.hint
  return failed(exit, message, remedy)
}

async function checkKey(
  call: CommandCall,
  found: Awaited<ReturnType<Settings['apiKey']>> | ModelgateError,
  look: FirstLook | undefined,
): Promise<Finding> {
  const profile = call.settings.profile.value
  const ofProfile = profile === settingTable.profile.default ? '' : ` --profile ${shellWord(profile)}`
  const login = (what: string) => `Store ${what}: modelgate auth login${ofProfile}`
  if (found instanceof ModelgateError) {
    return found.exit === 'key' ? found.amend({ hint: login('one') }) : found
  }
  const { value: key, source } = found
  const ending = lastFour(key)
  const what = `${ending === '' ? '' : `…${ending} `}from ${source}`
  const open = look?.check.verdict
  if (open === 'lists')
    return ok(`${what}; the gateway lists its models without a key, so it was not checked`)
  if (open !== 'refuses')
    return ok(`${what}; ${open === 'lists none' ? 'only a paid call can check it' : 'not tried'}`)
  const baseUrl = call.settings.baseUrl.value!
  const { verdict, message, error } = await checkGateway(call, baseUrl, key, { seconds })
  if (verdict === 'refuses') return failed('key', `The gateway refuses the key ${what}.`, login('another'))
  if (verdict === 'lists none') return ok(`${what}; accepted, though the gateway lists no models`)
  if (error !== undefined) return failed(error.exit, message, error.facts.hint)
  const short = shortKeyWarning(key)
  return short === null ? ok(`${what}; accepted`) : warning(`${what}; accepted. ${short}`)
}

const maxSkewMs = 60_000

/** Certificates and signed addresses depend on it. */
function checkClock(look: FirstLook | undefined): Finding {
  if (look === undefined) return skipped('the gateway was not asked')
  const { check, skewMs } = look
  if (skewMs === undefined) {
    const isSilent = check.verdict === 'unreachable'
    return skipped(`the gateway ${isSilent ? 'was not reached' : 'does not report the time'}`)
  }
  const off = Math.trunc(Math.abs(skewMs) / 1000)
  if (Math.abs(skewMs) <= maxSkewMs) return ok(off <= 2 ? 'right' : `${off} s off`)
  const side = skewMs > 0 ? 'behind' : 'ahead of'
  return warning(`${roundedDuration(off)} ${side} the gateway's`, 'Set the clock of this machine, by NTP.')
}
