import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
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
}

/**
 * Allows https, and http if the gateway itself is reached by it; no user name; and of all addresses that are not
 * public those of the gateway's own host and class: a gateway on this machine may name this machine.
 */
export function createUrlPolicy({
  baseUrl,
  allowPrivate,
  network = systemNetwork,
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
