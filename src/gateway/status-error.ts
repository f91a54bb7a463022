import { ContractError, ModelgateError, type ErrorCode, type ErrorFacts, type ExitName } from '../errors.ts'
import { checkUsage, errorCode, readErrorBody, type ErrorBody } from './reply-errors.ts'
import { changeContent, isContentRefusal } from './content-refusal.ts'
import { requestIdOf, type ReplyHeaders } from './exchange.ts'
import { refusedStatus, type RequestKind } from './retry.ts'

const badKeyWords = new Set([
  'api_key_invalid',
  'invalid_api_key',
  'api_key_expired',
  'invalid_authentication',
])
const badKeyMessage =
  /\b(incorrect|invalid|expired|missing|wrong|bad) api[ -]?key|api[ -]?key (not valid|is invalid|expired)/i
/** Error codes for a quota that waiting does not restore; Gemini's RESOURCE_EXHAUSTED is a rate limit. */
const spentQuotaWords = new Set([
  'insufficient_quota',
  'insufficient_user_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'credits_exhausted',
  'quota_exceeded',
])

const shouldRetryValues: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

const refusedContentStatus: ReadonlySet<number> = new Set([400, 403, 422, 451])

/** Turns an HTTP error into the error with the right exit code. Never called for 2xx. */
export function statusError(
  status: number,
  headers: ReplyHeaders,
  bodyText: string,
  kind: RequestKind,
  now: number,
): ModelgateError {
  const body = readErrorBody(bodyText)
  if (status < 200 || (status >= 300 && status < 400) || status > 599)
    return unexpectedStatus(status, headers)
  const exit = exitOf(status, body, kind)
  const retryAfterS = waitHint(headers, body.retryAfterS, now)
  const requestId = requestIdOf(headers) ?? body.requestId
  const facts: ErrorFacts = {
    phase: 'reply',
    httpStatus: status,
    billed: exit === 'unknown' ? 'maybe' : 'no',
    requestId,
    retryAfterS,
    shouldRetry: shouldRetryValues.get(headers['x-should-retry'] ?? ''),
    hint: hintFor(exit, status, body, retryAfterS),
  }
  const code = codeOf(exit, body) ?? (`http_${status}` as const)
  return new ModelgateError(exit, code, `${headline(exit)} (HTTP ${status}${detail(body)}`, facts)
}

function exitOf(status: number, body: ErrorBody, kind: RequestKind): ExitName {
  const words = body.words.map((word) => word.toLowerCase())
  if (kind !== 'read' && isRefusedContent(status, body)) return 'failed'
  if (words.some((word) => spentQuotaWords.has(word)) || status === 402) return 'rejected'
  if (status === 401 || status === 403) return 'key'
  if (
    status === 400 &&
    (words.some((word) => badKeyWords.has(word)) || badKeyMessage.test(body.message ?? ''))
  )
    return 'key'
  // Relays answer 503 when no channel serves the model (wire notes, "Status codes"): waiting does not help.
  if (status === 503 && words.includes('model_not_found')) return 'rejected'
  if (refusedStatus.has(status)) return 'later'
  if (status === 501 || status < 500) return 'rejected'
  return kind === 'read' ? 'later' : 'unknown'
}

function codeOf(exit: ExitName, { code, words }: ErrorBody): ErrorCode | undefined {
  if (exit === 'failed') {
    return errorCode(words.find((word) => isContentRefusal({ words: [word] }))) ?? 'content_refused'
  }
  return errorCode(code) ?? (exit === 'key' ? 'key_refused' : undefined)
}

/**
 * Whether the content was refused, whichever status tells it. A code says so with any status, since relays change them;
 * the message only with those that are in use for it.
 */
function isRefusedContent(status: number, { message, words }: ErrorBody): boolean {
  return isContentRefusal({ message: refusedContentStatus.has(status) ? message : undefined, words })
}

