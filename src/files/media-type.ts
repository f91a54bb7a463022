/** Of first bytes as latin-1 text. The first match wins. */
const signatures: readonly (readonly [mediaType: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF....WEBP/s],
  ['image/bmp', /^BM....\0\0\0\0/s],
  ['image/tiff', /^(?:II\*\0|MM\0\*)/],
  ['image/jxl', /^(?:\xff\x0a|\0\0\0\x0cJXL \r\n\x87\n)/],
  ['audio/wav', /^RIFF....WAVE/s],
  ['video/x-msvideo', /^RIFF....AVI /s],
  ['video/mpeg', /^\0\0\x01[\xba\xb3]/],
  // QuickTime files had no `ftyp` once: then one of these boxes comes first.
  ['video/quicktime', /^\0.{3}(?:moov|mdat|wide|free|skip|pnot)/s],
  // WebM is Matroska with another document type, which is somewhere in the first header.
  ['video/webm', /^\x1aE\xdf\xa3.{0,56}webm/s],
  ['video/x-matroska', /^\x1aE\xdf\xa3/],
  ['video/ogg', /^OggS.{24}\x80theora/s],
  ['audio/ogg', /^OggS/],
  ['audio/flac', /^fLaC/],
  ['audio/mpeg', /^ID3/],
  ['application/pdf', /^%PDF-/],
  ['application/zip', /^PK(?:\x03\x04|\x05\x06)/],
  ['application/gzip', /^\x1f\x8b\x08/],
]

/** Brands of the ISO base media container (`ftyp` box). A brand not listed here is some kind of MP4. */
const brands: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  heim: 'image/heic',
  heis: 'image/heic',
  hevc: 'image/heic',
  hevx: 'image/heic',
  mif1: 'image/heif',
  msf1: 'image/heif',
  'M4A ': 'audio/mp4',
  'M4B ': 'audio/mp4',
  'qt  ': 'video/quicktime',
}

/** By bytes alone: gateways refuse parts whose type is not theirs. @param head 4 KiB are plenty */
export function sniffMediaType(head: Uint8Array): string | undefined {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 4096)).toString('latin1')
  const [mediaType] = signatures.find(([, pattern]) => pattern.test(start)) ?? []
  return (
    mediaType ??
    isoMedia(start) ??
    mpegAudio(head) ??
    text(head) ??
    (transportStream.test(start) ? 'video/mp2t' : undefined)
  )
}

/** The major brand is at byte 8; the compatible ones, which distinguish AVIF from HEIF, start at byte 16. */
function isoMedia(start: string): string | undefined {
  if (!start.startsWith('ftyp', 4) || start.length < 12) return undefined
  const length = Math.min(Buffer.from(start.slice(0, 4), 'latin1').readUInt32BE(), start.length)
  const found = [start.slice(8, 12)]
  for (let at = 16; at + 4 <= length; at += 4) found.push(start.slice(at, at + 4))
  const types = found.flatMap((brand) => (Object.hasOwn(brands, brand) ? [brands[brand]!] : []))
  if (types[0] === 'image/heif') return types.find((type) => type !== 'image/heif') ?? 'image/heif'
  return Object.hasOwn(brands, found[0]!) ? types[0] : 'video/mp4'
}

/** MPEG audio without a tag starts with a frame header: eleven set bits, then version and layer. */
function mpegAudio(head: Uint8Array): string | undefined {
  const [first = 0, second = 0, third = 0xff] = head
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined
  const layer = (second >> 1) & 3
  // Layer bits 0 are reserved here and mark AAC in its own framing.
  if (layer === 0) return (second & 0xf6) === 0xf0 ? 'audio/aac' : undefined
  return ((second >> 3) & 3) !== 1 && third >> 4 !== 15 ? 'audio/mpeg' : undefined
}

