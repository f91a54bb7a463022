import { isObject, type JsonObject } from '../json.ts'

/** What an error reply says, whatever envelope it came in. */
export interface ErrorBody {
  readonly message: string | undefined
  /** A word or number from `code`, `status`, `type` or `reason`, the most telling first. */
  readonly code: string | undefined
  readonly words: readonly string[]
  readonly param: string | undefined
  readonly requestId: string | undefined
  /** Seconds to wait, from `RetryInfo` or from the message. */
  readonly retryAfterS: number | undefined
}

/** More of a message helps nobody (fault C27). */
const shownCharacters = 4096

/**
 * Reads an error body in any of the shapes that gateways were seen to send (wire notes, "Envelopes"):
 * nested, flat, in an array, with a string or a boolean for `error`, HTML, plain text, or nothing.
 */
export function readErrorBody(text: string): ErrorBody {
  const trimmed = text.trim()
  if (trimmed.startsWith('<')) return plain(htmlTitle(trimmed))
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
  const raw = isObject(inner['metadata']) ? inner['metadata']['raw'] : undefined
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

function plain(message: string | undefined): ErrorBody {
  return {
    message,
    code: undefined,
    words: [],
    param: undefined,
    requestId: undefined,
    retryAfterS: undefined,
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

/** The title of an HTML page: the page itself says nothing to the user. */
function htmlTitle(html: string): string {
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
