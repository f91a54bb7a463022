import type { JobKind } from '../../contract/video-event.ts'
import { ModelgateError } from '../../errors.ts'
import { isObject, type JsonObject } from '../json-access.ts'
import { idsIn, jobObject } from './job-fields.ts'
import { readJob } from './read-job.ts'

/** The part of a JSON object that came whole, when it names a job. */
export interface ReplyBeginning {
  readonly value: JsonObject
  readonly text: string
}

/** The job that a reply names, whole or only begun; undefined when it names none as far as it goes. */
export function jobInBeginning(
  beginning: string,
  asked: JobKind,
): { readonly id: string; readonly kind: JobKind } | undefined {
  const found = readBeginning(beginning)
  if (found === undefined) return undefined
  try {
    const reply = { headers: {}, requestId: null, status: 200, now: 0 }
    const { id, kind } = readJob(found.value, { kind: asked }, reply)
    return { id, kind }
  } catch (error) {
    if (error instanceof ModelgateError) return undefined
    throw error
  }
}

/** The object with which a reply begins, as far as it has come; undefined when no job is named in that. */
export function readBeginning(beginning: string): ReplyBeginning | undefined {
  const start = beginning.indexOf('{')
  const text = start === -1 ? '' : closeJson(beginning.slice(start))
  try {
    const value = withWholeIds(JSON.parse(text), text)
    return isObject(value) && idsIn(jobObject(value)).length > 0 ? { value, text } : undefined
  } catch {
    return undefined
  }
}

/** The same value with those ids as texts that are larger numbers than can be held. */
export function withWholeIds(value: unknown, text: string): unknown {
  if (!/\d{16}/.test(text)) return value
  const keep = (field: string, found: unknown, { source }: { readonly source?: string }) =>
    Number.isInteger(found) && !Number.isSafeInteger(found) && /(^|_)id$|Id$/.test(field) ? source : found
  return JSON.parse(text, keep as (field: string, found: unknown) => unknown)
}

/** A JSON object that breaks off, closed after the last value that came whole; the object alone when more follows. */
function closeJson(text: string): string {
  /** What closes the objects and lists that are open, the innermost first. */
  let closers = ''
  let closed = ''
  let isKey = false
  const keep = (end: number) => (closed = text.slice(0, end) + closers)
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    switch (character) {
      case '"': {
        const end = endOfString(text, at)
        if (end === -1) return closed
        at = end
        if (!isKey) keep(end + 1)
        break
      }
      case '{':
      case '[':
        closers = (character === '{' ? '}' : ']') + closers
        isKey = character === '{'
        break
      case '}':
      case ']':
        closers = closers.slice(1)
        keep(at + 1)
        if (closers === '') return closed
        break
      case ',':
        // A number or a word ends only here.
        keep(at)
        isKey = closers.startsWith('}')
        break
      case ':':
        isKey = false
    }
  }
  return closed
}

/** The quote that ends the string that begins at another; -1 when there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at
    if (text[at] === '\\') at++
  }
  return -1
}
