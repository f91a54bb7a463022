/** Writes bits, the highest first, as H.264 has them. */
export interface BitWriter {
  /** The lowest `length` bits of a value; at most 25. */
  bits(value: number, length: number): void
  /** An unsigned number as an Exp-Golomb code: `ue(v)`. */
  unsigned(value: number): void
  /** A signed one: `se(v)`. */
  signed(value: number): void
  /** Ends the payload (`rbsp_trailing_bits`) and gives its bytes. */
  finish(): Uint8Array
}

export function createBitWriter(): BitWriter {
  let bytes = new Uint8Array(4096)
  let length = 0
  // What is not a whole byte yet.
  let pending = 0
  let pendingBits = 0

  function bits(value: number, count: number): void {
    pending = (pending << count) | (value & ((1 << count) - 1))
    pendingBits += count
    while (pendingBits >= 8) {
      pendingBits -= 8
      if (length === bytes.length) {
        const larger = new Uint8Array(length * 2)
        larger.set(bytes)
        bytes = larger
      }
      bytes[length++] = pending >>> pendingBits
    }
    pending &= (1 << pendingBits) - 1
  }

  function unsigned(value: number): void {
    const size = 32 - Math.clz32(value + 1)
    if (size > 1) bits(0, size - 1)
    bits(value + 1, size)
  }

  return {
    bits,
    unsigned,
    signed: (value) => unsigned(value > 0 ? 2 * value - 1 : -2 * value),
    finish() {
      bits(1, 1)
      if (pendingBits > 0) bits(0, 8 - pendingBits)
      return bytes.subarray(0, length)
    },
  }
}

/**
 * A NAL unit of a payload: header byte, and a 3 wherever the bytes would look like the start of the next unit
 * (H.264, clause 7.4.1).
 */
export function nalUnit(header: number, payload: Uint8Array): Uint8Array {
  const unit = new Uint8Array(1 + Math.ceil(payload.length * 1.5))
  unit[0] = header
  let length = 1
  let zeros = 0
  for (const byte of payload) {
    if (zeros === 2 && byte <= 3) {
      unit[length++] = 3
      zeros = 0
    }
    unit[length++] = byte
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return unit.subarray(0, length)
}
