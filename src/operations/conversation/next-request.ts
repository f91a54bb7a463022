import { UsageError } from '../../errors.ts'
import { stringOf, type JsonObject } from '../../json.ts'
import type { Body } from '../operation.ts'
import { plainMessage, type Conversation, type Style, type Turn } from './turns.ts'

/** Where the next request goes, and how. */
export interface NextRequest {
  readonly style: Style
  /** The gateway; undefined before it is known, which is taken for the same. */
  readonly source: string | undefined
  /** Whether the gateway may keep the answer, and knows those that it has kept. */
  readonly isStored: boolean
}

export interface Continuation {
  /** Fields of the body besides the messages; they yield to what the caller says. */
  readonly fields: Body
  /** The turns whose messages stand before the new ones; the gateway knows those before them. */
  readonly turns: readonly Turn[]
  /** Whether it names an earlier response; then all turns would do as well, if they are known. */
  readonly isAnchored: boolean
}

/**
 * Decides what of a conversation goes into the next request. Media is still by reference.
 * @throws UsageError for the other style, and for another gateway than the one that it was held with
 */
export function continueFrom(conversation: Conversation, next: NextRequest): Continuation {
  refuseOther(conversation, next)
  const { settings, system, turns } = conversation
  const fields: Body = { ...settings }
  if (system !== undefined) {
    if (next.style === 'respond') fields['instructions'] = system
    else fields['systemInstruction'] = { parts: [{ text: system }] }
  }
  const whole = { fields, turns, isAnchored: false }
  const isInConversation = fields['conversation'] !== undefined
  if (next.style === 'generate' || (!next.isStored && !isInConversation)) return whole
  const at = turns.findLastIndex(({ response }) => response !== undefined)
  const id = turns[at]?.response ?? (turns.some(hasAnswer) ? undefined : conversation.before)
  if (id === undefined) return whole
  if (!isInConversation) fields['previous_response_id'] = id
  return { fields, turns: turns.slice(at + 1), isAnchored: true }
}

const hasAnswer = ({ role }: Turn) => role === 'assistant'

function refuseOther({ turns, style, before }: Conversation, next: NextRequest): void {
  if (turns.length === 0 && before === undefined) return
  const other = [style, ...turns.map((turn) => turn.style)].find((one) => one !== next.style)
  if (other !== undefined) {
    throw new UsageError(`The conversation is one of ${other}; ${next.style} cannot continue it.`, {
      code: 'other_style',
      hint: `Continue with modelgate ${other}.`,
    })
  }
  const source = turns.find((turn) => turn.source !== undefined && turn.source !== next.source)?.source
  if (source === undefined || next.source === undefined) return
  const where = (name: string) => (name === 'sandbox' ? 'the sandbox' : name)
  throw new UsageError(
    `The conversation was held with ${where(source)}; ${where(next.source)} does not know it.`,
    {
      code: 'other_gateway',
      hint: `Go on with ${source === 'sandbox' ? '--sandbox' : `--base-url, or the --profile, of ${source}`}, or start a new conversation.`,
    },
  )
}

/**
 * Turns as messages of the next request.
 * @param turns with their media
 */
export function messagesFor(turns: readonly Turn[], style: Style): readonly JsonObject[] {
  return style === 'generate' ? turns.flatMap(({ messages }) => messages) : turns.flatMap(itemsToSend)
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
