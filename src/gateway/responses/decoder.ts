import { GenerationError, ModelgateError } from '../../errors.ts'
import type { Citation, FinishReason, TextResult, ToolCall } from '../../contract/text-event.ts'
import { readErrorValue } from '../error-body.ts'
import { createGrowingText } from '../growing-text.ts'
import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../json-access.ts'
import {
  finishError,
  notUnderstood,
  positionOf,
  truncatedError,
  type DecoderOptions,
  type TextDecoder,
} from '../text-decoder.ts'
import { readCitation } from './citation.ts'
import { summariseItem } from './item-summary.ts'
import { skimTextDelta } from './skim-delta.ts'
import { readToolCall } from './tool-call.ts'
import { readResponseUsage } from './usage.ts'

/** What was already shown of one output item; items are joined by their position, since ids may change (quirk 13). */
interface ItemState {
  name: string
  text: number
  refusal: number
  reasoning: number
  done: boolean
}

/** Decodes a response object, whole or as a stream of events (specification, endpoint 2; wire facts, section 2). */
export function createResponseDecoder({ emit }: DecoderOptions): TextDecoder {
  const items = new Map<number, ItemState>()
  const toolCalls: ToolCall[] = []
  const citations: Citation[] = []
  const text = createGrowingText()
  /** The text of earlier responses in the same stream. */
  let earlier = ''
  let refusal = ''
  let reasoning = ''
  /** The newest whole response object, as the gateway sent it. */
  let response: JsonObject | undefined
  let status: string | undefined
  let ended = false
  let failure: ModelgateError | undefined
  let otherOutput = false
  let understood = false

  const itemAt = (event: JsonObject): ItemState => itemAtPosition(positionOf(event['output_index']))

  const itemAtPosition = (index: number): ItemState => {
    const known = items.get(index)
    if (known !== undefined) return known
    const fresh: ItemState = { name: '', text: 0, refusal: 0, reasoning: 0, done: false }
    items.set(index, fresh)
    return fresh
  }

  const addText = (item: ItemState, delta: string) => {
    if (delta === '') return
    item.text += delta.length
    text.add(delta)
    emit({ type: 'text-delta', index: 0, text: delta })
  }
  const addRefusal = (item: ItemState, delta: string) => {
    if (delta === '') return
    item.refusal += delta.length
    refusal += delta
    emit({ type: 'refusal-delta', text: delta })
  }
  const addReasoning = (item: ItemState, delta: string) => {
    if (delta === '') return
    item.reasoning += delta.length
    reasoning += delta
    emit({ type: 'reasoning-delta', text: delta })
  }
  const addCitation = (annotation: unknown) => {
    const citation = readCitation(annotation)
    if (citation === undefined) return
    citations.push(citation)
    emit({ type: 'citation-add', citation })
  }

  const message = (value: unknown) => {
    if (Array.isArray(value)) return value.forEach(message)
    if (!isObject(value)) return
    const type = stringOf(value['type'])
    if (type === 'error' || type === 'upstream_error' || (type === undefined && isFailure(value))) {
      failure ??= errorInReply(value)
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
      case 'response.refusal.delta':
        return addRefusal(itemAt(value), delta)
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return addReasoning(itemAt(value), delta)
      case 'response.reasoning_summary_part.added':
        // Parts are paragraphs of one summary.
        if (itemAt(value).reasoning > 0) addReasoning(itemAt(value), '\n\n')
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
      case 'response.mcp_call_arguments.delta': {
        const index = positionOf(value['output_index'])
        return emit({ type: 'tool-delta', index, name: itemAt(value).name, arguments: delta })
      }
      case 'response.output_text.annotation.added':
        return addCitation(value['annotation'])
      case 'response.image_generation_call.partial_image':
        return image(value['partial_image_b64'], value['output_format'], true)
      case 'response.output_item.added':
        itemAt(value).name = stringOf(objectOf(value['item'])['name']) ?? ''
        return
      case 'response.output_item.done':
        return item(objectOf(value['item']), itemAt(value), positionOf(value['output_index']))
      case 'response.created':
        // A tool that runs at the gateway may make one stream of several responses (recorded), each numbered anew.
        items.clear()
        earlier = text.toString()
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
    }
  }

  /** A whole output item: shows what its deltas have not shown. */
  const item = (whole: JsonObject, state: ItemState, index: number) => {
    if (state.done) return
    state.done = true
    const type = stringOf(whole['type'])
    if (type === 'message') return messageItem(whole, state)
    if (type === 'reasoning') return reasoningItem(whole, state)
    otherOutput = true
    const call = readToolCall(whole)
    if (call !== undefined) {
      emit({ type: 'tool-call', index, call })
      toolCalls.push(call)
      return
    }
    if (type === 'image_generation_call') image(whole['result'], whole['output_format'], false)
    emit({ type: 'item-add', kind: type ?? 'item', summary: summariseItem(whole), item: whole })
  }

  const messageItem = (whole: JsonObject, state: ItemState) => {
    const streamed = state.text + state.refusal > 0
    for (const part of objectsOf(whole['content'])) {
      if (streamed) return
      if (part['type'] === 'refusal') addRefusal(state, stringOf(part['refusal']) ?? '')
      else addText(state, stringOf(part['text']) ?? '')
      for (const annotation of objectsOf(part['annotations'])) addCitation(annotation)
    }
  }

  const reasoningItem = (whole: JsonObject, state: ItemState) => {
    if (state.reasoning > 0) return
    const parts = [...objectsOf(whole['summary']), ...objectsOf(whole['content'])]
    addReasoning(state, parts.map((part) => stringOf(part['text']) ?? '').join('\n\n'))
  }

  const image = (data: unknown, format: unknown, partial: boolean) => {
    if (typeof data !== 'string' || data === '') return
    if (!partial) otherOutput = true
    emit({ type: 'image-data', mime_type: `image/${stringOf(format) ?? 'png'}`, base64: data, partial })
  }

  /** The response object at the end: brings whatever the stream left out. */
  const end = (whole: JsonObject, fromEvent?: string) => {
    understood = true
    ended = true
    response = whole
    status = stringOf(whole['status']) ?? fromEvent
    const output = objectsOf(whole['output'])
    // Positions in the final list may differ from those in the stream: items are taken from it all together or not at all.
    const anyDone = [...items.values()].some(({ done }) => done)
    const streamed = text.toString()
    const anyText = streamed !== earlier || refusal !== ''
    for (const [index, entry] of output.entries()) {
      if (anyDone || (anyText && entry['type'] === 'message')) continue
      item(entry, itemAt({ output_index: index % 1024 }), index)
    }
    const full = output
      .filter(({ type }) => type === 'message')
      .flatMap(outputTexts)
      .join('')
    if (full.length > text.length && full.startsWith(streamed)) addText(itemAt({}), full.slice(text.length))
    if (output.length === 0 && text.length === 0) addText(itemAt({}), stringOf(whole['output_text']) ?? '')
    const error = whole['error']
    if (status === 'failed' || isObject(error))
      failure = errorInReply({ error: isObject(error) ? error : whole['message'] })
  }

  const rawReason = () => stringOf(objectOf(response?.['incomplete_details'])['reason']) ?? status ?? null

  const finishReason = (): FinishReason => {
    if (failure !== undefined) return 'error'
    if (!ended) return 'unknown'
    if (status === 'cancelled') return 'cancelled'
    if (status === 'incomplete') return rawReason() === 'content_filter' ? 'content_filter' : 'length'
    if (refusal !== '' && text.length === 0) return 'refusal'
    if (status !== 'completed' && status !== 'complete' && status !== undefined) return 'unknown'
    return toolCalls.length > 0 ? 'tool_calls' : 'stop'
  }

  const result = (): TextResult => ({
    text: text.toString(),
    reasoning,
    refusal,
    candidates: [{ index: 0, text: text.toString(), finish_reason: finishReason() }],
    finish_reason: finishReason(),
    raw_finish_reason: rawReason(),
    tool_calls: toolCalls,
    citations,
    usage: readResponseUsage(response?.['usage']),
    response_id: stringOf(response?.['id']) ?? null,
    model: stringOf(response?.['model']) ?? null,
    response: response ?? null,
  })

  const skim = (json: string): boolean => {
    const found = skimTextDelta(json)
    if (found === undefined || found.outputIndex > 1023) return false
    understood = true
    addText(itemAtPosition(found.outputIndex), found.delta)
    return true
  }

  return {
    message,
    skim,
    get state() {
      // `response.failed` follows an error event, if it comes at all.
      return ended || failure !== undefined ? 'settled' : 'open'
    },
    result,
    verdict(marked) {
      if (failure !== undefined) return failure
      if (!understood) return notUnderstood()
      const whole = result()
      if (ended && (status === 'queued' || status === 'in_progress')) return stillRunning(whole, status)
      if (!ended && !marked) return truncatedError(whole)
      return finishError(whole, text.length > 0 || refusal !== '' || otherOutput)
    },
  }
}

