import type { Citation } from '../../contract/text-event.ts'
import { countOf, isObject, stringOf } from '../json-access.ts'

/** An annotation of a text (url, file or container file citation); undefined for what cites nothing. */
export function readCitation(annotation: unknown): Citation | undefined {
  if (!isObject(annotation)) return undefined
  const url = stringOf(annotation['url']) ?? null
  const title =
    stringOf(annotation['title']) ??
    stringOf(annotation['filename']) ??
    stringOf(annotation['file_id']) ??
    null
  if (url === null && title === null) return undefined
  return { url, title, start: countOf(annotation['start_index']), end: countOf(annotation['end_index']) }
}
