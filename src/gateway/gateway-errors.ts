import {
  ContractError,
  FileError,
  GenerationError,
  ModelgateError,
  type ErrorCode,
  type ExitName,
} from '../errors.ts'
import { errorCode, readErrorBody, readErrorValue, type ErrorBody, checkUsage } from './reply-errors.ts'
import type { ExchangeError, ExchangeFault } from './exchange-error.ts'
import { requestIdOf, type ReplyHeaders } from './exchange.ts'
import { refusedStatus, waitHint, type RequestKind } from './retry.ts'

/** Error codes for a prompt, a picture or an answer that was refused for its content. */
const refusedContentWords = new RegExp(
  `^(?:${[
    'content_(?:blocked|filter|filtered|moderation|policy|refused)',
    '(?:(?:image_)?content_)?policy_violation|responsibleaipolicyviolation',
    '(?:image_)?(?:prohibited_content|safety)|(?:moderation|prompt)_blocked|sensitive_words_detected',
    'data_?inspection_?failed|blocklist|jailbreak|model_armor|spii',
  ].join('|')})$`,
  'i',
)
/** The same in words, for gateways that give no code of their own. */
const refusedContentMessage =
  /\b(safety (system|reasons)|content (management |filtering |safety )?polic(y|ies)|usage (guidelines|polic(y|ies))|responsible ai|prohibited (content|use policy)|(blocked|rejected|refused) by [^.]{0,40}(safety|moderation|content filter)|sensitive words?\b|flagged (as|by|for))/i
const badKeyWords = /^(?:api_key_(?:invalid|expired)|invalid_(?:api_key|authentication))$/i
const badKeyMessage =
  /\b(incorrect|invalid|expired|missing|wrong|bad) api[ -]?key|api[ -]?key (not valid|is invalid|expired)/i
/** Error codes for a quota that waiting does not restore; Gemini's RESOURCE_EXHAUSTED is a rate limit. */
const spentQuotaWords =
  /^(?:insufficient_(?:user_)?quota|billing_(?:hard_limit_reached|not_active)|credits_exhausted|quota_exceeded)$/i

type ReplyExit = Extract<ExitName, 'failed' | 'rejected' | 'key' | 'later' | 'unknown'>

/** What an error reply means; of what is left out, anything fits. */
interface Rule {
  readonly exit: ReplyExit
  readonly of?: 'creating' | 'reading'
  readonly status?: readonly number[] | ((status: number) => boolean)
  readonly words?: RegExp
  readonly message?: RegExp
}

/** The first that fits decides. Relays change statuses, so that codes come first. */
const rules: readonly Rule[] = [
  { exit: 'failed', of: 'creating', words: refusedContentWords },
  { exit: 'failed', of: 'creating', status: [400, 403, 422, 451], message: refusedContentMessage },
  { exit: 'rejected', words: spentQuotaWords },
  { exit: 'rejected', status: [402] },
  { exit: 'key', status: [401, 403] },
  { exit: 'key', status: [400], words: badKeyWords },
  { exit: 'key', status: [400], message: badKeyMessage },
  // Relays answer so when no channel serves the model (wire notes, "Status codes"): waiting does not help.
  { exit: 'rejected', status: [503], words: /^model_not_found$/i },
  { exit: 'later', status: (status) => refusedStatus.has(status) },
  { exit: 'rejected', status: (status) => status < 500 || status === 501 },
  { exit: 'later', of: 'reading' },
  // The gateway failed, perhaps after the work was done.
  { exit: 'unknown' },
]

const changeContent = 'Change the prompt, or what is attached to it: the same request would be refused again.'

/** What is said of each: the beginning of the message, the code where the gateway sends none, the hint. */
const outcomes: Readonly<
  Record<ReplyExit, { readonly message: string; readonly code?: ErrorCode; readonly hint?: string }>
> = {
  failed: { message: 'The gateway refused the content', code: 'content_refused', hint: changeContent },
  rejected: { message: 'The gateway rejected the request' },
  key: {
    message: 'The gateway refused the key',
    code: 'key_refused',
    hint: 'Check the key and what it may be used for (MODELGATE_API_KEY, --api-key-file).',
  },
  later: { message: 'The gateway cannot answer now' },
  unknown: { message: 'The gateway failed, but may have done the work anyway', hint: `${checkUsage}.` },
}

function fits(rule: Rule, status: number, { message = '', words }: ErrorBody, kind: RequestKind): boolean {
  if (rule.of !== undefined && (rule.of === 'reading') !== (kind === 'read')) return false
  const { status: statuses } = rule
  if (typeof statuses === 'function' ? !statuses(status) : statuses?.includes(status) === false) return false
  if (rule.words !== undefined && !words.some((word) => rule.words!.test(word))) return false
  return rule.message === undefined || rule.message.test(message)
}

/** Turns an HTTP error into the error with the right exit code. Never called for 2xx. @param now milliseconds since 1970 */
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
  const { exit } = rules.find((rule) => fits(rule, status, body, kind))!
  const { message, code, hint } = outcomes[exit]
  const shouldRetry: string | undefined = headers['x-should-retry']
  const retryAfterS = waitHint(headers, body.retryAfterS, now)
  const when = retryAfterS === undefined ? 'later' : `in ${Math.ceil(retryAfterS)} s`
  const given = exit === 'failed' ? body.words.find((word) => refusedContentWords.test(word)) : body.code
  const named = errorCode(given) ?? code ?? (`http_${status}` as const)
  return new ModelgateError(exit, named, `${message} (HTTP ${status}${detail(body)}`, {
    phase: 'reply',
    httpStatus: status,
    billed: exit === 'unknown' ? 'maybe' : 'no',
    requestId: requestIdOf(headers) ?? body.requestId,
    retryAfterS,
    shouldRetry: shouldRetry === 'true' ? true : shouldRetry === 'false' ? false : undefined,
    hint: exit === 'later' ? `Run it again ${when}.` : (hint ?? correction(status, body)),
  })
}

