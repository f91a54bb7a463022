import type { Context } from '../../context.ts'
import type { LogEntry, LogFacts } from '../../files/log/log-entry.ts'
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
type FindCalls = (texts: readonly string[]) => Iterable<{ readonly facts: LogFacts; entry(): LogEntry }>

export type LastExchange =
  | { readonly kind: 'found'; readonly conversation: Conversation }
  /** There was an exchange, but only its facts were recorded. */
  | { readonly kind: 'not-recorded' }
  | { readonly kind: 'none' }

const textCommands: ReadonlySet<string> = new Set(['generate', 'respond', 'chat'])

/**
 * The newest exchange of this terminal, or, where there is none, of this folder, with all before it. A call that got no
 * answer is passed over.
 */
export function lastExchange(
  find: FindCalls,
  { terminalId: terminal, cwd }: Pick<Context, 'terminalId' | 'cwd'>,
): LastExchange {
  let ofFolder: LogEntry | undefined
  let wasSeen = false
  for (const { facts, entry } of find(terminal === undefined ? [cwd] : [terminal, cwd])) {
    if (!textCommands.has(facts.command)) continue
    const isOfTerminal = terminal !== undefined && facts.terminal === terminal
    if (!isOfTerminal && (facts.cwd !== cwd || ofFolder !== undefined)) continue
    const whole = entry()
    if (whole.request === undefined || answerOfEntry(whole) === undefined) {
      wasSeen ||= whole.request === undefined && whole.exit_code === 0
      continue
    }
    if (isOfTerminal) return { kind: 'found', conversation: conversationOf(whole, find) }
    ofFolder = whole
  }
  if (ofFolder !== undefined) return { kind: 'found', conversation: conversationOf(ofFolder, find) }
  return { kind: wasSeen ? 'not-recorded' : 'none' }
}

/** @param find finds the responses that each other continued from */
function conversationOf(last: LogEntry, find: FindCalls): Conversation {
  const style = styleOf(last)
  const links = [last]
  let before = previousOf(last)
  while (before !== undefined) {
    const link = entryOfResponse(before, find)
    // A log may have been edited so that it has no end.
    if (link === undefined || links.some(({ id }) => id === link.id)) break
    links.unshift(link)
    before = previousOf(link)
  }
  const messages: JsonObject[] = []
  let response: StoredResponse | undefined = before === undefined ? undefined : { id: before, count: 0 }
  for (const link of links) {
    const answer = answerOfEntry(link)
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

function entryOfResponse(id: string, find: FindCalls): LogEntry | undefined {
  for (const { facts, entry } of find([id])) {
    if (!textCommands.has(facts.command)) continue
    const whole = entry()
    if (whole.request !== undefined && stringOf(whole.reply?.['id']) === id) return whole
  }
  return undefined
}

function previousOf({ request }: LogEntry): string | undefined {
  return stringOf(request?.['previous_response_id'])
}

function styleOf({ command, request = {} }: LogEntry): Style {
  if (command === 'generate' || command === 'respond') return command
  return request['contents'] === undefined ? 'respond' : 'generate'
}

/** Exit codes of calls whose answer came whole: done, not written, incomplete, not of its schema. */
const wholeExits: ReadonlySet<number> = new Set([0, 10, 12, 14])

function answerOfEntry(entry: LogEntry): Answer | undefined {
  const { reply, exit_code: exit, error, files } = entry
  if (reply === undefined) return undefined
  const isWhole = (wholeExits.has(exit) || error?.code === 'finish_length') && reply['is_partial'] !== true
  const named = nameFiles(reply, new Map(files.map(({ sha256, path }) => [sha256, path])))
  return answerOf(styleOf(entry), named, isWhole)
}
