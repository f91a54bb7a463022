import { createGrowingText, maxReplyCharacters, type GrowingText } from '../../growing-text.ts'
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
import type { Usage } from '../../events/text.ts'
import type { TextReply } from '../stream-text.ts'
import { positionOf } from '../events/json-reader.ts'
import { characters, count, plainString } from '../events/skimmer.ts'

/** How much media of an answer is kept to continue from, in characters of base64. */
const maxReplyMedia = 32 * 1024 * 1024

interface Candidate {
  readonly fields: Fields
  readonly content: Fields
  readonly parts: JoinedParts
}

/** Without a prototype that the name of a field could reach. */
type Fields = Record<string, unknown>

const newFields = () => Object.create(null) as Fields

/**
 * Joins chunks into the one object of a reply without streaming: candidates by index, their parts appended; of every other
 * field the last value stays.
 * @param keepReply whether the first candidate's content is wanted, with thought signatures and calls as they were sent
 */
export function createChunkMerger(keepResponse: boolean, keepReply: boolean) {
  const fields = newFields()
  const candidates = new Map<number, Candidate>()
  let length = 0
  let mediaLength = 0
  let skimmed: RegExpExecArray | undefined

  const isCut = () => length > maxReplyCharacters || mediaLength > maxReplyMedia
  const addPart = (index: number, parts: JoinedParts, part: unknown) => {
    if (index === 0 && isObject(part)) {
      length += lengthOf(part['text']) + lengthOf(part['thoughtSignature'])
      mediaLength += lengthOf(objectOf(part['inlineData'] ?? part['inline_data'])['data'])
    }
    if (keepResponse || !isCut()) parts.add(part)
  }
  const addCandidate = (candidate: JsonObject) => {
    const index = positionOf(candidate['index'])
    if (!keepResponse && (!keepReply || index > 0)) return
    let known = candidates.get(index)
    if (known === undefined) {
      known = { fields: newFields(), content: newFields(), parts: new JoinedParts() }
      candidates.set(index, known)
    }
    const content = objectOf(candidate['content'])
    if (keepResponse) {
      for (const name in candidate) if (name !== 'content') known.fields[name] = candidate[name]
      for (const name in content) if (name !== 'parts') known.content[name] = content[name]
    }
    for (const part of listOf(content['parts'])) addPart(index, known.parts, part)
  }
  const addFields = (chunk: JsonObject) => {
    for (const name in chunk) {
      const value = chunk[name]
      if (name !== 'candidates' && (value !== null || !(name in fields))) fields[name] = value
    }
  }
  const allFields = () => {
    if (skimmed !== undefined) {
      const [event] = skimmed
      skimmed = undefined
      addFields(JSON.parse(event.slice(event.indexOf('{'))) as JsonObject)
    }
    return fields
  }
  return {
    add(chunk: JsonObject) {
      objectsOf(chunk['candidates']).forEach(addCandidate)
      allFields()
      addFields(chunk)
    },
    /** Takes usual chunks, of which only the newest is ever parsed. */
    skim(text: string, newest: RegExpExecArray) {
      if (keepReply) addCandidate({ content: { parts: [{ text }] } })
      if (skimmed !== undefined && !hasSameFields(newest, skimmed)) allFields()
      skimmed = newest
    },
    get usage(): Usage | null {
      return readContentUsage(allFields()['usageMetadata'])
    },
    get model() {
      return stringOf(allFields()['modelVersion']) ?? null
    },
    get responseId() {
      return stringOf(allFields()['responseId']) ?? null
    },
    get response(): unknown {
      if (!keepResponse) return null
      const all = [...candidates.values()].map(whole)
      return { ...(all.length > 0 && { candidates: all }), ...fields }
    },
    reply(isWhole: boolean): TextReply | undefined {
      if (!keepReply) return undefined
      const parts = candidates.get(0)?.parts.list ?? []
      const text = objectsOf(parts)
        .map((part) => (part['thought'] === true ? '' : (stringOf(part['text']) ?? '')))
        .join('')
      return { text, content: { role: 'model', parts }, ...(isWhole && !isCut() ? {} : { is_partial: true }) }
    },
  }
}

function whole({ fields, content, parts: { list } }: Candidate): JsonObject {
  const hasContent = list.length > 0 || Object.keys(content).length > 0
  return { ...(hasContent && { content: { ...content, parts: list } }), ...fields }
}

function lengthOf(value: unknown): number {
  return stringOf(value)?.length ?? 0
}

/** The parts of an answer: texts of one kind that follow each other become one part. */
class JoinedParts {
  readonly #parts: unknown[] = []
  /** Of the last part, once another has been added to it. */
  #text: GrowingText | undefined

  add(part: unknown): void {
    const last = this.#parts.at(-1)
    if (!isPlainText(last) || !isPlainText(part) || last['thought'] !== part['thought']) {
      this.#close()
      this.#parts.push(part)
      return
    }
    if (this.#text === undefined) {
      this.#text = createGrowingText()
      this.#text.add(last['text'] as string)
    }
    this.#text.add(part['text'] as string)
  }

  get list(): readonly unknown[] {
    this.#close()
    return this.#parts
  }

  #close(): void {
    if (this.#text === undefined) return
    this.#parts.push({ ...objectOf(this.#parts.pop()), text: this.#text.toString() })
    this.#text = undefined
  }
}

function isPlainText(part: unknown): part is JsonObject {
  return (
    isObject(part) &&
    typeof part['text'] === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  )
}

function readContentUsage(value: unknown): Usage | null {
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
  const steps: (string | number)[] = []
  const step = /\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/y
  step.lastIndex = text.startsWith('$') ? 1 : 0
  while (step.lastIndex < text.length) {
    const match = step.exec(text)
    if (match === null) return undefined
    const name = match[1] ?? match[3] ?? match[4]
    if (name !== undefined && dangerousNames.has(name)) return undefined
    if (Number(match[2]) > maxIndex || steps.length === maxSteps) return undefined
    steps.push(name ?? Number(match[2]))
  }
  return steps.length === 0 ? undefined : steps
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

/** Those of what was blocked, and of what may be harmful. */
export function notableRatings(ratings: unknown): JsonObject[] {
  return objectsOf(ratings).filter(
    ({ probability, blocked }) => blocked === true || probability === 'MEDIUM' || probability === 'HIGH',
  )
}
