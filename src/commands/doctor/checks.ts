import { exitCodes, ModelgateError, type ExitName, Interrupted } from '../../errors.ts'
import type { Check } from '../../events/checks.ts'
import { arch } from 'node:os'
import { findProjectFile, findUserFile } from '../../config/find-config-file.ts'
import { settingTable } from '../../config/setting-table.ts'
import { resolveSettings, type Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { isProblem } from '../../problems.ts'
import { nearestName } from '../../nearest-name.ts'
import { hasHyperlinks } from '../../output/markdown/hyperlinks.ts'
import { detectProtocol, hasTrueColour } from '../../output/preview/detect-protocol.ts'
import { environmentRows } from '../help/topics.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'
import { constants } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { rescueFolder, stateFolder } from '../../config/paths.ts'
import { shellWord, systemCode, writeError } from '../../files/file-error.ts'
import { isFinal } from '../../contract/video-state.ts'
import { JobStore } from '../../files/calls/job-store.ts'
import { callsFolder } from '../../files/calls/call-book.ts'
import { hasPermissions } from '../../platform.ts'
import { byteText, counted, roundedDuration } from '../../quantities.ts'
import { lastFour, shortKeyWarning } from '../../config/key.ts'
import { isLoopback } from '../../loopback.ts'
import {
  checkGateway,
  describeCheck,
  type CheckParts,
  type GatewayCheck,
} from '../shared/gateway/check-gateway.ts'
import { proxiesFrom } from '../shared/gateway/open-gateway.ts'

/** What a check found out, without its name. */
export type Finding = Omit<Check, 'name'>

const finding =
  (verdict: Check['verdict']) =>
  (message: string, remedy: string | null = null): Finding => ({ verdict, message, remedy, exit_code: null })

const ok = finding('ok')
export const skipped = finding('skipped')
const warning = finding('warning')

const failed = (exit: ExitName, message: string, remedy: string | null = null): Finding => ({
  verdict: 'failed',
  message,
  remedy,
  exit_code: exitCodes[exit].code,
})

/** A failure as an error of the program has it: its message, hint and exit code. @throws anything else */
function failedBy(error: unknown): Finding {
  if (!(error instanceof ModelgateError)) throw error
  return failed(error.exit, error.message, error.facts.hint ?? null)
}

/** A version below these does not start the program. */
const supported = 'supported versions: 22.22.2, 24.15.0, 26 and newer'

export function checkNode({ nodeVersion, platform }: Context): Finding {
  const [major = 0] = nodeVersion.split('.').map(Number)
  const text = `${nodeVersion} on ${platform} ${arch()}`
  return major % 2 === 1 && major < 26
    ? warning(`${text}; ${supported}`, 'Use a version with long-term support.')
    : ok(text)
}

/** What the terminal can show; a script needs none. */
export async function checkTerminal(context: Context): Promise<Finding> {
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

/** The flags, the files that are read, and variables that nothing reads. */
export async function checkConfiguration(context: Context, options: CommonOptions): Promise<Finding> {
  try {
    const settings = await resolveSettings(context, options)
    const [user, project] = [await findUserFile(context), await findProjectFile(context)]
    const files = [
      ...(user === undefined ? [] : [`user file ${user.path}`]),
      ...(project === undefined ? [] : [`project file ${project.path}`]),
    ]
    const own =
      settings.profile.value === settingTable.profile.default ? [] : [`profile ${settings.profile.value}`]
    const found = [...(files.length === 0 ? ['no file'] : files), ...own].join(', ')
    const stray = strayVariables(context.env)
    return stray.length === 0
      ? ok(found)
      : warning(`${found}; not read: ${stray.join(', ')}`, 'See: modelgate help environment')
  } catch (error) {
    // A configuration that cannot be used is what this check is for.
    if (isProblem(error)) return failedBy(error)
    throw error
  }
}

/** Variables with our prefix that nothing reads, each with the one that it may mean. */
function strayVariables(env: Context['env']): string[] {
  const known = environmentRows().flatMap(([names]) => names.split(', '))
  const given = Object.keys(env).filter((name) => name.startsWith('MODELGATE_') && env[name])
  return given
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearestName(
        name,
        known.filter((other) => other.startsWith('MODELGATE_')),
        3,
      )
      return near === undefined ? name : `${name} (did you mean ${near}?)`
    })
}

