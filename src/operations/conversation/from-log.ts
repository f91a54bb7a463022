import type { Context } from '../../context.ts'
import type { CallFacts } from '../../files/calls/call-record.ts'
import type { CallReader, FoundCall } from '../../files/calls/read-calls.ts'
import { nameFiles } from '../../files/media-references.ts'
import { objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { answerOf, isKept, messagesOf, settingsOf, type Conversation, type Style } from './conversation.ts'

const textCommands: ReadonlySet<string> = new Set(['generate', 'respond', 'chat'])

/** Calls without their words that are passed over: where there are more, older ones are not what is meant. */
const maxUnrecorded = 100

/** That of this terminal, or else of this folder; `not-recorded` where only the facts of exchanges are known. */
export function lastExchange(
  log: CallReader,
  { terminalId, cwd }: Pick<Context, 'terminalId' | 'cwd'>,
): Conversation | 'not-recorded' | undefined {
  let isUnrecorded = false
  const places = [
    ['terminal', terminalId],
    ['cwd', cwd],
  ] as const
  for (const [field, value] of places) {
    if (value === undefined) continue
    let unrecorded = 0
    for (const call of log.calls([value])) {
      const { facts, words } = call
      if (facts[field] !== value || !textCommands.has(facts.command)) continue
      const exchange = exchangeOf(log, call)
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
  log: CallReader,
  style: Style | undefined,
): Generator<{ readonly facts: CallFacts; readonly conversation: Conversation }, void, undefined> {
  for (const call of log.calls()) {
    const conversation = exchangeOf(log, call)
    if (conversation === undefined || (style !== undefined && conversation.style !== style)) continue
    yield { facts: call.facts, conversation }
  }
}

/** The exchange of a call, with all before it; undefined where it got no answer, or its words were not kept. */
export function exchangeOf(log: CallReader, call: FoundCall): Conversation | undefined {
  const last = linkOf(call)
  if (last?.answer === undefined) return undefined
  const { facts, request, style } = last
  const links = [last]
  let before = previousOf(last)
  while (before !== undefined) {
    const link = linkOfResponse(log, before)
    // A log may have been edited so that it has no end.
    if (link === undefined || links.some(({ facts: { id } }) => id === link.facts.id)) break
    links.unshift(link)
    before = previousOf(link)
  }
  const messages: JsonObject[] = []
  let response: Conversation['response'] = before === undefined ? undefined : { id: before, count: 0 }
  for (const link of links) {
    const { answer } = link
    messages.push(...objectsOf(messagesOf(style, link.request)), ...(answer?.messages ?? []))
    if (answer?.id !== undefined && isKept(link.request)) response = { id: answer.id, count: messages.length }
  }
  return {
    ...settingsOf(style, request),
    style,
    gateway: facts.sandbox ? 'sandbox' : facts.origin,
    model: style === 'respond' ? stringOf(request['model']) : facts.model,
    messages,
    response,
    lacksBeginning: before !== undefined,
  }
}

type Link = NonNullable<ReturnType<typeof linkOf>>

function linkOfResponse(log: CallReader, id: string): Link | undefined {
  for (const call of log.calls([id])) {
    const link = linkOf(call)
    if (stringOf(link?.reply?.['id']) === id) return link
  }
  return undefined
}

function previousOf({ request }: Link): string | undefined {
  return stringOf(request['previous_response_id'])
}

/** Exit codes of calls whose answer came whole: done, not written, incomplete, not of its schema. */
const wholeExits: ReadonlySet<unknown> = new Set([0, 10, 12, 14])

/** What a call asked, and the answer; undefined for another command, and for a call whose words were not kept. */
function linkOf({ facts, words }: FoundCall) {
  const { command, exit_code: exit, error, files } = facts
  const { request, reply } = textCommands.has(command) ? words() : {}
  if (request === undefined) return undefined
  const isContent = command === 'generate' || (command === 'chat' && request['contents'] !== undefined)
  const style: Style = isContent ? 'generate' : 'respond'
  const isWhole = (wholeExits.has(exit) || error?.code === 'finish_length') && reply?.['is_partial'] !== true
  const paths = new Map(files.map(({ sha256, path }) => [sha256, path]))
  const answer = reply && answerOf(style, nameFiles(reply, paths), isWhole)
  return { facts, request, reply, style, answer }
}