/** Each packet of an MPEG transport stream begins with the byte 47; on a disc a timestamp precedes it. */
const transportStream = /^(?:G.{187}G(?:.{187}G|.{0,187}$)|.{4}G.{191}G(?:.{191}G|.{0,191}$))/s

const controlCharacter = /[\0-\x07\x0e-\x1a\x1c-\x1f]/

/** Text is valid UTF-8 without these control characters. The last character may be cut. */
function text(head: Uint8Array): string | undefined {
  if (head.length === 0) return undefined
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return controlCharacter.test(decoded) ? undefined : 'text/plain'
  } catch {
    return undefined
  }
}

/** Whether content looks like text in an older encoding, as an error page in Latin-1 does: markup, or mostly ASCII. */
export function looksLikeText(head: Buffer): boolean {
  const start = head.subarray(0, 512)
  const text = start.toString('latin1')
  const ascii = start.filter((byte) => byte < 0x80).length
  return !controlCharacter.test(text) && (/^\s*<[a-z!?]/i.test(text) || ascii >= start.length * 0.75)
}

export function describeContent(start: Buffer): string {
  const text = start.toString('utf8', 0, 64).trimStart().toLowerCase()
  if (text.startsWith('<')) return 'an HTML or XML document'
  if (/^[[{]/.test(text)) return 'a JSON document'
  return sniffMediaType(start) ?? (looksLikeText(start) ? 'text/plain' : 'data of an unknown type')
}

const extensions: Readonly<Record<string, readonly string[]>> = {
  'image/png': ['png'],
  'image/jpeg': ['jpg', 'jpeg', 'jpe'],
  'image/gif': ['gif'],
  'image/webp': ['webp'],
  'image/avif': ['avif'],
  'image/heic': ['heic'],
  'image/heif': ['heif'],
  'image/jxl': ['jxl'],
  'image/bmp': ['bmp'],
  'image/tiff': ['tif', 'tiff'],
  'image/svg+xml': ['svg'],
  'video/mp4': ['mp4', 'm4v'],
  'video/webm': ['webm'],
  'video/quicktime': ['mov', 'qt'],
  'video/x-matroska': ['mkv'],
  'video/x-msvideo': ['avi'],
  'video/mpeg': ['mpg', 'mpeg'],
  'video/mp2t': ['ts', 'm2ts', 'mts'],
  'video/ogg': ['ogv'],
  'audio/mpeg': ['mp3'],
  'audio/mp4': ['m4a'],
  'audio/aac': ['aac'],
  'audio/wav': ['wav'],
  'audio/ogg': ['ogg', 'oga', 'opus'],
  'audio/flac': ['flac'],
  'application/pdf': ['pdf'],
  'application/zip': ['zip'],
  'application/gzip': ['gz'],
  'application/json': ['json'],
  'text/plain': ['txt', 'text', 'log', 'md'],
  'text/html': ['html', 'htm'],
  'text/csv': ['csv'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['docx'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx'],
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': ['pptx'],
  'application/vnd.oasis.opendocument.text': ['odt'],
  'application/epub+zip': ['epub'],
}

const mediaTypes = new Map(
  Object.entries(extensions).flatMap(([mediaType, names]) => names.map((name) => [name, mediaType] as const)),
)

export function extensionOf(mediaType: string): string {
  const plain = mediaType.split(';', 1)[0]!.trim().toLowerCase()
  return Object.hasOwn(extensions, plain) ? extensions[plain]![0]! : 'bin'
}

/** A guess, for content that cannot be inspected (a URL). */
export function mediaTypeOfName(name: string): string | undefined {
  return mediaTypes.get(/\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? '')
}

/** Office documents and e-books are zip files. Their bytes do not show which kind, so the name decides. */
export function refineZip(mediaType: string, name: string): string {
  const named = mediaTypeOfName(name)
  const isContainer = named !== undefined && /openxml|opendocument|epub/.test(named)
  return mediaType === 'application/zip' && isContainer ? named : mediaType
}
