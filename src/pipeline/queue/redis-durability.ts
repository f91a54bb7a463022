import type { Redis } from 'ioredis'
import { UsageError } from '../../errors.ts'
import type { QueueUrl } from './queue-url.ts'

/** How the server is brought to say that a write is on its disk. */
export interface Durability {
  /** It answers a write when it is on the disk (`appendfsync always`); else WAITAOF tells when it is. */
  readonly isAtOnce: boolean
}

const loss = 'so that a crash may lose what has been sent and paid for.'

/**
 * Whether the server keeps what it has answered: an append-only file that is on the disk before the answer
 * (`appendfsync always`), or WAITAOF (Redis 7.2, Valkey), and no key that it may drop. What CONFIG GET may not tell is
 * taken from INFO.
 * @throws UsageError it does not, or will not say so
 */
export async function checkDurability(client: Redis, url: QueueUrl): Promise<Durability> {
  const refuse = (problem: string, hint: string): never => {
    throw new UsageError(`The queue at ${url.shown} cannot be used: ${problem}`, {
      code: 'queue_unsafe',
      hint,
    })
  }
  const info = infoOf(await client.info().catch(() => ''))
  const setting = async (name: string) => ((await client.config('GET', name).catch(() => [])) as string[])[1]
  const unknown = (what: string) =>
    refuse(`it does not report ${what}.`, 'Allow the commands INFO and CONFIG GET to its user.')

  const version = info.get('redis_version') ?? unknown('its version')
  if (isOlder(version, 6, 2)) refuse(`Redis ${version} is too old.`, 'Use Redis 6.2 or newer, or Valkey.')
  if (info.get('redis_mode') === 'cluster' || info.get('cluster_enabled') === '1') {
    refuse('it is a node of a cluster.', 'Use a server of its own, without cluster mode.')
  }
  if (info.get('role') === 'slave') {
    refuse('it is a replica, which cannot be written.', 'Give the address of the primary server.')
  }
  const policy =
    info.get('maxmemory_policy') ?? (await setting('maxmemory-policy')) ?? unknown('its maxmemory-policy')
  if (policy !== 'noeviction') {
    refuse(
      `its maxmemory-policy is ${policy}, so that it may forget what has been sent and paid for.`,
      'Set maxmemory-policy noeviction in its configuration.',
    )
  }
  const enabled =
    info.get('aof_enabled') ??
    ((await setting('appendonly')) === 'yes' ? '1' : unknown('whether appendonly is set'))
  if (enabled !== '1') {
    refuse(`appendonly is no, ${loss}`, 'Set appendonly yes and appendfsync always in its configuration.')
  }
  const fsync = await setting('appendfsync')
  if (fsync === 'no') refuse(`appendfsync is no, ${loss}`, 'Set appendfsync always in its configuration.')
  const isAtOnce = fsync === 'always' && (await setting('no-appendfsync-on-rewrite')) === 'no'
  if (!isAtOnce && isOlder(version, 7, 2)) {
    if (fsync === undefined) unknown('its appendfsync')
    refuse(
      fsync === 'always' ? `no-appendfsync-on-rewrite is yes, ${loss}` : `appendfsync is ${fsync}, ${loss}`,
      'Set appendfsync always and no-appendfsync-on-rewrite no in its configuration, or use Redis 7.2 or newer, or Valkey.',
    )
  }
  return { isAtOnce }
}

/** The lines of INFO: `name:value`. */
function infoOf(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function isOlder(version: string, major: number, minor: number): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  return ownMajor < major || (ownMajor === major && ownMinor < minor)
}
