import type { Usage } from '../contract/text-event.ts'
import type { OutputDocument } from '../contract/output-event.ts'

/** The token counts of a document; null where none were told, and for jobs, which have none. */
export function usageOf(document: OutputDocument | undefined): Usage | null {
  return document !== undefined && 'usage' in document ? document.usage : null
}
