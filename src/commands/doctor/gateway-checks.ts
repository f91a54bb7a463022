import { lastFour, shortKeyWarning } from '../../config/key.ts'
import { settingTable } from '../../config/setting-table.ts'
import type { Settings } from '../../config/settings.ts'
import { shellWord } from '../../files/file-error.ts'
import { ModelgateError } from '../../errors.ts'
import { exchange } from '../../gateway/exchange.ts'
import { ExchangeError } from '../../gateway/exchange-error.ts'
import { modelListRequest } from '../../gateway/model-list.ts'
import { wireRequest } from '../../gateway/send-request.ts'
import { isLoopback } from '../../loopback.ts'
import { roundedDuration } from '../../quantities.ts'
import {
  checkGateway,
  describeCheck,
  settingsFor,
  type GatewayCheck,
} from '../shared/gateway/check-gateway.ts'
import { openGateway, proxiesFrom } from '../shared/gateway/open-gateway.ts'
import { failed, failedBy, ok, skipped, warning, type Checkup, type Finding } from './checkup.ts'

/** What the first request to the gateway has shown, for the checks after it. */
export interface FirstLook {
  readonly check: GatewayCheck | undefined
  /** How far the gateway's clock is ahead, in milliseconds; undefined when it does not tell. */
  readonly skewMs: number | undefined
}

const nothingSeen: FirstLook = { check: undefined, skewMs: undefined }

/** Whether a base URL is set, and is written as one. */
export function checkBaseUrl({ settings, baseUrl, sandboxKey }: Checkup): Finding {
  if (settings === undefined) return skipped('the configuration has problems')
  if (baseUrl === undefined) {
    return failed(
      'usage',
      'No base URL is set.',
      'Run modelgate init, or modelgate config set base_url URL. To try the program without a gateway: modelgate doctor --sandbox',
    )
  }
  const source = sandboxKey === undefined ? settings.baseUrl.source : 'the sandbox'
  const beta = sandboxKey === undefined ? settings.baseUrls.value?.v1beta : undefined
  const addresses = [baseUrl, ...(beta === undefined ? [] : [beta])].map(({ href }) =>
    href.replace(/\/$/, ''),
  )
  const text = `${addresses.join(' and ')} (${source})`
  return baseUrl.protocol === 'https:' || isLoopback(baseUrl.hostname)
    ? ok(text)
    : warning(`${text}: anyone on the network path can read the key`, 'Use https:// in the base URL.')
}

/** The proxy that the environment names for the gateway. */
export function checkProxy({ context, baseUrl }: Checkup): Finding {
  const proxies = proxiesFrom(context.env)
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

/** Whether the address answers like a gateway, asked without a key. */
export async function checkAnswer(
  checkup: Checkup,
): Promise<{ readonly finding: Finding; readonly look: FirstLook }> {
  const { settings, baseUrl } = checkup
  if (settings === undefined || baseUrl === undefined) {
    return { finding: skipped('there is no base URL'), look: nothingSeen }
  }
  try {
    return await ask(checkup, settings, baseUrl)
  } catch (error) {
    return { finding: failedBy(error), look: nothingSeen }
  }
}

async function ask(checkup: Checkup, settings: Settings, baseUrl: URL): ReturnType<typeof checkAnswer> {
  await hideKey(checkup)
  const { skewMs, location } = await lookAtHeaders(checkup, settings, baseUrl)
  if (location !== undefined) {
    const remedy = `If that is the gateway: modelgate config set base_url ${location}`
    return { finding: failed('contract', `It redirects to ${location}.`, remedy), look: nothingSeen }
  }
  const check = await checkGateway({ ...checkup, settings }, { baseUrl })
  return { finding: judge(check), look: { check, skewMs } }
}

/** A gateway that has seen the key before may give it back to a request without it. */
async function hideKey({ settings, gate, sandboxKey }: Checkup): Promise<void> {
  if (sandboxKey !== undefined) return
  try {
    gate.hide((await settings!.apiKey()).value)
  } catch (error) {
    // The check of the key tells.
    if (!(error instanceof ModelgateError)) throw error
  }
}

function judge(check: GatewayCheck): Finding {
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
      const isReply = check.verdict === 'in doubt' && exit === 'contract'
      const remedy = isReply
        ? 'Is it the address of the gateway, and not of a page or a log-in?'
        : (facts.hint ?? null)
      return failed(exit, text, remedy)
    }
  }
}

