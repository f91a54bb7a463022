import { createGrowingText, type GrowingText } from '../../growing-text.ts'
import {
  countOf,
  dangerousNames,
  isObject,
  listOf,
  objectOf,
  objectsOf,
  stringOf,
  type JsonObject,
} from '../../json.ts'
import type { Citation, Usage } from '../../events/text.ts'
import { characters, count, plainString } from '../message-reader.ts'

/** Without a prototype that the name of a field could reach. */
export const newFields = () => Object.create(null) as Record<string, unknown>

/** The parts of an answer: texts of one kind that follow each other become one part. */
export class JoinedParts {
  readonly #parts: { readonly part: unknown; readonly thought?: unknown; readonly text?: GrowingText }[] = []

  add(part: unknown): void {
    if (!isPlainText(part)) return void this.#parts.push({ part })
    const { thought } = part
    let text = this.#parts.at(-1)?.text
    if (text === undefined || this.#parts.at(-1)?.thought !== thought) {
      text = createGrowingText()
      this.#parts.push({ part, thought, text })
    }
    text.add(part['text'] as string)
  }

  get list(): readonly unknown[] {
    return this.#parts.map(({ part, text }) =>
      text === undefined ? part : { ...objectOf(part), text: text.toString() },
    )
  }
}

function isPlainText(part: unknown): part is JsonObject {
  return (
    isObject(part) &&
    typeof part['text'] === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  )
}

export function readContentUsage(value: unknown): Usage | null {
  if (!isObject(value)) return null
  const candidates = countOf(value['candidatesTokenCount'])
  const thoughts = countOf(value['thoughtsTokenCount'])
  const prompt = countOf(value['promptTokenCount'])
  // What built-in tools found is read like the prompt, and counted beside it (recorded: 15 + 770 + 37 + 742 = 1564).
  const found = countOf(value['toolUsePromptTokenCount'])
  return {
    input_tokens: prompt === null && found === null ? null : (prompt ?? 0) + (found ?? 0),
    cached_tokens: countOf(value['cachedContentTokenCount']),
    // Thoughts are not inside candidatesTokenCount (recorded: 7 + 51 + 45 = 103).
    output_tokens: candidates === null && thoughts === null ? null : (candidates ?? 0) + (thoughts ?? 0),
    reasoning_tokens: thoughts,
    total_tokens: countOf(value['totalTokenCount']),
  }
}

const maxIndex = 1023
const maxSteps = 100

/** The arguments of a call in pieces, `partialArgs[]`, each at a JSON path (recorded; wire notes, "Part kinds"). */
export class PartialArguments {
  readonly value: Record<string, unknown> = {}

  add(partialArgs: unknown): void {
    for (const piece of objectsOf(partialArgs)) {
      const path = parsePath(stringOf(piece['jsonPath']) ?? '')
      if (path !== undefined) setAt(this.value, path, piece)
    }
  }
}

/** `$.items[0]['a b'].name`; undefined for anything else, and for what exceeds the limits. */
function parsePath(text: string): (string | number)[] | undefined {
  const path = text.replace(/^\$/, '')
  const found = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g).take(maxSteps)]
  if (path === '' || found.map(([step]) => step).join('') !== path) return undefined
  const steps = found.map(([, name, index, single, double]) => name ?? single ?? double ?? Number(index))
  const isAllowed = (step: string | number) =>
    typeof step === 'string' ? !dangerousNames.has(step) : step <= maxIndex
  return steps.every(isAllowed) ? steps : undefined
}

function setAt(root: Record<string, unknown>, path: readonly (string | number)[], piece: JsonObject): void {
  let at = root
  for (const [index, step] of path.entries()) {
    // A name in an array would be its `length` at best.
    if (Array.isArray(at) && typeof step === 'string') return
    const before = Object.hasOwn(at, step) ? at[step] : undefined
    const next = path[index + 1]
    if (next === undefined) at[step] = valueOf(piece, before)
    else if (typeof before !== 'object' || before === null) at[step] = typeof next === 'number' ? [] : {}
    at = at[step] as Record<string, unknown>
  }
}

/** A text continues the one before. */
function valueOf(piece: JsonObject, before: unknown): unknown {
  const text = stringOf(piece['stringValue'])
  if (text !== undefined) return typeof before === 'string' ? before + text : text
  if ('nullValue' in piece) return null
  return piece['numberValue'] ?? piece['boolValue'] ?? before
}

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

const details = String.raw`\[\{"modality":"[A-Z]*","tokenCount":${count}\}\]`
const usageFields = [
  String.raw`"promptTokenCount":${count}(?:,"candidatesTokenCount":${count})?,"totalTokenCount":${count}`,
  String.raw`(?:,"cachedContentTokenCount":${count})?(?:,"trafficType":"[A-Z_]*")?(?:,"promptTokensDetails":${details})?`,
  String.raw`(?:,"candidatesTokensDetails":${details})?(?:,"thoughtsTokenCount":${count})?`,
].join('')

/** A chunk of nothing but words of the first candidate, as most gateways send it. Groups: its text, usage, an id. */
export const usualChunk = [
  String.raw`\{"candidates":\[\{"content":\{(?:"role":"model",)?"parts":\[\{"text":"(${characters})"\}\](?:,"role":"model")?\}`,
  String.raw`(?:,"index":0)?\}\](?:,"usageMetadata":\{${usageFields}\}())?,"modelVersion":${plainString}`,
  String.raw`(?:,"createTime":${plainString})?(?:,"responseId":${plainString}())?\}`,
].join('')

export function hasSameFields(one: RegExpExecArray, other: RegExpExecArray): boolean {
  return one[2] === other[2] && one[3] === other[3]
}
