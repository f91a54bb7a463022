import type { Answer, AnswerPart, PlannedCall } from '../answer/answer.ts'
import { type JsonObject, listOf, numberOf } from '../json-value.ts'
import { seededHex, seededRandom } from '../seeded-random.ts'

/** An output item as it is when done, and the pieces in which it arrives. */
export interface OutputItem {
  readonly item: JsonObject
  readonly kind: 'message' | 'reasoning' | 'function_call' | 'custom_tool_call'
  readonly tokens: readonly string[]
  /** One entry a token, when log probabilities were asked for. */
  readonly logprobs: readonly JsonObject[]
}

/** The answer as output items (wire notes, section 2, "Output items"). */
export function outputItems(answer: Answer, body: JsonObject, responseId: string): readonly OutputItem[] {
  const items: OutputItem[] = []
  const newId = (prefix: string) => `${prefix}_${seededHex(48, responseId, prefix, items.length)}`
  const include = listOf(body['include'])
  if (answer.thoughtTokens > 0) items.push(reasoningItem(answer, body, include, newId('rs')))
  for (const [index, part] of answer.parts.entries()) {
    const isCut = answer.ending === 'length' && index === answer.parts.length - 1
    const status = isCut || answer.ending === 'block' ? 'incomplete' : 'completed'
    items.push(partItem(part, status, body, newId))
  }
  return items
}

function reasoningItem(
  answer: Answer,
  body: JsonObject,
  include: readonly unknown[],
  id: string,
): OutputItem {
  const { summary } = (body['reasoning'] ?? {}) as JsonObject
  const tokens = typeof summary === 'string' ? answer.thoughts : []
  const text = tokens.join('')
  const encrypted = Buffer.from(`sandbox reasoning ${id}`).toString('base64')
  const item = {
    id,
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(include.includes('reasoning.encrypted_content') && { encrypted_content: encrypted }),
  }
  return { item, kind: 'reasoning', tokens, logprobs: [] }
}

function partItem(
  part: AnswerPart,
  status: string,
  body: JsonObject,
  newId: (prefix: string) => string,
): OutputItem {
  if (part.kind === 'call') return callItem(part.call, part.arguments, part.tokens, status, newId)
  const tokens = part.kind === 'image' ? [] : part.tokens
  const isScored = part.kind === 'text' && asksForLogprobs(body)
  const logprobs = isScored ? tokens.map((token) => logprobOf(token, topLogprobs(body))) : []
  const content =
    part.kind === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', annotations: [], logprobs, text: tokens.join('') }
  const item = { id: newId('msg'), type: 'message', status, role: 'assistant', content: [content] }
  return { item, kind: 'message', tokens, logprobs }
}

function callItem(
  { name, custom }: PlannedCall,
  text: string,
  tokens: readonly string[],
  status: string,
  newId: (prefix: string) => string,
): OutputItem {
  const callId = newId('call').slice(0, 29)
  if (custom) {
    const item = { id: newId('ctc'), type: 'custom_tool_call', status, call_id: callId, name, input: text }
    return { item, kind: 'custom_tool_call', tokens, logprobs: [] }
  }
  const item = { id: newId('fc'), type: 'function_call', status, call_id: callId, name, arguments: text }
  return { item, kind: 'function_call', tokens, logprobs: [] }
}

/** Whether every token of the text comes with its log probability. */
export function asksForLogprobs(body: JsonObject): boolean {
  return topLogprobs(body) > 0 || listOf(body['include']).includes('message.output_text.logprobs')
}

/** How many tokens are to be rated beside each. */
export function topLogprobs(body: JsonObject): number {
  return numberOf(body['top_logprobs']) ?? 0
}

/** A likely token and, as asked, less likely ones beside it. */
function logprobOf(token: string, top: number): JsonObject {
  const random = seededRandom('logprob', token)
  const first = { token, bytes: [...Buffer.from(token)], logprob: rounded(-random() / 4) }
  const others = Array.from({ length: top }, (_, rank) => {
    if (rank === 0) return first
    const other = `${token.slice(0, 1)}${rank}`
    return { token: other, bytes: [...Buffer.from(other)], logprob: rounded(-1 - rank - random()) }
  })
  return { ...first, top_logprobs: others }
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
