import type { Answer, AnswerPart } from '../answer/answer.ts'
import { type JsonObject, listOf, numberOf, objectOf } from '../json-value.ts'
import { seededHex, seededRandom } from '../seeded-random.ts'
import { limitExceeded } from '../http/request-problem.ts'
import { opaque, type Finding, type OutputItem } from './output-item.ts'

/** An answer with the items around its text and its calls of functions. */
export interface ComposedResponse {
  readonly answer: Answer
  /** Items before the reasoning. */
  readonly prelude: readonly OutputItem[]
  /** Calls of built-in tools, with their results. */
  readonly builtIn: readonly OutputItem[]
  readonly findings: readonly Finding[]
  /** Whether the reasoning is shown as it is, and its summary. */
  readonly showsReasoning: boolean
}

/** The answer as output items (wire notes, section 2, "Output items"). */
export function outputItems(
  { answer, prelude, builtIn, findings, showsReasoning }: ComposedResponse,
  body: JsonObject,
  responseId: string,
): readonly OutputItem[] {
  const items: OutputItem[] = [...prelude]
  const newId = (prefix: string) => `${prefix}_${seededHex(48, responseId, prefix, items.length)}`
  if (answer.thoughtTokens > 0) items.push(reasoningItem(answer, body, { id: newId('rs'), showsReasoning }))
  items.push(...builtIn)
  for (const [index, part] of answer.parts.entries()) {
    const isCut = answer.ending === 'length' && index === answer.parts.length - 1
    const status = isCut || answer.ending === 'block' ? 'incomplete' : 'completed'
    items.push(
      part.kind === 'call'
        ? callItem(part, status, newId)
        : messageItem(part, { status, body, findings, id: newId('msg') }),
    )
  }
  return items
}

function reasoningItem(
  { thoughts }: Answer,
  body: JsonObject,
  { id, showsReasoning }: { id: string; showsReasoning: boolean },
): OutputItem {
  const { summary } = objectOf(body['reasoning'])
  const text = thoughts.join('')
  const item = {
    id,
    type: 'reasoning',
    summary: typeof summary === 'string' || showsReasoning ? [{ type: 'summary_text', text }] : [],
    ...(showsReasoning && {
      content: [{ type: 'reasoning_text', text: text.replace('The plan is to', 'So I will') }],
    }),
    ...(listOf(body['include']).includes('reasoning.encrypted_content') && {
      encrypted_content: opaque(`reasoning ${id}`),
    }),
  }
  return { item, tokens: [], logprobs: [] }
}

type NewId = (prefix: string) => string

interface MessageFacts {
  readonly id: string
  readonly status: string
  readonly body: JsonObject
  readonly findings: readonly Finding[]
}

function messageItem(
  part: Exclude<AnswerPart, { kind: 'call' }>,
  { id, status, body, findings }: MessageFacts,
): OutputItem {
  const tokens = part.kind === 'image' ? [] : part.tokens
  const text = tokens.join('')
  const isScored = part.kind === 'text' && wantsLogprobs(body)
  if (isScored && tokens.length * (topLogprobs(body) + 1) > maxLogprobs)
    throw limitExceeded(`The answer would have more than ${maxLogprobs} log probabilities.`)
  const logprobs = isScored ? tokens.map((token) => logprobOf(token, topLogprobs(body))) : []
  const content =
    part.kind === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', annotations: annotationsOf(text, findings), logprobs, text }
  return { item: { id, type: 'message', status, role: 'assistant', content: [content] }, tokens, logprobs }
}

/** Maximum number of log probabilities in an answer. */
const maxLogprobs = 100_000

/** The sources that the text cites, where it has not been cut before them. */
function annotationsOf(text: string, findings: readonly Finding[]): readonly JsonObject[] {
  return findings.flatMap(({ sentence, cited = '', source }) => {
    const found = text.lastIndexOf(sentence)
    if (source === undefined || found === -1) return []
    const start = found + sentence.indexOf(cited)
    const place = { start_index: start, end_index: start + cited.length }
    return [{ ...source, ...(source['type'] !== 'file_citation' && place) }]
  })
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
