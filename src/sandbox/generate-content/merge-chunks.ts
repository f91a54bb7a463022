import type { JsonObject } from '../json-value.ts'
import { objectOf, objectsOf, textOf } from '../json-value.ts'
import type { Chunk } from './chunks.ts'

/** The chunks of a stream as the one document that `:generateContent` answers with. */
export function mergeChunks(chunks: Iterable<Chunk>): JsonObject {
  const candidates: JsonObject[] = []
  let last: JsonObject = {}
  for (const { body } of chunks) {
    last = body
    for (const candidate of objectsOf(body['candidates'])) {
      const index = Number(candidate['index'])
      const parts = [...partsOf(candidates[index]), ...partsOf(candidate)]
      const content = parts.length === 0 ? { role: 'model' } : { parts: joinTexts(parts), role: 'model' }
      candidates[index] = { ...candidate, content }
    }
  }
  return candidates.length === 0 ? last : { ...last, candidates }
}

function partsOf(candidate: JsonObject | undefined): readonly JsonObject[] {
  return objectsOf(objectOf(candidate?.['content'])['parts'])
}

/** Neighbouring texts become one, thoughts apart from the answer. */
function joinTexts(parts: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = []
  for (const part of parts) {
    const before = joined.at(-1)
    const isMore =
      part['text'] !== undefined && before?.['text'] !== undefined && before['thought'] === part['thought']
    if (isMore) joined[joined.length - 1] = { ...before, text: textOf(before['text']) + textOf(part['text']) }
    else joined.push(part)
  }
  return joined
}
