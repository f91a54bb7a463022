import type { LookupAddress } from 'node:dns'
import { type LookupFunction, BlockList, isIP, isIPv4 } from 'node:net'
import type { Clock, Timer } from '../../context.ts'
import { ContractError } from '../../errors.ts'
import type { Roots } from '../url.ts'

/** Replaced in tests, which have no public hosts. */
export interface Network {
  resolve(host: string): Promise<readonly LookupAddress[]>
  reach(address: LookupAddress): LookupAddress
}

/** Decides which addresses may be fetched from (fault S6). Each hop of a redirect is checked. */
export interface UrlPolicy {
  /** @throws ContractError `url_refused` for what the URL itself shows */
  check(url: URL): Promise<void>
  /** Refuses addresses that may not be connected to. */
  readonly lookup: LookupFunction
  /** Why the last lookup refused: the connection only reports that it failed. */
  readonly refusal: ContractError | undefined
}

interface UrlPolicyOptions {
  readonly gateway: Roots
  readonly allowPrivate: boolean
  readonly network?: Network | undefined
  /** Where a proxy may connect instead: names are looked up here first. */
  readonly proxied?: Pick<Clock, 'timer'> | undefined
}

/** How long a name is looked up, in milliseconds: a proxy may find what this machine cannot. */
const maxLookUpMs = 5_000
/** Names that only ever mean something inside a network, which a proxy may be able to reach. */
const insideName = /^[^.]+\.?$|\.(?:local|localhost|internal|intranet|private|corp|home|lan|home\.arpa)\.?$/i

/**
 * Allows https, and http for an http gateway; no user name; and of the addresses that are not public only those of the
 * gateway's own host and class: a gateway on this machine may name this machine.
 */
export function createUrlPolicy({
  gateway: { baseUrl, betaUrl = baseUrl },
  allowPrivate,
  network = systemNetwork,
  proxied,
}: UrlPolicyOptions): UrlPolicy {
  let refusal: ContractError | undefined
  let own: Promise<readonly AddressClass[]> | undefined

  const hosts = [...new Set([baseUrl.hostname, betaUrl.hostname])]
  const ownClasses = () => (own ??= Promise.all(hosts.map(classesOf)).then((found) => found.flat()))
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
  const isOwnHost = (hostname: string) => hosts.includes(hostname)

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

  /** A proxy resolves the name itself: one that is unknown here is left to it, unless it only means something inside. */
  const checkName = async (hostname: string, { timer }: Pick<Clock, 'timer'>) => {
    let limit: Timer | undefined
    const late = new Promise<readonly LookupAddress[]>((resolve) => {
      limit = timer(maxLookUpMs, () => resolve([]))
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
      if (
        url.protocol !== 'https:' &&
        !(url.protocol === 'http:' && [baseUrl, betaUrl].some(({ protocol }) => protocol === 'http:'))
      ) {
        const where = url.protocol === 'http:' ? ' from an https gateway' : ''
        throw refused(`${url.protocol} URLs are not allowed${where}.`)
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

/** The URL parser has normalized it. */
function literalOf(hostname: string): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d+\.\d+\.\d+\.\d+$/.test(hostname) ? hostname : undefined
}

function privateAddress(hostname: string, address?: string): ContractError {
  const isLiteral = hostname === address || hostname === `[${address}]`
  const where = isLiteral ? hostname : `${hostname} (${address})`
  const reason = address === undefined ? `${hostname} does not resolve to` : `${where} is not`
  return refused(`${reason} a public address.`).amend({
    hint: 'If you trust the gateway, allow it with --allow-private-urls.',
  })
}

export function refused(reason: string): ContractError {
  return new ContractError('url_refused', `The URL is refused: ${reason}`, { billed: 'no' })
}

type AddressClass = 'public' | 'loopback' | 'private' | 'link-local' | 'shared' | 'reserved'

/** Networks that are not the public Internet (IANA special-purpose registries); the first that has an address counts. */
const networks: Readonly<Record<Exclude<AddressClass, 'public'>, string>> = {
  loopback: '127.0.0.0/8 ::1/128',
  private: '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7',
  'link-local': '169.254.0.0/16 fe80::/10',
  // Carrier-grade NAT.
  shared: '100.64.0.0/10',
  reserved: [
    '0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4',
    '240.0.0.0/4 ::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16 fec0::/10 ff00::/8',
  ].join(' '),
}

/** Most calls look at no address. */
let lists: readonly (readonly [AddressClass, BlockList])[] | undefined

/** An IPv4 network also where IPv6 embeds it: by NAT64 and 6to4; mapped addresses (`::ffff:a.b.c.d`) Node matches itself. */
function blockList(subnets: string): BlockList {
  const list = new BlockList()
  for (const subnet of subnets.split(' ')) {
    const [address, length] = subnet.split('/') as [string, string]
    const bits = Number(length)
    list.addSubnet(address, bits, isIPv4(address) ? 'ipv4' : 'ipv6')
    if (!isIPv4(address)) continue
    const hex = Buffer.from(address.split('.').map(Number)).toString('hex')
    list.addSubnet(`64:ff9b::${address}`, 96 + bits, 'ipv6')
    list.addSubnet(`2002:${hex.slice(0, 4)}:${hex.slice(4)}::`, 16 + bits, 'ipv6')
  }
  return list
}

/** @param address without brackets */
export function addressClass(address: string): AddressClass {
  const plain = address.replace(/%.*$/, '')
  const version = isIP(plain)
  if (version === 0) return 'reserved'
  lists ??= Object.entries(networks).map(([name, subnets]) => [name as AddressClass, blockList(subnets)])
  return lists.find(([, list]) => list.check(plain, version === 4 ? 'ipv4' : 'ipv6'))?.[0] ?? 'public'
}
