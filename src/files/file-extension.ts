/** Extensions by media type. Where several extensions mean one type, the first is the one to write. */
const extensions: Readonly<Record<string, readonly string[]>> = {
  'image/png': ['png'],
  'image/jpeg': ['jpg', 'jpeg', 'jpe'],
  'image/gif': ['gif'],
  'image/webp': ['webp'],
  'image/avif': ['avif'],
  'image/heic': ['heic'],
  'image/heif': ['heif'],
  'image/bmp': ['bmp'],
  'image/tiff': ['tif', 'tiff'],
  'image/svg+xml': ['svg'],
  'video/mp4': ['mp4', 'm4v'],
  'video/webm': ['webm'],
  'video/quicktime': ['mov', 'qt'],
  'video/x-matroska': ['mkv'],
  'video/x-msvideo': ['avi'],
  'video/mpeg': ['mpg', 'mpeg'],
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

/** The extension to save a media type under, without the dot; parameters are ignored; `bin` when it is unknown. */
export function extensionOf(mediaType: string): string {
  const plain = mediaType.split(';', 1)[0]!.trim().toLowerCase()
  return Object.hasOwn(extensions, plain) ? extensions[plain]![0]! : 'bin'
}

/** What a file name promises: a guess, only for what cannot be looked into (a URL). */
export function mediaTypeOfName(name: string): string | undefined {
  return mediaTypes.get(/\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? '')
}

/** Office documents and e-books are zip files: their bytes say no more, so here the name may. */
export function refineZip(mediaType: string, name: string): string {
  const promised = mediaTypeOfName(name)
  const isContainer = promised !== undefined && /openxml|opendocument|epub/.test(promised)
  return mediaType === 'application/zip' && isContainer ? promised : mediaType
}
