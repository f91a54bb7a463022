import { isLoopback } from '../../loopback.ts'
import { ExchangeError } from '../../gateway/exchange-error.ts'
import {
  bareHost,
  connectTo,
  handshake,
  portOf,
  proxyFor,
  resolveHost,
  type Handshake,
  type ProbeContext,
} from '../../gateway/probe-connection.ts'
import { brokenError } from '../../gateway/send-request.ts'
import { networkOptions, proxiesFrom } from '../shared/gateway/open-gateway.ts'
import { failed, failedBy, ok, reachable, skipped, warning, type Checkup, type Finding } from './checkup.ts'

/** The way to the gateway, as the checks of it find it out one after the other. */
export interface Route {
  /** What is connected to: the gateway, or the proxy in front of it. */
  readonly target: URL
  readonly isProxy: boolean
}

/** Which proxy the requests go through. */
export function checkProxy({ context, baseUrl }: Checkup): { finding: Finding; route: Route | undefined } {
  const proxies = proxiesFrom(context.env)
  if (baseUrl === undefined) {
    return { finding: proxies === undefined ? ok('none') : skipped('there is no base URL'), route: undefined }
  }
  const direct = { target: baseUrl, isProxy: false }
  if (proxies === undefined) return { finding: ok('none'), route: direct }
  if (isLoopback(baseUrl.hostname))
    return { finding: ok('not used: the gateway is on this machine'), route: direct }
  const proxy = proxyFor(baseUrl, proxies)
  if (proxy === undefined) return { finding: ok(`not used for ${baseUrl.host} (NO_PROXY)`), route: direct }
  const target = URL.parse(proxy)
  if (target === null || !/^https?:$/.test(target.protocol)) {
    const remedy = 'Correct HTTPS_PROXY or HTTP_PROXY: http://HOST:PORT'
    return { finding: failed('notSent', 'The address of the proxy is not valid.', remedy), route: undefined }
  }
  // Not the whole address: there may be a password in it.
  return { finding: ok(`${target.protocol}//${target.host}`), route: { target, isProxy: true } }
}

export async function checkDns(checkup: Checkup, route: Route): Promise<Finding> {
  const host = bareHost(route.target)
  return attempt(route, async () => {
    const addresses = await resolveHost(route.target, probe(checkup))
    if (addresses[0] === host) return skipped(`${host} is an address`)
    const shown = addresses.slice(0, 3).join(', ')
    return ok(`${host} is ${shown}${addresses.length > 3 ? `, and ${addresses.length - 3} more` : ''}`)
  })
}

export async function checkConnect(checkup: Checkup, route: Route): Promise<Finding> {
  const { clock } = checkup.context
  const start = clock.monotonic()
  return attempt(route, async () => {
    const socket = await connectTo(route.target, probe(checkup))
    socket.destroy()
    const what = route.isProxy ? 'the proxy ' : ''
    return ok(
      `${what}${bareHost(route.target)}:${portOf(route.target)}, ${Math.round(clock.monotonic() - start)} ms`,
    )
  })
}

/** Certificates: who issued them, and for how long they are valid. */
export async function checkTls(checkup: Checkup, route: Route): Promise<Finding> {
  const { context } = checkup
  const { baseUrl, settings } = reachable(checkup)
  let ca: string | undefined
  try {
    ca = (await networkOptions(context, settings)).ca
  } catch (error) {
    return failedBy(error)
  }
  if (baseUrl.protocol === 'http:') {
    return isLoopback(baseUrl.hostname)
      ? skipped('clear text, on this machine')
      : warning('clear text: everybody on the way can read the key', 'Use https:// in the base URL.')
  }
  if (route.isProxy) return skipped('through the proxy: the gateway check tells')
  return attempt(route, async () => {
    const socket = await connectTo(baseUrl, probe(checkup))
    return judge(await handshake(baseUrl, socket, ca, probe(checkup)), baseUrl, context.clock.now())
  })
}

/** Fewer days are worth a warning: who renews certificates may have forgotten one. */
const soonDays = 14
const dayMs = 86_400_000

function judge({ protocol, distrust, certificate }: Handshake, { hostname }: URL, now: number): Finding {
  const issuer = nameOf(certificate.issuer)
  const until = Date.parse(certificate.valid_to)
  const day = Number.isNaN(until) ? '?' : new Date(until).toISOString().slice(0, 10)
  const from = Date.parse(certificate.valid_from)
  if (distrust === 'CERT_HAS_EXPIRED' || until < now) {
    const remedy = 'Who runs the gateway has to renew it. Is the clock of this machine right?'
    return failed('notSent', `The certificate expired on ${day} (issuer ${issuer}).`, remedy)
  }
  if (distrust === 'CERT_NOT_YET_VALID' || from > now) {
    const start = new Date(from).toISOString().slice(0, 10)
    return failed(
      'notSent',
      `The certificate is valid only from ${start} on.`,
      'Is the clock of this machine right?',
    )
  }
  if (distrust === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (certificate.subjectaltname ?? nameOf(certificate.subject)).slice(0, 200)
    return failed(
      'notSent',
      `The certificate is not for ${hostname}, but for ${names}.`,
      'Check the host of the base URL.',
    )
  }
  if (distrust !== undefined) {
    const isOwn = /SELF_SIGNED/.test(distrust)
    const message = isOwn
      ? `The certificate is signed by an authority of its own (issuer ${issuer}, ${distrust}).`
      : `The issuer of the certificate is not known (${issuer}, ${distrust}).`
    const remedy =
      'If it is yours, name its authority: --ca-file FILE, modelgate config set ca_file FILE, or NODE_EXTRA_CA_CERTS.'
    return failed('notSent', message, remedy)
  }
  const text = `${protocol ?? 'TLS'}, issuer ${issuer}, valid until ${day}`
  const days = Math.floor((until - now) / dayMs)
  return days < soonDays
    ? warning(`${text}: ${days} days`, 'Who runs the gateway should renew the certificate.')
    : ok(text)
}

function nameOf(subject: { O?: string | string[]; CN?: string | string[] } | undefined): string {
  return [subject?.O ?? subject?.CN ?? 'unknown'].flat().join(', ').slice(0, 100)
}

function probe({ context: { clock, signal }, stepSeconds }: Checkup): ProbeContext {
  return { clock, signal, limitMs: stepSeconds * 1000 }
}

/** As a request would fail. */
async function attempt({ isProxy }: Route, step: () => Promise<Finding>): Promise<Finding> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error
    const finding = failedBy(brokenError(error, 'read').amend({ exit: 'notSent' }))
    return isProxy ? { ...finding, remedy: 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.' } : finding
  }
}
