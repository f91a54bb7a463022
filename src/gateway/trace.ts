import type { ExchangeError } from './exchange-error.ts'
import type { ExchangeRequest, Reply } from './exchange.ts'
import type { Gateway } from './gateway.ts'

/** What `--debug` shows of an exchange. */
export interface Trace {
  request(request: ExchangeRequest): void
  reply(reply: Pick<Reply, 'status' | 'headers'>): void
  failure(error: ExchangeError): void
  errorBody(text: string): void
}

const secretHeader = /authorization|cookie|key|token|secret|signature/i
/** Has `key` in its name but is no secret, and is needed to look up a lost request. */
const harmless = new Set(['idempotency-key'])

/**
 * A trace of requests and replies without keys, cookies and query values.
 * Prompts and replies are not shown: a debug log is what people paste into reports.
 */
export function createTrace({ trace, clock }: Pick<Gateway, 'trace' | 'clock'>): Trace {
  if (trace === undefined) return { request() {}, reply() {}, failure() {}, errorBody() {} }
  const started = clock.monotonic()
  const line = (text: string) => trace(`${((clock.monotonic() - started) / 1000).toFixed(3)}s ${text}`)
  return {
    request({ method, url, headers, body }) {
      line(`> ${method} ${hideQuery(url)}`)
      for (const header of headerLines(headers)) line(`> ${header}`)
      if (body !== undefined) line(`> (${body.length} bytes)`)
    },
    reply({ status, headers }) {
      line(`< HTTP ${status}`)
      for (const header of headerLines(headers)) line(`< ${header}`)
    },
    failure: (error) => line(`! ${error.stage}: ${error.fault}: ${error.message}`),
    errorBody: (text) => line(`< ${text.slice(0, 4096).replaceAll(/\s+/g, ' ')}`),
  }
}

function headerLines(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${hideHeader(name, value)}`)
}

/** A header's value, or what may be shown of it: of an authorization the scheme. */
export function hideHeader(name: string, value: string): string {
  if (harmless.has(name)) return value
  if (name === 'authorization')
    return value.replace(/^(?:(\S+) )?.*/s, (_, scheme?: string) =>
      scheme === undefined ? '<hidden>' : `${scheme} <hidden>`,
    )
  if (name === 'location')
    return URL.canParse(value) ? hideQuery(new URL(value)) : value.replace(/\?.*/s, '?<hidden>')
  return secretHeader.test(name) ? '<hidden>' : value
}

/** A URL with the values of its query hidden, except for the one that the contract fixes (`alt=sse`). */
function hideQuery(url: URL): string {
  const shown = new URL(url)
  for (const name of new Set(shown.searchParams.keys())) {
    if (name !== 'alt') shown.searchParams.set(name, 'hidden')
  }
  return shown.href
}
