import type { LogEntry, LogFacts } from '../../files/log/log-entry.ts'
import { nameFiles } from '../../files/media-references.ts'
import { stringOf } from '../../json.ts'
import {
  answerTurn,
  messagesOf,
  settingsOf,
  turnsOf,
  type Conversation,
  type Style,
  type Turn,
} from './turns.ts'

/** Finds the calls in which one of some texts stands, the newest first; read no further than is needed. */
type FindCalls = (texts: readonly string[]) => Iterable<{ readonly facts: LogFacts; entry(): LogEntry }>

export interface Place {
  readonly terminal: string | undefined
  readonly cwd: string
}

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
export function lastExchange(find: FindCalls, { terminal, cwd }: Place): LastExchange {
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

/** @param find finds the responses that each other went on from */
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
  const request = last.request ?? {}
  return {
    ...settingsOf(style, request),
    style,
    model: style === 'respond' ? stringOf(request['model']) : last.model,
    turns: links.flatMap(turnsOfEntry),
    before,
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

function turnsOfEntry(entry: LogEntry): Turn[] {
  const source = sourceOf(entry)
  const sent = turnsOf(styleOf(entry), messagesOf(styleOf(entry), entry.request ?? {}))
  const answer = answerOfEntry(entry)
  // What this gateway took, it will take again.
  const turns = sent.map((turn) => (turn.role === 'assistant' ? { ...turn, source } : turn))
  return answer === undefined ? turns : [...turns, answer]
}

function sourceOf({ sandbox, origin }: LogFacts): string | undefined {
  return sandbox ? 'sandbox' : origin
}

/** Exit codes of calls whose answer came whole: done, not written, incomplete, not of its schema. */
const wholeExits: ReadonlySet<number> = new Set([0, 10, 12, 14])

function answerOfEntry(entry: LogEntry): Turn | undefined {
  const { reply, request, exit_code: exit, error } = entry
  if (reply === undefined) return undefined
  const isWhole = (wholeExits.has(exit) || error?.code === 'finish_length') && reply['is_partial'] !== true
  return answerTurn({
    style: styleOf(entry),
    source: sourceOf(entry),
    reply: nameFiles(reply, new Map(entry.files.map(({ sha256, path }) => [sha256, path]))),
    isStored: request?.['store'] !== false,
    isWhole,
  })
}
