import { createGrowingText, maxReplyCharacters, type GrowingText } from '../../growing-text.ts'
import {
  dangerousNames,
  isObject,
  objectOf,
  objectsOf,
  type JsonObject,
  stringOf,
  countOf,
} from '../../json.ts'
import type { Usage } from '../../events/text.ts'
import type { TextReply } from '../stream-text.ts'
import { positionOf } from '../events/json-reader.ts'
import { characters, count, plainString } from '../events/skimmer.ts'

type Mutable = Record<string, unknown>

/** A text part that may be continued. */
interface OpenPart {
  readonly part: JsonObject
  readonly text: GrowingText
}

/** How much media of an answer is kept to go on from, in characters of base64. */
const maxReplyMedia = 32 * 1024 * 1024

/**
 * Joins the chunks of a stream into the one object that a reply without streaming would have been: candidates by index,
 * their parts appended; of every other field the last value stays.
 * @param keepResponse whether all of it is wanted
 * @param keepReply whether the content of the first candidate is wanted, with all that a later request needs of it:
 *   thought signatures, calls and other parts as they were sent
 */
export function createChunkMerger(keepResponse: boolean, keepReply: boolean) {
  const fields: Mutable = {}
  const candidates = new Map<number, Mutable>()
  /** The last part of a candidate, by its list of parts, where that is a text. */
  const open = new Map<unknown[], OpenPart>()
  /** Of the content of the first candidate, in characters. */
  let length = 0
  let mediaLength = 0
  let skimmed: RegExpExecArray | undefined

  const mayKeep = (part: JsonObject) => {
    length += lengthOf(part['text']) + lengthOf(part['thoughtSignature'])
    mediaLength += lengthOf(objectOf(part['inlineData'] ?? part['inline_data'])['data'])
    return length <= maxReplyCharacters && mediaLength <= maxReplyMedia
  }
  const addCandidate = (candidate: JsonObject) => {
    const index = positionOf(candidate['index'])
    const parts = index === 0 ? objectsOf(objectOf(candidate['content'])['parts']).filter(mayKeep) : []
    if (keepResponse) mergeCandidate(candidates, index, candidate, open)
    else if (keepReply && index === 0) mergeCandidate(candidates, 0, { content: { parts } }, open)
  }
  const addFields = (chunk: JsonObject) => {
    for (const name in chunk) {
      const value = chunk[name]
      if (name !== 'candidates' && (value !== null || !Object.hasOwn(fields, name)))
        define(fields, name, value)
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
    /** Takes usual chunks with the same fields: only the newest of them is ever parsed. */
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
    /** All of it; null where it is not wanted. */
    get response(): unknown {
      if (!keepResponse) return null
      closeParts(open)
      return candidates.size === 0 ? fields : { candidates: [...candidates.values()], ...fields }
    },
    reply(isWhole: boolean): TextReply | undefined {
      if (!keepReply) return undefined
      closeParts(open)
      const parts: unknown[] = []
      const joined = new Map<unknown[], OpenPart>()
      for (const part of objectsOf(objectOf(candidates.get(0)?.['content'])['parts'])) {
        appendPart(parts, part, joined)
      }
      closeParts(joined)
      const text = objectsOf(parts)
        .map((part) => (part['thought'] === true ? '' : (stringOf(part['text']) ?? '')))
        .join('')
      const isCut = length > maxReplyCharacters || mediaLength > maxReplyMedia
      return { text, content: { role: 'model', parts }, ...(isWhole && !isCut ? {} : { is_partial: true }) }
    },
  }
}

function mergeCandidate(
  candidates: Map<number, Mutable>,
  index: number,
  candidate: JsonObject,
  open: Map<unknown[], OpenPart>,
): void {
  const known = candidates.get(index) ?? {}
  candidates.set(index, known)
  for (const name in candidate) {
    const field = candidate[name]
    const isContent = name === 'content' && isObject(field)
    define(known, name, isContent ? mergeContent(known['content'], field, open) : field)
  }
}

function mergeContent(before: unknown, content: JsonObject, open: Map<unknown[], OpenPart>): Mutable {
  const parts = content['parts']
  if (!isObject(before)) return Array.isArray(parts) ? { ...content, parts: [...parts] } : { ...content }
  const joined = before as Mutable
  const known = Array.isArray(before['parts']) ? (before['parts'] as unknown[]) : []
  for (const name in content) if (name !== 'parts') define(joined, name, content[name])
  if (Array.isArray(parts)) for (const part of parts) appendPart(known, part, open)
  joined['parts'] = known
  return joined
}

function lengthOf(value: unknown): number {
  return stringOf(value)?.length ?? 0
}

function closeParts(open: Map<unknown[], OpenPart>): void {
  for (const [parts, last] of open) parts[parts.length - 1] = { ...last.part, text: last.text.toString() }
}

/** Two texts of one kind that follow each other become one part. */
function appendPart(parts: unknown[], part: unknown, open: Map<unknown[], OpenPart>): void {
  const last = parts.at(-1)
  const begun = open.get(parts)
  if (isPlainText(last) && isPlainText(part) && last['thought'] === part['thought']) {
    const text = begun?.text ?? createGrowingText()
    if (begun === undefined) text.add(last['text'] as string)
    text.add(part['text'] as string)
    open.set(parts, { part: last, text })
    return
  }
  if (begun !== undefined) parts[parts.length - 1] = { ...begun.part, text: begun.text.toString() }
  open.delete(parts)
  parts.push(part)
}

function isPlainText(part: unknown): part is JsonObject {
  return (
    isObject(part) &&
    typeof part['text'] === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  )
}

/** Assignment that cannot reach the prototype, whatever the name. */
function define(target: Mutable, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

/** `usageMetadata` in the program's own names; null if the gateway sent none. */
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

/**
 * The arguments of a function call that arrive in pieces, `functionCall.partialArgs[]`: each names a JSON path and adds
 * a value, or the next part of a string, there (recorded from Vertex; wire notes, "Part kinds").
 */
export function createPartialArguments() {
  const root: Record<string, unknown> = {}
  return {
    add(partialArgs: unknown) {
      for (const piece of objectsOf(partialArgs)) {
        const path = parsePath(stringOf(piece['jsonPath']) ?? '')
        if (path !== undefined) setAt(root, path, piece)
      }
    },
    get value(): unknown {
      return root
    },
  }
}

/** The steps of a path such as `$.items[0]['a b'].name`; undefined for anything else, and for what exceeds the limits. */
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
  let at: Record<string, unknown> = root
  for (const [index, step] of path.slice(0, -1).entries()) {
    if (Array.isArray(at) && typeof step === 'string') return
    const child = Object.hasOwn(at, step) ? at[step] : undefined
    if (isObject(child) || Array.isArray(child)) at = child as Record<string, unknown>
    else at = at[step] = (typeof path[index + 1] === 'number' ? [] : {}) as Record<string, unknown>
  }
  const last = path.at(-1)!
  // A name in an array would be its `length` at best.
  if (Array.isArray(at) && typeof last === 'string') return
  const before = Object.hasOwn(at, last) ? at[last] : undefined
  const text = stringOf(piece['stringValue'])
  if (text !== undefined) at[last] = typeof before === 'string' ? before + text : text
  else if ('numberValue' in piece) at[last] = piece['numberValue']
  else if ('boolValue' in piece) at[last] = piece['boolValue']
  else if ('nullValue' in piece) at[last] = null
}

const details = String.raw`\[\{"modality":"[A-Z]*","tokenCount":${count}\}\]`
const usageFields = [
  String.raw`"promptTokenCount":${count}(?:,"candidatesTokenCount":${count})?,"totalTokenCount":${count}`,
  String.raw`(?:,"cachedContentTokenCount":${count})?(?:,"trafficType":"[A-Z_]*")?(?:,"promptTokensDetails":${details})?`,
  String.raw`(?:,"candidatesTokensDetails":${details})?(?:,"thoughtsTokenCount":${count})?`,
].join('')

/**
 * A chunk that says nothing but the next words of the first candidate, with the fields that gateways send with each in their
 * order. The groups are its text, and whether it has usage and an id.
 */
export const usualChunk = [
  String.raw`\{"candidates":\[\{"content":\{(?:"role":"model",)?"parts":\[\{"text":"(${characters})"\}\](?:,"role":"model")?\}`,
  String.raw`(?:,"index":0)?\}\](?:,"usageMetadata":\{${usageFields}\}())?,"modelVersion":${plainString}`,
  String.raw`(?:,"createTime":${plainString})?(?:,"responseId":${plainString}())?\}`,
].join('')

/** Whether two usual chunks have the same fields. */
export function hasSameFields(one: RegExpExecArray, other: RegExpExecArray): boolean {
  return one[2] === other[2] && one[3] === other[3]
}

/** The ratings that are told: of what was blocked, and of what may be harmful. */
export function notableRatings(ratings: unknown): JsonObject[] {
  return objectsOf(ratings).filter(
    ({ probability, blocked }) => blocked === true || probability === 'MEDIUM' || probability === 'HIGH',
  )
}
