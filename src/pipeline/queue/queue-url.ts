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
  if (!URL.canParse(text.trim())) {
    const port = /:(\d{1,9})(?:\/[^@]*)?$/.exec(text.trim())?.[1]
    const isPort = Number(port) > 65_535
    throw new UsageError(
      isPort
        ? 'The port in the address of the queue is higher than 65535.'
        : 'The address of the queue is not a URL.',
      { hint },
    )
  }
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
 * @param reason of what was thrown, as `reasonOf` has it
 */
export function unreachable(url: QueueUrl, reason: string): ModelgateError {
  return new ModelgateError(
    'notSent',
    'queue_unreachable',
    `The queue at ${url.shown} cannot be reached: ${reason}`,
    {
      phase: 'connect',
    },
  )
}

/**
 * Why a client of the server failed, as a sentence without secrets. What was thrown must not be kept as a cause: clients
 * put commands and their arguments into their errors.
 */
export function reasonOf(error: unknown, { href }: QueueUrl): string {
  // Where a name has several addresses, the error of all of them has no words of its own.
  if (error instanceof AggregateError && error.errors.length > 0)
    return reasonOf(error.errors[0], { href } as QueueUrl)
  const message = error instanceof Error ? error.message : String(error)
  const { username, password, search } = new URL(href)
  const secrets = [password, search.slice(1), ...new URLSearchParams(search).values()]
  const forms = secrets.flatMap((secret) => [secret, decoded(secret)]).filter((form) => form.length > 0)
  const shown = forms.reduce((text, form) => text.replaceAll(form, '***'), message.split('\n')[0]!.trim())
  // A user is often called as something else is: only the word is theirs.
  const clean = [username, decoded(username)].reduce((text, name) => withoutWord(text, name), shown)
  return clean === '' ? 'the connection was lost.' : clean.replace(/[.!?]?$/, '.')
}

function withoutWord(text: string, word: string): string {
  if (word === '') return text
  const literal = word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return text.replaceAll(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, 'g'), '***')
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
