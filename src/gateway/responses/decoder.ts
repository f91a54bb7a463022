import type { ModelgateError } from '../../errors.ts'
import type { TextResult, FinishReason } from '../../events/text.ts'
import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { isErrorEvent, replyError } from '../reply-errors.ts'
import {
  finishError,
  notUnderstood,
  positionOf,
  stillRunning,
  truncatedError,
  type DecoderOptions,
  type TextDecoder,
} from '../text-decoder.ts'
import { answerText, contentParts, isAnswer, createTranscript } from './transcript.ts'
import { readResponseUsage } from './usage.ts'
import { type FastPath, jsonPattern, unescapeJson } from '../events/json-reader.ts'

/** Decodes a response object, whole or as a stream of events (specification, endpoint 2; wire notes, section 2). */
export function createResponseDecoder({ emit, keepText }: DecoderOptions): TextDecoder {
  const shown = createTranscript(emit, keepText)
  const { text, addText } = shown
  /** How long the text of earlier responses in the same stream is. */
  let earlier = 0
  /** The newest whole response object, as the gateway sent it. */
  let response: JsonObject | undefined
  let status: string | undefined
  let ended = false
  let failure: ModelgateError | undefined
  let understood = false

  const itemAt = (event: JsonObject) => shown.itemAt(positionOf(event['output_index']))

  const message = (value: unknown) => {
    // Only one level: deeper ones could exhaust the stack.
    for (const entry of Array.isArray(value) ? objectsOf(value) : [value]) readMessage(entry)
  }

  const readMessage = (value: unknown) => {
    if (!isObject(value)) return
    const type = stringOf(value['type'])
    if (isErrorEvent(type) || isFailure(value)) {
      failure ??= replyError(value)
      understood = true
    } else if (type?.startsWith('response.')) event(type, value)
    else if (value['object'] === 'response' || Array.isArray(value['output'])) end(value)
  }

  /** Events that only repeat or announce what others bring are left to the default. */
  const event = (type: string, value: JsonObject) => {
    understood = true
    const delta = stringOf(value['delta']) ?? ''
    switch (type) {
      case 'response.output_text.delta':
        return addText(itemAt(value), delta)
      case 'response.output_text.done':
        // Repeats the deltas, unless there were none.
        if (text.length === earlier) addText(itemAt(value), stringOf(value['text']) ?? '')
        return
      case 'response.refusal.delta':
        return shown.addRefusal(itemAt(value), delta)
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return shown.addReasoning(itemAt(value), delta)
      case 'response.reasoning_summary_part.added':
        // Parts are paragraphs of one summary.
        if (itemAt(value).reasoning > 0) shown.addReasoning(itemAt(value), '\n\n')
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
      case 'response.mcp_call_arguments.delta': {
        const index = positionOf(value['output_index'])
        const item = itemAt(value)
        shown.addArguments(item, delta)
        return emit({ type: 'tool-delta', index, name: item.name, arguments: delta })
      }
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        return shown.setArguments(itemAt(value), stringOf(value['arguments'] ?? value['input']))
      case 'response.output_text.annotation.added':
        return shown.addCitation(value['annotation'])
      case 'response.image_generation_call.partial_image':
        return shown.addImage(value['partial_image_b64'], value['output_format'], true)
      case 'response.output_item.added':
        return shown.beginItem(objectOf(value['item']), positionOf(value['output_index']))
      case 'response.output_item.done':
        return shown.addItem(objectOf(value['item']), positionOf(value['output_index']))
      case 'response.created':
        // A tool that runs at the gateway may make one stream of several responses (recorded), each numbered anew.
        shown.forgetItems()
        earlier = text.length
        ended = false
        status = undefined
        if (isObject(value['response'])) response = value['response']
        return
      case 'response.in_progress':
      case 'response.queued':
        if (isObject(value['response'])) response = value['response']
        status = stringOf(response?.['status']) ?? status
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return end(objectOf(value['response']), type.slice('response.'.length))
      case 'response.done':
        // Some name every end alike; the response says which it was.
        return isObject(value['response']) ? end(value['response']) : undefined
    }
  }

  /** The response object at the end: brings whatever the stream left out. */
  const end = (whole: JsonObject, fromEvent?: string) => {
    understood = true
    ended = true
    response = whole
    status = stringOf(whole['status']) ?? fromEvent
    const output = objectsOf(whole['output'])
    // Positions in the final list may differ from those in the stream: items are taken from it all together or not at all.
    const { anyDone } = shown
    const anyText = text.length > earlier || shown.refusal.length > 0
    for (const [index, entry] of output.entries()) {
      if (anyDone || (anyText && isAnswer(entry))) continue
      shown.addItem(entry, index % 1024)
    }
    if (output.length === 0 && status?.startsWith('complete')) shown.endCalls()
    const full = output
      .filter(isAnswer)
      .flatMap((entry) => contentParts(entry).map(answerText))
      .join('')
    if (full.length > text.length && full.startsWith(text.toString()))
      addText(itemAt({}), full.slice(text.length))
    if (output.length === 0 && text.length === 0) addText(itemAt({}), stringOf(whole['output_text']) ?? '')
    const error = objectOf(whole['error'])
    // Some send an empty error with every response.
    const told = Object.values(error).some(Boolean)
    if (status === 'failed' || told) failure = replyError({ error: told ? error : whole['message'] })
  }

  const rawReason = () => stringOf(objectOf(response?.['incomplete_details'])['reason']) ?? status ?? null

  const finishReason = () =>
    responseFinishReason({
      failed: failure !== undefined,
      ended,
      status,
      reason: rawReason(),
      refusedOnly: shown.refusal.length > 0 && text.length === 0,
      calledTools: shown.toolCalls.length > 0,
    })

  const result = (): TextResult => ({
    text: text.toString(),
    reasoning: shown.reasoning.toString(),
    refusal: shown.refusal.toString(),
    candidates: [{ index: 0, text: text.toString(), finish_reason: finishReason() }],
    finish_reason: finishReason(),
    raw_finish_reason: rawReason(),
    finish_message: null,
    tool_calls: shown.toolCalls,
    citations: shown.citations,
    usage: readResponseUsage(response?.['usage']),
    response_id: stringOf(response?.['id']) ?? null,
    model: stringOf(response?.['model']) ?? null,
    response: response ?? null,
  })

  const fastPath = createDeltaFastPath((outputIndex, delta) => {
    understood = true
    addText(shown.itemAt(outputIndex), delta)
  })

  return {
    message,
    fastPath,
    endIsCertain: true,
    get state() {
      // `response.failed` follows an error event, if it comes at all.
      return ended || failure !== undefined ? 'settled' : 'open'
    },
    result,
    verdict(marked) {
      if (failure !== undefined) {
        return failure.amend({ remoteId: stringOf(response?.['id']), ...failure.facts })
      }
      if (!understood) return notUnderstood()
      const whole = result()
      if (ended && (status === 'queued' || status === 'in_progress')) return stillRunning(whole, status)
      if (!ended && !marked) return truncatedError(whole)
      return finishError(whole, text.length > 0 || shown.refusal.length > 0 || shown.otherOutput)
    },
  }
}

