import type { Citation } from '../../events/text.ts'
import { listOf, objectOf, objectsOf, stringOf, type JsonObject, countOf } from '../../json.ts'

export function citationsOf(candidate: JsonObject): Citation[] {
  const { citationSources, citations } = objectOf(candidate['citationMetadata'])
  const { groundingChunks } = objectOf(candidate['groundingMetadata'])
  const grounds = objectsOf(groundingChunks).map((chunk): JsonObject => {
    const { uri, title } = objectOf(chunk['web'] ?? chunk['retrievedContext'] ?? chunk['maps'])
    return { uri, title }
  })
  // Vertex spells it `citations`.
  return [...objectsOf(citationSources ?? citations), ...grounds]
    .map((source) => ({
      url: stringOf(source['uri']) ?? null,
      title: stringOf(source['title']) ?? null,
      start: countOf(source['startIndex']),
      end: countOf(source['endIndex']),
      license: stringOf(source['license']) || null,
      file_id: null,
    }))
    .filter(({ url, title, license }) => url !== null || title !== null || license !== null)
}

interface Item {
  readonly kind: string
  readonly summary: string
  readonly item: JsonObject
}

/** What built-in tools did for a candidate: searches, and the pages that were read or not. */
export function lookUpsOf(candidate: JsonObject): Item[] {
  const grounding = objectOf(candidate['groundingMetadata'])
  const queries = ['webSearchQueries', 'imageSearchQueries', 'retrievalQueries']
    .flatMap((name) => listOf(grounding[name]))
    .filter((query) => typeof query === 'string')
  const pages = objectsOf(objectOf(candidate['urlContextMetadata'])['urlMetadata'])
  return [
    ...(queries.length === 0 ? [] : [{ kind: 'search', summary: queries.join(', '), item: grounding }]),
    ...pages.map((page) => {
      const status = (stringOf(page['urlRetrievalStatus']) ?? '').replace(/^URL_RETRIEVAL_STATUS_/, '')
      return { kind: 'url', summary: `${stringOf(page['retrievedUrl']) ?? ''} (${status})`, item: page }
    }),
  ]
}

/** A part of a kind that has no event of its own; undefined for an empty one. */
export function itemOfPart(part: JsonObject): Item | undefined {
  const kind = Object.keys(part).find((key) => !key.startsWith('thought') && part[key] !== null)
  return kind === undefined ? undefined : { kind, summary: summaryOf(kind, objectOf(part[kind])), item: part }
}

function summaryOf(kind: string, content: JsonObject): string {
  const name = stringOf(content['name']) ?? stringOf(content['toolType'])
  if (kind === 'toolCall' && name !== undefined) return `${name}(${shortJson(content['args'])})`
  const isAnswer = kind === 'functionResponse' || kind === 'toolResponse'
  if (isAnswer && name !== undefined) return `${name}: ${shortJson(content['response'])}`
  return stringOf(content['fileUri']) ?? `${kind} part`
}

const maxSummary = 200

function shortJson(value: unknown): string {
  const text = jsonOf(value ?? {})
  return text.length > maxSummary ? `${text.slice(0, maxSummary).toWellFormed()}…` : text
}

/** For display: what is nested too deeply to be written is left out. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return ''
  }
}
