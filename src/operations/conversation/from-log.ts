import type { Context } from '../../context.ts'
import type { CallFacts, CallWords } from '../../files/calls/call-record.ts'
import type { FoundCall } from '../../files/calls/read-calls.ts'
import { nameFiles } from '../../files/media-references.ts'
import { objectsOf, stringOf, type JsonObject } from '../../json.ts'
import {
  answerOf,
  isKept,
  messagesOf,
  settingsOf,
  type Answer,
  type Conversation,
  type StoredResponse,
  type Style,
} from './conversation.ts'

/** Finds the calls in which one of some texts stands, the newest first; read no further than is needed. */
type FindCalls = (texts: readonly string[]) => Iterable<FoundCall>

type WholeCall = CallFacts & CallWords

const textCommands: ReadonlySet<string> = new Set(['generate', 'respond', 'chat'])

/** Calls without their words that are passed over: where there are more, older ones are not what is meant. */
const maxUnrecorded = 100

/** That of this terminal, or else of this folder; `not-recorded` where only the facts of exchanges are known. */
export function lastExchange(
  find: FindCalls,
  { terminalId: terminal, cwd }: Pick<Context, 'terminalId' | 'cwd'>,
): Conversation | 'not-recorded' | undefined {
  const places = [...(terminal === undefined ? [] : [['terminal', terminal] as const]), ['cwd', cwd] as const]
  let isUnrecorded = false
  for (const [field, value] of places) {
    let unrecorded = 0
    for (const call of find([value])) {
      const { facts, words } = call
      if (facts[field] !== value || !textCommands.has(facts.command)) continue
      const exchange = exchangeOf(call, find)
      if (exchange !== undefined) return exchange
      if (facts.exit_code !== 0 || words().request !== undefined) continue
      isUnrecorded = true
      if (++unrecorded === maxUnrecorded) break
    }
  }
  return isUnrecorded ? 'not-recorded' : undefined
}

/** The newest exchanges that are on record, from any terminal and folder. @param style undefined for either */
export function* pastExchanges(
  calls: Iterable<FoundCall>,
  find: FindCalls,
  style: Style | undefined,
): Generator<{ readonly facts: CallFacts; readonly conversation: Conversation }, void, undefined> {
  for (const call of calls) {
    const conversation = exchangeOf(call, find)
    if (conversation === undefined || (style !== undefined && conversation.style !== style)) continue
    yield { facts: call.facts, conversation }
  }
}

/** The exchange of a call, with all before it; undefined where it got no answer, or its words were not kept. */
export function exchangeOf(call: FoundCall, find: FindCalls): Conversation | undefined {
  const whole = wholeOf(call)
  return whole && answerIn(whole) && conversationOf(whole, find)
}

/** Undefined for another command, and for a call whose words were not kept. */
function wholeOf({ facts, words }: FoundCall): WholeCall | undefined {
  const whole = textCommands.has(facts.command) ? { ...facts, ...words() } : undefined
  return whole?.request === undefined ? undefined : whole
}

function conversationOf(last: WholeCall, find: FindCalls): Conversation {
  const style = styleOf(last)
  const links = [last]
  let before = previousOf(last)
  while (before !== undefined) {
    const link = callOfResponse(before, find)
    // A log may have been edited so that it has no end.
    if (link === undefined || links.some(({ id }) => id === link.id)) break
    links.unshift(link)
    before = previousOf(link)
  }
  const messages: JsonObject[] = []
  let response: StoredResponse | undefined = before === undefined ? undefined : { id: before, count: 0 }
  for (const link of links) {
    const answer = answerIn(link)
    messages.push(...objectsOf(messagesOf(style, link.request ?? {})), ...(answer?.messages ?? []))
    if (answer?.id !== undefined && isKept(link.request ?? {}))
      response = { id: answer.id, count: messages.length }
  }
  const { request = {}, sandbox, origin } = last
  return {
    ...settingsOf(style, request),
    style,
    gateway: sandbox ? 'sandbox' : origin,
    model: style === 'respond' ? stringOf(request['model']) : last.model,
    messages,
    response,
    lacksBeginning: before !== undefined,
  }
}

function callOfResponse(id: string, find: FindCalls): WholeCall | undefined {
  for (const call of find([id])) {
    const whole = wholeOf(call)
    if (stringOf(whole?.reply?.['id']) === id) return whole
  }
  return undefined
}

function previousOf({ request }: WholeCall): string | undefined {
  return stringOf(request?.['previous_response_id'])
}

function styleOf({ command, request = {} }: WholeCall): Style {
  if (command === 'generate' || command === 'respond') return command
  return request['contents'] === undefined ? 'respond' : 'generate'
}

/** Exit codes of calls whose answer came whole: done, not written, incomplete, not of its schema. */
const wholeExits: ReadonlySet<number> = new Set([0, 10, 12, 14])

function answerIn(call: WholeCall): Answer | undefined {
  const { reply, exit_code: exit, error, files } = call
  if (reply === undefined) return undefined
  const isWhole =
    (wholeExits.has(exit ?? -1) || error?.code === 'finish_length') && reply['is_partial'] !== true
  const named = nameFiles(reply, new Map(files.map(({ sha256, path }) => [sha256, path])))
  return answerOf(styleOf(call), named, isWhole)
}