/** The official client takes an event of any type with an `error` of its own for a failure (wire notes, section 2). */
function isFailure(value: JsonObject): boolean {
  return Boolean(value['error']) && value['object'] !== 'response'
}

/** What is known of a response when it has ended, or has not. */
interface ResponseEnd {
  readonly failed: boolean
  readonly ended: boolean
  /** `status` of the response object. */
  readonly status: string | undefined
  /** `incomplete_details.reason`, else the status. */
  readonly reason: string | null
  readonly refusedOnly: boolean
  readonly calledTools: boolean
}

/** Why a response ended, from its status (specification, "States and transitions") in the program's own vocabulary. */
function responseFinishReason(end: ResponseEnd): FinishReason {
  const { status } = end
  if (end.failed) return 'error'
  if (!end.ended) return 'unknown'
  if (status === 'cancelled') return 'cancelled'
  if (status === 'incomplete') return end.reason === 'content_filter' ? 'content_filter' : 'length'
  if (end.refusedOnly) return 'refusal'
  // `complete` was recorded, too.
  if (status !== 'completed' && status !== 'complete' && status !== undefined) return 'unknown'
  return end.calledTools ? 'tool_calls' : 'stop'
}

const { characters, plainValue } = jsonPattern
/** The fields that come along and say nothing here; with any other, the event is left to the parser. */
const others = String.raw`(?:, ?"(?:item_id|content_index|sequence_number|logprobs|obfuscation)": ?${plainValue})*`
const delta = String.raw`, ?"delta": ?"(${characters})"`
const index = String.raw`, ?"output_index": ?(0|[1-9]\d{0,2})`

/**
 * The usual forms of a text delta: one flat object, its fields in the order of the documentation or of the alphabet
 * (both recorded), with or without a space after colons and commas.
 * The whole text is matched, so that what is not JSON never passes.
 */
const textDelta =
  String.raw`\{"type": ?"response\.output_text\.delta"${others}` +
  String.raw`(?:${index}${others}${delta}|${delta}${others}${index})${others}\}`

/** Reads text deltas without parsing them as JSON: nearly all events of a long answer are of this one form. */
function createDeltaFastPath(take: (outputIndex: number, delta: string) => void): FastPath {
  return {
    pattern: textDelta,
    take([, indexBefore, deltaAfter, deltaBefore, indexAfter]) {
      take(Number(indexBefore ?? indexAfter), unescapeJson(deltaAfter ?? deltaBefore!))
    },
  }
}
