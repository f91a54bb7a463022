import { isUtf8 } from 'node:buffer'

/** Bytes that are not the text they should be. `offset` counts bytes from 0. */
export interface InvalidText {
  readonly encoding: 'UTF-8' | 'UTF-16'
  /** Undefined for UTF-16, where only the whole can be judged. */
  readonly offset: number | undefined
  readonly byte: number | undefined
}

export type DecodedText =
  | { readonly text: string; readonly invalid?: never }
  | { readonly invalid: InvalidText; readonly text?: never }

/**
 * Decodes UTF-8, or UTF-16 that says so by its byte order mark (as Windows shells write it); the mark is dropped.
 * Linear in time for any input.
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  const utf16 =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : undefined
  if (utf16 !== undefined) {
    try {
      return { text: new TextDecoder(utf16, { fatal: true }).decode(bytes) }
    } catch {
      return { invalid: { encoding: 'UTF-16', offset: undefined, byte: undefined } }
    }
  }
  if (isUtf8(bytes)) return { text: new TextDecoder('utf-8').decode(bytes) }
  const offset = firstInvalidByte(bytes)
  return { invalid: { encoding: 'UTF-8', offset, byte: bytes[offset] } }
}

/** A clause for a message: "is not UTF-8 text (byte 0xff at offset 3)". */
export function invalidTextClause({ encoding, offset, byte }: InvalidText): string {
  const place =
    byte === undefined ? '' : ` (byte 0x${byte.toString(16).padStart(2, '0')} at offset ${offset})`
  return `is not ${encoding} text${place}`
}

/** Offset of the first byte sequence that UTF-8 forbids or that is cut by the end. */
function firstInvalidByte(bytes: Uint8Array): number {
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at)
    if (length === 0) return at
    at += length
  }
  return at
}

/** Length of the character at `at`, 0 when there is none (Unicode 16, table 3-7). */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!
  if (first < 0x80) return 1
  const length =
    first >= 0xc2 && first < 0xe0
      ? 2
      : first >= 0xe0 && first < 0xf0
        ? 3
        : first >= 0xf0 && first < 0xf5
          ? 4
          : 0
  const [low, high] = secondByteRange(first)
  for (let index = 1; index < length; index++) {
    const byte = bytes[at + index] ?? 0
    if (byte < (index === 1 ? low : 0x80) || byte > (index === 1 ? high : 0xbf)) return 0
  }
  return length
}

/** Overlong forms, surrogates and code points above U+10FFFF show in the second byte. */
function secondByteRange(first: number): readonly [number, number] {
  if (first === 0xe0) return [0xa0, 0xbf]
  if (first === 0xed) return [0x80, 0x9f]
  if (first === 0xf0) return [0x90, 0xbf]
  if (first === 0xf4) return [0x80, 0x8f]
  return [0x80, 0xbf]
}
