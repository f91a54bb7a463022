import type { AnswerPart } from '../answer/compose-answer.ts'
import type { Frame, Pause } from '../http/reply.ts'
import type { JsonObject } from '../json-value.ts'
import { seededHex } from '../seeded-random.ts'

/** What one chunk has of a candidate. */
export interface Piece {
  /** Undefined for what only counts: a call that the token limit cut is left out. */
  readonly part?: JsonObject
  readonly tokens: number
  /** Tokens of thoughts, which are counted apart. */
  readonly thoughts?: number
}

export interface Candidate {
  /** At least one. */
  readonly pieces: readonly Piece[]
  /** The fields of its last chunk: finish reason, ratings, grounding, citations. */
  readonly ending: JsonObject
}

/** The parts of an answer, each as it is streamed. */
export function piecesOf(parts: readonly AnswerPart[], isSigned: boolean): Piece[] {
  return parts.flatMap(({ call, tokens, value, isCut }): Piece[] => {
    if (call === undefined) return tokens.map((text) => ({ part: { text }, tokens: 1 }))
    if (isCut) return [{ tokens: tokens.length }]
    const { name } = call
    const id = `call_${seededHex(12, name, tokens.join(''))}`
    const signature = isSigned && { thoughtSignature: Buffer.from(`sandbox:${name}`).toString('base64') }
    return [{ part: { functionCall: { id, name, args: value }, ...signature }, tokens: tokens.length }]
  })
}

/** In each chunk a piece of every candidate that is not finished, and cumulative usage (wire notes, section 1). */
export function* chunkFrames(candidates: readonly Candidate[], usageWith: Usage): Generator<Frame> {
  const length = Math.max(...candidates.map(({ pieces }) => pieces.length))
  for (let step = 0; step < length; step++) {
    const going = [...candidates.entries()].filter(([, { pieces }]) => step < pieces.length)
    const contents = going.map(([index, candidate]) => contentOf(candidate, index, step, step + 1))
    const usage = usageWith(going.map(([, { pieces }]) => pieces[step]!))
    const role = step === length - 1 ? 'terminal' : 'event'
    yield chunkFrame({ candidates: contents, ...usage }, step === 0 ? 'first' : 'token', role)
  }
}

/** `data:` lines that end in CRLF, without event names and without `[DONE]` (wire notes, section 1, "Framing"). */
export function chunkFrame(body: JsonObject, pause: Pause, role: Frame['role']): Frame {
  return { text: `data: ${JSON.stringify(body)}\r\n\r\n`, pause, role }
}

/** The reply as the one document that `:generateContent` answers with: every text of a candidate in one part. */
export function replyDocument(candidates: readonly Candidate[], usageWith: Usage): JsonObject {
  const contents = candidates.map((candidate, index) => contentOf(candidate, index))
  return { candidates: contents, ...usageWith(candidates.flatMap(({ pieces }) => pieces)) }
}

export function blocking(blockReason: string): JsonObject {
  const promptFeedback = {
    blockReason,
    blockReasonMessage: '[sandbox] The prompt was blocked.',
    safetyRatings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }],
  }
  return { promptFeedback }
}

/**
 * Prompt, tools, visible and thought tokens add up; the result adds pieces, and gives the fields of their chunk.
 * @param toolTokens of what built-in tools found
 */
export function createUsage(names: JsonObject, promptTokens: number, toolTokens: number) {
  let [thoughts, visible] = [0, 0]
  return (added: readonly Piece[]): JsonObject => {
    for (const piece of added) {
      thoughts += piece.thoughts ?? 0
      visible += piece.tokens
    }
    const usageMetadata = {
      promptTokenCount: promptTokens,
      cachedContentTokenCount: 0,
      candidatesTokenCount: visible,
      totalTokenCount: promptTokens + toolTokens + visible + thoughts,
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      ...(toolTokens > 0 && { toolUsePromptTokenCount: toolTokens }),
    }
    return { usageMetadata, ...names }
  }
}

type Usage = ReturnType<typeof createUsage>

/** Some pieces of a candidate, or all of them, as its part of a chunk. */
function contentOf({ pieces, ending }: Candidate, index: number, start = 0, end = pieces.length): JsonObject {
  const parts = joinedParts(
    pieces.slice(start, end).flatMap(({ part }): JsonObject[] => (part === undefined ? [] : [part])),
  )
  const content = parts.length === 0 ? { role: 'model' } : { parts, role: 'model' }
  if (end < pieces.length) return { content, index }
  const tokenCount = pieces.reduce((sum, { tokens }) => sum + tokens, 0)
  return { content, index, ...ending, tokenCount }
}

/** Texts of one kind that follow each other as one part. */
function joinedParts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    const isText = typeof part['text'] === 'string' && typeof last?.['text'] === 'string'
    if (isText && last['thought'] === part['thought'])
      joined.splice(-1, 1, { ...last, text: `${last['text']}${part['text']}` })
    else joined.push(part)
  }
  return joined
}
