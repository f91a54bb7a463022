import { normaliseBaseUrl } from '../../config/base-url.ts'
import { checkKey } from '../../config/key.ts'
import { pathToWrite } from '../../config/layers.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { isLoopback } from '../../loopback.ts'
import { askChoice, askLine, askSecret, type Choice } from '../shared/input/questions.ts'
import { homePath } from '../shared/call/print-document.ts'
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
 * Takes the address from `--base-url` or asks for it; it is tried at once, and can be corrected where it stands.
 * @throws UsageError, ModelgateError for an address that cannot be used, where nobody can be asked
 */
export async function answerBaseUrl(session: Session): Promise<GatewayAnswer> {
  const { options, settings, asks, context, gate, say } = session
  const given = options.baseUrl
  const present = given ?? settings.baseUrl.value?.href.replace(/\/$/, '')
  if (!asks || (given !== undefined && (await isGood(session, given)))) return tryOut(session, present!)
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

async function isGood(session: Session, text: string): Promise<boolean> {
  try {
    await tryOut(session, text)
    return true
  } catch (error) {
    if (!(error instanceof ModelgateError) || session.context.signal.aborted) throw error
    await session.say(messageOf(error), 'warning')
    return false
  }
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

function messageOf({ message, facts: { hint } }: ModelgateError): string {
  // The address is what the question is about.
  return hint === undefined || hint.includes('--base-url') ? message : `${message} ${hint}`
}

/** Where the key is to come from. */
export type KeyAnswer =
  | { readonly kind: 'as it is' | 'later' }
  | { readonly kind: 'store'; readonly value: string }
  | { readonly kind: 'file' | 'command'; readonly text: string }

/** How a key is read without being written: the answers are tried as they would be used later. */
export interface KeyReader {
  read(answer: KeyAnswer): Promise<string | undefined>
  /** Where the present one is; undefined without one. */
  readonly present: string | undefined
  /** The file of stored keys. */
  readonly store: string
}

/**
 * Asks where the key is, until the gateway takes it or the user keeps it anyway.
 * @param open whether the gateway lists its models without a key
 * @returns the answer, and the last check with it
 */
export async function answerKey(
  session: Session,
  { baseUrl, check: open }: GatewayAnswer,
  reader: KeyReader,
  given: KeyAnswer | undefined,
): Promise<{ readonly answer: KeyAnswer; readonly check: GatewayCheck | undefined }> {
  const { asks, context, gate, say, waitFor } = session
  // An address that was kept although nothing answers there is not tried again.
  const checks = session.checks && open !== undefined
  for (let isFirst = true; ; isFirst = false) {
    const answer = isFirst && given !== undefined ? given : await askKey(session, reader)
    let check: GatewayCheck | undefined
    try {
      const key = await reader.read(answer)
      if (key === undefined) return { answer, check: open }
      checkKey(key, 'as given')
      gate.hide(key)
      check = checks
        ? await waitFor(`asking ${baseUrl.host}`, checkGateway(session, { baseUrl, key }))
        : undefined
      if (check === undefined) return { answer, check }
      if (!asks && check.verdict !== 'lists' && check.verdict !== 'lists none') throw check.error
    } catch (error) {
      if (!asks || !(error instanceof ModelgateError) || context.signal.aborted) throw error
      await say(messageOf(error), 'warning')
      continue
    }
    await say(`  ${keyVerdict(check, open)}`, check.verdict === 'lists' ? 'dim' : 'warning')
    if (check.verdict === 'lists' || check.verdict === 'lists none') return { answer, check }
    const next = await askChoice(context, 'And now?', [
      { value: 'again', name: 'Give another key' },
      { value: 'keep', name: 'Keep it anyway' },
    ])
    if (next === 'keep') return { answer, check: open }
  }
}

function keyVerdict(check: GatewayCheck, open: GatewayCheck | undefined): string {
  if (check.verdict === 'lists none') return 'The gateway lists no models, so the key could not be checked.'
  if (check.verdict !== 'lists') return describeCheck(check, true)
  return open?.verdict === 'lists'
    ? 'The gateway lists its models without a key: only a call shows whether it accepts the key.'
    : `The gateway accepts the key; ${describeCheck(check, true)}.`
}

async function askKey(session: Session, { present, store }: KeyReader): Promise<KeyAnswer> {
  const { context } = session
  const choices: Choice<KeyAnswer['kind']>[] = [
    ...(present === undefined
      ? []
      : [{ value: 'as it is' as const, name: 'As it is', description: present }]),
    {
      value: 'store',
      name: 'Paste it now',
      description: `kept in ${homePath(context, store)}, which only you can read`,
    },
    { value: 'file', name: 'A file holds it', description: 'the file is read on each call' },
    {
      value: 'command',
      name: 'A command prints it',
      description: 'of a password manager: pass show gateway',
    },
    { value: 'later', name: 'Later', description: 'set MODELGATE_API_KEY, or run this again' },
  ]
  const kind = await askChoice(context, 'Your key:', choices)
  switch (kind) {
    case 'store': {
      const check = async (typed: string) => problemOf(typed.trim())
      return { kind, value: (await askSecret(context, 'Key (not shown):', check)).trim() }
    }
    case 'file': {
      const path = await askLine(context, 'Path of the file:', {
        check: async (text) => (text.trim() === '' ? 'Which file?' : undefined),
      })
      return { kind, text: pathToWrite(session.context, path.trim()) }
    }
    case 'command': {
      const check = async (text: string) => (text.trim() === '' ? 'Which command?' : undefined)
      return { kind, text: (await askLine(context, 'Command:', { check })).trim() }
    }
    default:
      return { kind }
  }
}

function problemOf(key: string): string | undefined {
  try {
    checkKey(key, 'as pasted')
    return undefined
  } catch (error) {
    if (error instanceof UsageError || error instanceof ModelgateError) return error.message
    throw error
  }
}