/** An error in a reply whose HTTP status said nothing of it. @param value the object that holds it */
export function replyError(value: unknown): GenerationError {
  const body = readErrorValue(value)
  const { message, code } = body
  const text = `The gateway reported an error: ${message ?? code ?? 'no reason given'}`
  return new GenerationError(errorCode(code) ?? 'error_in_reply', text, {
    phase: 'stream',
    hint: refusalHint(body),
  })
}

/** Where an error says that the content was refused, not the request: a prompt, a picture, or what was made of them. */
export function refusalHint({ message = '', words }: ErrorBody): string | undefined {
  const isRefused =
    words.some((word) => refusedContentWords.test(word)) || refusedContentMessage.test(message)
  return isRefused ? changeContent : undefined
}

function detail({ message, param }: ErrorBody): string {
  if (message === undefined) return ').'
  const about = param === undefined || message.includes(param) ? '' : ` [${param}]`
  return `): ${message}${about}`
}

function correction(status: number, { param, words, message = '' }: ErrorBody): string | undefined {
  if (status === 413) return 'Send less: a shorter prompt or smaller attachments.'
  if (status !== 404) return undefined
  const isPrevious = words.includes('previous_response_not_found') || /\bprevious response\b/i.test(message)
  const isField = param !== undefined && /^[\w.[\]-]{1,60}$/.test(param)
  const missing = isField ? param : isPrevious ? 'previous_response_id' : 'model'
  if (missing !== 'model') return `Check ${missing}: the gateway does not find what it names.`
  const isRoute = message === '' || /invalid url|not found|no route/i.test(message)
  return isRoute ? 'Check the model (-m) and the base URL (--base-url).' : undefined
}

function unexpectedStatus(status: number, headers: ReplyHeaders): ContractError {
  if (status < 300 || status >= 400)
    return new ContractError('reply_not_understood', `The gateway answered with HTTP ${status}.`, {
      httpStatus: status,
    })
  const location: string | undefined = headers['location']
  const target = location === undefined ? 'nowhere' : (URL.parse(location)?.origin ?? 'the same host')
  const message = `The gateway answered with a redirect (HTTP ${status}) to ${target}; it is not followed, so that neither key nor prompt goes elsewhere.`
  const hint = 'Set the address it points to as the base URL (--base-url), if you trust it.'
  return new ContractError('reply_not_understood', message, { httpStatus: status, billed: 'no', hint })
}

const faults: Readonly<
  Partial<
    Record<ExchangeFault, { readonly notSent?: ErrorCode; readonly lost?: ErrorCode; readonly hint?: string }>
  >
> = {
  certificate: {
    notSent: 'not_sent_certificate',
    hint: 'Name the certificate authority with --ca-file or NODE_EXTRA_CA_CERTS.',
  },
  client_certificate: {
    notSent: 'not_sent_certificate',
    hint: 'modelgate cannot send client certificates: use an address or a proxy that needs none.',
  },
  tls: { notSent: 'not_sent_tls', hint: 'Does the base URL need http:// instead of https:// ?' },
  proxy: { notSent: 'not_sent_proxy', hint: 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.' },
  deadline: { notSent: 'deadline', lost: 'deadline' },
  timeout: { lost: 'timeout' },
}

const notReached = 'Check the base URL (--base-url) and the network; running it again is safe.'

/** Converts a broken exchange to an error: not sent (6), unknown outcome (7), or a broken reply (8). */
export function brokenError(error: ExchangeError, kind: RequestKind): ModelgateError {
  const { stage, fault, message } = error
  const facts = { phase: stage, cause: error }
  if (fault === 'source') {
    return new FileError('source_changed', message, { ...facts, phase: 'send', billed: 'no' })
  }
  if (fault === 'protocol') return new ContractError('reply_not_understood', message, facts)
  if (fault === 'limit') return new ContractError('reply_too_large', message, facts)
  // A proxy that fails by itself has not passed anything on; a handshake that fails lets no request through.
  if (stage === 'connect' || stage === 'send' || fault === 'proxy' || fault === 'client_certificate') {
    // Reading has cost nothing in any case, and is often about something that is paid for.
    const text = kind === 'read' ? message : `${message} Nothing was sent.`
    const { notSent = 'not_sent', hint = notReached } = faults[fault] ?? {}
    return new ModelgateError('notSent', notSent, text, { ...facts, billed: 'no', hint })
  }
  const code = faults[fault]?.lost ?? 'connection_lost'
  if (kind === 'read') {
    const hint = 'Run it again later.'
    return new ModelgateError('later', code, message, { ...facts, billed: 'no', hint })
  }
  const hint =
    fault === 'deadline' ? `${checkUsage}, and allow it more time with --timeout.` : `${checkUsage}.`
  return new ModelgateError('unknown', code, message, { ...facts, billed: 'maybe', hint })
}
