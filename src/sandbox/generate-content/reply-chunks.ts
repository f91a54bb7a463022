import { tokensOf, type Answer, type AnswerPart } from '../answer/answer.ts'
import { isObject, type JsonObject } from '../json-value.ts'
import type { Pause, Frame } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'
import type { ToolPart } from './tool-use.ts'
import { scoresOf, totalScore } from './log-probabilities.ts'
import { usageOf, type Spent } from './token-usage.ts'

/** An answer as a candidate. */
export interface Candidate {
  readonly answer: Answer
  /** Parts before the text: code that ran, calls of tools that the sandbox answered. */
  readonly toolParts: readonly ToolPart[]
  /** The fields of its last chunk: finish reason, ratings, grounding, citations. */
  readonly ending: JsonObject
  /** How many likely tokens are listed beside each; undefined without log probabilities. */
  readonly logprobs: number | undefined
}

/** One candidate's part of a chunk. */
interface Delta {
  readonly parts: readonly JsonObject[]
  readonly tokens: number
  readonly isThought?: boolean
  readonly isImage?: boolean
  /** The tokens of a text. */
  readonly words?: readonly string[]
}

interface Chunk {
  readonly body: JsonObject
  readonly pause: Pause
  readonly isLast: boolean
}

export interface ReplyFacts {
  readonly responseId: string
  readonly modelVersion: string
  readonly spent: Pick<Spent, 'prompt' | 'cached' | 'tools'>
  /** Whether the arguments of function calls come in pieces. */
  readonly streamsArguments: boolean
}

/**
 * The chunks of a reply: each contains a piece of every candidate that is not finished and cumulative usage; the last
 * piece of a candidate has its finish reason (wire notes, section 1, "Chunk shape").
 */
export function* chunksOf(candidates: readonly Candidate[], facts: ReplyFacts): Generator<Chunk> {
  const deltas = candidates.map((candidate) => deltasOf(candidate, facts))
  const length = Math.max(...deltas.map((list) => list.length))
  const spent = { ...facts.spent, visible: 0, images: 0, thoughts: hiddenThoughts(candidates) }
  for (let step = 0; step < length; step++) {
    const pieces: JsonObject[] = []
    for (const [index, list] of deltas.entries()) {
      const next = list[step]
      if (next === undefined) continue
      count(spent, next)
      pieces.push(pieceOf(next, index, candidates[index]!, step === list.length - 1))
    }
    yield {
      body: bodyOf({ candidates: pieces }, spent, facts),
      pause: step === 0 ? 'first' : 'token',
      isLast: step === length - 1,
    }
  }
}

/** The reply as the one document that `:generateContent` answers with: every text of a candidate in one part. */
export function replyDocument(candidates: readonly Candidate[], facts: ReplyFacts): JsonObject {
  const spent = { ...facts.spent, visible: 0, images: 0, thoughts: hiddenThoughts(candidates) }
  const pieces = candidates.map((candidate, index) => {
    const deltas = deltasOf(candidate, { ...facts, streamsArguments: false })
    for (const delta of deltas) count(spent, delta)
    const words = deltas.flatMap((delta) => delta.words ?? [])
    const whole = { parts: joinedParts(deltas), tokens: 0, words }
    return pieceOf(whole, index, candidate, true)
  })
  return bodyOf({ candidates: pieces }, spent, facts)
}

/** The reply to a blocked prompt: no candidates, only the reason. */
export function blockedChunk(blockReason: string, facts: ReplyFacts): Chunk {
  const promptFeedback = {
    blockReason,
    blockReasonMessage: '[sandbox] The prompt was blocked.',
    safetyRatings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }],
  }
  const spent = { ...facts.spent, visible: 0, images: 0, thoughts: 0 }
  return { body: bodyOf({ promptFeedback }, spent, facts), pause: 'first', isLast: true }
}

function bodyOf(fields: JsonObject, spent: Spent, { modelVersion, responseId }: ReplyFacts): JsonObject {
  return { ...fields, usageMetadata: usageOf(spent), modelVersion, responseId }
}

/** Hidden thoughts are counted from the start. */
function hiddenThoughts(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { answer }) => sum + answer.thoughtTokens - answer.thoughts.length, 0)
}

function count(
  spent: { visible: number; images: number; thoughts: number },
  { tokens, isThought, isImage }: Delta,
): void {
  if (isThought) spent.thoughts += tokens
  else spent.visible += tokens
  if (isImage) spent.images += tokens
}

