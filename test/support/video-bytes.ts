/** A box of an MP4 file (ISO/IEC 14496-12). */
export function box(type: string, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const header = Buffer.alloc(8)
  header.writeUInt32BE(content.length + 8)
  header.write(type, 4, 'latin1')
  return Buffer.concat([header, content])
}

/** The same with its size in 64 bits. */
export function largeBox(type: string, size: bigint, content: Uint8Array = new Uint8Array()): Buffer {
  const header = Buffer.alloc(16)
  header.writeUInt32BE(1)
  header.write(type, 4, 'latin1')
  header.writeBigUInt64BE(size, 8)
  return Buffer.concat([header, content])
}

export interface MovieFacts {
  readonly width?: number
  readonly height?: number
  readonly timescale?: number
  readonly duration?: number
  /** Times of 64 bits. */
  readonly long?: boolean
}

/** The index of a movie with a track of sound and one of pictures. */
export function moov(facts: MovieFacts = {}): Buffer {
  const { width = 1280, height = 720, timescale = 1000, duration = 4000, long = false } = facts
  const movie = Buffer.alloc(long ? 112 : 100)
  movie[0] = long ? 1 : 0
  movie.writeUInt32BE(timescale, long ? 20 : 12)
  if (long) movie.writeBigUInt64BE(BigInt(duration), 24)
  else movie.writeUInt32BE(duration, 16)
  const track = (wide: number, high: number) => {
    const header = Buffer.alloc(long ? 96 : 84)
    header[0] = long ? 1 : 0
    header.writeUInt32BE(wide * 65_536, long ? 88 : 76)
    header.writeUInt32BE(high * 65_536, long ? 92 : 80)
    return box('trak', box('tkhd', header), box('mdia', Buffer.alloc(20)))
  }
  return box('moov', box('mvhd', movie), track(0, 0), track(width, height))
}

export const ftyp = (brand = 'isom') => box('ftyp', Buffer.from(`${brand}\0\0\x02\0isomiso2mp41`, 'latin1'))

/** A whole MP4 whose pictures are noise; the index stands at its end, as encoders leave it. */
export function mp4Bytes(facts: MovieFacts = {}, content: Uint8Array = Buffer.alloc(1000, 7)): Buffer {
  return Buffer.concat([ftyp(), box('mdat', content), moov(facts)])
}

/** The head of a WebM (RFC 8794), and some bytes. */
export const webmBytes = Buffer.concat([
  Buffer.from('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm', 'latin1'),
  Buffer.alloc(300, 9),
])
