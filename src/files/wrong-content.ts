import { sniffMediaType } from './media-type.ts'

/** Names what stands in place of a picture or a video, because an error page says why (fault F17). */
export function describeContent(start: Buffer): string {
  const text = start.toString('utf8', 0, 64).trimStart().toLowerCase()
  if (text.startsWith('<')) return 'an HTML or XML document'
  if (/^[[{]/.test(text)) return 'a JSON document'
  return sniffMediaType(start) ?? 'data of no known type'
}