function deltasOf({ answer, toolParts }: Candidate, { modelVersion, streamsArguments }: ReplyFacts): Delta[] {
  const { thoughts, parts } = answer
  // From the third generation on calls are signed, whether thoughts are shown or not.
  const isSigned = thoughts.length > 0 || /^gemini-(?:[3-9]|\d{2})/.test(modelVersion)
  const deltas: Delta[] = [
    ...thoughts.map((text) => ({ parts: [{ text, thought: true }], tokens: 1, isThought: true })),
    ...toolParts.map(({ part, tokens }) => ({ parts: [part], tokens })),
    ...parts.flatMap((part) => partDeltas(part, isSigned, streamsArguments)),
  ]
  return deltas.length > 0 ? deltas : [{ parts: [], tokens: 0 }]
}

function partDeltas(part: AnswerPart, isSigned: boolean, streamsArguments: boolean): Delta[] {
  if (part.kind === 'image') {
    const inlineData = { mimeType: 'image/png', data: part.base64 }
    return [{ parts: [{ inlineData }], tokens: 64, isImage: true }]
  }
  if (part.kind !== 'call') {
    return part.tokens.map((text) => ({ parts: [{ text }], tokens: 1, words: [text] }))
  }
  const tokens = part.tokens.length
  // A call that the token limit cuts is left out.
  if (!part.whole) return [{ parts: [], tokens }]
  const { name } = part.call
  const id = `call_${seededHex(12, name, part.arguments)}`
  const signature = isSigned && { thoughtSignature: Buffer.from(`sandbox:${name}`).toString('base64') }
  if (!streamsArguments) {
    return [{ parts: [{ functionCall: { id, name, args: part.value }, ...signature }], tokens }]
  }
  const pieces = callPieces({ id, name }, part.value)
  return pieces.map((functionCall, index) => ({
    parts: [{ functionCall, ...(index === 0 && signature) }],
    // The last piece counts the whole call.
    tokens: index === pieces.length - 1 ? tokens : 0,
  }))
}

/** Texts of one kind that follow each other as one part. */
function joinedParts(deltas: readonly Delta[]): JsonObject[] {
  const joined: { part: JsonObject; texts: string[] }[] = []
  for (const part of deltas.flatMap((delta) => delta.parts)) {
    const last = joined.at(-1)
    const { text } = part
    const follows = last !== undefined && last.texts.length > 0 && last.part['thought'] === part['thought']
    if (typeof text !== 'string') joined.push({ part, texts: [] })
    else if (follows) last.texts.push(text)
    else joined.push({ part, texts: [text] })
  }
  return joined.map(({ part, texts }) => (texts.length === 0 ? part : { ...part, text: texts.join('') }))
}

function pieceOf(
  { parts, words = [] }: Delta,
  index: number,
  candidate: Candidate,
  isLast: boolean,
): JsonObject {
  const { answer, toolParts, ending, logprobs } = candidate
  const content = parts.length === 0 ? { role: 'model' } : { parts, role: 'model' }
  const scores = logprobs !== undefined && words.length > 0 && { logprobsResult: scoresOf(words, logprobs) }
  if (!isLast) return { content, index, ...scores }
  const tokenCount = toolParts.reduce((sum, part) => sum + part.tokens, answer.visibleTokens)
  const all = answer.parts.flatMap((part) => (part.kind === 'text' ? part.tokens : []))
  const average = logprobs !== undefined && all.length > 0 && { avgLogprobs: totalScore(all) / all.length }
  return { content, index, ...ending, tokenCount, ...average, ...scores }
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

/**
 * A function call whose arguments come in pieces (wire notes, section 1, "Part kinds"): the name, then each value at its
 * JSON path, a string piece by piece, then an empty call.
 */
function callPieces(call: { readonly id: string; readonly name: string }, value: unknown): JsonObject[] {
  const pieces = piecesOf(value, '$').map((piece) => ({ partialArgs: [piece], willContinue: true }))
  return [{ ...call, willContinue: true }, ...pieces, {}]
}

function piecesOf(value: unknown, jsonPath: string): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((entry, index) => piecesOf(entry, `${jsonPath}[${index}]`))
  if (isObject(value)) {
    return Object.entries(value).flatMap(([name, inner]) => piecesOf(inner, `${jsonPath}${stepOf(name)}`))
  }
  if (typeof value === 'string') {
    const texts = value === '' ? [''] : tokensOf(value)
    return texts.map((stringValue, index) => ({
      jsonPath,
      stringValue,
      ...(index < texts.length - 1 && { willContinue: true }),
    }))
  }
  if (typeof value === 'number') return [{ jsonPath, numberValue: value }]
  return [typeof value === 'boolean' ? { jsonPath, boolValue: value } : { jsonPath, nullValue: 'NULL_VALUE' }]
}

function stepOf(name: string): string {
  return /^\w+$/.test(name) ? `.${name}` : `['${name}']`
}
