/** A part of a body: first byte and the one behind the last. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Reads a `Range` header with one range (RFC 9110, section 14).
 * @returns undefined for the whole body, which is also the answer to what is not understood; `unsatisfiable` for 416
 */
export function byteRange(
  header: string | undefined,
  length: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined
  if (from === '') {
    const suffix = Math.min(Number(to), length)
    return suffix === 0 ? 'unsatisfiable' : { start: length - suffix, end: length }
  }
  const start = Number(from)
  if (to !== '' && Number(to) < start) return undefined
  if (start >= length) return 'unsatisfiable'
  return { start, end: to === '' ? length : Math.min(Number(to) + 1, length) }
}
