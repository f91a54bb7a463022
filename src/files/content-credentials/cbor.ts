/** More than a claim or a list of actions has; what is larger is not read. */
const maxItems = 20_000
const maxDepth = 32
/** The additional information of an item that ends with a break. */
const indefinite = 31
const breakByte = 0xff

/**
 * Decodes one item of CBOR (RFC 8949) in the types that content credentials use: maps with text keys (other keys are
 * dropped) as objects without a prototype, lists, texts, bytes, integers, true, false, null. A tag is dropped, a float
 * is null. Linear in time for any input; never throws.
 * @returns undefined for what is damaged, cut, nested too deeply or too large
 */
export function decodeCbor(bytes: Buffer): unknown {
  let at = 0
  let itemsLeft = maxItems

  const read = (count: number): Buffer => {
    if (at + count > bytes.length) throw new RangeError('cut')
    return bytes.subarray(at, (at += count))
  }
  const argument = (information: number): number => {
    if (information < 24) return information
    if (information === 24) return read(1)[0]!
    if (information === 25) return read(2).readUInt16BE()
    if (information === 26) return read(4).readUInt32BE()
    if (information === 27) return Number(read(8).readBigUInt64BE())
    throw new RangeError('reserved')
  }
  /** The parts of an item, to its break or as many as it announces. */
  const each = (information: number, part: () => void): void => {
    const count = information === indefinite ? Infinity : argument(information)
    for (let index = 0; index < count; index++) {
      if (count === Infinity && bytes[at] === breakByte) return void at++
      part()
    }
  }
  const chunks = (information: number, depth: number): Buffer => {
    if (information !== indefinite) return read(argument(information))
    const parts: Buffer[] = []
    each(information, () => {
      const part = item(depth + 1)
      parts.push(
        typeof part === 'string' ? Buffer.from(part) : Buffer.isBuffer(part) ? part : Buffer.alloc(0),
      )
    })
    return Buffer.concat(parts)
  }
  function item(depth: number): unknown {
    if (depth > maxDepth || itemsLeft-- === 0) throw new RangeError('too large')
    const first = read(1)[0]!
    const information = first & 31
    switch (first >> 5) {
      case 0:
        return argument(information)
      case 1:
        return -1 - argument(information)
      case 2:
        return chunks(information, depth)
      case 3:
        return chunks(information, depth).toString('utf8')
      case 4: {
        const list: unknown[] = []
        each(information, () => list.push(item(depth + 1)))
        return list
      }
      case 5: {
        const map: Record<string, unknown> = Object.create(null) as Record<string, unknown>
        each(information, () => {
          const key = item(depth + 1)
          const value = item(depth + 1)
          if (typeof key === 'string') map[key] = value
        })
        return map
      }
      case 6:
        argument(information)
        return item(depth + 1)
      default:
        return simple(information)
    }
  }
  const simple = (information: number): unknown => {
    if (information === 20 || information === 21) return information === 21
    argument(information)
    return null
  }
  try {
    return item(0)
  } catch {
    return undefined
  }
}
