import { BlockList, isIP, isIPv4 } from 'node:net'

/** Who can be reached at an address. */
export type AddressClass = 'public' | 'loopback' | 'private' | 'link-local' | 'shared' | 'reserved'

/** Networks that are not the public Internet (IANA special-purpose registries). */
const networks: readonly (readonly [AddressClass, readonly string[]])[] = [
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
  ['link-local', ['169.254.0.0/16', 'fe80::/10']],
  // Carrier-grade NAT.
  ['shared', ['100.64.0.0/10']],
  [
    'reserved',
    [
      '0.0.0.0/8',
      '192.0.0.0/24',
      '192.0.2.0/24',
      '192.88.99.0/24',
      '198.18.0.0/15',
      '198.51.100.0/24',
      '203.0.113.0/24',
      '224.0.0.0/4',
      '240.0.0.0/4',
      '::/96',
      '64:ff9b:1::/48',
      '100::/64',
      '2001::/23',
      '2001:db8::/32',
      '3fff::/20',
      '5f00::/16',
      'fec0::/10',
      'ff00::/8',
    ],
  ],
]

const lists = networks.map(([name, subnets]) => {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address, bits] = subnet.split('/') as [string, string]
    list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
  }
  return { name, list }
})

/**
 * The class of an IP address. An IPv6 address that stands for an IPv4 one (mapped, NAT64, 6to4) has the class of that.
 * @param address as `node:net` writes it, without brackets; what is no address is `reserved`
 */
export function addressClass(address: string): AddressClass {
  const plain = address.replace(/%.*$/, '')
  const version = isIP(plain)
  if (version === 0) return 'reserved'
  const embedded = version === 6 ? embeddedIPv4(plain) : undefined
  if (embedded !== undefined) return addressClass(embedded)
  const family = version === 4 ? 'ipv4' : 'ipv6'
  return lists.find(({ list }) => list.check(plain, family))?.name ?? 'public'
}

/** `::ffff:a.b.c.d`, `64:ff9b::a.b.c.d` and `2002:aabb:ccdd::`. */
function embeddedIPv4(address: string): string | undefined {
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  const isNat64 =
    groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0)
  const at = isMapped || isNat64 ? 6 : groups[0] === 0x2002 ? 1 : undefined
  if (at === undefined) return undefined
  const [high, low] = [groups[at]!, groups[at + 1]!]
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

/** The eight groups of an IPv6 address; the URL parser knows all the ways to write one. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)))
  if (tail === undefined) return parse(head)
  const [first, last] = [parse(head), parse(tail)]
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}
