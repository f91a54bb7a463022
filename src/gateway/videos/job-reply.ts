import { jobReplyBeginningBytes, maxJobReplyBytes } from '../../contract/limits.ts'
import { ContractError, ModelgateError } from '../../errors.ts'
import { createMessageReader } from '../events/message-reader.ts'
import { stalledError } from '../events/reader-errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { Gateway, GatewayReply } from '../gateway.ts'
import { createProgressBudget } from '../progress-budget.ts'
import { brokenError } from '../send-request.ts'
import type { RequestKind } from '../status-error.ts'
import type { JobKind } from '../../events/video.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { idsIn, jobObject } from './job-fields.ts'
import { readJob } from './read-job.ts'

const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13)

/** A reply as a value, and as it was written. */
interface JobReply {
  readonly value: unknown
  readonly text: string
}

/**
 * Reads the one JSON value of a reply, whole.
 * @throws ContractError for what is no JSON, HTML, and more than the limit; ModelgateError for a reply that is cut,
 *   unless it tells the name of a new job and is cut only after that
 */
export async function readJobReply(
  { clock, limits }: Pick<Gateway, 'clock' | 'limits'>,
  reply: GatewayReply,
  kind: RequestKind,
): Promise<JobReply> {
  const values: JobReply[] = []
  let beginning = ''
  const onMessage = (value: unknown, text: string) =>
    values.push({ value: kind === 'create' ? withWholeIds(value, text) : value, text })
  const reader = createMessageReader({ onMessage }, maxJobReplyBytes)
  let stall: ModelgateError | undefined
  const progress = createProgressBudget(clock, limits.progress, {
    onStall() {
      stall = stalledError((limits.progress ?? 0) / 1000)
      reply.close()
    },
  })
  let pending = 0
  try {
    for await (const chunk of reply.body) {
      const missing = jobReplyBeginningBytes - beginning.length
      if (missing > 0) beginning += Buffer.from(chunk.subarray(0, missing)).toString('latin1')
      reader.push(chunk)
      // Blanks are keep-alives, and no progress.
      if (!chunk.every(isBlank)) progress.received(Math.max(0, reader.pending - pending))
      pending = reader.pending
      if (reader.done) break
    }
    if (stall !== undefined) throw stall
    reader.end()
  } catch (error) {
    // Whatever the rest of the message was to be: a job that is paid for must not lose its name.
    const isCut = error instanceof ExchangeError
    const isShort = isCut || error === stall || isTruncation(error)
    if (kind === 'create' && isShort && values.length === 0) {
      const begun = readBeginning(Buffer.from(beginning, 'latin1').toString())
      if (begun !== undefined) values.push(begun)
    }
    const isEnough = kind === 'create' && isShort && values.length > 0
    if (!isEnough) throw isCut ? brokenError(error, kind) : error
  } finally {
    progress.stop()
    reply.close()
  }
  const [first] = values
  if (first !== undefined) return first
  throw new ContractError('reply_not_understood', 'The reply holds no JSON.')
}

function isTruncation(error: unknown): boolean {
  return error instanceof ModelgateError && error.code === 'stream_truncated'
}

/** The part of a JSON object that came whole, when it names a job. */
interface ReplyBeginning {
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
function readBeginning(beginning: string): ReplyBeginning | undefined {
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
function withWholeIds(value: unknown, text: string): unknown {
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
