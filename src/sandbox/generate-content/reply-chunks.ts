import type { AnswerPart } from '../answer/compose-answer.ts'
import type { Pause, Frame } from '../http/reply.ts'
import type { JsonObject } from '../json-value.ts'
import { seededHex } from '../seeded-random.ts'

/** What one chunk has of a candidate. */
export interface Piece {
  readonly kind: 'thought' | 'text' | 'image' | 'other'
  /** Undefined for what only counts: a call that the token limit cut is left out. */
  readonly part?: JsonObject
  readonly tokens: number
}

export interface Candidate {
  /** At least one. */
  readonly pieces: readonly Piece[]
  /** Tokens of thoughts that are not shown. */
  readonly hiddenThoughts: number
  /** The fields of its last chunk: finish reason, ratings, grounding, citations. */
  readonly ending: JsonObject
}

interface Chunk {
  readonly body: JsonObject
  readonly pause: Pause
  readonly isLast: boolean
}

export interface ReplyFacts {
  readonly responseId: string
  readonly modelVersion: string
  /** Tokens of the prompt by modality: `TEXT`, `IMAGE`, `AUDIO`, `VIDEO`, `DOCUMENT`. */
  readonly promptTokens: ReadonlyMap<string, number>
  /** Tokens of what built-in tools found. */
  readonly tools: number
}

export const imageTokens = 64

/**
 * The parts of an answer, each as it is streamed.
 * @param isSigned whether calls are signed
 */
export function piecesOf(parts: readonly AnswerPart[], isSigned: boolean): Piece[] {
  return parts.flatMap((part) =>
    part.call === undefined
      ? part.tokens.map((text): Piece => ({ kind: 'text', part: { text }, tokens: 1 }))
      : callPiece(part, part.call.name, isSigned),
  )
}

function callPiece({ tokens, value, isCut }: AnswerPart, name: string, isSigned: boolean): Piece {
  if (isCut) return { kind: 'other', tokens: tokens.length }
  const id = `call_${seededHex(12, name, tokens.join(''))}`
  const signature = isSigned && { thoughtSignature: Buffer.from(`sandbox:${name}`).toString('base64') }
  const part = { functionCall: { id, name, args: value }, ...signature }
  return { kind: 'other', part, tokens: tokens.length }
}

/**
 * The chunks of a reply: each contains a piece of every candidate that is not finished and cumulative usage; the last
 * piece of a candidate has its finish reason (wire notes, section 1, "Chunk shape").
 */
export function* chunksOf(candidates: readonly Candidate[], facts: ReplyFacts): Generator<Chunk> {
  const length = Math.max(...candidates.map(({ pieces }) => pieces.length))
  const spent = nothingSpent(candidates)
  for (let step = 0; step < length; step++) {
    const contents = candidates.flatMap((candidate, index) => {
      const piece = candidate.pieces[step]
      if (piece === undefined) return []
      count(spent, piece)
      return [contentOf([piece], index, candidate, step === candidate.pieces.length - 1)]
    })
    yield {
      body: bodyOf({ candidates: contents }, spent, facts),
      pause: step === 0 ? 'first' : 'token',
      isLast: step === length - 1,
    }
  }
}

/** The reply as the one document that `:generateContent` answers with: every text of a candidate in one part. */
export function replyDocument(candidates: readonly Candidate[], facts: ReplyFacts): JsonObject {
  const contents = candidates.map((candidate, index) => contentOf(candidate.pieces, index, candidate, true))
  const spent = nothingSpent(candidates)
  for (const { pieces } of candidates) for (const piece of pieces) count(spent, piece)
  return bodyOf({ candidates: contents }, spent, facts)
}

/** The reply to a blocked prompt: no candidates, only the reason. */
export function blockedChunk(blockReason: string, facts: ReplyFacts): Chunk {
  const promptFeedback = {
    blockReason,
    blockReasonMessage: '[sandbox] The prompt was blocked.',
    safetyRatings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }],
  }
  return { body: bodyOf({ promptFeedback }, nothingSpent([]), facts), pause: 'first', isLast: true }
}

/** Tokens of a reply so far; those of images are among the visible ones. */
interface Spent {
  thoughts: number
  visible: number
  images: number
}

/** Hidden thoughts are counted from the start. */
function nothingSpent(candidates: readonly Candidate[]): Spent {
  const thoughts = candidates.reduce((sum, { hiddenThoughts }) => sum + hiddenThoughts, 0)
  return { thoughts, visible: 0, images: 0 }
}

function count(spent: Spent, { kind, tokens }: Piece): void {
  if (kind === 'thought') spent.thoughts += tokens
  else spent.visible += tokens
  if (kind === 'image') spent.images += tokens
}

function bodyOf(fields: JsonObject, spent: Spent, facts: ReplyFacts): JsonObject {
  const { modelVersion, responseId } = facts
  return { ...fields, usageMetadata: usageOf(spent, facts), modelVersion, responseId }
}

/** Token counts that add up: prompt, tools, visible and thought tokens are the total (wire notes, section 1). */
function usageOf({ visible, images, thoughts }: Spent, facts: ReplyFacts): JsonObject {
  const { promptTokens, tools } = facts
  const prompt = [...promptTokens.values()].reduce((sum, tokens) => sum + tokens, 0)
  const text = (tokenCount: number) => [{ modality: 'TEXT', tokenCount }]
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: 0,
    candidatesTokenCount: visible,
    totalTokenCount: prompt + tools + visible + thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    promptTokensDetails: Array.from(promptTokens, ([modality, tokenCount]) => ({ modality, tokenCount })),
    ...(images > 0 && {
      candidatesTokensDetails: [...text(visible - images), { modality: 'IMAGE', tokenCount: images }],
    }),
    ...(tools > 0 && { toolUsePromptTokenCount: tools, toolUsePromptTokensDetails: text(tools) }),
  }
}

/** Some pieces of a candidate as its part of a chunk. */
function contentOf(
  pieces: readonly Piece[],
  index: number,
  { pieces: all, ending }: Candidate,
  isLast: boolean,
): JsonObject {
  const parts = joinedParts(pieces.flatMap(({ part }) => (part === undefined ? [] : [part])))
  const content = parts.length === 0 ? { role: 'model' } : { parts, role: 'model' }
  if (!isLast) return { content, index }
  const tokenCount = all.reduce((sum, { kind, tokens }) => sum + (kind === 'thought' ? 0 : tokens), 0)
  return { content, index, ...ending, tokenCount }
}

/** Texts of one kind that follow each other as one part. */
function joinedParts(parts: readonly JsonObject[]): JsonObject[] {
  const joined: { part: JsonObject; texts: string[] }[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    const { text } = part
    const follows = last !== undefined && last.texts.length > 0 && last.part['thought'] === part['thought']
    if (typeof text !== 'string') joined.push({ part, texts: [] })
    else if (follows) last.texts.push(text)
    else joined.push({ part, texts: [text] })
  }
  return joined.map(({ part, texts }) => (texts.length === 0 ? part : { ...part, text: texts.join('') }))
}

/** `data:` lines that end in CRLF, without event names and without `[DONE]` (wire notes, section 1, "Framing"). */
export function* eventFrames(chunks: Iterable<Chunk>): Generator<Frame> {
  for (const { body, pause, isLast } of chunks) {
    yield { text: `data: ${JSON.stringify(body)}\r\n\r\n`, pause, role: isLast ? 'terminal' : 'event' }
  }
}
