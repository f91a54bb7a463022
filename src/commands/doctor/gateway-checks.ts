import { lastFour, shortKeyWarning } from '../../config/key.ts'
import { settingTable } from '../../config/setting-table.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { Interrupted, ModelgateError } from '../../errors.ts'
import { shellWord } from '../../files/file-error.ts'
import { isLoopback } from '../../loopback.ts'
import { roundedDuration } from '../../quantities.ts'
import {
  checkGateway,
  describeCheck,
  type CheckParts,
  type GatewayCheck,
} from '../shared/gateway/check-gateway.ts'
import { proxiesFrom } from '../shared/gateway/open-gateway.ts'
import { failed, failedBy, ok, skipped, warning, type Finding } from './finding.ts'

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
