import { unescape } from 'node:querystring'
import { ModelgateError, UsageError } from '../../errors.ts'

/** What it holds besides `kind` and `shown` may be secret. */
export interface QueueUrl {
  readonly kind: 'postgres' | 'redis'
  readonly href: string
  /** Without user, password and options: for messages. */
  readonly shown: string
}

const hint =
  'A queue is on PostgreSQL, as postgres://USER@HOST/DATABASE, or on Redis or Valkey, as redis://HOST:6379 or rediss://HOST:6379.'

/** Messages do not repeat the address: it may hold a password, wherever that was written by mistake. */
export function readQueueUrl(text: string): QueueUrl {
  if (!URL.canParse(text.trim())) throw new UsageError('The address of the queue is not a URL.', { hint })
  const url = new URL(text.trim())
  const { protocol, host, pathname } = url
  // Valkey is the same protocol, by the name of the other server.
  const scheme = protocol.replace(/^postgresql:$/, 'postgres:').replace(/^valkey/, 'redis')
  const kind = scheme === 'postgres:' ? 'postgres' : /^rediss?:$/.test(scheme) ? 'redis' : undefined
  if (kind === undefined) throw new UsageError(`A queue cannot be at a URL with ${protocol}//.`, { hint })
  if (kind === 'redis' && (host === '' || !/^\/?\d*$/.test(pathname) || url.search !== '')) {
    const message =
      'The address of a queue on Redis has a host, the number of a database or none, no options.'
    const example = 'As in redis://USER:PASSWORD@HOST:6379/2. For TLS write rediss:// instead.'
    throw new UsageError(message, { hint: example })
  }
  const href = `${scheme}${url.href.slice(protocol.length)}`
  return { kind, href, shown: `${protocol}//${host}${pathname.replace(/\/$/, '')}` }
}

/** It is not known whether what was under way has been written. @param thrown by a client of the server */
export function unreachable(url: QueueUrl, thrown: unknown): ModelgateError {
  const message = `The queue at ${url.shown} cannot be reached: ${reasonOf(thrown, url)}`
  return new ModelgateError('notSent', 'queue_unreachable', message, { phase: 'connect' })
}

/** What is wrong with settings of a server, as the end of a clause. */
export const loss = 'so that a crash may lose what has been sent and paid for.'

export function refuseServer({ shown }: QueueUrl, problem: string, hint: string): never {
  const message = `The queue at ${shown} cannot be used: ${problem}`
  throw new UsageError(message, { code: 'queue_refused', hint })
}

/** Codes of PostgreSQL and Redis for a user, a password, a database or a right that only another address can mend. */
const refusals = /^(?:28\w{3}|3D000|42501|WRONGPASS|NOAUTH|NOPERM|ERR) /

/** What only another address, or another right, can mend is wrong usage. */
export function openingError(url: QueueUrl, thrown: unknown): ModelgateError {
  if (thrown instanceof UsageError) return thrown
  const reason = reasonOf(thrown, url)
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  if (!refusals.test(`${code} ${reason}`.trimStart())) return unreachable(url, thrown)
  return new UsageError(`The queue at ${url.shown} refuses: ${reason}`, {
    code: 'queue_refused',
    hint: 'User, password and database are part of its URL. On PostgreSQL the user needs CREATE on the database at the first start.',
  })
}

/** Without passwords. What was thrown must not be kept as a cause: clients put commands and their arguments into it. */
export function reasonOf(error: unknown, url: Pick<QueueUrl, 'href'>): string {
  // Where a name has several addresses, the error of all of them has no words of its own.
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0], url)
  const message = (error instanceof Error ? error.message : String(error)).split('\n')[0]!.trim()
  const shown = passwordsOf(url).reduce((text, password) => text.replaceAll(password, '***'), message)
  return shown === '' ? 'the connection was lost.' : shown.replace(/[.!?]?$/, '.')
}

export function passwordsOf({ href }: Pick<QueueUrl, 'href'>): string[] {
  const { password, searchParams } = new URL(href)
  const options = [...searchParams].flatMap(([name, value]) => (/password/i.test(name) ? [value] : []))
  return [password, unescape(password), ...options].filter((text) => text !== '')
}
