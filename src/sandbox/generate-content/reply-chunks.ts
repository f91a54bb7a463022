import type { Answer, AnswerPart } from '../answer/answer.ts'
import type { JsonObject } from '../json-value.ts'
import type { Pause, Frame } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'

/** One candidate's part of a chunk. */
interface Delta {
  /** At most one. */
  readonly parts: readonly JsonObject[]
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
 * The chunks of a reply: each contains a piece of every candidate that is not finished and cumulative usage; the last
 * piece of a candidate has its finish reason (wire notes, section 1, "Chunk shape").
 */
export function* chunksOf(answers: readonly Answer[], facts: ReplyFacts): Generator<Chunk> {
  const deltas = answers.map((answer) => deltasOf(answer))
  const length = Math.max(...deltas.map((list) => list.length))
  let visible = 0
  // Hidden thoughts are counted from the start.
  let thoughts = answers.reduce((sum, answer) => sum + answer.thoughtTokens - answer.thoughts.length, 0)
  for (let step = 0; step < length; step++) {
    const candidates: JsonObject[] = []
    for (const [index, list] of deltas.entries()) {
      const next = list[step]
      if (next === undefined) continue
      if (next.isThought) thoughts += next.tokens
      else visible += next.tokens
      const isLast = step === list.length - 1
      candidates.push(candidateOf(next.parts, index, isLast ? answers[index] : undefined, facts))
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
  const thinking = thoughts.map((text) => deltaOf({ text, thought: true }, 1, true))
  const deltas = [...thinking, ...parts.flatMap((part) => partDeltas(part, thoughts.length > 0))]
  return deltas.length > 0 ? deltas : [deltaOf(undefined, 0)]
}

function deltaOf(part: JsonObject | undefined, tokens: number, isThought = false): Delta {
  return { parts: part === undefined ? [] : [part], tokens, isThought }
}

function partDeltas(part: AnswerPart, hasThoughts: boolean): Delta[] {
  if (part.kind === 'image')
    return [deltaOf({ inlineData: { mimeType: 'image/png', data: part.base64 } }, 64)]
  if (part.kind !== 'call') return part.tokens.map((text) => deltaOf({ text }, 1))
  // This service never sends partial arguments.
  if (!part.whole) return [deltaOf(undefined, part.tokens.length)]
  const { name } = part.call
  const functionCall = { id: `call_${seededHex(12, name, part.arguments)}`, name, args: part.value }
  const thoughtSignature = Buffer.from(`sandbox:${name}`).toString('base64')
  return [deltaOf({ functionCall, ...(hasThoughts && { thoughtSignature }) }, part.tokens.length)]
}

const finishReasons = {
  complete: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  block: 'SAFETY',
  failure: 'OTHER',
  error: 'OTHER',
} as const

/** @param finished the answer, once the candidate has come to its end */
function candidateOf(
  parts: readonly JsonObject[],
  index: number,
  finished: Answer | undefined,
  { categories }: ReplyFacts,
): JsonObject {
  const content = parts.length === 0 ? { role: 'model' } : { parts, role: 'model' }
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

/** One pretty-printed JSON array, as the public service sends it without `alt=sse`. */
export function* arrayFrames(chunks: Iterable<Chunk>): Generator<Frame> {
  let lead = '['
  for (const { body, pause, isLast } of chunks) {
    yield { text: `${lead}${JSON.stringify(body, null, 2)}\n`, pause, role: isLast ? 'terminal' : 'event' }
    lead = ',\n'
  }
  yield { text: ']', pause: 'none', role: 'closing' }
}

/** The reply as the one document that `:generateContent` answers with: every text of a candidate in one part. */
export function replyDocument(answers: readonly Answer[], facts: ReplyFacts): JsonObject {
  const candidates = answers.map((answer, index) => {
    const whole = { ...answer, thoughts: joined(answer.thoughts), parts: answer.parts.map(joinedPart) }
    const parts = deltasOf(whole).flatMap((delta) => delta.parts)
    return candidateOf(parts, index, answer, facts)
  })
  const sum = (count: (answer: Answer) => number) =>
    answers.reduce((total, answer) => total + count(answer), 0)
  const [visible, thoughts] = [sum((answer) => answer.visibleTokens), sum((answer) => answer.thoughtTokens)]
  const { modelVersion, responseId, promptTokens } = facts
  return { candidates, usageMetadata: usageOf(promptTokens, visible, thoughts), modelVersion, responseId }
}

function joinedPart(part: AnswerPart): AnswerPart {
  return part.kind === 'image' ? part : { ...part, tokens: joined(part.tokens) }
}

function joined(tokens: readonly string[]): readonly string[] {
  return tokens.length === 0 ? [] : [tokens.join('')]
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