const lowBytes = 200_000_000
const fullBytes = 1_000_000
const largeLogBytes = 500_000_000

/** Whether jobs, log and rescued results can be kept, and what is there. */
export async function checkState(context: Context): Promise<Finding> {
  const folder = stateFolder(context)
  if (folder === undefined) {
    return warning(
      'There is no state folder, because no home directory is known: jobs and calls are not recorded.',
      'Set HOME or MODELGATE_STATE_DIR.',
    )
  }
  const existing = await nearestThatExists(folder)
  try {
    await access(existing, constants.W_OK | constants.X_OK)
  } catch (error) {
    return failedBy(writeError(error, folder))
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
  const calls = callsFolder(folder)
  const logBytes = (await sizeOf(calls)) + (await sizeOf(join(calls, 'words')))
  const text = [folder, ...(await jobTexts(context, folder)), `log of ${byteText(logBytes)}`].join(', ')
  if (free < lowBytes) return warning(`${text}; ${byteText(free)} left`, 'Free some space.')
  const { mode } = await stat(folder)
  if ((mode & 0o077) !== 0 && hasPermissions(context.platform)) {
    return warning(`${text}; other users can read it`, `Run: chmod 700 ${shellWord(folder)}`)
  }
  const rescues = rescueFolder(context)!
  const rescued = (await readdir(rescues).catch(() => [])).length
  if (rescued > 0)
    return warning(`${text}; ${count(rescued, 'rescued result')}`, `See: ls ${shellWord(rescues)}`)
  if (logBytes > largeLogBytes) {
    return warning(text, 'modelgate log clear --before 30d forgets old calls.')
  }
  return ok(text)
}

async function jobTexts(context: Context, folder: string): Promise<string[]> {
  const { jobs, warnings } = await new JobStore(folder, context.clock).list()
  const running = jobs.filter(({ record: { state } }) => !isFinal(state))
  return [
    `${count(running.length, 'job')} running`,
    ...(warnings.length === 0 ? [] : [count(warnings.length, 'damaged record')]),
  ]
}

/** The bytes of the files of a folder. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const files = await Promise.allSettled(names.map((name) => stat(join(folder, name))))
  return files.reduce(
    (sum, file) => sum + (file.status === 'fulfilled' && file.value.isFile() ? file.value.size : 0),
    0,
  )
}

async function nearestThatExists(path: string): Promise<string> {
  const above = dirname(path)
  const isThere = await stat(path).then(
    () => true,
    // Something that may not be looked at is there.
    (error: unknown) => !['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? ''),
  )
  return isThere || above === path ? path : nearestThatExists(above)
}

function count(number: number, noun: string): string {
  return counted(number, noun).replace(/^0/, 'no')
}

/** Whether a base URL is set, and is written as one. */
export function checkBaseUrl({ baseUrl, baseUrls }: Settings): Finding {
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

/** The proxy that the environment names for the gateway. */
export function checkProxy({ env }: Context, baseUrl: URL | undefined): Finding {
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

/** What the first request to the gateway has shown, for the checks after it. */
interface FirstLook {
  readonly check: GatewayCheck
  /** How far the gateway's clock is ahead, in milliseconds; undefined when it does not tell. */
  readonly skewMs: number | undefined
}

/** Asks the address without a key: whatever is wrong with DNS, connection or TLS is in the error. */
export async function lookAtGateway(parts: CheckParts, baseUrl: URL): Promise<FirstLook> {
  const { clock } = parts.context
  const sent = clock.now()
  let skewMs: number | undefined
  const onReply = (headers: Readonly<Record<string, string>>) => {
    const date = Date.parse(headers['date'] ?? '')
    // The gateway wrote the date somewhere between; it has no fractions of a second.
    if (!Number.isNaN(date)) skewMs ??= date + 500 - (sent + clock.now()) / 2
  }
  try {
    return { check: await checkGateway({ ...parts, onReply }, { baseUrl }), skewMs }
  } catch (error) {
    // Certificates or a proxy that cannot be used.
    if (!(error instanceof ModelgateError) || error instanceof Interrupted) throw error
    return { check: { verdict: 'unreachable', error }, skewMs }
  }
}

/** Whether the address answers like a gateway. */
export function checkAnswer({ check }: FirstLook): Finding {
  const text = describeCheck(check, false)
  switch (check.verdict) {
    case 'lists':
    case 'refuses':
      return ok(text)
    case 'lists none':
      return warning(
        text,
        'Is the path of the base URL right? Leave out everything after the host that is not a path of the gateway.',
      )
    default: {
      const { exit, facts } = check.error
      const isPage = check.verdict === 'in doubt' && exit === 'contract' && facts.httpStatus === undefined
      const remedy = isPage ? 'Is it the address of the gateway, and not of a page or a log-in?' : facts.hint
      return failed(exit, text, remedy ?? null)
    }
  }
}

export type KeyFound = Awaited<ReturnType<Settings['apiKey']>> | ModelgateError

/** Which key is used, and whether the gateway accepts it. */
export async function checkKey(
  parts: CheckParts,
  found: KeyFound,
  look: FirstLook | undefined,
): Promise<Finding> {
  const login = (what: string) => `Store ${what}: ${loginOf(parts.settings)}`
  if (found instanceof ModelgateError) {
    const finding = failedBy(found)
    return found.exit === 'key' ? { ...finding, remedy: login('one') } : finding
  }
  const { value: key, source } = found
  const ending = lastFour(key)
  const what = `${ending === '' ? '' : `…${ending} `}from ${source}`
  const open = look?.check.verdict
  if (open === 'lists')
    return ok(`${what}; the gateway lists its models without a key, so it was not checked`)
  if (open === 'lists none') return ok(`${what}; only a paid call can check it`)
  if (open !== 'refuses') return ok(`${what}; not tried`)
  const check = await checkGateway(parts, { baseUrl: parts.settings.baseUrl.value!, key })
  const short = shortKeyWarning(key)
  switch (check.verdict) {
    case 'lists':
      return short === null ? ok(`${what}; accepted`) : warning(`${what}; accepted. ${short}`)
    case 'lists none':
      return ok(`${what}; accepted, though the gateway lists no models`)
    case 'refuses':
      return failed('key', `The gateway refuses the key ${what}.`, login('another'))
    default:
      return failed(check.error.exit, describeCheck(check, true), check.error.facts.hint ?? null)
  }
}

function loginOf({ profile: { value } }: Settings): string {
  const isDefault = value === settingTable.profile.default
  return `modelgate auth login${isDefault ? '' : ` --profile ${shellWord(value)}`}`
}

const maxSkewMs = 60_000

/** The clock of this machine against that of the gateway: certificates and signed addresses depend on it. */
export function checkClock(look: FirstLook | undefined): Finding {
  if (look === undefined) return skipped('the gateway was not asked')
  const { check, skewMs } = look
  if (skewMs === undefined) {
    const isSilent = check.verdict === 'unreachable'
    return skipped(`the gateway ${isSilent ? 'was not reached' : 'does not report the time'}`)
  }
  const seconds = Math.trunc(Math.abs(skewMs) / 1000)
  if (Math.abs(skewMs) <= maxSkewMs) return ok(seconds <= 2 ? 'right' : `${seconds} s off`)
  const side = skewMs > 0 ? 'behind' : 'ahead of'
  return warning(
    `${roundedDuration(seconds)} ${side} the gateway's`,
    'Set the clock of this machine, by NTP.',
  )
}
