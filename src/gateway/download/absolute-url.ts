/** No address is longer, but for one that holds its content itself. */
const longestUrl = 65_536

/** Relays give addresses without an origin (quirk 14): these belong below the base URL. Undefined for no address. */
export function parseResultUrl(url: string, baseUrl: URL): URL | undefined {
  const base = new URL(baseUrl)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return (url.length > longestUrl ? null : URL.parse(url.trim(), base)) ?? undefined
}

/**
 * The address of a result as whoever wants to fetch it needs it: whole, and without characters that no address has.
 * One that is both is as the gateway sent it.
 */
export function absoluteUrl(url: string, baseUrl: URL): string {
  const plain = url.trim()
  const isWhole = /^[a-z][a-z\d+.-]*:[^\0-\x20\x7f]*$/i.test(plain)
  return isWhole ? plain : (parseResultUrl(plain, baseUrl)?.href ?? plain.replaceAll(/[\0-\x1f\x7f]/g, ''))
}
