import type { Citation } from '../../contract/text-event.ts'
import { countOf, objectOf, objectsOf, stringOf, type JsonObject } from '../json-access.ts'

/** The sources that a candidate names, as citations or as the ground of its answer. */
export function citationsOf(candidate: JsonObject): Citation[] {
  const metadata = objectOf(candidate['citationMetadata'])
  // Vertex spells it `citations`.
  const cited = objectsOf(metadata['citationSources'] ?? metadata['citations'])
  const grounds = objectsOf(objectOf(candidate['groundingMetadata'])['groundingChunks'])
  return [
    ...cited,
    ...grounds.map((chunk) => {
      const { uri, title } = objectOf(chunk['web'] ?? chunk['retrievedContext'] ?? chunk['maps'])
      return { uri, title }
    }),
  ]
    .map(readSource)
    .filter(({ url, title }) => url !== null || title !== null)
}

function readSource(source: JsonObject): Citation {
  return {
    url: stringOf(source['uri']) ?? null,
    title: stringOf(source['title']) ?? null,
    start: countOf(source['startIndex']),
    end: countOf(source['endIndex']),
  }
}
