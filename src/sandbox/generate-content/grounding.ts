import type { JsonObject } from '../json-value.ts'

/** An entry of `groundingChunks`. */
export interface Source {
  readonly chunk: JsonObject
}

/** A sentence of an answer; the indices are bytes of its UTF-8, as in public practice. */
interface Segment {
  readonly startIndex: number
  readonly endIndex: number
  readonly text: string
}

/** Maximum number of sentences that are said to come from somewhere, and of characters that are searched for them. */
const maxSegments = 4
const searchedCharacters = 4000

/** The sentences behind the quoted prompt, which no source stands for. */
function segmentsOf(text: string): Segment[] {
  const segments: Segment[] = []
  let [at, bytes] = [0, 0]
  for (const match of text.slice(0, searchedCharacters).matchAll(/[^\s.!?][^.!?]*[.!?]+/g)) {
    const [sentence] = match
    const startIndex = bytes + Buffer.byteLength(text.slice(at, match.index))
    const endIndex = startIndex + Buffer.byteLength(sentence)
    at = match.index + sentence.length
    bytes = endIndex
    segments.push({ startIndex, endIndex, text: sentence })
    if (segments.length > maxSegments) break
  }
  return segments.length > 1 ? segments.slice(1) : segments
}

/** What grounds a text: the sources, and the sentences that each supports. */
export function groundingOf(text: string, sources: readonly Source[], partIndex: number): JsonObject {
  if (sources.length === 0) return {}
  const groundingSupports = segmentsOf(text).map((segment, index) => ({
    segment: { ...(partIndex > 0 && { partIndex }), ...segment },
    groundingChunkIndices: [index % sources.length],
    confidenceScores: [0.9],
  }))
  return { groundingChunks: sources.map(({ chunk }) => chunk), groundingSupports }
}

const licences = ['mit', 'apache-2.0', 'cc-by-4.0']

/** The sentences of a text as quotations, each with its address and licence (specification, content-generation chunk). */
export function citationsOf(text: string): JsonObject {
  const citationSources = segmentsOf(text).map(({ startIndex, endIndex }, index) => ({
    startIndex,
    endIndex,
    uri: `https://www.example.com/source/${index + 1}`,
    license: licences[index % licences.length],
  }))
  return { citationMetadata: { citationSources } }
}
