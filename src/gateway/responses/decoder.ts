import { type ResponseState, responseStateOf } from '../../contract/response-object.ts'
import type { ModelgateError } from '../../errors.ts'
import type { TextResult, FinishReason } from '../../events/text.ts'
import { maxReplyCharacters, sampleLength } from '../../growing-text.ts'
import { isObject, listOf, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { replyError } from '../gateway-errors.ts'
import {
  isErrorEvent,
  unescapeJson,
  maxPositions,
  positionOf,
  characters,
  count,
  plainString,
  type FastPath,
} from '../message-reader.ts'
import {
  checkFinish,
  notUnderstood,
  stillRunning,
  truncatedError,
  type DecoderOptions,
  type TextDecoder,
  type TextReply,
} from '../stream-text.ts'
import { answerText, contentParts, isAnswer, Transcript, readResponseUsage } from './transcript.ts'

/** Decodes a response object, whole or as a stream of events (specification, endpoint 2; wire notes, section 2). */
export function createResponseDecoder({
  emit,
  keepText,
  keepReply = false,
  isRest = false,
}: DecoderOptions): TextDecoder {
  const keep = keepText ? Infinity : keepReply ? maxReplyCharacters : sampleLength
  const transcript = new Transcript(emit, keep, isRest)
  const { text } = transcript
  /** How long the text of earlier responses in the same stream is. */
  let earlier = 0
  let response: JsonObject | undefined
  let status: string | undefined
  let ended = false
  let failure: ModelgateError | undefined
  let understood = false
  let isMarked = false
  /** The whole, when only the rest of it was streamed. */
  let answer: TextDecoder | undefined

  const itemAt = (event: JsonObject) => transcript.itemAt(positionOf(event['output_index']))

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
    else if (value['object'] === 'response' || Array.isArray(value['output'])) end(value, undefined, true)
  }

  /** Parts are paragraphs. */
  const beginReasoning = (item: ReturnType<typeof itemAt>) => {
    if (item.reasoning > 0) transcript.add('reasoning', item, '\n\n')
  }

  /** Events that only repeat or announce others are ignored. */
  const event = (type: string, value: JsonObject) => {
    understood = true
    const delta = stringOf(value['delta']) ?? ''
    switch (type) {
      case 'response.output_text.delta':
        return transcript.addText(itemAt(value), delta)
      case 'response.output_text.done':
        // Repeats the deltas, unless there were none.
        if (text.length === earlier && !isRest)
          transcript.addText(itemAt(value), stringOf(value['text']) ?? '')
        return
      case 'response.refusal.delta':
        return transcript.add('refusal', itemAt(value), delta)
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return transcript.add('reasoning', itemAt(value), delta)
      case 'response.reasoning_summary_part.added':
        return beginReasoning(itemAt(value))
      case 'response.content_part.added':
        return stringOf(objectOf(value['part'])['type']) === 'reasoning_text'
          ? beginReasoning(itemAt(value))
          : undefined
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
      case 'response.mcp_call_arguments.delta': {
        const index = positionOf(value['output_index'])
        const item = itemAt(value)
        transcript.addArguments(item, delta)
        const name = stringOf(item.begun?.['name']) ?? ''
        return emit({ type: 'tool-delta', index, name, arguments: delta })
      }
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        return transcript.setArguments(itemAt(value), stringOf(value['arguments'] ?? value['input']))
      case 'response.output_text.annotation.added':
        return transcript.addCitation(value['annotation'])
      case 'response.image_generation_call.partial_image':
        return transcript.addImage(value['partial_image_b64'], value['output_format'], true)
      case 'response.output_item.added':
        return transcript.beginItem(objectOf(value['item']), positionOf(value['output_index']))
      case 'response.output_item.done':
        return transcript.addItem(objectOf(value['item']), positionOf(value['output_index']))
      case 'response.created':
        // A tool that runs at the gateway may make one stream of several responses (recorded), each numbered from 0.
        transcript.forgetItems()
        earlier = text.length
        ended = false
        answer = status = undefined
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
        // Some use one name for every end; the response says which it was.
        return isObject(value['response']) ? end(value['response']) : undefined
    }
  }

  /** @param isLookUp the whole did not come in a stream: after one that broke, it has the items at their positions */
  const end = (whole: JsonObject, fromEvent?: string, isLookUp = false) => {
    understood = true
    ended = true
    // Some name the response only at its beginning.
    response = response?.['id'] === undefined ? whole : { id: response['id'], ...whole }
    if (isRest) {
      answer = createResponseDecoder({ emit() {}, keepText: true, keepResponse: true, keepReply })
      answer.message(whole)
    }
    status = stringOf(whole['status']) ?? fromEvent
    const output = objectsOf(whole['output'])
    // Positions in the final list may differ from those in the stream: either all items are taken from it or none.
    const { anyDone } = transcript
    const anyText = text.length > earlier || transcript.refusal.length > 0
    for (const [index, entry] of output.entries()) {
      if (isRest) break
      if (!isLookUp && (anyDone || (anyText && isAnswer(entry)))) continue
      if (isLookUp && transcript.itemAt(index % maxPositions).done?.['type'] === entry['type']) continue
      transcript.addItem(entry, index % maxPositions)
    }
    if (output.length === 0 && status?.startsWith('complete')) transcript.endCalls()
    const full = output
      .filter(isAnswer)
      .flatMap((entry) => contentParts(entry).map(answerText))
      .join('')
    if (!isRest && full.length > text.length && full.startsWith(text.toString()))
      transcript.addText(itemAt({}), full.slice(text.length))
    if (!isRest && output.length === 0 && text.length === 0)
      transcript.addText(itemAt({}), stringOf(whole['output_text']) ?? '')
    const error = objectOf(whole['error'])
    // Some send an empty error with every response.
    const hasError = Object.values(error).some(Boolean)
    if (status === 'failed' || hasError) failure = replyError({ error: hasError ? error : whole['message'] })
  }

  const state = (): ResponseState | null => {
    if (failure !== undefined) return 'failed'
    if (status === undefined) return ended ? 'completed' : null
    return responseStateOf(status) ?? 'in_progress'
  }

  const rawReason = () => stringOf(objectOf(response?.['incomplete_details'])['reason']) ?? status ?? null

  const finishReason = (): FinishReason => {
    if (failure !== undefined) return 'error'
    if (!ended) return 'unknown'
    if (status === 'cancelled') return 'cancelled'
    if (status === 'incomplete') return incompleteReason(rawReason() ?? status)
    if (transcript.refusal.length > 0 && text.length === 0) return 'refusal'
    // `complete` was recorded, too.
    if (status !== 'completed' && status !== 'complete' && status !== undefined) return 'unknown'
    return transcript.toolCalls.length > 0 ? 'tool_calls' : 'stop'
  }

  const result = (): TextResult =>
    answer?.result() ?? {
      text: text.toString(),
      reasoning: transcript.reasoning.toString(),
      refusal: transcript.refusal.toString(),
      candidates: [{ index: 0, text: text.toString(), finish_reason: finishReason() }],
      finish_reason: finishReason(),
      raw_finish_reason: rawReason(),
      finish_message: null,
      tool_calls: transcript.toolCalls,
      citations: transcript.citations,
      usage: readResponseUsage(response?.['usage']),
      response_id: stringOf(response?.['id']) ?? null,
      model: stringOf(response?.['model']) ?? null,
      state: state(),
      response: response ?? null,
    }

  const reply = (): TextReply | undefined => {
    if (!keepReply) return undefined
    if (answer !== undefined) return answer.reply()
    const [id, model] = [stringOf(response?.['id']), stringOf(response?.['model'])]
    const output = listOf(response?.['output'])
    const isOver = isMarked || (ended && status !== 'queued' && status !== 'in_progress')
    return {
      ...(id === undefined ? {} : { id }),
      ...(model === undefined ? {} : { model }),
      text: text.toString(),
      output: output.length > 0 ? output : transcript.items,
      ...(isOver && text.length <= keep && !isRest ? {} : { is_partial: true }),
    }
  }

  const fastPath: FastPath = {
    pattern: usualDelta,
    textGroup: 2,
    joins: (delta, before) => delta[1] === before[1],
    take(text, [, index]) {
      understood = true
      transcript.addText(transcript.itemAt(Number(index)), unescapeJson(text))
    },
  }

  return {
    message,
    fastPath,
    endIsCertain: true,
    get state() {
      // `response.failed` follows an error event, if it comes at all.
      return ended || failure !== undefined ? 'settled' : 'open'
    },
    result,
    reply,
    finish(marked) {
      isMarked = marked
      if (failure !== undefined) {
        throw failure.amend({ remoteId: stringOf(response?.['id']), ...failure.facts })
      }
      if (!understood) throw notUnderstood()
      if (answer !== undefined) return answer.finish(marked)
      const whole = result()
      if (ended && (status === 'queued' || status === 'in_progress')) throw stillRunning(whole, status)
      if (!ended && !marked) throw truncatedError(whole)
      checkFinish(whole, text.length > 0 || transcript.refusal.length > 0 || transcript.otherOutput)
    },
  }
}

/** Reasons are not specified (specification, "Response object"); without one, the token limit was reached. */
function incompleteReason(reason: string): FinishReason {
  if (reason === 'content_filter') return 'content_filter'
  return /token|length|^incomplete$/.test(reason) ? 'length' : 'unknown'
}

/** The official client treats an event of any type with an `error` as a failure (wire notes, section 2). */
function isFailure(value: JsonObject): boolean {
  return Boolean(value['error']) && value['object'] !== 'response'
}

/** A delta with its fields in the order in which gateways send them; the groups are its item and its text. */
const usualDelta = [
  String.raw`\{"type":"response\.output_text\.delta"(?:,"sequence_number":${count})?,"item_id":${plainString}`,
  String.raw`,"output_index":(0|[1-9]\d{0,2}),"content_index":${count},"delta":"(${characters})"(?:,"logprobs":\[\])?`,
  String.raw`(?:,"obfuscation":${plainString})?(?:,"sequence_number":${count})?\}`,
].join('')
