/** Bytes that are added piece by piece. */
export interface GrowingBytes {
  readonly length: number
  /** Adds a part of the bytes, copied. */
  add(bytes: Buffer, from: number, to: number): void
  /** Takes away everything from this position on. */
  cut(length: number): void
  /** The bytes from a position on as UTF-8 text. */
  text(from?: number): string
}

/** Collects bytes in one buffer that doubles as it fills: small pieces do not hold on to the chunks they came in. */
export function createGrowingBytes(): GrowingBytes {
  let buffer = Buffer.allocUnsafeSlow(4096)
  let length = 0
  return {
    get length() {
      return length
    },
    add(bytes, from, to) {
      const needed = length + to - from
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, buffer.length * 2))
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      length += bytes.copy(buffer, length, from, to)
    },
    cut(shorter) {
      length = shorter
    },
    text: (from = 0) => buffer.toString('utf8', from, length),
  }
}
