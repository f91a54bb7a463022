import type { Citation, TextResult, ToolCall, FinishReason } from '../../events/text.ts'
import { createGrowingText, maxReplyCharacters, sampleLength, type GrowingText } from '../../growing-text.ts'
import { isObject, listOf, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { positionOf, unescapeJson, isErrorEvent, type FastPath } from '../message-reader.ts'
import { replyError } from '../gateway-errors.ts'
import {
  checkFinish,
  notUnderstood,
  truncatedError,
  type DecoderOptions,
  type TextDecoder,
  type TextReply,
} from '../stream-text.ts'
import {
  hasSameFields,
  JoinedParts,
  newFields,
  PartialArguments,
  readContentUsage,
  usualChunk,
  citationsOf,
  itemOfPart,
  jsonOf,
  lookUpsOf,
} from './chunks.ts'

/** How much media of an answer is kept to continue from, in characters of base64. */
const maxReplyMedia = 32 * 1024 * 1024

const metadataNames = ['groundingMetadata', 'urlContextMetadata', 'citationMetadata'] as const

const newCandidate = (text: GrowingText) => ({
  text,
  finish: undefined as string | undefined,
  /** Whether the last reason was the unspecified one, which some send with every chunk and some at the end. */
  isUnspecified: false,
  /** Why, in the gateway's own words. */
  message: undefined as string | undefined,
  /** As in a reply without streaming: parts are appended, of every other field the last value stays. */
  parts: new JoinedParts(),
  content: newFields(),
  fields: newFields(),
})

type CandidateState = ReturnType<typeof newCandidate>

interface Block {
  readonly reason: string
  readonly message: string | null
}

/** Decodes the chunks of streaming content generation (specification, endpoint 1; wire notes, section 1). */
export function createContentDecoder({
  emit,
  keepResponse,
  keepText,
  keepReply = false,
}: DecoderOptions): TextDecoder {
  const candidates = new Map<number, CandidateState>()
  const toolCalls: ToolCall[] = []
  const answered = new Set<number>()
  const citations: Citation[] = []
  const cited = new Set<string>()
  /** Of the reply, beside its candidates. */
  const fields = newFields()
  /** The newest of the usual chunks, of which no other is ever parsed. */
  let skimmed: RegExpExecArray | undefined
  /** Of the first candidate, as far as it is kept to continue from: its text, and its media as base64. */
  let length = 0
  let mediaLength = 0
  let open: { name: string; id: string | null; arguments: PartialArguments } | undefined
  const newText = () => createGrowingText(keepText ? Infinity : sampleLength)
  const reasoning = newText()
  let block: Block | undefined
  /** Of the format's default reason: a block only where nothing else comes. */
  let unspecifiedBlock: Block | undefined
  let otherOutput = false
  let understood = false
  /** Text came after its end: a finish reason in this reply means nothing. */
  let repeatsEnd = false
  let isMarked = false

  const message = (value: unknown) => {
    // The array form may come as one message. Only one level: deeper ones could exhaust the stack.
    for (const chunk of Array.isArray(value) ? objectsOf(value) : [value]) readChunk(chunk)
  }

  const readChunk = (value: unknown) => {
    if (!isObject(value)) return
    // Relays send the other style's error event here, too (quirk 12).
    if (value['error'] || isErrorEvent(value['type'])) throw replyError(value)
    if (value['promptFeedback']) readFeedback(objectOf(value['promptFeedback']))
    for (const candidate of objectsOf(value['candidates'])) readCandidate(candidate)
    addFields(value, allFields())
  }

  const allFields = () => {
    if (skimmed !== undefined) {
      const [event] = skimmed
      skimmed = undefined
      addFields(JSON.parse(event.slice(event.indexOf('{'))) as JsonObject, fields)
    }
    return fields
  }

  const isCut = () => length > maxReplyCharacters || mediaLength > maxReplyMedia

  const keepPart = (part: unknown, index: number, { parts }: CandidateState) => {
    if (!keepResponse && (!keepReply || index > 0)) return
    if (index === 0 && isObject(part)) {
      length += lengthOf(part['text']) + lengthOf(part['thoughtSignature'])
      mediaLength += lengthOf(objectOf(part['inlineData'] ?? part['inline_data'])['data'])
    }
    if (keepResponse || !isCut()) parts.add(part)
  }

  const readFeedback = (feedback: JsonObject) => {
    const reason = stringOf(feedback['blockReason'])
    if (reason === undefined) return
    const told = { reason, message: stringOf(feedback['blockReasonMessage']) ?? null }
    if (/^BLOCK(ED)?_REASON_UNSPECIFIED$/.test(reason)) unspecifiedBlock = told
    else blockFor(told)
  }

  const blockFor = (told: Block) => {
    block = told
    understood = true
    emit({ type: 'prompt-block', ...told })
  }

  const candidateAt = (index: number): CandidateState => {
    const known = candidates.get(index)
    if (known !== undefined) return known
    const fresh = newCandidate(newText())
    candidates.set(index, fresh)
    return fresh
  }

  const addText = (state: CandidateState, index: number, text: string) => {
    if (text === '') return
    if (state.finish !== undefined) repeatsEnd = true
    state.isUnspecified = false
    state.text.add(text)
    emit({ type: 'text-delta', index, text })
  }

  const readCandidate = (candidate: JsonObject) => {
    const index = positionOf(candidate['index'])
    const state = candidateAt(index)
    const content = objectOf(candidate['content'])
    const { parts } = content
    if (Array.isArray(parts)) understood = true
    for (const part of listOf(parts)) {
      if (isObject(part)) readPart(part, index, state)
      keepPart(part, index, state)
    }
    if (keepResponse) {
      for (const name in candidate) if (name !== 'content') state.fields[name] = candidate[name]
      for (const name in content) if (name !== 'parts') state.content[name] = content[name]
    }
    const finish = stringOf(candidate['finishReason'])
    // The unspecified reason is the format's default: an end only if the stream ends in order after it.
    state.isUnspecified = finish === unspecified
    if (finish !== undefined && finish !== '' && finish !== unspecified) {
      state.finish = finish
      state.message = stringOf(candidate['finishMessage'])
      understood = true
      endToolCall()
    }
    if (metadataNames.some((name) => candidate[name])) readMetadata(candidate)
    // Many services send harmless ones with every chunk.
    const ratings = objectsOf(candidate['safetyRatings']).filter(isNotable)
    if (ratings.length > 0) emit({ type: 'safety-report', ratings })
  }

  const readPart = (part: JsonObject, index: number, state: CandidateState) => {
    const text = stringOf(part['text'])
    if (text !== undefined && text !== '') {
      if (part['thought'] === true) {
        reasoning.add(text)
        emit({ type: 'reasoning-delta', text })
      } else addText(state, index, text)
    }
    if (isObject(part['functionCall'])) readFunctionCall(part['functionCall'])
    else if (text === undefined) readOtherPart(part)
  }

  const readFunctionCall = (call: JsonObject) => {
    const name = stringOf(call['name'])
    const id = stringOf(call['id']) ?? null
    if (name !== undefined && call['willContinue'] !== true && call['partialArgs'] === undefined) {
      endToolCall()
      return addToolCall({ type: 'function', id, name, arguments: call['args'] ?? {} })
    }
    if (name !== undefined) {
      endToolCall()
      open = { name, id, arguments: new PartialArguments() }
    }
    if (open === undefined) return
    open.arguments.add(call['partialArgs'])
    if (call['partialArgs'] !== undefined) {
      const pieces = jsonOf(call['partialArgs'])
      emit({ type: 'tool-delta', index: toolCalls.length, name: open.name, arguments: pieces })
    }
    // A piece without any argument and without `willContinue` closes the call.
    if (call['willContinue'] !== true && call['partialArgs'] === undefined) endToolCall()
  }

  const endToolCall = () => {
    if (open === undefined) return
    const { name, id, arguments: args } = open
    open = undefined
    addToolCall({ type: 'function', id, name, arguments: args.value })
  }

  const addToolCall = (call: ToolCall) => {
    emit({ type: 'tool-call', index: toolCalls.length, call })
    toolCalls.push(call)
  }

  const readOtherPart = (part: JsonObject) => {
    const data = objectOf(part['inlineData'] ?? part['inline_data'])
    const code = objectOf(part['executableCode'])
    const result = objectOf(part['codeExecutionResult'])
    if (typeof data['data'] === 'string') {
      otherOutput = true
      const mime = stringOf(data['mimeType']) ?? stringOf(data['mime_type']) ?? 'application/octet-stream'
      emit({ type: 'image-data', mime_type: mime, base64: data['data'], partial: false })
    } else if (typeof code['code'] === 'string') {
      otherOutput = true
      emit({ type: 'code-run', language: stringOf(code['language']) ?? '', code: code['code'] })
    } else if (stringOf(result['outcome']) !== undefined) {
      const output = stringOf(result['output']) ?? ''
      emit({ type: 'code-result', outcome: stringOf(result['outcome'])!, output })
    } else {
      const item = itemOfPart(part)
      if (item === undefined) return
      otherOutput = true
      emit({ type: 'item-add', ...item })
      if (isObject(part['functionResponse'])) noteAnswer(part['functionResponse'])
    }
  }

  /** A call that the gateway has answered itself, as it does for remote servers, is none for the caller. */
  const noteAnswer = ({ id, name }: JsonObject) => {
    const index = toolCalls.findLastIndex((call) => (id === undefined ? call.name === name : call.id === id))
    if (index !== -1) answered.add(index)
  }

  /** Grounding is repeated in every chunk. */
  const isNew = (key: string) => {
    const { size } = cited
    return cited.add(key).size > size
  }

  const readMetadata = (candidate: JsonObject) => {
    for (const found of lookUpsOf(candidate)) {
      if (isNew(`${found.kind} ${found.summary}`)) emit({ type: 'item-add', ...found })
    }
    for (const citation of citationsOf(candidate)) {
      if (!isNew(JSON.stringify(citation))) continue
      citations.push(citation)
      emit({ type: 'citation-add', citation })
    }
  }

  /** @param isOver whether the stream has ended: then an unspecified reason is one, too */
  const allEnded = (isOver: boolean) =>
    candidates.size > 0 &&
    [...candidates.values()].every(
      ({ finish, isUnspecified }) => finish !== undefined || (isOver && isUnspecified),
    )

  const result = (): TextResult => {
    const ordered = [...candidates].sort(([a], [b]) => a - b)
    const asked = toolCalls.filter((_, index) => !answered.has(index))
    const called = asked.length > 0
    const list = ordered.map(([index, { text, finish }]) => ({
      index,
      text: text.toString(),
      finish_reason: block === undefined ? finishReasonOf(finish ?? '', called) : ('content_filter' as const),
    }))
    // One successful candidate makes the reply a success.
    const best =
      list.find(({ finish_reason: reason }) => reason === 'stop' || reason === 'tool_calls') ?? list[0]
    const end = best === undefined ? undefined : candidates.get(best.index)
    return {
      text: list[0]?.text ?? '',
      reasoning: reasoning.toString(),
      refusal: '',
      candidates: list,
      finish_reason: block === undefined ? (best?.finish_reason ?? 'unknown') : 'content_filter',
      raw_finish_reason: block?.reason ?? end?.finish ?? (end?.isUnspecified ? unspecified : null),
      finish_message: block === undefined ? (end?.message ?? null) : block.message,
      tool_calls: asked,
      citations,
      usage: readContentUsage(allFields()['usageMetadata']),
      response_id: stringOf(fields['responseId']) ?? null,
      state: null,
      model: stringOf(fields['modelVersion']) ?? null,
      response: keepResponse ? response() : null,
    }
  }

  const response = () => {
    const all = [...candidates.values()].map(({ content, parts: { list }, ...candidate }) => {
      const hasContent = list.length > 0 || Object.keys(content).length > 0
      return { ...(hasContent && { content: { ...content, parts: list } }), ...candidate.fields }
    })
    return { ...(all.length > 0 && { candidates: all }), ...fields }
  }

  const reply = (): TextReply | undefined => {
    if (!keepReply) return undefined
    const parts = candidates.get(0)?.parts.list ?? []
    const texts = objectsOf(parts).map((part) =>
      part['thought'] === true ? '' : (stringOf(part['text']) ?? ''),
    )
    const isWhole = block === undefined && (isMarked || allEnded(true)) && !isCut()
    return {
      text: texts.join(''),
      content: { role: 'model', parts },
      ...(isWhole ? {} : { is_partial: true }),
    }
  }

  const fastPath: FastPath = {
    pattern: usualChunk,
    textGroup: 1,
    joins: hasSameFields,
    take(characters, chunk) {
      const text = unescapeJson(characters)
      const state = candidateAt(0)
      state.isUnspecified = false
      understood = true
      addText(state, 0, text)
      if (keepReply) keepPart({ text }, 0, state)
      if (skimmed !== undefined && !hasSameFields(chunk, skimmed)) allFields()
      skimmed = chunk
    },
  }

  return {
    message,
    // A merged reply needs every chunk as it is.
    fastPath: keepResponse ? undefined : fastPath,
    // Some send a finish reason with every chunk (recorded).
    endIsCertain: false,
    get state() {
      return !repeatsEnd && (block !== undefined || allEnded(false)) ? 'settled' : 'open'
    },
    result,
    reply,
    finish(marked) {
      isMarked = marked
      endToolCall()
      if (!understood && unspecifiedBlock !== undefined) blockFor(unspecifiedBlock)
      const whole = result()
      const anyText = whole.candidates.some(({ text }) => text !== '')
      if (!understood) throw notUnderstood()
      if (block === undefined && !allEnded(true) && !marked) throw truncatedError(whole)
      checkFinish(whole, anyText || toolCalls.length > 0 || otherOutput)
    },
  }
}

function addFields(chunk: JsonObject, fields: Record<string, unknown>): void {
  for (const name in chunk) {
    const value = chunk[name]
    if (name !== 'candidates' && (value !== null || !(name in fields))) fields[name] = value
  }
}

function lengthOf(value: unknown): number {
  return stringOf(value)?.length ?? 0
}

/** Of what was blocked, and of what may be harmful. */
function isNotable({ probability, blocked }: JsonObject): boolean {
  return blocked === true || probability === 'MEDIUM' || probability === 'HIGH'
}

const unspecified = 'FINISH_REASON_UNSPECIFIED'

/** finishReason values in use (wire notes, section 1, Enums) by the program's own words. */
const reasons = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  content_filter:
    'SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR',
  error:
    'MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE',
  other: 'LANGUAGE OTHER IMAGE_OTHER NO_IMAGE',
} satisfies Partial<Record<FinishReason, string>>

/** An unknown reason is `unknown`, which is not a failure by itself. */
function finishReasonOf(raw: string, calledTools: boolean): FinishReason {
  const known = Object.keys(reasons) as (keyof typeof reasons)[]
  const reason = known.find((name) => reasons[name].split(' ').includes(raw)) ?? 'unknown'
  return reason === 'stop' && calledTools ? 'tool_calls' : reason
}
