import type { ReplyHeaders } from './exchange.ts'

/** How long the gateway asks to wait, in seconds; undefined when it does not say, or says nonsense. */
export function waitHint(
  headers: ReplyHeaders,
  bodySeconds: number | undefined,
  now: number,
): number | undefined {
  return milliseconds(headers['retry-after-ms']) ?? retryAfter(headers, now) ?? bodySeconds
}

function milliseconds(text: string | undefined): number | undefined {
  const value = plainNumber(text)
  return value === undefined ? undefined : value / 1000
}

/** `Retry-After` in seconds or as an HTTP date; a date counts from the reply's own `Date`, whatever our clock says. */
function retryAfter(headers: ReplyHeaders, now: number): number | undefined {
  const text = headers['retry-after']
  const seconds = plainNumber(text)
  if (seconds !== undefined) return seconds
  const until = httpDate(text)
  if (until === undefined) return undefined
  return Math.max(0, until - (httpDate(headers['date']) ?? now)) / 1000
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}

function httpDate(text: string | undefined): number | undefined {
  // Only what looks like a date: Date.parse reads a year out of "-5".
  const time = text !== undefined && /^\w{3},? /.test(text.trim()) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