function headline(exit: ExitName): string {
  if (exit === 'key') return 'The gateway refused the key'
  if (exit === 'later') return 'The gateway cannot answer now'
  if (exit === 'rejected') return 'The gateway rejected the request'
  if (exit === 'failed') return 'The gateway refused the content'
  return 'The gateway failed, but may have done the work anyway'
}

function detail({ message, param }: ErrorBody): string {
  if (message === undefined) return ').'
  const about = param === undefined || message.includes(param) ? '' : ` [${param}]`
  return `): ${message}${about}`
}

function hintFor(
  exit: ExitName,
  status: number,
  body: ErrorBody,
  retryAfterS: number | undefined,
): string | undefined {
  if (exit === 'key') return 'Check the key and what it may be used for (MODELGATE_API_KEY, --api-key-file).'
  if (exit === 'later')
    return `Run it again ${retryAfterS === undefined ? 'later' : `in ${Math.ceil(retryAfterS)} s`}.`
  if (exit === 'unknown') return `${checkUsage}.`
  if (exit === 'failed') return changeContent
  if (status === 413) return 'Send less: a shorter prompt or smaller attachments.'
  if (status !== 404) return undefined
  const missing = fieldNotFound(body)
  if (missing !== undefined) return `Check ${missing}: the gateway does not find what it names.`
  const isRoute = /invalid url|not found|no route/i.test(body.message ?? 'not found')
  return isRoute ? 'Check the model (-m) and the base URL (--base-url).' : undefined
}

/** The field whose value the gateway does not find, unless it is the model. */
function fieldNotFound({ param, words, message = '' }: ErrorBody): string | undefined {
  if (param !== undefined && /^[\w.[\]-]{1,60}$/.test(param)) return param === 'model' ? undefined : param
  const isPrevious = words.includes('previous_response_not_found') || /\bprevious response\b/i.test(message)
  return isPrevious ? 'previous_response_id' : undefined
}

function unexpectedStatus(status: number, headers: ReplyHeaders): ContractError {
  if (status < 300 || status >= 400)
    return new ContractError('reply_not_understood', `The gateway answered with HTTP ${status}.`, {
      httpStatus: status,
    })
  const target = originOf(headers['location'])
  const message = `The gateway answered with a redirect (HTTP ${status}) to ${target}; it is not followed, so that neither key nor prompt goes elsewhere.`
  const hint = 'Set the address it points to as the base URL (--base-url), if you trust it.'
  return new ContractError('reply_not_understood', message, { httpStatus: status, billed: 'no', hint })
}

function originOf(location: string | undefined): string {
  if (location === undefined) return 'nowhere'
  return URL.canParse(location) ? new URL(location).origin : 'the same host'
}

/** How long the gateway asks to wait, in seconds; undefined when it does not say, or nothing sensible. */
export function waitHint(
  headers: ReplyHeaders,
  bodySeconds: number | undefined,
  now: number,
): number | undefined {
  return milliseconds(headers['retry-after-ms']) ?? retryAfter(headers, now) ?? bodySeconds
}

function milliseconds(text: string | undefined): number | undefined {
  const value = plainNumber(text)
  return value === undefined ? undefined : value / 1000
}

/** `Retry-After` in seconds or as an HTTP date; a date counts from the reply's own `Date`, whatever the clock here says. */
function retryAfter(headers: ReplyHeaders, now: number): number | undefined {
  const text = headers['retry-after']
  const seconds = plainNumber(text)
  if (seconds !== undefined) return seconds
  const until = httpDate(text)
  if (until === undefined) return undefined
  return Math.max(0, until - (httpDate(headers['date']) ?? now)) / 1000
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}

/** A date in any of HTTP's three forms. That of C, `Thu Jan  1 00:00:30 2026`, does not say that it is in UTC. */
function httpDate(text: string | undefined): number | undefined {
  // Only what looks like a date: Date.parse reads a year out of "-5".
  const isDate = text !== undefined && /^\w{3,9},? /.test(text.trim())
  const time = isDate ? Date.parse(text.includes(',') ? text : `${text} UTC`) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
