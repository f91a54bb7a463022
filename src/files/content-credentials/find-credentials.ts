import { pushInto, skip, take, type Steps } from '../byte-steps.ts'

/** A store of content credentials (a C2PA manifest store) in a file, as it was found; nothing of it is verified. */
export interface FoundStore {
  /** Where such a file keeps it, for people: `PNG chunk caBX`. */
  readonly place: string
  /** Where its chunk, segment, box or block begins, in bytes from the start of the file. */
  readonly offset: number
  /** Its length in bytes, without what wraps it, as far as the file announces it. */
  readonly bytes: number
  /** How much of it there is: less than `bytes` in a file that was cut. */
  readonly received: number
  /** Its first `maxStoreBytes`. */
  readonly content: Buffer
}

/** Looks for stores in a file while it is read. */
export interface CredentialFinder {
  /** The next bytes, from the first of the file on, in pieces of any size. */
  add(bytes: Uint8Array): void
  /** In the order of the file. Several JUMBF boxes may be something else: `readManifestStore` knows. */
  stores(): readonly FoundStore[]
}

/** Kept for reading; real ones have some kilobytes, with thumbnails some hundred. */
const maxStoreBytes = 4 * 1024 * 1024
const passedAtOnce = 1024 * 1024
/** More than any real file has; the rest is ignored. */
const maxStores = 16

/**
 * Where the containers keep content credentials (C2PA technical specification, "Embedding manifests into various file
 * formats").
 * @returns undefined for a format in which they are not looked for
 */
export function createCredentialFinder(mediaType: string): CredentialFinder | undefined {
  const walk = Object.hasOwn(walks, mediaType) ? walks[mediaType] : undefined
  if (walk === undefined) return undefined
  const collector = createCollector()
  const steps = pushInto(walk(collector))
  return { add: (bytes) => steps.add(bytes), stores: collector.stores }
}

type Walk = (collector: Collector) => Steps<void>

const walks: Readonly<Record<string, Walk>> = {
  'image/png': pngChunks,
  'image/jpeg': jpegSegments,
  'image/webp': riffChunks,
  'image/gif': gifBlocks,
  'image/avif': boxes,
  'image/heic': boxes,
  'image/heif': boxes,
  'image/jxl': boxes,
  'video/mp4': boxes,
  'video/quicktime': boxes,
  'video/x-msvideo': riffChunks,
  'audio/mp4': boxes,
  'audio/wav': riffChunks,
}

interface OpenStore {
  /** More of its bytes are announced. */
  announce(bytes: number): void
  push(bytes: Buffer): void
  /** No more of it is kept. */
  readonly isFull: boolean
  /** So many of its bytes have passed unread. */
  drop(bytes: number): void
}

/** Reads forward, counting, and keeps the stores. */
interface Collector {
  readonly at: number
  read(count: number): Steps<Buffer>
  pass(count: number): Steps<void>
  /** @param offset where its wrapping begins */
  open(place: string, offset: number): OpenStore
  /** Reads bytes into a store. */
  copy(store: OpenStore, count: number): Steps<void>
  stores(): readonly FoundStore[]
}

function createCollector(): Collector {
  const found: { place: string; offset: number; bytes: number; received: number; kept: Buffer[] }[] = []
  let position = 0
  function* read(count: number): Steps<Buffer> {
    const bytes = yield* take(count)
    position += count
    return bytes
  }
  function* pass(count: number): Steps<void> {
    yield* skip(count)
    position += count
  }
  return {
    get at() {
      return position
    },
    read,
    pass,
    open(place, offset) {
      const store = { place, offset, bytes: 0, received: 0, kept: [] as Buffer[] }
      if (found.length < maxStores) found.push(store)
      return {
        announce: (bytes) => void (store.bytes += bytes),
        push(bytes) {
          store.kept.push(bytes)
          store.received += bytes.length
        },
        get isFull() {
          return store.received >= maxStoreBytes
        },
        drop: (bytes) => void (store.received += bytes),
      }
    },
    *copy(store, count) {
      store.announce(count)
      let left = count
      for (; left > 0 && !store.isFull; left -= Math.min(left, 256)) {
        store.push(yield* read(Math.min(left, 256)))
      }
      for (; left > 0; left -= Math.min(left, passedAtOnce)) {
        yield* pass(Math.min(left, passedAtOnce))
        store.drop(Math.min(left, passedAtOnce))
      }
    },
    stores: () => found.map(({ kept, ...store }) => ({ ...store, content: Buffer.concat(kept) })),
  }
}

/** Chunks of length, name, content and checksum; `caBX` holds a store. */
function* pngChunks(collector: Collector): Steps<void> {
  yield* collector.pass(8)
  for (;;) {
    const offset = collector.at
    const header = yield* collector.read(8)
    const length = header.readUInt32BE()
    const name = header.toString('latin1', 4)
    if (name === 'IEND') return
    if (name === 'caBX') {
      yield* collector.copy(collector.open('PNG chunk caBX', offset), length)
      yield* collector.pass(4)
    } else yield* collector.pass(length + 4)
  }
}

/** Bytes of a segment APP11 before its JUMBF box: `JP`, the number of the box, the number of the part. */
const app11Header = 8

/**
 * Segments up to the first scan. A store is a JUMBF box in segments APP11 (ISO/IEC 19566-5, annex D); in parts where it
 * is longer than a segment, and each part but the first repeats the header of the box.
 */
