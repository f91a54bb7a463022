import { asErrorCode, ContractError, GenerationError, ModelgateError, type ErrorCode } from '../errors.ts'
import { isObject, listOf, objectOf, type JsonObject } from '../json.ts'
import { changeContent, isContentRefusal } from './content-refusal.ts'

/** An error in a reply, whatever its envelope. */
export interface ErrorBody {
  readonly message: string | undefined
  /** The most specific code. */
  readonly code: string | undefined
  /** Words and numbers from `code`, `status`, `type`, `reason` and `blockReason`. */
  readonly words: readonly string[]
  readonly param: string | undefined
  readonly requestId: string | undefined
  /** Seconds to wait, from `RetryInfo` or from the message. */
  readonly retryAfterS: number | undefined
}

/** Longer messages are cut (fault C27). */
const shownCharacters = 4096

/**
 * Reads an error body in any of the shapes that gateways were seen to send (wire notes, "Envelopes"):
 * nested, flat, in an array, with a string or a boolean for `error`, HTML, plain text, or nothing.
 */
export function readErrorBody(text: string): ErrorBody {
  const trimmed = text.trim()
  if (trimmed.startsWith('<')) return plain(htmlPage(trimmed))
  let value: unknown
  try {
    value = JSON.parse(trimmed)
  } catch {
    return plain(trimmed === '' ? undefined : firstLine(trimmed))
  }
  return readErrorValue(value)
}

/** The same for a value that is already parsed, such as an event in a stream. */
export function readErrorValue(value: unknown): ErrorBody {
  const outer = Array.isArray(value) ? (value as unknown[])[0] : value
  if (!isObject(outer)) return plain(typeof outer === 'string' ? firstLine(outer) : undefined)
  const inner = isObject(outer['error']) ? outer['error'] : outer
  const details = Array.isArray(inner['details']) ? inner['details'].filter(isObject) : []
  const metadata = objectOf(inner['metadata'])
  const raw = metadata['raw']
  const message =
    text(inner['message']) ??
    text(outer['error']) ??
    text(outer['message']) ??
    text(outer['msg']) ??
    text(outer['detail']) ??
    listText(outer['detail']) ??
    listText(outer['errors'])
  const reasons = details.map((detail) => text(detail['reason']))
  const words = [
    ...reasons,
    word(inner['code']),
    word(inner['status']),
    word(inner['type']),
    word(outer['code']),
    text(objectOf(inner['innererror'])['code']),
    // Routers name why they flagged an input beside an error that is else that of a key.
    ...(listOf(metadata['reasons']).length > 0 || metadata['flagged_input'] !== undefined
      ? ['content_blocked']
      : []),
    blockReason(objectOf(outer['promptFeedback'])) ?? blockReason(inner) ?? blockReason(outer),
  ]
  const known = words.filter((entry): entry is string => entry !== undefined && entry !== 'error')
  return {
    message: [message, text(raw)].filter(Boolean).join(': ').slice(0, shownCharacters) || undefined,
    code: known.find((entry) => !/^\d+$/.test(entry)) ?? known[0],
    words: known,
    param: text(inner['param']),
    requestId: text(inner['request_id']) ?? text(outer['request_id']) ?? requestIdIn(message),
    retryAfterS: retryInfo(details) ?? retryIn(message),
  }
}

/** Why a prompt was blocked, under the name of the content-generation style. */
function blockReason(value: JsonObject): string | undefined {
  return text(value['blockReason'])
}

const nothing: ErrorBody = {
  message: undefined,
  code: undefined,
  words: [],
  param: undefined,
  requestId: undefined,
  retryAfterS: undefined,
}

function plain(message: string | undefined): ErrorBody {
  return { ...nothing, message }
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

/** Names an HTML page by its title; the rest of it does not help the user. */
function htmlPage(html: string): string {
  const title = /<title[^>]*>([^<]*)/i.exec(html)?.[1]?.replaceAll(/\s+/g, ' ').trim()
  return title ? `an HTML page, "${title.slice(0, 200)}"` : 'an HTML page'
}

function firstLine(content: string): string {
  return content.split(/\r?\n/, 1)[0]!.slice(0, 400)
}

/** google.rpc.RetryInfo: `{"retryDelay": "48.9s"}`. */
function retryInfo(details: readonly JsonObject[]): number | undefined {
  const delay = details.map((detail) => text(detail['retryDelay'])).find((entry) => entry !== undefined)
  const seconds = delay === undefined ? undefined : /^(\d{1,15}(?:\.\d+)?)s$/.exec(delay)?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}

/** "Please retry in 48.9s" (recorded), for relays that drop the details. */
function retryIn(message: string | undefined): number | undefined {
  const seconds = message === undefined ? undefined : /retry in (\d{1,9}(?:\.\d+)?)s\b/i.exec(message)?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}

/** new-api ends its messages with "(request id: …)". */
function requestIdIn(message: string | undefined): string | undefined {
  return message === undefined ? undefined : /\(request id: ([\w-]{4,80})\)/i.exec(message)?.[1]
}

/** An error code of the gateway as one of ours, in snake_case; undefined for one of digits alone, which says nothing. */
export function errorCode(code: string | undefined): ErrorCode | undefined {
  const word = code
    ?.toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return word && /[a-z]/.test(word.slice(0, 60)) ? asErrorCode(word.slice(0, 60)) : undefined
}

/**
 * An error inside a reply whose HTTP status said nothing of it: an error object or event, nested or flat.
 * @param value the object that holds it
 */
export function replyError(value: unknown): GenerationError {
  const body = readErrorValue(value)
  const { message, code } = body
  const text = `The gateway reported an error: ${message ?? code ?? 'no reason given'}`
  const hint = isContentRefusal(body) ? changeContent : undefined
  return new GenerationError(errorCode(code) ?? 'error_in_reply', text, { phase: 'stream', hint })
}

/** Relays write a failure as `data: plain text` (quirk 9). */
export function plainFailure(text: string): GenerationError {
  return new GenerationError('generation_failed', `The gateway aborted the reply: ${text.slice(0, 400)}`)
}

/** How much of an HTML page is read to find its title. */
export const htmlHeadLength = 4096

/** The reply came from a proxy or a web site. */
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

/** The beginning of the hint for an unknown outcome. */
export const checkUsage = 'Check your usage before you run it again'

/** The body ended normally, but too early: inside a message, or before the end of the generation. */
export function truncated(message = 'The reply was cut off in the middle.'): ModelgateError {
  const hint = `${checkUsage}.`
  return new ModelgateError('unknown', 'connection_lost', message, {
    phase: 'stream',
    billed: 'maybe',
    hint,
  })
}

/** Only keep-alives have come for this long, or next to nothing. */
export function stalledError(seconds: number): ModelgateError {
  return new ModelgateError('unknown', 'timeout', `The reply made no progress for ${seconds} s.`, {
    phase: 'stream',
    billed: 'maybe',
    hint: 'Allow more time with --progress-timeout.',
  })
}
