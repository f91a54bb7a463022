import { UsageError } from '../errors.ts'
import type { Reply } from './exchange.ts'
import { randomHex } from '../context.ts'
import type { Gateway } from './gateway.ts'

/**
 * `.` and `..` would change which endpoint is called (`encodeURIComponent` lets them through): refused, also between slashes,
 * for a server that decodes these before it resolves the path. @throws UsageError naming what it is (`the id of a video`)
 */
export function pathSegment(text: string, what: string, shown = JSON.stringify(text)): string {
  if (!canBeSegment(text)) throw new UsageError(`${shown} cannot be ${what}.`, { code: 'invalid_request' })
  return encodeURIComponent(text)
}

/** @throws UsageError naming the flag */
export function modelSegment(model: string): string {
  return pathSegment(bareModel(model), 'the model', `-m ${JSON.stringify(model)}`)
}

/** The gateway's own lists prefix it with `models/`. */
export function bareModel(model: string): string {
  return model.replace(/^models\//, '')
}

function canBeSegment(text: string): boolean {
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) return false
  return !text.split(/[\\/]/).some((part) => /^(\.|%2e){1,2}$/i.test(part))
}

export interface Roots {
  readonly baseUrl: URL
  readonly betaUrl?: URL | undefined
}

export function rootOf({ baseUrl, betaUrl = baseUrl }: Roots, path: string): URL {
  return /^\s*\/?v1beta\//.test(path) ? betaUrl : baseUrl
}

/** No other origin gets the key. */
export function isOwnOrigin({ baseUrl, betaUrl = baseUrl }: Roots, { origin }: URL): boolean {
  return origin === baseUrl.origin || origin === betaUrl.origin
}

export function endpointUrl(roots: Roots, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(rootOf(roots, path))
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

/** By a request, within its origin (fault C3); by a download (fault S6). */
export const maxRedirects = { gateway: 3, download: 5 } as const

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Within the same origin: nothing else may get the key. */
export function sameOriginTarget({ status, headers }: Reply, from: URL): URL | undefined {
  const location: string | undefined = redirectStatuses.has(status) ? headers['location'] : undefined
  const target = location === undefined ? null : URL.parse(location, from)
  return target?.origin === from.origin ? target : undefined
}

/** The caller's `Idempotency-Key`, else a version 7 UUID, from the time and 74 random bits. */
export function idempotencyKeyOf({
  idempotencyKey,
  clock,
}: Pick<Gateway, 'idempotencyKey' | 'clock'>): string {
  if (idempotencyKey !== undefined) return idempotencyKey
  const time = Math.floor(clock.now()).toString(16).padStart(12, '0').slice(-12)
  const variant = '89ab'[Math.floor(clock.random() * 4)]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomHex(clock, 3)}-${variant}${randomHex(clock, 3)}-${randomHex(clock, 12)}`
}
