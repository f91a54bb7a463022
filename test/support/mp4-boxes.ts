/** A box of an MP4, its content as bytes and, where it is one of the known containers, as boxes. */
interface Mp4Box {
  readonly type: string
  readonly content: Buffer
  readonly boxes: readonly Mp4Box[]
}

const containers = new Set(['moov', 'trak', 'mdia', 'minf', 'dinf', 'stbl'])

/** Reads the boxes of a file; throws where their sizes do not add up. */
function mp4Boxes(bytes: Buffer): Mp4Box[] {
  const boxes: Mp4Box[] = []
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at)
    if (size < 8 || at + size > bytes.length) throw new Error(`A box at ${at} of ${size} bytes`)
    const type = bytes.toString('latin1', at + 4, at + 8)
    const content = bytes.subarray(at + 8, at + size)
    boxes.push({ type, content, boxes: containers.has(type) ? mp4Boxes(content) : [] })
    at += size
  }
  return boxes
}

/** The box at a path: `moov/trak/tkhd`. */
function boxAt(boxes: readonly Mp4Box[], path: string): Mp4Box {
  const [first, ...rest] = path.split('/')
  const found = boxes.find(({ type }) => type === first)
  if (found === undefined) throw new Error(`No box ${path}`)
  return rest.length === 0 ? found : boxAt(found.boxes, rest.join('/'))
}

/** What the index of a video tells: pixels, seconds by each of its clocks, frames, and where the frames lie. */
export function mp4Facts(bytes: Buffer) {
  const boxes = mp4Boxes(bytes)
  const box = (path: string) => boxAt(boxes, path).content
  const header = box('moov/trak/tkhd')
  const media = box('moov/trak/mdia/mdhd')
  const movie = box('moov/mvhd')
  const sizes = box('moov/trak/mdia/minf/stbl/stsz')
  const sync = box('moov/trak/mdia/minf/stbl/stss')
  const count = sizes.readUInt32BE(8)
  return {
    types: boxes.map(({ type }) => type),
    width: header.readUInt32BE(76) / 65_536,
    height: header.readUInt32BE(80) / 65_536,
    seconds: [movie, media].map((clock) => clock.readUInt32BE(16) / clock.readUInt32BE(12)),
    frames: count,
    /** Numbers of the frames that a player can begin with, from 1. */
    syncFrames: Array.from({ length: sync.readUInt32BE(4) }, (_, index) => sync.readUInt32BE(8 + index * 4)),
    frameSizes: Array.from({ length: count }, (_, index) => sizes.readUInt32BE(12 + index * 4)),
    start: box('moov/trak/mdia/minf/stbl/stco').readUInt32BE(8),
    dataStart: bytes.length - boxAt(boxes, 'mdat').content.length,
    dataLength: boxAt(boxes, 'mdat').content.length,
  }
}
