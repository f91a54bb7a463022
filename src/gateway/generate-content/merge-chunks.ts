import { createGrowingText, type GrowingText } from '../../files/growing-text.ts'
import { isObject, objectsOf, type JsonObject } from '../json-access.ts'

/** Joins the chunks of a stream into the one object that a reply without streaming would have been. */
export interface ChunkMerger {
  add(chunk: JsonObject): void
  readonly value: unknown
}

type Mutable = Record<string, unknown>

/** A text part that may go on. */
interface OpenPart {
  readonly part: JsonObject
  readonly text: GrowingText
}

/** Candidates are joined by index and their parts appended; of every other field the last value stays. */
export function createChunkMerger(): ChunkMerger {
  const merged: Mutable = {}
  const candidates = new Map<unknown, Mutable>()
  /** The last part of a candidate, by its list of parts, where that is a text. */
  const open = new Map<unknown[], OpenPart>()
  return {
    add(chunk) {
      for (const [name, value] of Object.entries(chunk)) {
        if (name === 'candidates') mergeCandidates(candidates, value, open)
        else define(merged, name, value)
      }
    },
    get value() {
      for (const [parts, last] of open) parts[parts.length - 1] = { ...last.part, text: last.text.toString() }
      return candidates.size === 0 ? merged : { candidates: [...candidates.values()], ...merged }
    },
  }
}

function mergeCandidates(
  candidates: Map<unknown, Mutable>,
  value: unknown,
  open: Map<unknown[], OpenPart>,
): void {
  for (const candidate of objectsOf(value)) {
    const index = candidate['index'] ?? 0
    const known = candidates.get(index) ?? {}
    candidates.set(index, known)
    for (const [name, field] of Object.entries(candidate)) {
      if (name === 'content' && isObject(field))
        define(known, name, mergeContent(known['content'], field, open))
      else define(known, name, field)
    }
  }
}

function mergeContent(before: unknown, content: JsonObject, open: Map<unknown[], OpenPart>): JsonObject {
  const parts = Array.isArray(content['parts']) ? (content['parts'] as unknown[]) : undefined
  if (!isObject(before)) return parts === undefined ? content : { ...content, parts: [...parts] }
  const known = Array.isArray(before['parts']) ? (before['parts'] as unknown[]) : []
  for (const part of parts ?? []) appendPart(known, part, open)
  return { ...before, ...content, parts: known }
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
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}
