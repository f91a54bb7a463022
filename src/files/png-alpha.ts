import { createInflate } from 'node:zlib'

/** Larger images are not looked at: no model makes or takes one, and a small file can pretend to be one. */
const maxPixels = 50_000_000
const maxWidth = 100_000

/** Samples of a pixel, by colour type (PNG specification, table 11.1). */
const sampleCounts: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

/** The passes of an interlaced image: first column and row, and the steps to the next ones. */
const passes = [
  { x: 0, y: 0, across: 8, down: 8 },
  { x: 4, y: 0, across: 8, down: 8 },
  { x: 0, y: 4, across: 4, down: 8 },
  { x: 2, y: 0, across: 4, down: 4 },
  { x: 0, y: 2, across: 2, down: 4 },
  { x: 1, y: 0, across: 2, down: 2 },
  { x: 0, y: 1, across: 1, down: 2 },
] as const
const onePass = [{ x: 0, y: 0, across: 1, down: 1 }] as const

/**
 * Whether a PNG has a fully transparent pixel, one with an alpha of zero. Decodes row by row, up to the first such
 * pixel, so that memory does not depend on the dimensions.
 * @param png all of its bytes
 * @returns undefined where that cannot be told: for a damaged image, something else, or an enormous one
 */
export async function hasTransparentPixel(png: Buffer): Promise<boolean | undefined> {
  const { width, height, depth, colourType, isInterlaced, transparency, data } = chunksOf(png)
  const count = sampleCounts[colourType]
  if (count === undefined || width === 0 || height === 0) return undefined
  if (width > maxWidth || width * height > maxPixels) return undefined
  const isOpen = openTest(colourType, depth, transparency)
  if (isOpen === undefined) return false
  const bitsPerPixel = count * depth
  const step = Math.max(1, bitsPerPixel >> 3)
  const inflate = createInflate({ chunkSize: 65_536 })
  for (const part of data) inflate.write(part)
  inflate.end()
  const read = byteReader(inflate)
  try {
    for (const { x, y, across, down } of isInterlaced ? passes : onePass) {
      const columns = Math.ceil((width - x) / across)
      const rows = Math.ceil((height - y) / down)
      const bytes = Math.ceil((columns * bitsPerPixel) / 8)
      let row: Uint8Array = new Uint8Array(bytes)
      for (let at = 0; at < rows && columns > 0; at++) {
        const filtered = await read(bytes + 1)
        row = unfilter(filtered, row, step)
        for (let column = 0; column < columns; column++) if (isOpen(row, column * count)) return true
      }
    }
    return false
  } catch {
    return undefined
  } finally {
    inflate.destroy()
  }
}

/** What an image consists of; without a header, its dimensions are zero and its colour type is not known. */
function chunksOf(png: Buffer) {
  let header: Buffer = Buffer.alloc(13, 0xff).fill(0, 0, 8)
  let transparency: Buffer | undefined
  const data: Buffer[] = []
  for (let at = 8; at + 8 <= png.length; at += 12 + png.readUInt32BE(at)) {
    const content = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    const name = png.toString('latin1', at + 4, at + 8)
    if (name === 'IHDR' && content.length === 13) header = content
    else if (name === 'tRNS') transparency = content
    else if (name === 'IDAT') data.push(content)
    else if (name === 'IEND') break
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth, colourType, isInterlaced] = [header[8]!, header[9]!, header[12] === 1]
  return { width, height, depth, colourType, isInterlaced, transparency, data }
}

/** Whether the pixel whose first sample has that number in its row is fully transparent. */
type OpenTest = (row: Uint8Array, first: number) => boolean

/** @returns undefined if no pixel can be: without an alpha channel or a chunk tRNS */
function openTest(colourType: number, depth: number, transparency: Buffer | undefined): OpenTest | undefined {
  const mask = (1 << depth) - 1
  const sample = (row: Uint8Array, at: number): number => {
    if (depth === 8) return row[at]!
    if (depth === 16) return row[at * 2]! * 256 + row[at * 2 + 1]!
    const bit = at * depth
    return (row[bit >> 3]! >> (8 - depth - (bit & 7))) & mask
  }
  if (colourType === 4) return (row, first) => sample(row, first + 1) === 0
  if (colourType === 6) return (row, first) => sample(row, first + 3) === 0
  if (transparency === undefined) return undefined
  if (colourType === 3) return (row, first) => transparency[sample(row, first)] === 0
  // One colour is transparent: two bytes for each of its samples.
  const keys = Array.from(
    { length: transparency.length >> 1 },
    (_, at) => transparency.readUInt16BE(at * 2) & mask,
  )
  return (row, first) => keys.every((key, at) => sample(row, first + at) === key)
}

/** Reads exactly so many bytes. @throws Error at the end of the data, or where they are damaged */
function byteReader(source: AsyncIterable<Buffer>): (count: number) => Promise<Buffer> {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  return async (count) => {
    const parts = [rest]
    for (let length = rest.length; length < count;) {
      const { value, done } = await chunks.next()
      if (done === true) throw new Error('The data ends too early.')
      parts.push(value)
      length += value.length
    }
    const all = parts.length === 1 ? rest : Buffer.concat(parts)
    rest = all.subarray(count)
    return all.subarray(0, count)
  }
}

/**
 * Undoes the filter of a row (PNG specification, 9.2).
 * @param filtered the type of the filter, and the row
 * @param above the row before it; zeros for the first
 * @param step bytes from a pixel to the next one, at least 1
 */
function unfilter(filtered: Buffer, above: Uint8Array, step: number): Uint8Array {
  const filter = filtered[0]!
  const row = Uint8Array.from(filtered.subarray(1))
  if (filter > 4) throw new Error('There is no such filter.')
  for (let at = 0; filter > 0 && at < row.length; at++) {
    const left = at < step ? 0 : row[at - step]!
    const up = above[at]!
    const corner = at < step ? 0 : above[at - step]!
    row[at]! +=
      filter === 1 ? left : filter === 2 ? up : filter === 3 ? (left + up) >> 1 : paeth(left, up, corner)
  }
  return row
}

/** The neighbour that is nearest to left + up - corner. */
function paeth(left: number, up: number, corner: number): number {
  const [byLeft, byUp, byCorner] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ]
  if (byLeft <= byUp && byLeft <= byCorner) return left
  return byUp <= byCorner ? up : corner
}
