import { isIP } from 'node:net'
import { Redis, ReplyError, type RedisOptions } from 'ioredis'
import { ModelgateError, UsageError } from '../../errors.ts'
import { ServerLost } from './document-server.ts'
import { reasonOf, unreachable, type QueueUrl } from './queue-url.ts'

/** How to connect, for `ioredis`. A connection that is lost ends: nothing that was sent is silently sent again. */
export function redisOptions({ href }: QueueUrl): Omit<RedisOptions, 'replyMapping'> {
  const { protocol, hostname, port, username, password, pathname } = new URL(href)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    host,
    port: port === '' ? 6379 : Number(port),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    db: Number(pathname.slice(1)),
    // Certificates are checked whatever the environment says. An address is no server name (RFC 6066, section 3).
    ...(protocol === 'rediss:' && {
      tls: { rejectUnauthorized: true, ...(isIP(host) === 0 && { servername: host }) },
    }),
    protocol: 2,
    lazyConnect: true,
    connectTimeout: 10_000,
    keepAlive: 10_000,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
  }
}

/** A connection that is made when it is needed, and made again when it was lost. */
export interface RedisClient {
  /** @throws ServerLost nothing was sent */
  ready(): Promise<Redis>
  close(): void
}

export function createRedisClient(url: QueueUrl): RedisClient {
  let current: Redis | undefined
  let connecting: Promise<Redis> | undefined

  const connect = async (): Promise<Redis> => {
    const client = new Redis({ ...redisOptions(url), commandTimeout: 30_000 })
    current = client
    await connected(client, url)
    return client
  }

  return {
    async ready() {
      if (current?.status === 'ready') return current
      connecting ??= connect().finally(() => (connecting = undefined))
      return connecting
    },
    close() {
      current?.disconnect()
    },
  }
}

/** Connects it. @throws ServerLost with what went wrong; it is closed then */
export async function connected(client: Redis, url: QueueUrl): Promise<void> {
  let reason: unknown
  // What is wrong is told here; `connect` only says that it is.
  client.on('error', (error) => (reason ??= error))
  try {
    await client.connect()
    // By itself it only tells of a refused database, and goes on in the first one. Refused credentials are found so, too.
    await client.select(client.options.db ?? 0)
  } catch (error) {
    client.disconnect()
    throw new ServerLost(reasonOf(reason ?? error, url), { isCertain: true })
  }
}

/**
 * What became of a command that was sent.
 * @param isChange whether it writes: if it is not answered, it may have been done
 */
export function lostCommand(
  error: unknown,
  url: QueueUrl,
  { isChange }: { readonly isChange: boolean },
): ServerLost {
  return new ServerLost(reasonOf(error, url), { isCertain: !isChange || error instanceof ReplyError })
}

/** An error of the first connection: what only another address can mend is wrong usage. */
export function openingError(error: unknown, url: QueueUrl): ModelgateError {
  if (error instanceof ModelgateError) return error
  const reason = reasonOf(error, url)
  if (/^(?:WRONGPASS|NOAUTH|NOPERM|ERR invalid password|ERR AUTH)/.test(reason)) {
    return new UsageError(`The queue at ${url.shown} refuses the user or the password: ${reason}`, {
      code: 'queue_refused',
      hint: 'They are part of the URL: redis://USER:PASSWORD@HOST. The user needs the keys and channels of modelgate, and all commands but dangerous ones.',
    })
  }
  if (/^ERR .*\bDB index\b/.test(reason)) {
    return new UsageError(`The queue at ${url.shown} has no such database.`, {
      code: 'queue_refused',
      hint: 'Correct the number at the end of the URL, or leave it out.',
    })
  }
  return unreachable(url, reason)
}
