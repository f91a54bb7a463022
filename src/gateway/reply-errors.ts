import { asErrorCode, ContractError, GenerationError, ModelgateError, type ErrorCode } from '../errors.ts'
import { isObject, listOf, objectOf, objectsOf, tryJson, type JsonObject } from '../json.ts'

export interface ErrorBody {
  readonly message?: string | undefined
  readonly code?: string | undefined
  /** Words and numbers from `code`, `status`, `type`, `reason` and `blockReason`. */
  readonly words: readonly string[]
  readonly param?: string | undefined
  readonly requestId?: string | undefined
  /** Seconds to wait, from `RetryInfo` or from the message. */
  readonly retryAfterS?: number | undefined
}

/** Longer messages are cut (fault C27). */
const shownCharacters = 4096

/** Reads an error in any of the shapes that gateways were seen to send (wire notes, "Envelopes"), HTML and text too. */
export function readErrorBody(text: string): ErrorBody {
  const trimmed = text.trim()
  if (trimmed.startsWith('<')) return { message: htmlPage(trimmed), words: [] }
  const value = tryJson(trimmed)
  if (value !== undefined) return readErrorValue(value)
  return { message: trimmed === '' ? undefined : firstLine(trimmed), words: [] }
}

export function readErrorValue(value: unknown): ErrorBody {
  const outer = Array.isArray(value) ? (value as unknown[])[0] : value
  if (!isObject(outer))
    return { message: typeof outer === 'string' ? firstLine(outer) : undefined, words: [] }
  const inner = isObject(outer['error']) ? outer['error'] : outer
  const details = objectsOf(inner['details'])
  const metadata = objectOf(inner['metadata'])
  const messages = [inner['message'], outer['error'], outer['message'], outer['msg'], outer['detail']]
  const message =
    messages.map(text).find((found) => found !== undefined) ??
    listText(outer['detail']) ??
    listText(outer['errors'])
  const words = [
    ...details.map((detail) => text(detail['reason'])),
    word(inner['code']),
    word(inner['status']),
    word(inner['type']),
    word(outer['code']),
    text(objectOf(inner['innererror'])['code']),
    // Routers name why they flagged an input beside an error that is else that of a key.
    ...(listOf(metadata['reasons']).length > 0 || metadata['flagged_input'] !== undefined
      ? ['content_blocked']
      : []),
    text(objectOf(outer['promptFeedback'])['blockReason']) ??
      text(inner['blockReason']) ??
      text(outer['blockReason']),
  ]
  const known = words.filter((entry): entry is string => entry !== undefined && entry !== 'error')
  return {
    message:
      [message, text(metadata['raw'])].filter(Boolean).join(': ').slice(0, shownCharacters) || undefined,
    code: known.find((entry) => !/^\d+$/.test(entry)) ?? known[0],
    words: known,
    param: text(inner['param']),
    requestId:
      text(inner['request_id']) ??
      text(outer['request_id']) ??
      // new-api ends its messages so.
      /\(request id: ([\w-]{4,80})\)/i.exec(message ?? '')?.[1],
    // Relays drop the details, but not "Please retry in 48.9s" (recorded).
    retryAfterS: retryInfo(details) ?? secondsIn(message, /retry in (\d{1,9}(?:\.\d+)?)s\b/i),
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function word(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : text(value)
}

function listText(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  const lines = value.map(
    (entry) => text(entry) ?? (isObject(entry) ? (text(entry['message']) ?? text(entry['msg'])) : undefined),
  )
  return lines.filter(Boolean).join('; ') || undefined
}

function firstLine(content: string): string {
  return content.split(/\r?\n/, 1)[0]!.slice(0, 400)
}

/** google.rpc.RetryInfo: `{"retryDelay": "48.9s"}`. */
function retryInfo(details: readonly JsonObject[]): number | undefined {
  const delay = details.map((detail) => text(detail['retryDelay'])).find((entry) => entry !== undefined)
  return secondsIn(delay, /^(\d{1,15}(?:\.\d+)?)s$/)
}

function secondsIn(text: string | undefined, pattern: RegExp): number | undefined {
  const seconds = pattern.exec(text ?? '')?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}

/** An error code of the gateway as one of ours, in snake_case; undefined for one of digits alone, which says nothing. */
export function errorCode(code: string | undefined): ErrorCode | undefined {
  const word = code
    ?.toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return word && /[a-z]/.test(word.slice(0, 60)) ? asErrorCode(word.slice(0, 60)) : undefined
}

function htmlPage(html: string): string {
  const title = /<title[^>]*>([^<]*)/i.exec(html)?.[1]?.replaceAll(/\s+/g, ' ').trim()
  return title ? `an HTML page, "${title.slice(0, 200)}"` : 'an HTML page'
}

/** Relays write a failure as `data: plain text` (quirk 9). */
export function plainFailure(text: string): GenerationError {
  return new GenerationError('generation_failed', `The gateway aborted the reply: ${text.slice(0, 400)}`)
}

export function htmlReply(text: string): ContractError {
  return new ContractError('reply_not_understood', `The gateway answered with ${htmlPage(text)}.`, {
    hint: 'Check the base URL (--base-url): a proxy or a web site answers there.',
  })
}

export function tooLarge(limit: number): ContractError {
  const message = `A single message of the reply is larger than ${Math.round(limit / 1_048_576)} MiB.`
  return new ContractError('reply_too_large', message)
}

/** The lines of data of one event: a message of the greatest size with a line for every few words has fewer. */
export const maxEventLines = 4 * 1024 ** 2

export function tooManyLines(): ContractError {
  const message = `A single event of the reply has more than ${maxEventLines} lines of data.`
  return new ContractError('reply_too_large', message)
}

/** The content is left out: error messages show no prompt or reply (fault S15). */
export function malformed(): ContractError {
  return new ContractError('reply_not_understood', 'A message of the reply is not valid JSON.')
}

export const checkUsage = 'Check your usage before you run it again'

/** The body ended normally, but too early: inside a message, or before the end of the generation. */
export function truncated(message = 'The reply was cut off in the middle.'): ModelgateError {
  const facts = { phase: 'stream', billed: 'maybe', hint: `${checkUsage}.` } as const
  return new ModelgateError('unknown', 'connection_lost', message, facts)
}

export function stalledError(seconds: number): ModelgateError {
  const hint = 'Allow more time with --progress-timeout.'
  const facts = { phase: 'stream', billed: 'maybe', hint } as const
  return new ModelgateError('unknown', 'timeout', `The reply made no progress for ${seconds} s.`, facts)
}