/** The headers of the first reply: the date, and where it redirects to another origin. */
async function lookAtHeaders(
  { context, options, gate }: Checkup,
  settings: Settings,
  baseUrl: URL,
): Promise<{ skewMs?: number; location?: string }> {
  const asked = settingsFor(settings, baseUrl, '')
  const { gateway, close } = await openGateway(context, options, asked, false, () => undefined, gate)
  const { clock } = context
  const sent = clock.now()
  try {
    const reply = await exchange(wireRequest(gateway, modelListRequest(gateway)), gateway)
    reply.close()
    const date = Date.parse(reply.headers['date'] ?? '')
    // The gateway wrote the date somewhere between; it has no fractions of a second.
    const here = (sent + clock.now()) / 2
    const to = reply.status >= 300 && reply.status < 400 ? reply.headers['location'] : undefined
    const target = to === undefined ? null : URL.parse(to, baseUrl)
    return {
      ...(Number.isNaN(date) ? {} : { skewMs: date + 500 - here }),
      ...(target === null || target.origin === baseUrl.origin ? {} : { location: target.origin }),
    }
  } catch (error) {
    // The check that follows meets it again, and says what it is.
    if (error instanceof ExchangeError) return {}
    throw error
  } finally {
    await close()
  }
}

/** Which key is used, and whether the gateway accepts it. */
export async function checkKeyAccepted(checkup: Checkup, { check: open }: FirstLook): Promise<Finding> {
  const { settings, baseUrl, sandboxKey } = checkup
  if (settings === undefined) return skipped('the configuration has problems')
  let key: string
  let source: string
  try {
    const found =
      sandboxKey === undefined ? await settings.apiKey() : { value: sandboxKey, source: 'the sandbox' }
    key = found.value
    source = found.source
  } catch (error) {
    const finding = failedBy(error)
    return finding.exit_code === 3 ? { ...finding, remedy: `Store one: ${loginOf(settings)}` } : finding
  }
  checkup.gate.hide(key)
  const ending = lastFour(key)
  const what = `${ending === '' ? '' : `…${ending} `}from ${source}`
  if (baseUrl === undefined || open === undefined) return ok(`${what}; not tried`)
  if (open.verdict === 'lists')
    return ok(`${what}; the gateway lists its models without a key, so it was not checked`)
  if (open.verdict === 'lists none') return ok(`${what}; only a paid call can check it`)
  if (open.verdict !== 'refuses') return ok(`${what}; not tried`)
  const check = await checkGateway({ ...checkup, settings }, { baseUrl, key })
  const short = shortKeyWarning(key)
  if (check.verdict === 'lists')
    return short === null ? ok(`${what}; accepted`) : warning(`${what}; accepted. ${short}`)
  if (check.verdict === 'refuses') {
    return failed('key', `The gateway refuses the key ${what}.`, `Store another: ${loginOf(settings)}`)
  }
  if (check.verdict === 'lists none') return ok(`${what}; accepted, though the gateway lists no models`)
  return failed(check.error.exit, describeCheck(check, true), check.error.facts.hint ?? null)
}

function loginOf({ profile: { value } }: Settings): string {
  const isDefault = value === settingTable.profile.default
  return `modelgate auth login${isDefault ? '' : ` --profile ${shellWord(value)}`}`
}

const maxSkewMs = 60_000

/** The clock of this machine against that of the gateway: certificates and signed addresses depend on it. */
export function checkClock({ check, skewMs }: FirstLook): Finding {
  if (skewMs === undefined) {
    if (check === undefined) return skipped('the gateway was not asked')
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
