import { ModelgateError, UsageError } from '../../errors.ts'

/** Where the queue is. What it holds besides `kind` and `shown` may be secret. */
export interface QueueUrl {
  readonly kind: 'postgres' | 'redis'
  /** As the clients of the server take it. */
  readonly href: string
  /** Without user, password and options: for messages. */
  readonly shown: string
}

const protocols: ReadonlyMap<string, readonly [kind: QueueUrl['kind'], scheme: string]> = new Map([
  ['postgres:', ['postgres', 'postgres:']],
  ['postgresql:', ['postgres', 'postgres:']],
  ['redis:', ['redis', 'redis:']],
  ['rediss:', ['redis', 'rediss:']],
  // The same protocol, by the name of the other server.
  ['valkey:', ['redis', 'redis:']],
  ['valkeys:', ['redis', 'rediss:']],
])

const hint =
  'A queue is on PostgreSQL, as postgres://USER@HOST/DATABASE, or on Redis or Valkey, as redis://HOST:6379 or rediss://HOST:6379.'

/**
 * Reads the address of a queue. Messages do not repeat it: it may hold a password, wherever that was written by mistake.
 * @throws UsageError
 */
export function readQueueUrl(text: string): QueueUrl {
  if (!URL.canParse(text.trim())) throw new UsageError('The address of the queue is not a URL.', { hint })
  const url = new URL(text.trim())
  const [kind, scheme] = protocols.get(url.protocol) ?? []
  if (kind === undefined || scheme === undefined) {
    throw new UsageError(`A queue cannot be at a URL with ${url.protocol}//.`, { hint })
  }
  if (kind === 'redis') checkRedis(url)
  const href = `${scheme}${url.href.slice(url.protocol.length)}`
  return { kind, href, shown: `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}` }
}

function checkRedis(url: URL): void {
  if (url.hostname === '') throw new UsageError('The address of the queue names no host.', { hint })
  if (!/^\/?\d*$/.test(url.pathname)) {
    throw new UsageError('The path in the address of the queue is not the number of a database of Redis.', {
      hint: 'It is a number, as in redis://HOST:6379/2, or left out.',
    })
  }
  if (url.search !== '') {
    throw new UsageError('The address of a queue on Redis takes no options.', {
      hint: 'For TLS write rediss:// instead; user and password go before the host.',
    })
  }
}

/**
 * The server of the queue is not there, or has not answered: it is not known whether what was under way has been written.
 * @param thrown by a client of the server
 */
export function unreachable(url: QueueUrl, thrown: unknown): ModelgateError {
  const message = `The queue at ${url.shown} cannot be reached: ${reasonOf(thrown, url)}`
  return new ModelgateError('notSent', 'queue_unreachable', message, { phase: 'connect' })
}

/** What is wrong with settings of a server, as the end of a clause. */
export const loss = 'so that a crash may lose what has been sent and paid for.'

/** @throws UsageError `queue_unsafe`: the server may lose what it has answered, or cannot be written */
export function refuseServer({ shown }: QueueUrl, problem: string, hint: string): never {
  const message = `The queue at ${shown} cannot be used: ${problem}`
  throw new UsageError(message, { code: 'queue_unsafe', hint })
}

/** What only another address, or another right, can mend. @param clause of a sentence that begins with the queue */
export function refused({ shown }: QueueUrl, clause: string, hint: string): UsageError {
  return new UsageError(`The queue at ${shown} ${clause}`, { code: 'queue_refused', hint })
}

/**
 * Why a client of the server failed, as a sentence without passwords. What was thrown must not be kept as a cause: clients
 * put commands and their arguments into their errors.
 */
export function reasonOf(error: unknown, url: Pick<QueueUrl, 'href'>): string {
  // Where a name has several addresses, the error of all of them has no words of its own.
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0], url)
  const message = (error instanceof Error ? error.message : String(error)).split('\n')[0]!.trim()
  const shown = passwordsOf(url).reduce((text, password) => text.replaceAll(password, '***'), message)
  return shown === '' ? 'the connection was lost.' : shown.replace(/[.!?]?$/, '.')
}

/** The passwords in the address of a queue, as they are written there and without percent signs. */
export function passwordsOf({ href }: Pick<QueueUrl, 'href'>): string[] {
  const { password, searchParams } = new URL(href)
  const options = [...searchParams].flatMap(([name, value]) => (/password/i.test(name) ? [value] : []))
  return [password, decoded(password), ...options].filter((text) => text !== '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
