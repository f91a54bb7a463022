import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { Clock, Timer } from '../../context.ts'
import { ContractError } from '../../errors.ts'
import { addressClass, type AddressClass } from './address-class.ts'

/** Finds and reaches hosts; another one than the system's is for tests, which have no public hosts. */
export interface Network {
  resolve(host: string): Promise<readonly LookupAddress[]>
  /** Where a host at this address, which has been found harmless, is connected to. */
  reach(address: LookupAddress): LookupAddress
}

/** Decides which addresses may be fetched from (faults, S6). Each hop of a redirect is asked for anew. */
export interface UrlPolicy {
  /** @throws ContractError `url_refused` for what the address itself tells */
  check(url: URL): Promise<void>
  /** Finds the addresses of a host and refuses those that may not be connected to. */
  readonly lookup: LookupFunction
  /** Why the last lookup refused: the connection only tells that it did not come about. */
  readonly refusal: ContractError | undefined
}

export interface UrlPolicyOptions {
  readonly baseUrl: URL
  readonly allowPrivate: boolean
  readonly network?: Network | undefined
  /** Where a proxy may connect in our place: the clock that limits how long a name is looked up here first. */
  readonly proxied?: Pick<Clock, 'timer'> | undefined
}

/** A proxy may find what this machine cannot: a name is looked up so long, in milliseconds. */
const longestLookUpMs = 5_000
/** Names that only ever stand for what is inside a network, as far as a proxy can see further than this machine. */
const insideName = /^[^.]+\.?$|\.(?:local|localhost|internal|intranet|private|corp|home|lan|home\.arpa)\.?$/i

/**
 * Allows https, and http if the gateway itself is reached by it; no user name; and of all addresses that are not
 * public those of the gateway's own host and class: a gateway on this machine may name this machine.
 */
export function createUrlPolicy({
  baseUrl,
  allowPrivate,
  network = systemNetwork,
  proxied,
}: UrlPolicyOptions): UrlPolicy {
  let refusal: ContractError | undefined
  let own: Promise<readonly AddressClass[]> | undefined

  const ownClasses = () => (own ??= classesOf(baseUrl.hostname))
  const classesOf = async (hostname: string): Promise<AddressClass[]> => {
    const literal = literalOf(hostname)
    const found =
      literal === undefined ? await network.resolve(hostname).catch(() => []) : [{ address: literal }]
    return found.map(({ address }) => addressClass(address))
  }
  const mayReach = async (address: string) => {
    const found = addressClass(address)
    return found === 'public' || allowPrivate || (await ownClasses()).includes(found)
  }
  const isOwnHost = (hostname: string) => hostname === baseUrl.hostname

  const find = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await network.resolve(hostname)
    const allowed: LookupAddress[] = []
    for (const address of addresses) {
      if (isOwnHost(hostname) || (await mayReach(address.address))) allowed.push(network.reach(address))
    }
    if (allowed.length > 0) return allowed
    refusal = privateAddress(hostname, addresses[0]?.address)
    throw refusal
  }

  /**
   * A proxy finds the address by itself: what this machine finds under the name is all that can be checked. A name that is
   * not known here is left to the proxy, unless it can only mean something inside its network.
   */
  const checkName = async (hostname: string, { timer }: Pick<Clock, 'timer'>) => {
    let limit: Timer | undefined
    const late = new Promise<readonly LookupAddress[]>((resolve) => {
      limit = timer(longestLookUpMs, () => resolve([]))
    })
    const found = await Promise.race([network.resolve(hostname).catch(() => []), late])
    limit?.cancel()
    if (found.length === 0 && insideName.test(hostname) && !allowPrivate) throw privateAddress(hostname)
    for (const { address } of found) {
      if (!(await mayReach(address))) throw privateAddress(hostname, address)
    }
  }

  return {
    async check(url) {
      if (url.protocol !== 'https:' && (url.protocol !== 'http:' || baseUrl.protocol !== 'http:')) {
        throw refused(
          `${url.protocol}// is not fetched${url.protocol === 'http:' ? ' from an https gateway' : ''}.`,
        )
      }
      if (url.username !== '' || url.password !== '') throw refused('it contains a user name or password.')
      const literal = literalOf(url.hostname)
      if (literal !== undefined && !isOwnHost(url.hostname) && !(await mayReach(literal))) {
        throw privateAddress(url.hostname, literal)
      }
      const isNamed = literal === undefined && !isOwnHost(url.hostname)
      if (isNamed && proxied !== undefined) await checkName(url.hostname, proxied)
    },
    lookup(hostname, options, callback) {
      find(hostname).then(
        (addresses) => {
          if (options.all) callback(null, addresses)
          else callback(null, addresses[0]!.address, addresses[0]!.family)
        },
        (error: unknown) => callback(error as NodeJS.ErrnoException, []),
      )
    },
    get refusal() {
      return refusal
    },
  }
}

const systemNetwork: Network = {
  async resolve(host) {
    const { lookup } = await import('node:dns/promises')
    return lookup(host, { all: true })
  },
  reach: (address) => address,
}

/** An address that stands in a URL itself. The URL parser has made one of every way to write it. */
function literalOf(hostname: string): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d+\.\d+\.\d+\.\d+$/.test(hostname) ? hostname : undefined
}

function privateAddress(hostname: string, address = 'nowhere'): ContractError {
  const where = hostname === address || hostname === `[${address}]` ? hostname : `${hostname} (${address})`
  return new ContractError('url_refused', `The URL is refused: ${where} is not a public address.`, {
    billed: 'no',
    hint: 'Allow it on purpose with --allow-private-urls, if you trust the gateway.',
  })
}

export function refused(reason: string): ContractError {
  return new ContractError('url_refused', `The URL is refused: ${reason}`, { billed: 'no' })
}
