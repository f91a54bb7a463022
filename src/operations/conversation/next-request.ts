import { stringOf, type JsonObject } from '../../json.ts'
import type { Body } from '../operation.ts'
import { portable } from './portable.ts'
import { plainMessage, type Conversation, type Style, type Turn } from './turns.ts'

/** Where the next request goes, and how. */
export interface NextRequest {
  readonly style: Style
  /** The gateway; undefined before it is known, which is taken for the same. */
  readonly source: string | undefined
  /** Whether the gateway may keep the answer, and knows those that it has kept. */
  readonly isStored: boolean
}

/** What a request needs to go on from a conversation. */
export interface Continuation {
  /** Fields of the body besides the messages; they yield to what the caller says. */
  readonly fields: Body
  /** The turns whose messages stand before the new ones; the gateway knows those before them. */
  readonly turns: readonly Turn[]
  /** Whether it names an earlier response; then all turns would do as well, if they are known. */
  readonly isAnchored: boolean
  /** What does not go along, in words. */
  readonly notes: readonly string[]
}

/** Decides what of a conversation goes into the next request. Media is still by reference. */
export function continueFrom(conversation: Conversation, next: NextRequest): Continuation {
  const { settings, system, turns, style } = conversation
  const isSameStyle = style === next.style
  const isSameGateway = isFrom(conversation, next.source)
  const notes: string[] = []
  const fields: Body = isSameStyle ? { ...settings } : {}
  if (!isSameGateway) for (const name of ofOneGateway) delete fields[name]
  if (!isSameStyle && settings['tools'] !== undefined) {
    notes.push(`The tools of \`${style}\` do not go over to \`${next.style}\`.`)
  }
  // What must not be kept is not kept in the other style either.
  if (next.style === 'respond' && settings['store'] === false) fields['store'] = false
  if (system !== undefined) {
    if (next.style === 'respond') fields['instructions'] = system
    else fields['systemInstruction'] = { parts: [{ text: system }] }
  }
  const whole = { fields, turns, isAnchored: false, notes }
  if (next.style === 'generate' || !isSameGateway) return whole
  const isInConversation = fields['conversation'] !== undefined
  if (!next.isStored && !isInConversation) return whole
  const at = turns.findLastIndex(({ response }) => response !== undefined)
  const id = turns[at]?.response ?? (turns.some(hasAnswer) ? undefined : conversation.before)
  if (id === undefined) return whole
  if (!isInConversation) fields['previous_response_id'] = id
  return { fields, turns: turns.slice(at + 1), isAnchored: true, notes }
}

/** Settings that name what one gateway has. */
const ofOneGateway = ['conversation', 'cachedContent', 'prompt_cache_key']

const hasAnswer = ({ role }: Turn) => role === 'assistant'

/** Whether all that only one gateway understands came from this one. */
export function isFrom({ turns }: Conversation, source: string | undefined): boolean {
  if (source === undefined) return true
  return turns.every((turn) => turn.source === undefined || turn.source === source)
}

/** The messages of a request, and what of the turns is not in them. */
export interface SentMessages {
  readonly messages: readonly JsonObject[]
  readonly dropped: readonly string[]
}

/**
 * Turns as messages of the next request.
 * @param turns with their media
 */
export function messagesFor(turns: readonly Turn[], next: NextRequest): SentMessages {
  const isOwn = turns.every(
    ({ style, source }) =>
      style === next.style && (source === undefined || next.source === undefined || source === next.source),
  )
  if (!isOwn) {
    const { messages, dropped } = portable(turns, next.style)
    return { messages, dropped: [...dropped] }
  }
  if (next.style === 'generate') return { messages: turns.flatMap((turn) => turn.messages), dropped: [] }
  return { messages: turns.flatMap(itemsToSend), dropped: [] }
}

/**
 * Items of the response style that a gateway takes back without having kept them. Reasoning can only go back encrypted;
 * without it, the ids of what belongs to it would be refused.
 */
function itemsToSend({ messages }: Turn): readonly JsonObject[] {
  const lacksReasoning = messages.some(
    (item) => item['type'] === 'reasoning' && stringOf(item['encrypted_content']) === undefined,
  )
  const kept = lacksReasoning ? messages.flatMap(withoutReasoning) : messages
  return kept.map(withoutNulls)
}

const standsAlone: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'custom_tool_call',
  'function_call_output',
  'custom_tool_call_output',
  undefined,
])

function withoutReasoning(item: JsonObject): JsonObject[] {
  if (!standsAlone.has(item['type'])) return []
  const { id: _, ...rest } = item
  return [rest]
}

/** A reply says `null` of a field that a request may not have. */
function withoutNulls(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null))
}

/** Adds earlier messages before the new ones of a body. */
export function prependMessages(style: Style, body: Body, messages: readonly JsonObject[]): void {
  if (messages.length === 0) return
  const name = style === 'respond' ? 'input' : 'contents'
  const given = body[name]
  const own = typeof given === 'string' ? [plainMessage('respond', 'user', given)] : given
  body[name] = [...messages, ...(Array.isArray(own) ? (own as unknown[]) : own === undefined ? [] : [own])]
}