function* jpegSegments(collector: Collector): Steps<void> {
  const open = new Map<number, OpenStore>()
  yield* collector.pass(2)
  for (;;) {
    const offset = collector.at
    if ((yield* collector.read(1))[0] !== 0xff) return
    let marker = 0xff
    while (marker === 0xff) marker = (yield* collector.read(1))[0]!
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue
    if (marker === 0xda || marker === 0xd9) return
    const length = (yield* collector.read(2)).readUInt16BE() - 2
    if (length < 0) return
    if (marker !== 0xeb || length < app11Header + 8) {
      yield* collector.pass(length)
      continue
    }
    const header = yield* collector.read(app11Header)
    let left = length - app11Header
    if (header.toString('latin1', 0, 2) !== 'JP') {
      yield* collector.pass(left)
      continue
    }
    const number = header.readUInt16BE(2)
    const before = open.get(number)
    if (before === undefined) {
      if (open.size >= maxStores) return
      const store = collector.open('JPEG segments APP11', offset)
      open.set(number, store)
      yield* collector.copy(store, left)
      continue
    }
    const box = yield* collector.read(8)
    left -= 8
    if (box.readUInt32BE() === 1 && left >= 8) {
      yield* collector.pass(8)
      left -= 8
    }
    yield* collector.copy(before, left)
  }
}

/** Chunks of name, length and content, filled to even lengths; `C2PA` holds a store. */
function* riffChunks(collector: Collector): Steps<void> {
  yield* collector.pass(12)
  for (;;) {
    const offset = collector.at
    const header = yield* collector.read(8)
    const length = header.readUInt32LE(4)
    if (header.toString('latin1', 0, 4) === 'C2PA') {
      yield* collector.copy(collector.open('RIFF chunk C2PA', offset), length)
      yield* collector.pass(length % 2)
    } else yield* collector.pass(length + (length % 2))
  }
}

/** An application extension `C2PA_GIF` holds a store in its sub-blocks. */
function* gifBlocks(collector: Collector): Steps<void> {
  const palette = (flags: number) => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)
  yield* collector.pass(palette((yield* collector.read(13))[10]!))
  for (;;) {
    const offset = collector.at
    const kind = (yield* collector.read(1))[0]!
    let store: OpenStore | undefined
    if (kind === 0x2c) {
      yield* collector.pass(palette((yield* collector.read(9))[8]!) + 1)
    } else if (kind === 0x21) {
      const isApplication = (yield* collector.read(1))[0] === 0xff
      const length = isApplication ? (yield* collector.read(1))[0]! : 0
      const name = length > 0 ? (yield* collector.read(length)).toString('latin1') : ''
      if (name.startsWith('C2PA_GIF')) store = collector.open('GIF extension C2PA_GIF', offset)
    } else if (kind !== 0) return
    if (kind === 0) continue
    for (let length = 1; length > 0;) {
      length = (yield* collector.read(1))[0]!
      if (store === undefined) yield* collector.pass(length)
      else yield* collector.copy(store, length)
    }
  }
}

const storeUuid = 'd8fec3d61b0e483c92975828877ec481'

/** Boxes of the top level of an ISO base media file. A `uuid` box holds a store, in JPEG XL a `jumb` box is one. */
function* boxes(collector: Collector): Steps<void> {
  for (;;) {
    const offset = collector.at
    const header = yield* collector.read(8)
    let left: number = header.readUInt32BE() - 8
    if (left === -7) left = Number((yield* collector.read(8)).readBigUInt64BE()) - 16
    // A size of 0 means the rest of the file.
    else if (left === -8) left = Infinity
    if (!(left >= 0)) return
    const type = header.toString('latin1', 4)
    if (type === 'uuid' && left >= 16) {
      const uuid = yield* collector.read(16)
      left -= 16
      if (uuid.toString('hex') === storeUuid) {
        yield* uuidContent(collector, offset, left)
        continue
      }
    } else if (type === 'jumb' && left !== Infinity) {
      const store = collector.open('box jumb', offset)
      store.announce(8)
      store.push(withLength(header, left + 8))
      yield* collector.copy(store, left)
      continue
    }
    yield* collector.pass(left)
  }
}

/** Version and flags, the purpose as a text with an end, for a store the place of another box, then the store. */
function* uuidContent(collector: Collector, offset: number, length: number): Steps<void> {
  if (length < 4) return yield* collector.pass(length)
  yield* collector.read(4)
  let left = length - 4
  let purpose = ''
  for (let byte = 1; left > 0 && byte !== 0 && purpose.length <= maxPurpose; left--) {
    byte = (yield* collector.read(1))[0]!
    if (byte !== 0) purpose += String.fromCharCode(byte)
  }
  if (purpose === 'manifest' && left >= 8 && left !== Infinity) {
    yield* collector.read(8)
    return yield* collector.copy(collector.open('box uuid', offset), left - 8)
  }
  yield* collector.pass(left)
}

const maxPurpose = 32

/** The header of a box with a length of 64 bits is written as one of 32, which the reader of a store expects. */
function withLength(header: Buffer, length: number): Buffer {
  const copy = Buffer.from(header)
  copy.writeUInt32BE(Math.min(length, 0xff_ff_ff_ff))
  return copy
}
