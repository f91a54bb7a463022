import { ModelgateError } from '../../errors.ts'
import type { JobKind } from '../../events/video.ts'
import { jobReplyBeginningBytes } from '../../files/jobs/job-folder.ts'
import { isObject } from '../../json.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { requestJson, type JsonText } from '../request-json.ts'
import { idsIn, jobObject, type JobReport } from './job-fields.ts'
import { readJob, type AskedJob } from './read-job.ts'

/** An operation may hold its videos as base64. */
const maxJobReplyBytes = 256 * 1024 ** 2

/**
 * Sends a request that starts a job or looks one up, and reads the reply. A job that is paid for must not lose its id:
 * of a cut reply to a new one, the beginning is read.
 * @throws what `requestJson` and `readJob` throw
 */
export async function requestJob(
  gateway: Gateway,
  request: GatewayRequest,
  asked: AskedJob,
): Promise<JobReport> {
  const isNew = request.kind === 'create'
  let isCut = false
  const recover = {
    maxBytes: jobReplyBeginningBytes,
    read(beginning: string) {
      const found = readBeginning(beginning)
      isCut = found !== undefined && !beginning.includes(found.text)
      return found
    },
  }
  const reply = await requestJson(gateway, request, {
    maxLength: maxJobReplyBytes,
    recover: isNew ? recover : undefined,
  })
  const value = isNew ? withWholeIds(reply.value, reply.text) : reply.value
  return { ...readJob(value, asked, { ...reply, now: gateway.clock.now() }), isCut }
}

/** The job that a whole or cut reply names; undefined when it names none. */
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

/** The object that a reply begins with, as far as it has come; undefined when that names no job. */
function readBeginning(beginning: string): JsonText | undefined {
  const start = beginning.indexOf('{')
  const text = start === -1 ? '' : closeJson(beginning.slice(start))
  try {
    const value = withWholeIds(JSON.parse(text), text)
    return isObject(value) && idsIn(jobObject(value)).length > 0 ? { value, text } : undefined
  } catch {
    return undefined
  }
}

/** The same value, with ids that are too large for a JavaScript number as texts. */
function withWholeIds(value: unknown, text: string): unknown {
  if (!/\d{16}/.test(text)) return value
  const keep = (field: string, found: unknown, { source }: { readonly source?: string }) =>
    Number.isInteger(found) && !Number.isSafeInteger(found) && /(^|_)id$|Id$/.test(field) ? source : found
  return JSON.parse(text, keep as (field: string, found: unknown) => unknown)
}

/** A cut JSON object, closed after the last value that came whole; the object alone when more follows. */
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
        // Only here is it certain that a number or a word has ended.
        keep(at)
        isKey = closers.startsWith('}')
        break
      case ':':
        isKey = false
    }
  }
  return closed
}

/** The index of the quote that closes a string; -1 when there is none. @param start of the opening quote */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at
    if (text[at] === '\\') at++
  }
  return -1
}
