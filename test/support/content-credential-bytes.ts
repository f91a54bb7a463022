import { gifBytes, jpegBytes, jpegSegment, pngBytes, pngChunk, webpBytes } from './image-bytes.ts'
import { box } from './video-bytes.ts'

/** The end that the UUIDs of all JUMBF types of C2PA have. */
const uuidEnd = Buffer.from('00110010800000aa00389b71', 'hex')

function superbox(kind: string, label: string, ...boxes: readonly Uint8Array[]): Buffer {
  const description = box('jumd', Buffer.from(kind), uuidEnd, Buffer.of(3), Buffer.from(`${label}\0`))
  return box('jumb', description, ...boxes)
}

/** A manifest store, of which only the beginning is as a generator of pictures writes it. */
export function manifestStore(bytes = 1000): Buffer {
  return superbox('c2pa', 'c2pa', box('jumb', Buffer.alloc(bytes, 'x')))
}

/** JUMBF that is something else. */
export const foreignBox = superbox('json', 'com.example', box('json', Buffer.from('{}')))

/** A JUMBF box in segments APP11, of at most so many of its bytes. */
function jumbfSegments(jumbf: Buffer, perSegment = 60_000, number = 1): Buffer[] {
  const [header, content] = [jumbf.subarray(0, 8), jumbf.subarray(8)]
  const parts = Math.ceil(content.length / perSegment)
  return Array.from({ length: parts }, (_, index) => {
    const place = Buffer.alloc(8)
    place.write('JP', 'latin1')
    place.writeUInt16BE(number, 2)
    place.writeUInt32BE(index + 1, 4)
    const part = content.subarray(index * perSegment, (index + 1) * perSegment)
    return jpegSegment(0xeb, Buffer.concat([place, header, part]))
  })
}

/** The box of an ISO base media file that holds a store, or something else of C2PA. */
export function credentialBox(store: Uint8Array, purpose = 'manifest'): Buffer {
  const uuid = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex')
  return box('uuid', uuid, Buffer.alloc(4), Buffer.from(`${purpose}\0`), Buffer.alloc(8), store)
}

const ftyp = (brand: string) => box('ftyp', Buffer.from(`${brand}\0\0\0\0${brand}`))

/** Small files of each format with a store in them, by extension. */
export function signedFiles(store = manifestStore()): Readonly<Record<string, Buffer>> {
  const gif = gifBytes()
  const blocks: Buffer[] = []
  for (let at = 0; at < store.length; at += 255) {
    const part = store.subarray(at, at + 255)
    blocks.push(Buffer.of(part.length), part)
  }
  const extension = Buffer.concat([
    Buffer.from('\x21\xff\x0bC2PA_GIF\x01\0\0', 'latin1'),
    ...blocks,
    Buffer.of(0),
  ])
  const riffChunk = Buffer.alloc(8 + store.length + (store.length % 2))
  riffChunk.write('C2PA', 'latin1')
  riffChunk.writeUInt32LE(store.length, 4)
  store.copy(riffChunk, 8)
  const vp8l = Buffer.of(0x2f, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  return {
    png: pngBytes({ chunks: [pngChunk('caBX', store)] }),
    jpg: jpegBytes({ before: [...jumbfSegments(foreignBox, 9999, 7), ...jumbfSegments(store, 300)] }),
    webp: webpBytes('VP8L', vp8l, riffChunk),
    gif: Buffer.concat([gif.subarray(0, 19), extension, gif.subarray(19)]),
    mp4: Buffer.concat([
      ftyp('isom'),
      credentialBox(Buffer.alloc(9), 'merkle'),
      credentialBox(store),
      box('moov'),
      box('mdat', Buffer.alloc(10)),
    ]),
    avif: Buffer.concat([ftyp('avif'), credentialBox(store), box('meta'), box('mdat', Buffer.alloc(10))]),
    jxl: Buffer.concat([
      box('JXL ', Buffer.from('\r\n\x87\n', 'latin1')),
      box('ftyp', Buffer.from('jxl \0\0\0\0jxl ')),
      foreignBox,
      store,
    ]),
  }
}
