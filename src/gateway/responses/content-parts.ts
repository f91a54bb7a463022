import { objectsOf, type JsonObject } from '../json-access.ts'

/** The content of a message; plain text, as messages of the input may have it, is one part. */
export function contentParts({ content }: JsonObject): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'output_text', text: content }] : objectsOf(content)
}
