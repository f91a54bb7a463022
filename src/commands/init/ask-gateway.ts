import { normaliseBaseUrl } from '../../config/base-url.ts'
import { ModelgateError } from '../../errors.ts'
import { isLoopback } from '../../loopback.ts'
import { askLine } from '../shared/input/questions.ts'
import { checkGateway, describeCheck, type GatewayCheck } from '../shared/gateway/check-gateway.ts'
import type { Session } from './session.ts'

/** Characters of an error below a question. */
const maxErrorLength = 500

/** A gateway as answered, and what became of the check without a key; undefined where none is wanted. */
export interface GatewayAnswer {
  readonly baseUrl: URL
  readonly check: GatewayCheck | undefined
}

/**
 * Takes the address from `--base-url`, or asks for it; it is tried at once, and can be corrected where it was typed.
 * @throws UsageError, ModelgateError for a given address that cannot be used
 */
export async function answerBaseUrl(session: Session): Promise<GatewayAnswer> {
  const { options, settings, asks, context, gate, say } = session
  const given = options.baseUrl
  const present = given ?? settings.baseUrl.value?.href.replace(/\/$/, '')
  if (given !== undefined || !asks) return tryOut(session, present!)
  // The error may quote what the address has answered.
  const shown = (text: string) => gate.line(text, maxErrorLength)
  let answer: GatewayAnswer | undefined
  let doubtful: string | undefined
  await askLine(context, 'Address of your gateway:', {
    present,
    async check(typed, signal) {
      const text = withScheme(typed.trim())
      if (text === '')
        return 'Write it like https://gateway.example. To look around without one, leave with Ctrl-C.'
      try {
        answer = await tryOut(session, text, signal)
        return undefined
      } catch (error) {
        if (!(error instanceof ModelgateError)) throw error
        if (error.exit === 'usage') return shown(messageOf(error))
        if (text === doubtful) {
          answer = { baseUrl: normalise(session, text), check: undefined }
          return undefined
        }
        doubtful = text
        return shown(`${messageOf(error)} Correct it, or press Enter again to keep it.`)
      }
    },
  })
  const { check } = answer!
  if (check !== undefined) await say(`  ${answer!.baseUrl.host}: ${describeCheck(check, false)}`, 'dim')
  return answer!
}

/** A gateway that can be reached. @throws what is wrong with it */
async function tryOut(session: Session, text: string, signal?: AbortSignal): Promise<GatewayAnswer> {
  const baseUrl = normalise(session, text)
  if (!session.checks) return { baseUrl, check: undefined }
  const check = await checkGateway(session, { baseUrl }, signal)
  if (check.verdict === 'unreachable' || check.verdict === 'in doubt') {
    const message = describeCheck(check, false)
    throw check.error.amend({
      message: check.verdict === 'in doubt' ? `${baseUrl.host}: ${message}` : message,
    })
  }
  if (session.asks && check.verdict === 'lists none') {
    throw check.error.amend({
      message: `${baseUrl.host}: ${describeCheck(check, false)}: is the address right?`,
      hint: null,
    })
  }
  return { baseUrl, check }
}

function normalise({ settings }: Session, text: string): URL {
  return normaliseBaseUrl(text, 'as given', settings.allowHttp.value)
}

/** Nobody types the scheme: it can only be one. */
function withScheme(text: string): string {
  if (text === '' || text.includes('://')) return text
  const host = /^(\[[^\]]*\]|[^:/]*)/.exec(text)?.[0] ?? ''
  return `${isLoopback(host) ? 'http' : 'https'}://${text}`
}

/** What a user is told of an error below a question. */
export function messageOf({ message, facts: { hint } }: ModelgateError): string {
  // The address is what the question is about.
  return hint === undefined || hint.includes('--base-url') ? message : `${message} ${hint}`
}