function outputTexts(entry: JsonObject): string[] {
  return objectsOf(entry['content']).flatMap((part) =>
    part['type'] === 'refusal' ? [] : [stringOf(part['text']) ?? ''],
  )
}

function isFailure(value: JsonObject): boolean {
  return Boolean(value['error']) && value['object'] !== 'response'
}

function stillRunning({ response_id: id }: TextResult, status: string): ModelgateError {
  return new ModelgateError(
    'running',
    'response_running',
    `The response ${id ?? ''} is still running (${status}).`.replace('  ', ' '),
    {
      phase: 'result',
      billed: 'yes',
      ...(id === null ? {} : { remoteId: id }),
      hint: 'Keep the id: the gateway goes on with it in the background.',
    },
  )
}

/** The error of an `error` event or of a failed response: nested or flat, string or object. */
function errorInReply(value: JsonObject): ModelgateError {
  const { message, code } = readErrorValue(value)
  return new GenerationError(
    code === undefined || /^\d+$/.test(code)
      ? 'error_in_reply'
      : code
          .toLowerCase()
          .replaceAll(/[^a-z0-9]+/g, '_')
          .slice(0, 60),
    `The gateway reported an error: ${message ?? code ?? 'no reason given'}`,
    { phase: 'stream' },
  )
}
