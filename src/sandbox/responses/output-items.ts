import type { Answer, AnswerPart } from '../answer/answer.ts'
import { type JsonObject, listOf, numberOf, objectOf } from '../json-value.ts'
import { seededHex, seededRandom } from '../seeded-random.ts'

/** A complete output item, and the pieces in which it is streamed; plain data, since it may be kept on disk. */
export interface OutputItem {
  readonly item: JsonObject
  readonly tokens: readonly string[]
  /** One entry per token, if log probabilities were requested. */
  readonly logprobs: readonly JsonObject[]
}

/** The answer as output items (wire notes, section 2, "Output items"). */
export function outputItems(answer: Answer, body: JsonObject, responseId: string): readonly OutputItem[] {
  const items: OutputItem[] = []
  const newId = (prefix: string) => `${prefix}_${seededHex(48, responseId, prefix, items.length)}`
  if (answer.thoughtTokens > 0) items.push(reasoningItem(answer, body, newId('rs')))
  for (const [index, part] of answer.parts.entries()) {
    const isCut = answer.ending === 'length' && index === answer.parts.length - 1
    const status = isCut || answer.ending === 'block' ? 'incomplete' : 'completed'
    items.push(part.kind === 'call' ? callItem(part, status, newId) : messageItem(part, status, body, newId))
  }
  return items
}

function reasoningItem(answer: Answer, body: JsonObject, id: string): OutputItem {
  const { summary } = objectOf(body['reasoning'])
  const tokens = typeof summary === 'string' ? answer.thoughts : []
  const text = tokens.join('')
  const encrypted = Buffer.from(`sandbox reasoning ${id}`).toString('base64')
  const item = {
    id,
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(listOf(body['include']).includes('reasoning.encrypted_content') && { encrypted_content: encrypted }),
  }
  return { item, tokens, logprobs: [] }
}

type NewId = (prefix: string) => string

function messageItem(
  part: Exclude<AnswerPart, { kind: 'call' }>,
  status: string,
  body: JsonObject,
  newId: NewId,
): OutputItem {
  const tokens = part.kind === 'image' ? [] : part.tokens
  const isScored = part.kind === 'text' && wantsLogprobs(body)
  const logprobs = isScored ? tokens.map((token) => logprobOf(token, topLogprobs(body))) : []
  const content =
    part.kind === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', annotations: [], logprobs, text: tokens.join('') }
  const item = { id: newId('msg'), type: 'message', status, role: 'assistant', content: [content] }
  return { item, tokens, logprobs }
}

function callItem(
  { call, tokens, arguments: text }: Extract<AnswerPart, { kind: 'call' }>,
  status: string,
  newId: NewId,
): OutputItem {
  const shared = { status, call_id: newId('call').slice(0, 29), name: call.name }
  const item = call.custom
    ? { id: newId('ctc'), type: 'custom_tool_call', ...shared, input: text }
    : { id: newId('fc'), type: 'function_call', ...shared, arguments: text }
  return { item, tokens, logprobs: [] }
}

/** Whether every token of the text comes with its log probability. */
export function wantsLogprobs(body: JsonObject): boolean {
  return topLogprobs(body) > 0 || listOf(body['include']).includes('message.output_text.logprobs')
}

/** How many alternative tokens are listed for each. */
export function topLogprobs(body: JsonObject): number {
  return numberOf(body['top_logprobs']) ?? 0
}

/** A likely token and the requested number of less likely ones. */
function logprobOf(token: string, top: number): JsonObject {
  const random = seededRandom('logprob', token)
  const rated = (text: string, value: number) => {
    return { token: text, bytes: [...Buffer.from(text)], logprob: Math.round(value * 1e6) / 1e6 }
  }
  const first = rated(token, -random() / 4)
  const others = Array.from({ length: top }, (_, rank) =>
    rank === 0 ? first : rated(`${token.slice(0, 1)}${rank}`, -1 - rank - random()),
  )
  return { ...first, top_logprobs: others }
}
