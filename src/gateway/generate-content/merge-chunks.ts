import { isObject, objectsOf, type JsonObject } from '../json-access.ts'

/** Joins the chunks of a stream into the one object that a reply without streaming would have been. */
export interface ChunkMerger {
  add(chunk: JsonObject): void
  readonly value: unknown
}

type Mutable = Record<string, unknown>

/** Candidates are joined by index and their parts appended; of every other field the last value stays. */
export function createChunkMerger(): ChunkMerger {
  const merged: Mutable = {}
  const candidates = new Map<unknown, Mutable>()
  return {
    add(chunk) {
      for (const [name, value] of Object.entries(chunk)) {
        if (name === 'candidates') mergeCandidates(candidates, value)
        else define(merged, name, value)
      }
    },
    get value() {
      return candidates.size === 0 ? merged : { candidates: [...candidates.values()], ...merged }
    },
  }
}

function mergeCandidates(candidates: Map<unknown, Mutable>, value: unknown): void {
  for (const candidate of objectsOf(value)) {
    const index = candidate['index'] ?? 0
    const known = candidates.get(index) ?? {}
    candidates.set(index, known)
    for (const [name, field] of Object.entries(candidate)) {
      if (name === 'content' && isObject(field)) define(known, name, mergeContent(known['content'], field))
      else define(known, name, field)
    }
  }
}

function mergeContent(before: unknown, content: JsonObject): JsonObject {
  const parts = Array.isArray(content['parts']) ? (content['parts'] as unknown[]) : undefined
  if (!isObject(before)) return parts === undefined ? content : { ...content, parts: [...parts] }
  const known = Array.isArray(before['parts']) ? (before['parts'] as unknown[]) : []
  for (const part of parts ?? []) appendPart(known, part)
  return { ...before, ...content, parts: known }
}

/** Two texts of one kind that follow each other become one part. */
function appendPart(parts: unknown[], part: unknown): void {
  const last = parts.at(-1)
  if (isPlainText(last) && isPlainText(part) && last['thought'] === part['thought']) {
    parts[parts.length - 1] = { ...last, text: `${last['text'] as string}${part['text'] as string}` }
  } else parts.push(part)
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
