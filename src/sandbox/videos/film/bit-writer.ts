/** Writes bits, the highest first, as H.264 has them. */
export interface BitWriter {
  /** How many bits have been written. */
  readonly length: number
  /** The lowest `count` bits of a value; at most 24. */
  bits(value: number, count: number): void
  /** An unsigned number as an Exp-Golomb code, `ue(v)`. */
  unsigned(value: number): void
  /** A signed one, `se(v)`. */
  signed(value: number): void
  /** Bits that were written before, from one position to another. */
  copy(source: BitWriter, from: number, to: number): void
  /** The whole bytes so far, and the rest in the highest bits of one more. */
  bytes(): Uint8Array
}

export function createBitWriter(): BitWriter {
  let bytes = new Uint8Array(1024)
  let size = 0
  // What is not a whole byte yet.
  let pending = 0
  let pendingBits = 0

  function bits(value: number, count: number): void {
    pending = (pending << count) | (value & ((1 << count) - 1))
    pendingBits += count
    while (pendingBits >= 8) {
      pendingBits -= 8
      // One more byte stays free for the rest.
      if (size + 1 === bytes.length) {
        const larger = new Uint8Array(bytes.length * 2)
        larger.set(bytes)
        bytes = larger
      }
      bytes[size++] = pending >>> pendingBits
    }
    pending &= (1 << pendingBits) - 1
  }

  function unsigned(value: number): void {
    const count = 32 - Math.clz32(value + 1)
    if (count > 1) bits(0, count - 1)
    bits(value + 1, count)
  }

  return {
    get length() {
      return size * 8 + pendingBits
    },
    bits,
    unsigned,
    signed: (value) => unsigned(value > 0 ? 2 * value - 1 : -2 * value),
    copy(source, from, to) {
      const written = source.bytes()
      for (let at = from; at < to;) {
        const start = at & 7
        const count = Math.min(16, to - at)
        const three = (written[at >> 3]! << 16) | (written[(at >> 3) + 1]! << 8) | written[(at >> 3) + 2]!
        bits(three >>> (24 - start - count), count)
        at += count
      }
    },
    bytes() {
      bytes[size] = pending << (8 - pendingBits)
      return bytes.subarray(0, size + (pendingBits > 0 ? 1 : 0))
    },
  }
}

/**
 * A NAL unit: header byte and payload, which ends with a one (`rbsp_trailing_bits`), and has a 3 wherever the bytes would
 * look like the start of the next unit (H.264, clause 7.4.1).
 */
export function nalUnit(header: number, payload: BitWriter): Uint8Array {
  payload.bits(1, 1)
  const bytes = payload.bytes()
  const unit = new Uint8Array(1 + Math.ceil(bytes.length * 1.5))
  unit[0] = header
  let length = 1
  let zeros = 0
  for (const byte of bytes) {
    if (zeros === 2 && byte <= 3) {
      unit[length++] = 3
      zeros = 0
    }
    unit[length++] = byte
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return unit.subarray(0, length)
}
