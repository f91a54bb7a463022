import type { Answer, AnswerPart } from '../answer/answer.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json-value.ts'
import type { Pause, Frame } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'

/** One candidate's share of a chunk. */
interface Delta {
  readonly part: JsonObject | undefined
  readonly tokens: number
  readonly isThought: boolean
}

interface Chunk {
  readonly body: JsonObject
  readonly pause: Pause
  readonly isLast: boolean
}

export interface ReplyFacts {
  readonly responseId: string
  readonly modelVersion: string
  readonly promptTokens: number
  /** Harm categories the request set a threshold for; rated in the last chunk. */
  readonly categories: readonly string[]
}

/**
 * The chunks of a reply: every candidate that is still writing has a piece in each, usage is cumulative and adds up
 * in each, and the last piece of a candidate carries its finish reason (wire notes, section 1, "Chunk shape").
 */
export function* chunksOf(answers: readonly Answer[], facts: ReplyFacts): Generator<Chunk> {
  const deltas = answers.map((answer) => deltasOf(answer))
  const length = Math.max(...deltas.map((list) => list.length))
  let visible = 0
  // Thoughts that are not shown are counted all the same, from the start.
  let thoughts = answers.reduce((sum, answer) => sum + answer.thoughtTokens - answer.thoughts.length, 0)
  for (let step = 0; step < length; step++) {
    const candidates: JsonObject[] = []
    for (const [index, list] of deltas.entries()) {
      const delta = list[step]
      if (delta === undefined) continue
      if (delta.isThought) thoughts += delta.tokens
      else visible += delta.tokens
      const isLast = step === list.length - 1
      candidates.push(candidateOf(delta, index, isLast ? answers[index] : undefined, facts))
    }
    const { modelVersion, responseId, promptTokens } = facts
    const usageMetadata = usageOf(promptTokens, visible, thoughts)
    yield {
      body: { candidates, usageMetadata, modelVersion, responseId },
      pause: step === 0 ? 'first' : 'token',
      isLast: step === length - 1,
    }
  }
}

/** The reply to a blocked prompt: no candidates, only the reason. */
export function blockedChunk({ promptTokens, modelVersion, responseId }: ReplyFacts): Chunk {
  const promptFeedback = {
    blockReason: 'PROHIBITED_CONTENT',
    blockReasonMessage: '[sandbox] The prompt was blocked.',
    safetyRatings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }],
  }
  const usageMetadata = usageOf(promptTokens, 0, 0)
  return { body: { promptFeedback, usageMetadata, modelVersion, responseId }, pause: 'first', isLast: true }
}

function deltasOf({ thoughts, parts }: Answer): Delta[] {
  const thinking = thoughts.map((text) => ({ part: { text, thought: true }, tokens: 1, isThought: true }))
  const deltas = [...thinking, ...parts.flatMap((part) => partDeltas(part, thoughts.length > 0))]
  return deltas.length > 0 ? deltas : [{ part: undefined, tokens: 0, isThought: false }]
}

function partDeltas(part: AnswerPart, hasThoughts: boolean): Delta[] {
  switch (part.kind) {
    case 'image':
      return [
        { part: { inlineData: { mimeType: 'image/png', data: part.base64 } }, tokens: 64, isThought: false },
      ]
    case 'call': {
      // This service sends arguments whole or not at all.
      if (!part.whole) return [{ part: undefined, tokens: part.tokens.length, isThought: false }]
      const { name } = part.call
      const functionCall = { id: `call_${seededHex(12, name, part.arguments)}`, name, args: part.value }
      const signature = hasThoughts
        ? { thoughtSignature: Buffer.from(`sandbox:${name}`).toString('base64') }
        : {}
      return [{ part: { functionCall, ...signature }, tokens: part.tokens.length, isThought: false }]
    }
    default:
      return part.tokens.map((text) => ({ part: { text }, tokens: 1, isThought: false }))
  }
}

const finishReasons = {
  complete: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  block: 'SAFETY',
  failure: 'OTHER',
  error: 'OTHER',
} as const

function candidateOf(
  { part }: Delta,
  index: number,
  finished: Answer | undefined,
  { categories }: ReplyFacts,
): JsonObject {
  const content = part === undefined ? { role: 'model' } : { parts: [part], role: 'model' }
  if (finished === undefined) return { content, index }
  const { ending, visibleTokens } = finished
  const safetyRatings = [
    ...categories.map((category) => ({ category, probability: 'NEGLIGIBLE' })),
    ...(ending === 'refusal'
      ? [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }]
      : []),
  ]
  return {
    content,
    finishReason: finishReasons[ending],
    ...(ending === 'failure' && { finishMessage: '[sandbox] Nothing could be generated.' }),
    index,
    ...(safetyRatings.length > 0 && { safetyRatings }),
    tokenCount: visibleTokens,
  }
}

/** `data:` lines that end in CRLF, without event names and without `[DONE]` (wire notes, section 1, "Framing"). */
export function* eventFrames(chunks: Iterable<Chunk>): Generator<Frame> {
  for (const { body, pause, isLast } of chunks) {
    yield { text: `data: ${JSON.stringify(body)}\r\n\r\n`, pause, role: isLast ? 'terminal' : 'event' }
  }
}

/** One pretty-printed JSON array, as the service sends it when `alt=sse` was not asked for. */
export function* arrayFrames(chunks: Iterable<Chunk>): Generator<Frame> {
  let lead = '['
  for (const { body, pause, isLast } of chunks) {
    yield { text: `${lead}${JSON.stringify(body, null, 2)}\n`, pause, role: isLast ? 'terminal' : 'event' }
    lead = ',\n'
  }
  yield { text: ']', pause: 'none', role: 'closing' }
}

/** The chunks of a stream as the one document that `:generateContent` answers with. */
export function mergeChunks(chunks: Iterable<Chunk>): JsonObject {
  const candidates: JsonObject[] = []
  let last: JsonObject = {}
  for (const { body } of chunks) {
    last = body
    for (const candidate of objectsOf(body['candidates'])) {
      const index = Number(candidate['index'])
      const parts = [...partsOf(candidates[index]), ...partsOf(candidate)]
      const content = parts.length === 0 ? { role: 'model' } : { parts: joinTexts(parts), role: 'model' }
      candidates[index] = { ...candidate, content }
    }
  }
  return candidates.length === 0 ? last : { ...last, candidates }
}

function partsOf(candidate: JsonObject | undefined): readonly JsonObject[] {
  return objectsOf(objectOf(candidate?.['content'])['parts'])
}

/** Neighbouring texts become one, thoughts apart from the answer. */
function joinTexts(parts: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = []
  for (const part of parts) {
    const before = joined.at(-1)
    const isMore =
      part['text'] !== undefined && before?.['text'] !== undefined && before['thought'] === part['thought']
    if (isMore) joined[joined.length - 1] = { ...before, text: textOf(before['text']) + textOf(part['text']) }
    else joined.push(part)
  }
  return joined
}

/** Token counts that add up: prompt, visible and thought tokens are the total (wire notes, section 1). */
function usageOf(prompt: number, visible: number, thoughts: number): JsonObject {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: visible,
    totalTokenCount: prompt + visible + thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  }
}
