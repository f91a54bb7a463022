import { UsageError } from '../errors.ts'
import type { Reply } from './exchange.ts'
import { randomHex, type Clock } from '../context.ts'

/**
 * One segment of a path, percent-encoded.
 * `.` and `..` would change which endpoint is called (`encodeURIComponent` lets them through): refused. So are they as
 * a part between slashes, for a server that decodes the slashes before it resolves the path.
 * @throws UsageError naming what the segment is (`the id of a video`)
 */
export function pathSegment(text: string, what: string, shown = JSON.stringify(text)): string {
  if (!canBeSegment(text)) throw new UsageError(`${shown} cannot be ${what}.`, { code: 'invalid_request' })
  return encodeURIComponent(text)
}

/**
 * A model as a segment of a path.
 * @throws UsageError naming the flag
 */
export function modelSegment(model: string): string {
  return pathSegment(bareModel(model), 'the model', `-m ${JSON.stringify(model)}`)
}

/** The model as used in paths; the gateway's own lists prefix it with `models/`. */
export function bareModel(model: string): string {
  return model.replace(/^models\//, '')
}

function canBeSegment(text: string): boolean {
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) return false
  return !text.split(/[\\/]/).some((part) => /^(\.|%2e){1,2}$/i.test(part))
}

/** Where a gateway is; the content-generation style may have a root of its own. */
export interface Roots {
  readonly baseUrl: URL
  readonly betaUrl?: URL | undefined
}

/** The root of a path, which begins with its version. */
export function rootOf({ baseUrl, betaUrl = baseUrl }: Roots, path: string): URL {
  return /^\s*\/?v1beta\//.test(path) ? betaUrl : baseUrl
}

/** Whether a URL is at one of the gateway's origins: no other gets the key. */
export function isOwnOrigin({ baseUrl, betaUrl = baseUrl }: Roots, { origin }: URL): boolean {
  return origin === baseUrl.origin || origin === betaUrl.origin
}

/** The URL of an endpoint: its path is appended to that of its root. */
export function endpointUrl(roots: Roots, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(rootOf(roots, path))
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

interface IdempotencyFacts {
  readonly idempotencyKey?: string
  readonly clock: Clock
}

/** Redirects that are followed: by a request to the gateway, within its origin (fault C3); by a download (fault S6). */
export const maxRedirects = { gateway: 3, download: 5 } as const

/** Statuses that redirect to another address. */
export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Where a reply redirects to within the same origin: nothing else may get the key. */
export function sameOriginTarget({ status, headers }: Reply, from: URL): URL | undefined {
  const location: string | undefined = redirectStatuses.has(status) ? headers['location'] : undefined
  const target = location === undefined ? null : URL.parse(location, from)
  return target?.origin === from.origin ? target : undefined
}

/**
 * The `Idempotency-Key` of a request: the one that the caller has for it, else a new one: a version 7 UUID, from the time and
 * 74 random bits.
 */
export function idempotencyKeyOf({ idempotencyKey, clock }: IdempotencyFacts): string {
  if (idempotencyKey !== undefined) return idempotencyKey
  const time = Math.floor(clock.now()).toString(16).padStart(12, '0').slice(-12)
  const variant = '89ab'[Math.floor(clock.random() * 4)]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomHex(clock, 3)}-${variant}${randomHex(clock, 3)}-${randomHex(clock, 12)}`
}
