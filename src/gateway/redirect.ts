import type { Reply } from './exchange.ts'

/** Statuses that lead to another address. */
export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** A request that only reads is led on so often within the gateway (fault C3). */
export const mostRedirects = 3

/** Where a reply leads, as long as that is the same origin: nothing else may get the key. */
export function sameOriginTarget({ status, headers }: Reply, from: URL): URL | undefined {
  const location: string | undefined = redirectStatuses.has(status) ? headers['location'] : undefined
  const target = location === undefined ? null : URL.parse(location, from)
  return target?.origin === from.origin ? target : undefined
}
